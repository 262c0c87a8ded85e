"""Graphs held by other libraries."""

from __future__ import annotations

import builtins

import networkx as nx
import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadGraph, MissingPart, TooLarge
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

GAPS = "node ids are not 0..n-1; the {} ids that occur are the nodes"
MISSING = "name is missing"


def named(graph: Graph) -> list[list[object]]:
    return [[graph.names[u], graph.names[v]] for u, v in graph.edges.tolist()]


# ── NetworkX ──


def test_networkx_keeps_names_and_isolated_nodes() -> None:
    source = nx.Graph([("b", "a")])
    source.add_node("z")
    graph = read_graph(source)
    assert list(graph.names) == ["a", "b", "z"]
    assert (named(graph), graph.notes) == ([["a", "b"]], ())


def test_networkx_directed_and_multigraphs() -> None:
    directed = read_graph(nx.DiGraph([(0, 1), (1, 0), (1, 2)]))
    assert directed.edges.tolist() == [[0, 1], [1, 2]]
    assert directed.notes == (
        "the graph is directed: its 3 arcs became 2 undirected edges, 1 of them listed in both directions",
    )
    multiple = read_graph(nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 2)]))
    assert multiple.edges.tolist() == [[0, 1], [1, 2]]
    assert multiple.notes == ("1 self-loop was left out", "1 duplicate edge was merged")


def test_networkx_names_of_any_kind() -> None:
    assert read_graph(nx.grid_graph([2, 2])).names == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert read_graph(nx.Graph([(5, 7)])).notes == (GAPS.format(2),)
    assert set(read_graph(nx.Graph([("a", 1)])).names) == {"a", 1}


def test_networkx_sizes() -> None:
    assert read_graph(nx.empty_graph(2)).m == 0
    for n in [0, 1]:
        with pytest.raises(BadGraph, match="at least two nodes is needed"):
            read_graph(nx.empty_graph(n))


# ── igraph ──


def test_igraph() -> None:
    igraph = pytest.importorskip("igraph")
    assert read_graph(igraph.Graph(4, [(0, 1)])).names == range(4)
    names = igraph.Graph(3, [(0, 1), (1, 2)], vertex_attrs={"name": ["c", "a", "b"]})
    assert named(read_graph(names)) == [["a", "b"], ["a", "c"]]
    assert "directed" in read_graph(igraph.Graph(2, [(0, 1)], directed=True)).notes[0]
    same = read_graph(igraph.Graph(2, [(0, 1)], vertex_attrs={"name": ["a", "a"]}))
    assert same.names == range(2)
    assert "does not tell all vertices apart" in same.notes[0]
    with pytest.raises(BadGraph, match="at least two nodes is needed"):
        read_graph(igraph.Graph(1))


# ── SciPy ──


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_formats(form: str, kind: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    dense = nx.to_numpy_array(nx.path_graph(4))
    graph = read_graph(getattr(sparse, f"{form}_{kind}")(dense))
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert graph.notes == ()


def test_sparse_entries() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    weights = np.array([[9, 2, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    graph = read_graph(sparse.csr_array(weights))
    assert (graph.n, graph.edges.tolist()) == (4, [[0, 1], [1, 2]])
    assert graph.notes == (
        "the matrix's values were ignored; every entry that is not zero is an edge",
        "1 self-loop was left out",
        "the matrix is not symmetric: 1 edge stored in one direction only, read as undirected",
    )
    stored_zero = sparse.coo_array(([1, 0], ([0, 1], [1, 2])), shape=(3, 3))
    assert read_graph(stored_zero).edges.tolist() == [[0, 1]]


def test_sparse_shapes() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(BadGraph, match="must be square"):
        read_graph(sparse.coo_array((3, 4)))
    with pytest.raises(TooLarge, match="3,000,000,000 nodes"):
        read_graph(sparse.coo_array((3_000_000_000, 3_000_000_000)))


# ── arrays and lists ──


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "float64", "object"])
def test_arrays_of_numbers(dtype: str) -> None:
    graph = read_graph(np.array([[2, 5], [5, 9]], dtype=dtype))
    assert graph.names == [2, 5, 9]
    assert all(type(name) is int for name in graph.names)
    assert graph.notes == (GAPS.format(3),)


def test_arrays_of_text_stay_text() -> None:
    for dtype in ["U", object]:
        assert named(read_graph(np.array([["b", "a"], ["10", "9"]], dtype=dtype))) == [
            ["10", "9"],
            ["a", "b"],
        ]


def test_numbers_beyond_64_bits() -> None:
    assert read_graph(np.array([[2**64 - 1, 1]], dtype=np.uint64)).names == [1, 2**64 - 1]
    assert read_graph([(10**30, 1)]).names == [1, 10**30]


def test_lists_of_pairs() -> None:
    assert named(read_graph([("a", 1), ("a", 2)])) == [["a", 1], ["a", 2]]
    assert read_graph(iter([(0, 1), [1, 2]])).m == 2
    assert read_graph({(0, 1), (1, 0)}).notes == ("1 edge was listed in both directions and merged",)


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ([(0, 1), (2,)], "Item 1 of the list is not a pair"),
        ([(0, 1, 2)], "Item 0 "),
        (["ab"], "Item 0 "),
        ([3], "Item 0 "),
        ([], "at least two nodes is needed"),
        ([(0, None)], MISSING),
        ([("a", float("nan"))], MISSING),
        ([([], 1)], "cannot be used as a key"),
        (np.zeros((3, 3), dtype=int), r"\(m, 2\)"),
        (np.zeros((2, 2), dtype=bool), r"\(m, 2\)"),
        (np.zeros((0, 2), dtype=int), "at least two nodes is needed"),
        (np.array([[0, np.nan]]), MISSING),
        (np.array([[0, 0.5]]), "not whole numbers"),
        (np.array([["a", None]], dtype=object), MISSING),
    ],
)
def test_arrays_and_lists_that_are_refused(source: object, hint: str) -> None:
    with pytest.raises(BadGraph, match=hint):
        read_graph(source)


# ── tables ──

LIBRARIES = ["pandas", "polars", "pyarrow"]


def table(library: str, columns: dict[str, list[object]]) -> object:
    made = pytest.importorskip(library)
    return made.table(columns) if library == "pyarrow" else made.DataFrame(columns)


@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_of_names(library: str) -> None:
    graph = read_graph(table(library, {"x": ["b", "c"], "y": ["a", "b"]}))
    assert named(graph) == [["a", "b"], ["b", "c"]]
    assert graph.notes == ()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("pair", [("source", "target"), ("SRC", "Dst"), ("From", "To"), ("u", "v")])
def test_columns_are_chosen_by_name(library: str, pair: tuple[str, str]) -> None:
    graph = read_graph(table(library, {"id": [7, 8], pair[1]: [1, 2], pair[0]: [0, 1]}))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.notes == (f"the table has 3 columns; '{pair[0]}' and '{pair[1]}' were read as the edges",)


@pytest.mark.parametrize("library", LIBRARIES)
def test_else_the_first_two_columns(library: str) -> None:
    graph = read_graph(table(library, {"p": [0, 1], "q": [1, 2], "weight": [5, 5]}))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.notes == ("the table has 3 columns; 'p' and 'q' were read as the edges",)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("hole", [[1, None], ["a", None], [1.0, float("nan")]])
def test_missing_names_are_refused(library: str, hole: list[object]) -> None:
    with pytest.raises(BadGraph, match=MISSING):
        read_graph(table(library, {"x": hole, "y": [3, 4]}))


@pytest.mark.parametrize("library", LIBRARIES)
def test_one_column_is_refused(library: str) -> None:
    with pytest.raises(BadGraph, match="two columns"):
        read_graph(table(library, {"x": [1, 2]}))


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_empty_table_is_refused(library: str) -> None:
    with pytest.raises(BadGraph, match="at least two nodes is needed"):
        read_graph(table(library, {"x": [], "y": []}))


def test_special_columns() -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"x": pandas.array([0, 1], dtype="Int64"), "y": pandas.array([1, 2], dtype="Int64")})
    assert read_graph(frame).names == range(3)
    category = pandas.DataFrame({"x": ["a", "b"], "y": ["b", "c"]}).astype("category")
    assert named(read_graph(category)) == [["a", "b"], ["b", "c"]]
    encoded = pyarrow.table({"x": pyarrow.array(["a", "b"]).dictionary_encode(), "y": ["b", "c"]})
    assert named(read_graph(encoded)) == [["a", "b"], ["b", "c"]]
    batch = pyarrow.record_batch({"x": [0], "y": [1]})
    assert read_graph(batch).m == 1


def test_an_arrow_table_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        def __arrow_c_stream__(self) -> None:
            raise AssertionError

    real = builtins.__import__

    def refuse(name: str, *rest: object) -> object:
        if name == "pyarrow":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingPart, match="needs pyarrow"):
        read_graph(Stream())
