"""Loops over neighbour lists, against every pair and every triple of small graphs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain import common_neighbours as kernels
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

GRAPHS = {
    "random": erdos_renyi(40, 200, seed=1),
    "power law": powerlaw(40, 120, seed=2),
    "complete": erdos_renyi(9, 36),
    "no edges": erdos_renyi(5, 0),
}
EVERY_GRAPH = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def matrix_of(graph: Graph) -> np.ndarray:
    bits = np.zeros((graph.n, graph.n), np.int64)
    bits[graph.edges[:, 0], graph.edges[:, 1]] = 1
    return bits + bits.T


@EVERY_GRAPH
def test_ranks_fall_with_degrees_and_lists_of_all_hubs_are_those_of_everybody(graph: Graph) -> None:
    node, rank, degree = kernels.rank_nodes(graph.n, graph.edges)
    assert degree.tolist() == sorted(graph.degrees.tolist(), reverse=True)
    assert rank[node].tolist() == list(range(graph.n))
    start, neighbour = kernels.hub_lists(graph.edges, rank, graph.n, 2 * graph.m)
    by_rank = matrix_of(graph)[np.ix_(node, node)]
    for i in range(graph.n):
        assert neighbour[start[i] : start[i + 1]].tolist() == np.flatnonzero(by_rank[i]).tolist()


@EVERY_GRAPH
def test_every_triangle_is_found_once(graph: Graph) -> None:
    bits = matrix_of(graph)
    assert kernels.count_triangles(graph.n, graph.edges) == np.trace(bits @ bits @ bits) // 6
    rising = kernels.RisingEdges.of(graph.edges, np.arange(graph.n))
    found = [
        (int(rising.low[ab]), int(rising.high[ab]), int(rising.high[ac]))
        for block in kernels.triangles(rising, graph.n)
        for ab, ac, _ in zip(*block, strict=True)
    ]
    triples = combinations(range(graph.n), 3)
    assert sorted(found) == [(a, b, c) for a, b, c in triples if bits[a, b] and bits[a, c] and bits[b, c]]


def test_blocks_of_two_paths_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = GRAPHS["random"]
    whole = kernels.count_triangles(graph.n, graph.edges)
    monkeypatch.setattr(kernels, "BLOCK", 7)
    assert kernels.count_triangles(graph.n, graph.edges) == whole > 0


@EVERY_GRAPH
def test_neighbours_of_one_end_alone(graph: Graph) -> None:
    node, rank, _ = kernels.rank_nodes(graph.n, graph.edges)
    lists = kernels.hub_lists(graph.edges, rank, graph.n, 2 * graph.m)
    pairs = np.array(list(combinations(range(graph.n), 2)))[::7]
    by_rank = matrix_of(graph)[np.ix_(node, node)]
    expected = [
        (p, other, alone)
        for p, (i, j) in enumerate(pairs.tolist())
        for near, other in ((i, j), (j, i))
        for alone in np.flatnonzero(by_rank[near] & ~by_rank[other] & 1).tolist()
        if alone != other
    ]
    found = kernels.one_sided(*lists, *pairs.T)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected


@EVERY_GRAPH
def test_two_paths_in_lists_are_a_matrix_product(graph: Graph) -> None:
    offsets, members = graph.neighbours
    rows, first = np.arange(0, graph.n, 3), graph.n // 2
    expected = (matrix_of(graph) @ matrix_of(graph))[rows][:, first:]
    assert (kernels.shared_in_lists(offsets, members, rows, first) == expected).all()


def test_the_floor_is_the_fewest_that_beat_the_best() -> None:
    """At distance t, a common neighbours and degree sum s reach min(a + t, (s + t) // 2)."""
    best, top, cap, plenty = np.array([2, 3, 3, 5, 6]), 12, 6, 99
    floor = kernels.floor_of(best, top, cap, plenty)
    for s in range(top + 1):
        beats = [
            a
            for a in range(-5, plenty)
            if any(a + t > best[t] and s + t >= 2 * best[t] + 2 for t in range(5) if best[t] < cap)
        ]
        assert floor[s] == min(beats, default=plenty)


def test_numbers_laid_out_end_to_end() -> None:
    assert kernels.laid_out(np.array([5, 0, 7]), np.array([3, 0, 2])).tolist() == [5, 6, 7, 7, 8]
