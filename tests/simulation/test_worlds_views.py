"""A population: every bit of the graph is held by somebody, once, and reports do not depend on how it is cut."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import numbers, position_count
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation import worlds
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


@pytest.mark.parametrize("tile", [8, 64, 1 << 19])
@pytest.mark.parametrize(("n", "m"), [(2, 0), (2, 1), (5, 10), (13, 30), (40, 5), (40, 780)])
def test_the_views_together_are_the_graph(n: int, m: int, tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "TILE", tile)
    graph: Graph = erdos_renyi(n, m, 1)
    expected = np.zeros(position_count(n), np.bool_)
    expected[numbers(n, graph.edges[:, 0], graph.edges[:, 1])] = True
    views = list(worlds.cut(graph))
    assert [view.start for view in views] == list(range(0, expected.size, tile))
    assert np.concatenate([view.bits for view in views]).tolist() == expected.tolist()
    assert all(view.packed.size == (view.count + 7) // 8 for view in views)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_seed_of_a_published_run_means_the_same_answers_for_ever(dropout: float) -> None:
    world = VisibilityAwareGraph(erdos_renyi(90, 800, 1), VisibilityPolicy("0.15", "0.35", "0.5"))
    collection = collect(world, position_survey(world.public, 1, 2), seed=5, dropout=dropout)
    assert collection.releases[0].transcript == GOLDEN[dropout]


GOLDEN = {
    0.0: "1d30fc2d389d0cf769bce9e12286d29c376f2d4e51c7d88ef0238c85a056f423",
    0.3: "7e291dab8b7eb7fe287eb1f9a69a13913e8ea3743d9b71cf9898c7985e8bfc17",
}
