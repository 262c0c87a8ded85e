"""The graph value itself."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.graph import Graph


def graph(names: object, *rows: tuple[int, int]) -> Graph:
    return Graph(names, np.array(rows, dtype=np.int32).reshape(-1, 2))  # type: ignore[arg-type]


KITE = graph("abcde", (0, 1), (0, 2), (1, 2), (2, 3))


def test_counts() -> None:
    assert (KITE.n, KITE.m, len(KITE)) == (5, 4, 5)
    assert (KITE.number_of_nodes(), KITE.number_of_edges()) == (5, 4)
    assert KITE.degrees.tolist() == [2, 2, 3, 1, 0]


def test_neighbours_are_sorted_rows() -> None:
    starts, targets = KITE.neighbours
    rows = [targets[a:b].tolist() for a, b in pairwise(starts)]
    assert rows == [[1, 2], [0, 2], [0, 1, 3], [2], []]


def test_edges_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        KITE.edges[0, 0] = 3


def test_edges_are_not_printed() -> None:
    assert "edges" not in repr(KITE)


@pytest.mark.parametrize("rows", [[(1, 0)], [(1, 1)]])
def test_rows_must_go_upward(rows: list[tuple[int, int]]) -> None:
    with pytest.raises(BadGraph, match="u < v"):
        graph("ab", *rows)


@pytest.mark.parametrize("rows", [[(0, 2)], [(-1, 1)]])
def test_rows_must_name_nodes(rows: list[tuple[int, int]]) -> None:
    with pytest.raises(BadGraph, match=r"outside 0\.\.1"):
        graph("ab", *rows)


def test_rows_must_be_pairs() -> None:
    with pytest.raises(BadGraph, match=r"\(m, 2\)"):
        Graph("abc", np.zeros((1, 3), dtype=np.int32))


def test_induced_keeps_names_and_order() -> None:
    part = KITE.induced([3, 2, 0])
    assert list(part.names) == ["d", "c", "a"]
    assert part.edges.tolist() == [[0, 1], [1, 2]]
    assert part.source == "3 nodes of a graph"


def test_highest_degree_breaks_ties_by_position() -> None:
    assert list(KITE.highest_degree(2).names) == ["a", "c"]
    assert KITE.highest_degree(3).m == 3


def test_no_edges() -> None:
    empty = graph("ab")
    assert empty.degrees.tolist() == [0, 0]
    assert empty.neighbours[1].size == 0
