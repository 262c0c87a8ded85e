"""Repeated trials and comparisons."""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.expected_errors import relative_error
from visibility_aware_edge_ldp.evaluation.trials import evaluate
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 200, 1)


WORLD = VisibilityAwareGraph(GRAPH, VisibilityPolicy("0.4"))


def test_rows_for_every_epsilon_and_statistic() -> None:
    steps: list[int] = []
    found = evaluate(
        WORLD, epsilons=[1, "2"], trials=5, statistics="edges,degrees,degree_histogram", seed=3, progress=steps.append
    )
    assert len(found) == 6
    assert len(steps) == 10
    row = found.row(2, "edges")
    assert (row.truth, row.trials) == (200, 5)
    assert 0 < row.mean_relative_error < 1
    assert math.isnan(found.row(1, "degrees").truth)
    assert 0 <= found.row(1, "degree_histogram").mean_relative_error <= 2
    assert "edges" in str(found)
    again = evaluate(WORLD, epsilons=[1, "2"], trials=5, statistics=["edges"], seed=3)
    assert again.row(2, "edges").mean_relative_error == row.mean_relative_error


def test_curator_too() -> None:
    found = evaluate(WORLD, "curator", epsilons=[1], trials=3, statistics=["edges"], seed=1)
    assert found.row(1, "edges").mean_relative_error < 0.05


def test_errors() -> None:
    assert relative_error(90, 100) == pytest.approx(0.1)
    assert relative_error([1, 3], [2, 2]) == pytest.approx(0.5)
    assert relative_error(0, 0) == 0
    assert relative_error(1, 0) == math.inf
    with pytest.raises(BadInput):
        evaluate(WORLD, trials=0)


def test_statistics_of_groups_take_groups() -> None:
    groups = {node: f"{int(node) % 2}" for node in GRAPH.names}
    for trust in ("position", "user"):
        found = evaluate(GRAPH, trust, [8], 3, "mixing,ei_index", policy="nothing", groups=groups, seed=1)
        assert 0 < found.row(8, "mixing").mean_relative_error < 0.2
        assert math.isnan(found.row(8, "mixing").truth)
        assert found.row(8, "ei_index").coverage > 0
    with pytest.raises(BadInput, match="about public groups"):
        evaluate(GRAPH, "position", [8], 3, "mixing")
