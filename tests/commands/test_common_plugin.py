"""``--plugin``: a file or a module that registers something is loaded before the command, or refused in a sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command import Run
from support.command_line import assert_one_sentence
from visibility_aware_edge_ldp.public.statistic import STATISTICS

PLUGIN = '''
"""The mean degree, in a file of one's own."""
from dataclasses import replace

from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.public.statistic import EDGES, Statistic, register


def exact(graph):
    return 2 * len(graph.edges) / graph.n


def from_degrees(given, asked):
    edges = DegreeCollection.estimators["edges"](given, EDGES)
    factor = 2 / given.collection.view.n
    return replace(edges, statistic=asked.name, value=factor * edges.value, variance=factor**2 * edges.variance)


register(Statistic("mean_friends", "mean degree", "friends on average", exact, estimators={"degrees": from_degrees}))
'''
ASK = ("--statistics", "mean_friends", "--seed", "1", "--json")


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test has loaded is unknown after it."""
    statistics, modules = dict(STATISTICS), set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    STATISTICS.clear()
    STATISTICS.update(statistics)
    for name in {"mean_friends_plugin", "statistics_of_mine"} & (set(sys.modules) - modules):
        del sys.modules[name]


def test_a_file_that_registers_a_statistic_is_loaded(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mean_friends_plugin.py"
    file.write_text(PLUGIN)
    done = run("--plugin", str(file), "estimate", "random:40,80", "--trust", "user", *ASK)
    assert done.code == 0, done.err
    assert done.json["estimates"]["mean_friends"]["standard_error"] > 0


def test_a_module_is_loaded_by_its_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "statistics_of_mine.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    done = run("--plugin", "statistics_of_mine", "estimate", "random:40,80", "--trust", "user", *ASK)
    assert done.code == 0, done.err


def test_processes_of_a_comparison_know_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mean_friends_plugin.py"
    file.write_text(PLUGIN)
    monkeypatch.setattr("visibility_aware_edge_ldp.evaluation.compare.runner.ALONE_SECONDS", 0.0)
    words = ("compare", "random:40,80", "--epsilons", "1", "--trials", "2", "--trust", "user", "--cores", "2")
    done = run("--plugin", str(file), *words, *ASK)
    assert done.code == 0, done.err
    assert {row["statistic"] for row in done.json["uniform"]} == {"mean_friends"}


@pytest.mark.parametrize(
    ("written", "hint"),
    [("raise ValueError('not today')", "ValueError: not today"), ("import no_such_module", "no_such_module")],
)
def test_a_plugin_that_fails_is_one_sentence(run: Run, tmp_path: Path, written: str, hint: str) -> None:
    file = tmp_path / "mean_friends_plugin.py"
    file.write_text(written)
    assert_one_sentence(run("--plugin", str(file), "estimate", "random:40,80"), hint)


def test_no_plugin_is_one_sentence(run: Run, tmp_path: Path) -> None:
    for named in (str(tmp_path / "nothing_there.py"), "nothing.there"):
        assert_one_sentence(run("--plugin", named, "estimate", "random:40,80"), "Give a module's name or a .py file")


def test_a_file_with_the_name_of_another_module_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text(PLUGIN)
    assert_one_sentence(run("--plugin", str(tmp_path / "json.py"), "estimate", "random:40,80"), "rename the file")
    assert "mean_friends" not in STATISTICS


def test_a_name_that_is_taken_is_the_registrys_own_sentence(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mean_friends_plugin.py"
    file.write_text(PLUGIN.replace('"mean_friends", "mean', '"edges", "mean'))
    assert_one_sentence(run("--plugin", str(file), "estimate", "random:40,80"), "'edges' cannot be registered")
