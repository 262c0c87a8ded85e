"""What is assumed of a graph."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadGraph, BadInput
from visibility_aware_edge_ldp.evaluation.plan.assumed_graph import assumed_graph, powerlaw_degrees
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


@pytest.mark.parametrize("family", ["powerlaw", "random"])
@pytest.mark.parametrize(("nodes", "edges"), [(2, 1), (10, 45), (50, 60), (400, 3000)])
def test_numbers_are_met_exactly(family: str, nodes: int, edges: int) -> None:
    graph = assumed_graph(nodes, edges, family=family)
    assert (graph.n, graph.m) == (nodes, edges)
    assert len(np.unique(graph.edges, axis=0)) == edges


def test_the_same_graph_every_time() -> None:
    once, again = (assumed_graph(100, 300) for _ in range(2))
    assert np.array_equal(once.edges, again.edges)


def test_the_largest_degree_is_about_as_given() -> None:
    assert powerlaw_degrees(2000, 8000, 300).max() == pytest.approx(300, rel=0.01)
    low, high = (assumed_graph(2000, 8000, max_degree=d).degrees.max() for d in (60, 300))
    assert low == pytest.approx(60, rel=0.1)
    assert high == pytest.approx(300, rel=0.1)


def test_a_random_graph_has_even_degrees() -> None:
    degrees = assumed_graph(1000, 10_000, family="random").degrees
    assert degrees.var() == pytest.approx(20, rel=0.15)


def test_clustering_closes_2_stars() -> None:
    shares = [exact(assumed_graph(1000, 10_000, clustering=c), "transitivity") for c in (0, 0.2, 0.5)]
    assert shares[0] < 0.1
    assert 0.1 < shares[1] < 0.35
    assert 0.3 < shares[2] < 0.7


def test_a_graph_like_mine_stands_for_itself() -> None:
    mine = erdos_renyi(20, 40)
    assert assumed_graph(family=mine) is mine
    assert assumed_graph(20, 40, family="random:20,40").m == 40
    with pytest.raises(BadInput, match="leave numbers out"):
        assumed_graph(21, 40, family=mine)


def test_what_cannot_be() -> None:
    for numbers in [(1, 1), (10, 46), (10, 0)]:
        with pytest.raises(BadInput):
            assumed_graph(*numbers)
    with pytest.raises(BadInput, match="needs the numbers"):
        assumed_graph(10)
    with pytest.raises(BadInput, match="largest degree"):
        assumed_graph(10, 20, max_degree=10)
    with pytest.raises(BadInput, match="share of 2-stars"):
        assumed_graph(10, 20, clustering=1.0)
    with pytest.raises(BadGraph):
        assumed_graph(10, 20, family="no-such-graph")


def test_a_degree_sequence_is_met_nearly() -> None:
    wanted = powerlaw_degrees(500, 3000, 100)
    graph = assumed_graph(degrees=wanted.tolist())
    assert (graph.n, graph.m) == (500, 3000)
    assert np.abs(np.sort(graph.degrees) - np.sort(wanted)).sum() <= 0.02 * 6000
    closed = assumed_graph(degrees=wanted.tolist(), clustering=0.5)
    assert exact(closed, "triangles") > 3 * exact(graph, "triangles")


@pytest.mark.parametrize("degrees", [[], [1], [0, 0], [3, 1, 1], [1, -1, 2], [1.5, 0.5], [[1, 1]]])
def test_what_is_no_degree_sequence(degrees: list[int]) -> None:
    with pytest.raises(BadInput):
        assumed_graph(degrees=degrees)


def test_a_degree_sequence_and_other_numbers() -> None:
    with pytest.raises(BadInput, match="leave numbers out"):
        assumed_graph(5, degrees=[1, 1])
