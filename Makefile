# make demo   the comparison on the default graph: a table, and out/report.html
# make test   the whole test suite
# make check  format, lint, types, import contracts, documentation, tests: what CI runs
# make docs   the documentation, to out/docs/index.html; warnings are errors
# make audit  every privacy claim, checked on this machine, and broken twins, which must be caught
# make bench  speed, side by side with other ways, in one run

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := src tests benchmarks docs/conf.py docs/_ext
DEMO := $(VENV)/.demo
DEV := $(VENV)/.dev

.PHONY: demo test check docs format audit bench clean

demo: $(DEMO)
	$(BIN)/va-edge-ldp compare --trials 6 --epsilons 0.5,2 --seed 1 --output out

test: $(DEV)
	$(BIN)/python -m pytest -q -n auto

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

bench: $(DEV)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python -m benchmarks --json out/bench.json --markdown out/bench.md --figures out

clean:
	rm -rf $(VENV) out build dist docs/proofs

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
