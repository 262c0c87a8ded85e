"""The front door: every name leads somewhere, and opening it loads no graph code."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

import visibility_aware_edge_ldp as va

HEAVY = ("numpy", "networkx", "numba", "matplotlib", "scipy", "pandas", "igraph", "cryptography", "rich")


def loaded_by(program: str) -> set[str]:
    """Which heavy libraries a fresh interpreter has after running a program."""
    code = f"{program}\nimport sys; print(*sorted({{m.partition('.')[0] for m in sys.modules}} & {set(HEAVY)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def loaded_by_command(words: str) -> set[str]:
    """The same after a command, of which nothing is shown."""
    return loaded_by(f"""
import contextlib, io, sys
from visibility_aware_edge_ldp.cli import main
sys.argv[1:] = {words.split()}
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
""")


@pytest.mark.parametrize("name", va.__all__)
def test_every_name_leads_somewhere(name: str) -> None:
    value = getattr(va, name)
    assert value is not None
    assert getattr(va, name) is value


def test_names_come_from_this_package() -> None:
    homes = {getattr(va, name).__module__.partition(".")[0] for name in va.__all__ if name != "__version__"}
    assert homes == {"visibility_aware_edge_ldp"}


def test_dir_lists_the_names() -> None:
    assert dir(va) == sorted(va.__all__)
    assert {"read_graph", "estimate", "compare", "evaluate", "VisibilityPolicy"} <= set(dir(va))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'visibility_aware_edge_ldp' has no attribute 'nonsense'"):
        va.nonsense  # noqa: B018
    assert not hasattr(va, "nonsense")


def test_the_version_is_a_version() -> None:
    assert all(part.isdecimal() for part in va.__version__.split("."))


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import visibility_aware_edge_ldp") == set()


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    assert loaded_by("import visibility_aware_edge_ldp.cli") == set()


@pytest.mark.parametrize(
    "words",
    ["--help", "--version", "estimate -h", "compare -h", "plan -h", "audit -h", "reproduce -h", "datasets list -h"],
)
def test_help_loads_nothing_heavy(words: str) -> None:
    assert loaded_by_command(words) == set()


def test_a_table_does_load_rich() -> None:
    """The twin: the probe above runs the command and can see a library."""
    assert "rich" in loaded_by_command("datasets list")


def test_reading_a_graph_does_load_numpy() -> None:
    """The twin: the probe above can see a library."""
    assert "numpy" in loaded_by("import visibility_aware_edge_ldp as va; va.read_graph([(0, 1)])")


def test_a_position_estimate_loads_neither_networkx_nor_matplotlib() -> None:
    program = (
        "import visibility_aware_edge_ldp as va;"
        "world = va.VisibilityAwareGraph([(0, 1), (1, 2)], va.VisibilityPolicy.nothing());"
        "va.estimate(world, statistics=['edges'], seed=1)"
    )
    assert not loaded_by(program) & {"networkx", "matplotlib", "pandas", "igraph"}


def test_the_example_of_the_package_runs_as_printed() -> None:
    result = doctest.testmod(va)
    assert result.attempted >= 5
    assert result.failed == 0
