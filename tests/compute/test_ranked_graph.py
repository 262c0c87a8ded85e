"""The loops over neighbour lists: what they promise, and the same integers compiled and plain."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest

from visibility_aware_edge_ldp.compute import backend, ranked_graph
from visibility_aware_edge_ldp.compute.plain import common_neighbours as plain
from visibility_aware_edge_ldp.compute.ranked_graph import (
    GrowingLists,
    Ranking,
    Rows,
    ranked,
    ranking,
)
from visibility_aware_edge_ldp.counts import exact
from visibility_aware_edge_ldp.truth.readers import read_graph

GRAPHS = {
    "no edge": nx.empty_graph(5),
    "one edge": nx.path_graph(2),
    "star": nx.star_graph(20),
    "complete": nx.complete_graph(17),
    "sparse": nx.gnp_random_graph(60, 0.05, seed=1),
    "dense": nx.gnp_random_graph(40, 0.7, seed=2),
    "hubs": nx.barabasi_albert_graph(60, 4, seed=3),
}


@pytest.fixture
def compiled() -> Any:
    pytest.importorskip("numba", reason="numba is not installed")
    from visibility_aware_edge_ldp.compute.compiled import common_neighbours as common_neighbours_compiled

    return common_neighbours_compiled


def edges_of(graph: nx.Graph) -> npt.NDArray[np.int32]:
    return np.array(sorted(map(sorted, graph.edges)), dtype=np.int32).reshape(-1, 2)


def same(found: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    pairs = zip(found, expected, strict=True)
    return all(mine.dtype == other.dtype and mine.tolist() == other.tolist() for mine, other in pairs)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_ranks_fall_with_the_degree_and_ties_keep_their_order(graph: nx.Graph) -> None:
    order = ranking(len(graph), edges_of(graph))
    expected = sorted(graph, key=lambda node: (-graph.degree[node], node))
    assert order.node.tolist() == expected
    assert order.rank[order.node].tolist() == list(range(len(graph)))
    assert order.degree.tolist() == [graph.degree[node] for node in expected]


@pytest.mark.parametrize("loops", ["compiled", "plain"])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_hubs_have_whole_lists_and_the_others_hold_their_hubs(
    monkeypatch: pytest.MonkeyPatch, graph: nx.Graph, loops: str
) -> None:
    if loops == "plain":
        monkeypatch.setattr(ranked_graph, "loops", lambda: plain)
    order = ranking(len(graph), edges_of(graph))
    for hubs in {1, 2, len(graph) // 3, len(graph)}:
        lists = ranked(order, edges_of(graph), hubs)
        for r, node in enumerate(order.node.tolist()):
            near = sorted(int(order.rank[other]) for other in graph[node])
            assert lists.of(r).tolist() == [z for z in near if r < hubs or z < hubs]
        pairs = sorted(sorted(order.rank[list(pair)].tolist()) for pair in graph.edges)
        assert np.transpose(lists.hub_edges()).tolist() == [pair for pair in pairs if pair[1] < hubs]


@pytest.mark.parametrize("hubs", [1, 3, 64])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_growing_lists_are_whole_in_any_order(monkeypatch: pytest.MonkeyPatch, graph: nx.Graph, hubs: int) -> None:
    monkeypatch.setattr(ranked_graph, "HUBS", hubs)
    monkeypatch.setattr(ranked_graph, "GROWTH", 2)
    n, edges = len(graph), edges_of(graph)
    whole = ranked(ranking(n, edges), edges, hubs=n)
    for ranks in (range(n), range(n - 1, -1, -1), np.random.default_rng(0).permutation(n).tolist()):
        lists = GrowingLists(n, edges)
        assert all(lists.of(r).tolist() == whole.of(r).tolist() for r in ranks)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_compiled_ranks_and_lists_agree_with_their_twins(compiled: Any, graph: nx.Graph) -> None:
    n, edges = len(graph), edges_of(graph)
    assert same(compiled.rank_nodes(n, edges), plain.rank_nodes(n, edges))
    order = ranking(n, edges)
    for hubs in {1, n // 2, n}:
        asked = edges, order.rank, hubs, int(order.degree[:hubs].sum())
        assert same(compiled.hub_lists(*asked), plain.hub_lists(*asked))


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_nodes_joined_to_one_end(compiled: Any, graph: nx.Graph) -> None:
    order = ranking(len(graph), edges_of(graph))
    lists = ranked(order, edges_of(graph), hubs=min(9, len(graph)))
    i, j = np.triu_indices(lists.hubs, 1)
    found = compiled.one_sided(lists.start, lists.neighbour, i, j)
    assert same(found, plain.one_sided(lists.start, lists.neighbour, i, j))
    expected = []
    for p, (u, v) in enumerate(zip(order.node[i].tolist(), order.node[j].tolist(), strict=True)):
        for near, far in ((u, v), (v, u)):
            expected += [(p, far, z) for z in set(graph[near]) - set(graph[far]) - {far}]
    which, end, z = found
    assert sorted(zip(which.tolist(), order.node[end].tolist(), order.node[z].tolist(), strict=True)) == sorted(
        expected
    )


def rows_of(lists: ranked_graph.RankedGraph, known: int, floor: npt.NDArray[np.int64]) -> list[Any]:
    rows, found = Rows(lists, known), []
    while not rows.done:
        found.append(sorted(zip(*(part.tolist() for part in rows.batch(floor)), strict=True)))
    return found


@pytest.mark.parametrize("lowest", [-3, 1, 2, 5])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_rows_hold_the_promising_positions_of_new_hubs(
    monkeypatch: pytest.MonkeyPatch, graph: nx.Graph, lowest: int
) -> None:
    order = ranking(len(graph), edges_of(graph))
    # Any floor that falls with the sum.
    floor = lowest - np.minimum(np.arange(2 * int(order.degree[0]) + 1) // 9, 2)
    for hubs, known in ((len(graph), 0), (len(graph) // 2 + 1, 0), (len(graph), len(graph) // 3)):
        lists = ranked(order, edges_of(graph), hubs)
        found = rows_of(lists, known, floor)
        with monkeypatch.context() as plainly:
            plainly.setattr(ranked_graph, "loops", lambda: plain)
            assert rows_of(lists, known, floor) == found
        expected = []
        for i, j in zip(*np.triu_indices(hubs, 1), strict=True):
            u, v = order.node[[i, j]].tolist()
            shared = len(set(graph[u]) & set(graph[v]))
            total = graph.degree[u] + graph.degree[v] - 2 * graph.has_edge(u, v)
            if j >= known and shared >= floor[total]:
                expected.append((i, j, shared, total))
        assert sorted(position for batch in found for position in batch) == expected


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_reach_is_the_first_rank_that_the_first_row_does_not_want(graph: nx.Graph) -> None:
    order: Ranking = ranking(len(graph), edges_of(graph))
    top = int(order.degree[0])
    for lowest in range(-1, top + 2):
        floor = lowest - np.minimum(np.arange(2 * top + 1) // 7, 3)
        wanted = [j for j, d in enumerate(order.degree.tolist()) if j and d >= floor[top + d]]
        assert order.reach(floor) == max(wanted, default=0) + 1


def test_floors_are_the_fewest_common_neighbours_that_may_improve(compiled: Any) -> None:
    rng = np.random.default_rng(7)
    for _ in range(100):
        top, cap, plenty = int(rng.integers(0, 60)), int(rng.integers(0, 40)), 1 << 40
        best = np.sort(rng.integers(0, 40, int(rng.integers(1, 30))))
        expected = [
            min((b + 1 - t for t, b in enumerate(best.tolist()) if b < cap and s >= 2 * b + 2 - t), default=plenty)
            for s in range(top + 1)
        ]
        assert compiled.floor_of(best, top, cap, plenty).tolist() == expected
        assert plain.floor_of(best, top, cap, plenty).tolist() == expected


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_successors_are_the_neighbours_of_higher_degree(compiled: Any, graph: nx.Graph) -> None:
    starts, targets = compiled.successor_lists(len(graph), edges_of(graph))
    order = ranking(len(graph), edges_of(graph))
    for r, node in enumerate(order.node.tolist()):
        earlier = sorted(int(order.rank[other]) for other in graph[node] if order.rank[other] < r)
        assert sorted(targets[starts[r] : starts[r + 1]].tolist()) == earlier


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_triangles_compiled_and_plain(monkeypatch: pytest.MonkeyPatch, graph: nx.Graph) -> None:
    ours, expected = read_graph(graph), sum(nx.triangles(graph).values()) // 3
    assert exact.triangles(ours) == expected
    monkeypatch.setattr(backend, "name", lambda: "plain")
    assert exact.triangles(ours) == expected


def test_plain_loops_are_used_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "name", backend.name.__wrapped__)
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", "plain")
    assert ranked_graph.loops() is plain
