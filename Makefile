# make demo   the comparison on the default graph: a table, and out/report.html
# make test   the tests, without those marked long
# make test-long  the tests marked long: coverage loops, complete enumerations, kills, rehearsals
# make check  format, lint, types, import contracts, documentation, tests: what CI runs
# make docs   the documentation, to out/docs/index.html; warnings are errors
# make audit  every privacy claim, checked on this machine, and broken twins, which must be caught
# make wheel-test  the wheel, installed in a venv of its own, runs a command and an estimate
# make mutants  planted bugs, one by one: which of them the audit notices, which the tests, which nothing
# make bench  speed, side by side with other ways, in one run

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := src tests benchmarks docs/conf.py docs/_ext
DEMO := $(VENV)/.demo
DEV := $(VENV)/.dev
# Tests start hundreds of programs, which load what was compiled once; without it each start takes half a second more.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-long check docs format audit mutants bench wheel-test clean

demo: $(DEMO)
	$(BIN)/va-edge-ldp compare --trials 6 --epsilons 0.5,2 --seed 1 --output out

test: $(DEV)
	$(BIN)/python -m pytest -q -n auto -m "not long"

test-long: $(DEV)
	$(BIN)/python -m pytest -q -n auto -m long --durations=25

check: $(DEV)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(MAKE) docs
	$(MAKE) test

docs: $(DEV)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --fresh-env -b html docs out/docs

format: $(DEV)
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

audit: $(DEMO)
	$(BIN)/va-edge-ldp audit --output out

mutants: $(DEV)
	$(BIN)/python tests/mutants/run.py --json out/mutants.json

bench: $(DEV)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python -m benchmarks --json out/bench.json --markdown out/bench.md --figures out

wheel-test: $(DEV)
	rm -rf dist out/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	$(PYTHON) -m venv out/wheel
	out/wheel/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[plot]"
	cd out && wheel/bin/va-edge-ldp estimate facebook-like --statistics edges --seed 1 --json > wheel/estimate.json
	cd out && wheel/bin/python -c "import visibility_aware_edge_ldp as va; assert 'wheel' in va.__file__; print('the wheel of', va.__version__, 'works')"

clean:
	rm -rf $(VENV) out build dist docs/proofs docs/notebooks/pages

$(BIN)/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed; name it with: make PYTHON=python3.12 …')"
	$(PYTHON) -m venv $(VENV)

$(DEMO): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,fast]'
	touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,fast,graph,serve,postgres]' --group dev
	touch $@ $(DEMO)
