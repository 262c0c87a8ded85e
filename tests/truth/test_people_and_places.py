"""Reading people and places: two columns, a NetworkX graph that says which side a node is on, and what is refused."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.graph import Graph

VISITS = [("ann", "cinema"), ("bob", "cinema"), ("bob", "zoo"), ("ann", "cinema")]


def named(graph: Graph) -> set[tuple[object, object]]:
    return {(graph.names[u], graph.names[v]) for u, v in graph.edges.tolist()}


def test_left_are_people_and_right_are_places(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("person,place\n" + "".join(f"{a},{b}\n" for a, b in VISITS))
    for source in (path, VISITS, np.array(VISITS)):
        graph = va.read_graph(source, bipartite=True)
        assert (list(graph.names), graph.people) == (["ann", "bob", "cinema", "zoo"], 2)
        assert named(graph) == {*VISITS}
        assert "1 duplicate edge was merged" in graph.notes
    assert repr(graph) == "<Graph: 2 people, 2 places, from an array>"


def test_a_name_on_both_sides_is_a_person_and_a_place() -> None:
    graph = va.read_graph([(1, 1), (2, 1), (1, 2), (1, 1)], bipartite=True)
    assert list(graph.names) == [1, 2, "place 1", "place 2"]
    assert named(graph) == {(1, "place 1"), (2, "place 1"), (1, "place 2")}  # neither a loop nor both directions
    assert graph.notes == (
        '2 names stand on both sides, so every place has "place" before its name',
        "1 duplicate edge was merged",
    )
    with pytest.raises(BadGraph, match="rename one"):
        va.read_graph([("a", "a"), ("place a", "b")], bipartite=True)


def test_people_and_places_without_an_edge_are_named_beside() -> None:
    graph = va.read_graph(VISITS, bipartite=True, nodes=(["cem", "bob", "ann"], ["zoo", "cinema", "lido"]))
    assert list(graph.names) == ["cem", "bob", "ann", "zoo", "cinema", "lido"]
    assert named(graph) == {*VISITS}
    assert va.read_graph([(0, 0)], bipartite=True, nodes=(3, 1)).size == "3 people, 1 place"
    for nodes in (7, ["ann", "bob", "cem"], (["ann"], ["cinema", "zoo"]), (0, 1)):
        with pytest.raises(BadGraph):
            va.read_graph(VISITS, bipartite=True, nodes=nodes)


def test_a_networkx_graph_says_on_which_side_a_node_is(tmp_path: Path) -> None:
    theirs = nx.Graph()
    theirs.add_nodes_from(["zoo", "cinema", "lido"], bipartite=1)
    theirs.add_nodes_from(["bob", "ann"], bipartite=0)
    theirs.add_edges_from([("zoo", "bob"), ("ann", "cinema")])
    nx.write_graphml(theirs, tmp_path / "visits.graphml")
    for source in (theirs, tmp_path / "visits.graphml"):
        graph = va.read_graph(source, bipartite=True)
        assert (list(graph.names), graph.people) == (["ann", "bob", "cinema", "lido", "zoo"], 2)
        assert named(graph) == {("ann", "cinema"), ("bob", "zoo")}
    with pytest.raises(BadGraph, match="leave `nodes` out"):
        va.read_graph(theirs, bipartite=True, nodes=(["ann"], ["zoo"]))
    theirs.add_edge("ann", "bob")
    with pytest.raises(BadGraph, match="joins two people"):
        va.read_graph(theirs, bipartite=True)
    with pytest.raises(BadGraph, match="needs bipartite=0"):
        va.read_graph(nx.path_graph(3), bipartite=True)


def test_what_has_no_two_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "matrix.txt").write_text("0 1 0 1\n1 0 1 0\n0 1 0 1\n1 0 1 0\n")
    with pytest.raises(BadGraph, match="come as two columns"):
        va.read_graph(tmp_path / "matrix.txt", bipartite=True)
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(BadGraph, match="a sparse matrix; give two columns"):
        va.read_graph(sparse.coo_array(np.eye(3)), bipartite=True)
    with pytest.raises(BadGraph, match="read its source again"):
        va.read_graph(va.read_graph(VISITS), bipartite=True)
    graph = va.read_graph(VISITS, bipartite=True)
    assert va.read_graph(graph) is graph
    with pytest.raises(BadGraph, match="joins a person to a place"):
        Graph(range(3), np.array([(0, 1)], np.int32), people=2)
    with pytest.raises(BadGraph, match="at least one of each"):
        Graph(range(3), np.zeros((0, 2), np.int32), people=3)


def test_a_part_of_it_keeps_its_sides() -> None:
    graph = va.read_graph(VISITS, bipartite=True)
    assert graph.induced([1, 2, 3]).people == 1
    assert graph.highest_degree(2).size == "1 person, 1 place"
