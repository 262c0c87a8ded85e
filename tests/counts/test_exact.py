"""Exact statistics against NetworkX, brute force and published values."""

from __future__ import annotations

from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pytest

from visibility_aware_edge_ldp.counts import exact
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public import statistic as registry
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

SMALL = [
    nx.gnp_random_graph(n, p, seed=seed)
    for seed, (n, p) in enumerate([(2, 0.0), (2, 1.0), (5, 0.6), (12, 0.3), (12, 0.8), (30, 0.2), (30, 0.7)])
]
SHAPES = [
    nx.star_graph(9),
    nx.cycle_graph(4),
    nx.complete_graph(9),
    nx.complete_bipartite_graph(3, 5),
    nx.grid_graph([4, 5]),
]
ALL = [*SMALL, *SHAPES]


def four_cycles_by_force(graph: nx.Graph) -> int:
    """Opposite corners in every way: two common neighbours close a cycle; each cycle has two diagonals."""
    common = (len(set(graph[u]) & set(graph[v])) for u, v in combinations(graph, 2))
    return sum(comb(c, 2) for c in common) // 2


@pytest.mark.parametrize("graph", ALL, ids=str)
def test_against_networkx(graph: nx.Graph) -> None:
    ours = read_graph(graph)
    degrees = dict(graph.degree())
    assert exact.edges(ours) == graph.number_of_edges()
    assert exact.degrees(ours).tolist() == [degrees[name] for name in ours.names]
    assert exact.max_degree(ours) == max(degrees.values())
    assert exact.degree_histogram(ours).tolist() == nx.degree_histogram(graph)
    assert exact.triangles(ours) == sum(nx.triangles(graph).values()) // 3
    assert exact.transitivity(ours) == pytest.approx(nx.transitivity(graph))
    assert exact.cycles(ours) == four_cycles_by_force(graph)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("graph", ALL, ids=str)
def test_stars(graph: nx.Graph, k: int) -> None:
    expected = sum(comb(degree, k) for _, degree in graph.degree())
    assert exact.stars(read_graph(graph), k) == expected


def test_stars_are_exact_beyond_64_bits() -> None:
    hub = read_graph(nx.star_graph(5_000))
    assert exact.stars(hub, 20) == comb(5_000, 20) > 2**63


@pytest.mark.parametrize("block", [1, 7, 100])
def test_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    graph = nx.gnp_random_graph(40, 0.4, seed=5)
    monkeypatch.setattr(exact, "_BLOCK", block)
    assert exact.triangles(read_graph(graph)) == sum(nx.triangles(graph).values()) // 3
    assert exact.cycles(read_graph(graph)) == four_cycles_by_force(graph)


def test_a_graph_without_edges() -> None:
    empty = Graph(range(3), np.empty((0, 2), dtype=np.int32))
    assert exact.degree_histogram(empty).tolist() == [3]
    assert exact.max_degree(empty) == 0
    assert exact.triangles(empty) == exact.cycles(empty) == exact.stars(empty, 2) == 0
    assert exact.transitivity(empty) == 0.0


def test_exact_by_name() -> None:
    square = read_graph(nx.complete_graph(4))
    values = {
        "edges": 6,
        "max_degree": 3,
        "triangles": 4,
        "stars:2": 12,
        "stars:3": 4,
        "four_cycles": 3,
        "transitivity": 1.0,
    }
    assert {name: registry.exact(square, name) for name in values} == values
    assert registry.exact(square, "degrees").tolist() == [3, 3, 3, 3]
    assert registry.exact(square, "degree_histogram").tolist() == [0, 0, 0, 4]


def test_counts_are_python_integers() -> None:
    square = read_graph(nx.complete_graph(4))
    for name in ["edges", "max_degree", "triangles", "stars:2", "four_cycles"]:
        assert type(registry.exact(square, name)) is int


@pytest.mark.parametrize(
    "name", ["", "triangle", "stars", "stars:", "stars:x", "stars:-1", "stars:0", "stars:1.5", "edges:2"]
)
def test_unknown_statistics_are_refused(name: str) -> None:
    with pytest.raises(BadStatistic):
        registry.exact(read_graph(nx.complete_graph(4)), name)


def test_a_star_needs_enough_nodes() -> None:
    square = read_graph(nx.complete_graph(4))
    assert registry.exact(square, "stars:3") == 4
    with pytest.raises(BadStatistic, match="impossible on 4 nodes"):
        registry.exact(square, "stars:4")


def test_statistics_do_not_depend_on_names() -> None:
    graph = nx.gnp_random_graph(25, 0.4, seed=3)
    renamed = nx.relabel_nodes(graph, {i: f"node {(7 * i) % 25:02}" for i in graph})
    for name in ["triangles", "four_cycles", "stars:3", "transitivity"]:
        assert registry.exact(read_graph(graph), name) == registry.exact(read_graph(renamed), name)


@pytest.mark.parametrize(
    ("filename", "nodes", "edges", "triangles", "max_degree"),
    [
        ("facebook_combined.txt.gz", 4_039, 88_234, 1_612_010, 1_045),
        ("fb100-Caltech36.edges.txt.gz", 769, 16_656, 119_563, 248),
        ("fb100-Amherst41.edges.txt.gz", 2_235, 90_954, 916_265, 467),
        ("imdb-actors-c10.edges.txt.gz", 129_948, 1_072_449, 3_527_434, 745),
    ],
)
def test_published_values(data_folder, filename, nodes, edges, triangles, max_degree) -> None:  # type: ignore[no-untyped-def]
    graph = read_graph(data_folder / filename)
    assert (graph.n, graph.m, graph.notes) == (nodes, edges, ())
    assert exact.triangles(graph) == triangles
    assert exact.max_degree(graph) == max_degree


def test_four_cycles_of_a_real_graph(data_folder) -> None:  # type: ignore[no-untyped-def]
    """Against the matrix formula: closed walks of length four, less those that fold."""
    graph = read_graph(data_folder / "fb100-Caltech36.edges.txt.gz")
    matrix = np.zeros((graph.n, graph.n))
    matrix[graph.edges[:, 0], graph.edges[:, 1]] = matrix[graph.edges[:, 1], graph.edges[:, 0]] = 1
    walks = round(float(((matrix @ matrix) ** 2).sum()))
    folded = 2 * int((graph.degrees**2).sum()) - 2 * graph.m
    assert exact.cycles(graph) == (walks - folded) // 8
