"""From a list of edges to a simple graph, with a note for each change."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import BadGraph, TooLarge
from visibility_aware_edge_ldp.truth.listing import MOST_NODES, Listing, check_size, from_integers, from_names

IDS = st.one_of(st.integers(0, 8), st.integers(-(2**63), 2**63 - 1))


def listing(*rows: tuple[int, int], kind: str = "list") -> Listing:
    return Listing(range(5), np.array(rows).reshape(-1, 2), kind=kind)


def test_clean_edges_need_no_note() -> None:
    graph = listing((3, 4), (1, 0)).graph("x")
    assert graph.edges.tolist() == [[0, 1], [3, 4]]
    assert (graph.notes, graph.source) == ((), "x")


def test_every_change_is_said_with_its_count() -> None:
    graph = listing((1, 1), (0, 1), (0, 1), (1, 0), (2, 3), (3, 2), (3, 2), (4, 4)).graph("x")
    assert graph.edges.tolist() == [[0, 1], [2, 3]]
    assert graph.notes == (
        "2 self-loops were left out",
        "2 duplicate edges were merged",
        "2 edges were listed in both directions and merged",
    )


def test_one_is_singular() -> None:
    graph = listing((1, 1), (0, 1), (0, 1), (1, 0)).graph("x")
    assert graph.notes == (
        "1 self-loop was left out",
        "1 duplicate edge was merged",
        "1 edge was listed in both directions and merged",
    )


def test_arcs_are_said_to_be_directed() -> None:
    graph = listing((0, 1), (1, 0), (2, 3), kind="arcs").graph("x")
    assert graph.notes == (
        "the graph is directed: its 3 arcs became 2 undirected edges, 1 of them listed in both directions",
    )


def test_a_symmetric_matrix_needs_no_note_and_another_does() -> None:
    assert listing((0, 1), (1, 0), kind="matrix").graph("x").notes == ()
    assert listing((0, 1), (0, 2), kind="matrix").graph("x").notes == ()  # one triangle of it is usual too
    mixed = listing((0, 1), (1, 0), (2, 3), kind="matrix").graph("x")
    assert mixed.notes == ("the matrix is not symmetric: 1 edge stored in one direction only, read as undirected",)


@given(st.lists(st.tuples(IDS, IDS), min_size=1))
def test_integers_agree_with_networkx(rows: list[tuple[int, int]]) -> None:
    found = from_integers(np.array(rows, dtype=np.int64))
    expected = nx.Graph(rows)
    assert list(found.names) == sorted(expected)
    if len(found.names) > 1:
        graph = found.graph("x")
        edges = {frozenset((graph.names[u], graph.names[v])) for u, v in graph.edges.tolist()}
        assert edges == {frozenset(edge) for edge in expected.edges() if edge[0] != edge[1]}
        assert graph.edges.tolist() == sorted(graph.edges.tolist())


@given(st.lists(st.tuples(IDS, IDS), min_size=1))
def test_integers_and_names_are_one(rows: list[tuple[int, int]]) -> None:
    by_number = from_integers(np.array(rows, dtype=np.int64))
    by_name = from_names(*zip(*rows, strict=True))
    assert list(by_number.names) == list(by_name.names)
    assert by_number.notes == by_name.notes
    assert np.array_equal(by_number.pairs, by_name.pairs)


def test_gaps_are_said() -> None:
    found = from_integers(np.array([[5, 9], [9, -2]]))
    assert found.names == [-2, 5, 9]
    assert found.notes == ("node ids are not 0..n-1; the 3 ids that occur are the nodes",)


def test_names_that_cannot_be_compared_keep_their_order() -> None:
    found = from_names(["b", 1], [(2, 3), "a"])
    assert found.names == ["b", 1, (2, 3), "a"]


def test_numpy_scalars_become_plain() -> None:
    found = from_names([np.int64(5), np.str_("x")], ["y", "y"])
    assert sorted(map(type, found.names), key=str) == [int, str, str]


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_nodes(n: int) -> None:
    with pytest.raises(BadGraph, match="at least two nodes is needed"):
        check_size(n, "x")


def test_too_many_nodes() -> None:
    assert check_size(MOST_NODES, "x") == MOST_NODES
    with pytest.raises(TooLarge, match="2,147,483,648 nodes"):
        check_size(MOST_NODES + 1, "x")
    with pytest.raises(TooLarge):
        Listing(range(MOST_NODES + 1), np.empty((0, 2), dtype=np.int64)).graph("x")


def test_the_largest_keys_do_not_overflow() -> None:
    last = MOST_NODES - 1
    graph = Listing(range(MOST_NODES), np.array([[last, last - 1], [0, last], [last, 0]])).graph("x")
    assert graph.edges.tolist() == [[0, last], [last - 1, last]]
    assert graph.notes == ("1 edge was listed in both directions and merged",)
