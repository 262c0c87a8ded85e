"""One door for every graph: a file, or whatever object already holds the edges."""

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadGraph, MissingPart
from visibility_aware_edge_ldp.truth.edge_list import edge_columns, read_edge_list
from visibility_aware_edge_ldp.truth.graph import (
    Graph,
    Integers,
    Listing,
    check_size,
    from_integers,
    from_names,
    sort_nodes,
)

Column = npt.NDArray[Any] | list[Any]


def read_graph(source: Any, *, nodes: int | Iterable[Hashable] | None = None) -> Graph:
    """Read a simple undirected graph.

    Self-loops are left out, duplicates and opposite directions are merged, and ``Graph.notes``
    says how many there were. The same graph is the same value whichever way it comes in.

    Parameters
    ----------
    source
        A path to an edge list (plain or gzipped), a NetworkX or igraph graph, a square
        ``scipy.sparse`` matrix, an (m, 2) array, a list of pairs, a pandas, polars or Arrow table
        with two columns, or a `Graph`.
    nodes
        The nodes, where the edges do not name them all: their names, or a number n for the names
        0..n-1. Without it, the nodes are those that the source names.

    Raises
    ------
    BadGraph
        When the source cannot be read as a graph of at least two nodes.
    TooLarge
        When it has more nodes than can be numbered, or does not fit into memory.
    MissingPart
        When an optional library is needed to read it.

    Examples
    --------
    >>> read_graph([("ann", "bob"), ("bob", "ann"), ("bob", "eve")]).names
    ['ann', 'bob', 'eve']
    """
    if isinstance(source, Graph):
        return source if nodes is None else _listing_of(source).among(nodes).graph(source.source)
    listing, name = _read(source)
    return (listing if nodes is None else listing.among(nodes)).graph(name)


def _listing_of(graph: Graph) -> Listing:
    return Listing(graph.names, graph.edges, graph.notes)


def _read(source: Any) -> tuple[Listing, str]:
    if isinstance(source, str | os.PathLike):
        path = Path(source).expanduser()
        return read_edge_list(path), path.name
    for fits, reader, name in _READERS:
        if fits(source):
            return reader(source), name
    raise BadGraph(
        f"A {type(source).__name__} cannot be read as a graph. Give a path, a NetworkX or igraph graph, "
        "a scipy.sparse matrix, an (m, 2) array, a list of pairs or a table with two columns."
    )


def _by(library: str, attribute: str) -> Callable[[Any], bool]:
    return lambda source: made_by(source, library) and hasattr(source, attribute)


def _is_list(source: Any) -> bool:
    return isinstance(source, Iterable) and not isinstance(source, bytes | bytearray | dict)


def made_by(thing: object, library: str) -> bool:
    """Whether a thing's type, or one that it extends, comes from this library."""
    return any(cls.__module__.partition(".")[0] == library for cls in type(thing).__mro__)


def is_arrow(thing: object) -> bool:
    """Whether a thing hands out Arrow data through the PyCapsule interface."""
    return hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "__arrow_c_array__")


def from_networkx(graph: Any) -> Listing:
    """Any NetworkX graph, isolated nodes and the names of all nodes kept."""
    names = list(graph.nodes())
    place = {name: i for i, name in enumerate(names)}
    ends = chain.from_iterable(graph.edges())
    pairs = np.fromiter(map(place.__getitem__, ends), np.int64).reshape(-1, 2)
    return sort_nodes(Listing(names, pairs, kind="arcs" if graph.is_directed() else "list"))


def from_igraph(graph: Any) -> Listing:
    """An igraph graph; names are the vertex attribute "name" where it tells all vertices apart."""
    n = check_size(graph.vcount(), "the igraph graph")
    names, notes = _igraph_names(graph, n)
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    return sort_nodes(Listing(names, pairs, notes, "arcs" if graph.is_directed() else "list"))


def _igraph_names(graph: Any, n: int) -> tuple[Sequence[Hashable], tuple[str, ...]]:
    if "name" not in graph.vs.attributes():
        return range(n), ()
    names = graph.vs["name"]
    if len(set(names)) == n and not any(map(_is_missing, names)):
        return names, ()
    return range(n), ('the vertex attribute "name" does not tell all vertices apart; their numbers are the names',)


def from_sparse(matrix: Any) -> Listing:
    """A square SciPy sparse matrix or array: an edge wherever an entry is not zero."""
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise BadGraph(f"An adjacency matrix must be square; this one has shape {matrix.shape}. Pass an n × n matrix.")
    n = check_size(matrix.shape[0], "the matrix")
    entries = matrix.tocoo(copy=True)
    entries.sum_duplicates()
    present = entries.data != 0
    weighted = bool((entries.data[present] != 1).any())
    notes = ("the matrix's values were ignored; every entry that is not zero is an edge",) if weighted else ()
    pairs = np.stack([entries.row, entries.col], axis=1)[present]
    return Listing(range(n), pairs.astype(np.int64), notes, "matrix")


def from_array(array: npt.NDArray[Any]) -> Listing:
    """An (m, 2) array of integers, text or objects."""
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind in "bcV":
        raise BadGraph(
            f"Edges must be an (m, 2) array of node names; this one is {array.dtype} of shape {array.shape}. "
            "Pass two columns, or wrap an adjacency matrix in scipy.sparse.coo_array."
        )
    return from_columns(array[:, 0], array[:, 1])


def from_pairs(pairs: Iterable[Any]) -> Listing:
    """Any iterable of pairs of names."""
    rows = [tuple(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else (pair,) for pair in pairs]
    wrong = next((i for i, row in enumerate(rows) if len(row) != 2), None)
    if wrong is not None:
        raise BadGraph(f"Item {wrong} of the list is not a pair of nodes: {rows[wrong]!r}. Give pairs (u, v).")
    return from_columns([row[0] for row in rows], [row[1] for row in rows])


def from_pandas(frame: Any) -> Listing:
    """A pandas DataFrame with two columns of names."""
    i, j, notes = _chosen([str(name) for name in frame.columns])
    left, right = frame.iloc[:, i], frame.iloc[:, j]
    if left.isna().any() or right.isna().any():
        raise BadGraph(_MISSING_NAME)
    return from_columns(left.to_numpy(), right.to_numpy(), notes)


def from_arrow(stream: Any) -> Listing:
    """Anything with the Arrow PyCapsule interface: a pyarrow Table, a polars DataFrame, …"""
    try:
        import pyarrow
    except ImportError:
        raise MissingPart("pyarrow", "graph", "Reading an Arrow table") from None
    table = pyarrow.table(stream)
    i, j, notes = _chosen(table.column_names)
    return from_columns(_arrow_column(table.column(i)), _arrow_column(table.column(j)), notes)


def _arrow_column(column: Any) -> Column:
    if column.null_count:
        raise BadGraph(_MISSING_NAME)
    values: Column = column.to_numpy() if "int" in str(column.type) else column.to_pylist()
    return values


def _chosen(header: list[str]) -> tuple[int, int, tuple[str, ...]]:
    """The two columns to read, with a note where there was a choice."""
    if len(header) < 2:
        raise BadGraph(f"A table of edges needs two columns of node names; this one has {len(header)}.")
    i, j = edge_columns(header)
    if len(header) == 2:
        return i, j, ()
    return (
        i,
        j,
        (f"the table has {len(header)} columns; {header[i]!r} and {header[j]!r} were read as the edges",),
    )


def from_columns(left: Column, right: Column, notes: tuple[str, ...] = ()) -> Listing:
    """Two columns of names, of the same length."""
    whole = _integers(left), _integers(right)
    if whole[0] is not None and whole[1] is not None:
        return from_integers(np.stack([whole[0], whole[1]], axis=1), notes)
    names = _objects(left), _objects(right)
    try:
        return from_names(*names, notes)
    except TypeError:
        raise BadGraph("A node name cannot be used as a key. Use numbers, text or tuples as names.") from None


def _integers(column: Column) -> Integers | None:
    """The column as 64-bit integers, or None where it holds something else."""
    if isinstance(column, list) and not all(type(name) is int for name in column):
        return None
    try:
        values = np.asarray(column, dtype=None if len(column) else np.int64)
    except OverflowError:
        return None
    if values.dtype.kind == "f":
        return _whole(values)
    fits = values.dtype.kind in "iu" and (values.dtype != np.uint64 or not len(values) or values.max() < 2**63)
    return values.astype(np.int64) if fits else None


def _whole(values: npt.NDArray[Any]) -> Integers:
    """Floating-point ids that are whole numbers."""
    if np.isnan(values).any():
        raise BadGraph(_MISSING_NAME)
    if not ((values == np.trunc(values)) & (np.abs(values) < 2**53)).all():
        raise BadGraph("Node ids are not whole numbers. Use integers or text as names.")
    return values.astype(np.int64)


def _objects(column: Column) -> list[Any]:
    names: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column
    if any(map(_is_missing, names)):
        raise BadGraph(_MISSING_NAME)
    return names


_MISSING_NAME = "A node name is missing (None or NaN). Remove those rows or fill the names in."


def _is_missing(name: Any) -> bool:
    return name is None or name == "" or (isinstance(name, float | np.floating) and name != name)


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Listing], str], ...] = (
    (_by("networkx", "edges"), from_networkx, "a NetworkX graph"),
    (_by("igraph", "get_edgelist"), from_igraph, "an igraph graph"),
    (_by("scipy", "tocoo"), from_sparse, "a sparse matrix"),
    (_by("pandas", "iloc"), from_pandas, "a pandas table"),
    (is_arrow, from_arrow, "an Arrow table"),
    (lambda source: isinstance(source, np.ndarray), from_array, "an array"),
    (_is_list, from_pairs, "a list of edges"),
)
