"""One door for every graph: what it accepts, what it says, what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.readers import read_graph

PATH = [(0, 1), (1, 2), (2, 3)]


def test_the_same_graph_through_every_door(tmp_path: Path) -> None:
    igraph, sparse = pytest.importorskip("igraph"), pytest.importorskip("scipy.sparse")
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    file = tmp_path / "edges.txt"
    file.write_text("2 3\n0 1\n1 2\n", encoding="utf-8")
    left, right = [2, 0, 1], [3, 1, 2]
    doors = {
        "edges.txt": file,
        "a NetworkX graph": nx.Graph(PATH[::-1]),
        "an igraph graph": igraph.Graph(4, PATH),
        "a sparse matrix": sparse.coo_array(nx.to_numpy_array(nx.Graph(PATH))),
        "a pandas table": pandas.DataFrame({"a": left, "b": right}),
        "an Arrow table": pyarrow.table({"a": left, "b": right}),
        "an array": np.array(PATH[::-1]),
        "a list of edges": PATH,
    }
    graphs = {name: read_graph(source) for name, source in doors.items()}
    assert {name: graph.source for name, graph in graphs.items()} == {name: name for name in doors}
    graphs["polars"] = read_graph(polars.DataFrame({"a": left, "b": right}))
    for graph in graphs.values():
        assert graph.names == range(4)
        assert graph.edges.tolist() == [list(edge) for edge in PATH]
        assert graph.edges.dtype == np.int32
        assert graph.notes == ()


def test_a_graph_is_returned_as_it_is() -> None:
    graph = read_graph(PATH)
    assert read_graph(graph) is graph


def test_a_path_may_be_text(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("0 1\n", encoding="utf-8")
    assert read_graph(str(tmp_path / "e.txt")).m == 1


def test_nodes_adds_isolated_ones_and_gives_the_order() -> None:
    assert read_graph([(0, 3)], nodes=6).names == range(6)
    assert read_graph([(0, 3)], nodes=6).notes == ()
    named = read_graph([("b", "a")], nodes=["c", "b", "a"])
    assert list(named.names) == ["c", "b", "a"]
    assert named.edges.tolist() == [[1, 2]]
    assert read_graph(named, nodes=["a", "b", "c", "d"]).edges.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("nodes", "hint"),
    [
        (2, "cannot be found in `nodes`"),
        ([0, 3, 3], "twice"),
        (1, "at least two"),
        ("abc", "list of their names"),
    ],
)
def test_nodes_that_do_not_fit_are_refused(nodes: object, hint: str) -> None:
    with pytest.raises(BadGraph, match=hint):
        read_graph([(0, 3)], nodes=nodes)  # type: ignore[arg-type]


@pytest.mark.parametrize("source", [None, 7, b"0 1", {0: 1}, object()])
def test_other_things_are_refused(source: object) -> None:
    with pytest.raises(BadGraph, match="cannot be read as a graph"):
        read_graph(source)


def test_no_optional_library_is_imported() -> None:
    program = (
        "import sys; from visibility_aware_edge_ldp.truth.readers import read_graph; read_graph([(0, 1)]);"
        "print(sorted({'pandas', 'pyarrow', 'polars', 'igraph', 'scipy', 'networkx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
