"""Names of statistics."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public import statistic as statistics
from visibility_aware_edge_ldp.public.statistic import (
    EVERYTHING,
    STATISTICS,
    Statistic,
    check_statistics,
    register,
    star_size,
    statistic,
)


def test_names_are_accepted_once_each_in_order() -> None:
    assert check_statistics("triangles, edges,triangles", 10) == ("triangles", "edges")
    assert check_statistics(["stars:9"], 10) == ("stars:9",)
    assert check_statistics("all", 10) == EVERYTHING
    assert (star_size("stars:12"), star_size("edges"), star_size("stars:-1")) == (12, None, None)


@pytest.mark.parametrize("name", ["stars:1", "stars:10", "stars:", "stars:x", "stars:2.5", "wedges", "", "Edges"])
def test_unknown_and_impossible_names_are_refused(name: str) -> None:
    with pytest.raises(BadStatistic):
        check_statistics([name], 10)


def test_nothing_asked_is_refused() -> None:
    with pytest.raises(BadStatistic, match="No statistic"):
        check_statistics([], 10)


def test_a_statistic_of_another_program_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "STATISTICS", dict(STATISTICS))
    nodes = Statistic("nodes", "nodes", "participants", lambda graph: graph.n)
    with pytest.raises(BadStatistic, match="not a statistic"):
        statistic("nodes")
    register(nodes)
    assert statistic("nodes") is nodes
    assert check_statistics(["nodes"], 3) == ("nodes",)
    with pytest.raises(BadStatistic, match="already"):
        register(nodes)


def test_labels_and_phrases() -> None:
    assert [statistic(name).label for name in ("stars:2", "tail:5", "four_cycles")] == [
        "2-stars",
        "5 friends or more",
        "4-cycles",
    ]
    assert (statistic("max_degree").phrase, statistic("edges").phrase) == ("the largest degree", "edges")
    assert (statistic("stars:3").kind, statistic("triangles").kind) == ("stars", "triangles")
