"""Adjacency matrices as text: read as such, or refused, never as a list of edges."""

from __future__ import annotations

from pathlib import Path

import pytest

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.formats import MATRIX, read_matrix
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

PATH = [[0, 1], [1, 2]]


def read(folder: Path, text: str, **options: object) -> Graph:
    file = folder / "matrix.csv"
    file.write_text(text)
    return read_graph(file, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "0 1 0\n1 0 1\n0 1 0\n",
        "0,1,0\n1,0,1\n0,1,0\n",
        "0,1,0\n0,0,1\n0,0,0\n",
        "ann,bob,cem\n0,1,0\n1,0,1\n0,1,0\n",
        ",ann,bob,cem\nann,0,1,0\nbob,1,0,1\ncem,0,1,0\n",
        "name,ann,bob,cem\nann,0,1,0\nbob,1,0,1\ncem,0,1,0\n",
        "ann bob cem\nann 0 1 0\nbob 1 0 1\ncem 0 1 0\n",
        ",0,1,2\n0,0,1,0\n1,1,0,1\n2,0,1,0\n",
    ],
)
def test_matrices_are_recognised(tmp_path: Path, text: str) -> None:
    graph = read(tmp_path, text)
    assert graph.edges.tolist() == PATH
    assert list(graph.names) in (["ann", "bob", "cem"], [0, 1, 2])
    assert graph.notes[0] == MATRIX


def test_weights_are_said_to_be_ignored(tmp_path: Path) -> None:
    graph = read(tmp_path, "0 2.5 0\n2.5 0 1\n0 1 0\n")
    assert graph.edges.tolist() == PATH
    assert "the matrix's values were ignored" in graph.notes


def test_isolated_people_stay(tmp_path: Path) -> None:
    graph = read(tmp_path, ",ann,bob,cem\nann,0,1,0\nbob,1,0,0\ncem,0,0,0\n")
    assert (graph.n, graph.m) == (3, 1)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("0 1 0 1\n1 0 0 1\n1 1 0 0\n", "zeros and ones with 3 rows and 4 columns"),
        ("0 3 5 2\n1 0 7 2\n4 9 0 2\n6 2 8 0\n", "may be an adjacency matrix that is not symmetric"),
    ],
)
def test_what_is_no_square_matrix_is_refused(tmp_path: Path, text: str, hint: str) -> None:
    with pytest.raises(BadGraph, match=hint):
        read(tmp_path, text)


def test_weighted_edges_are_still_edges(tmp_path: Path) -> None:
    assert read(tmp_path, "0 1 5\n1 2 3\n2 0 4\n").m == 3
    assert read(tmp_path, "0 3 5 2\n1 0 7 2\n4 9 0 2\n6 2 8 0\n", columns="1,2").m == 4
    assert read_matrix([["0", "1", "5"], ["1", "2", "3"], ["2", "0", "4"]], "x") is None


@pytest.mark.parametrize(
    "text", ["ann bob cem\nbob cem\ncem ann dua eve\n", "0 1 2\n1 0\n2 0 1\n", "ann,bob,cem\nbob,cem,ann\n"]
)
def test_a_person_and_all_friends_on_a_line_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadGraph, match="a person and all friends on each line"):
        read(tmp_path, text)
