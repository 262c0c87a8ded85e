"""One door for every graph: a file, or whatever object already holds the edges."""

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth import formats
from visibility_aware_edge_ldp.truth.edge_list import read_edge_list
from visibility_aware_edge_ldp.truth.ego_survey import EgoSurvey
from visibility_aware_edge_ldp.truth.formats import other_format
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.header import TableOptions
from visibility_aware_edge_ldp.truth.listing import Listing, check_size, near_duplicates, people_and_places, sort_nodes
from visibility_aware_edge_ldp.truth.text_file import load_bytes


def read_graph(
    source: Any,
    *,
    nodes: int | Iterable[Hashable] | None = None,
    columns: tuple[str | int, str | int] | str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    bipartite: bool = False,
) -> Graph:
    """Read a simple undirected graph.

    Self-loops are left out, duplicates and opposite directions are merged, and ``Graph.notes``
    says how many there were. The same graph is the same value whichever way it comes in.
    With ``bipartite``, a row is a person and a place that may have the same name, and neither is exchanged.

    Parameters
    ----------
    source
        A path to an edge list or an adjacency matrix (text, plain or gzipped), to a GraphML, GML, Pajek, Parquet or
        Feather file; a NetworkX or igraph graph, a square ``scipy.sparse`` matrix, an (m, 2) array, a list of pairs,
        a pandas, polars or Arrow table with two columns, an `EgoSurvey`, or a `Graph`.
    nodes
        The nodes, where the edges do not name them all: their names, or a number n for the names
        0..n-1. Without it, the nodes are those that the source names.
    columns
        The two columns of a table that hold an edge, by their names or by their numbers from 1.
    header
        Whether the first line of a text file is a header. Without it, it is compared with the lines below, and the
        file is refused where nothing tells.
    delimiter
        What separates the columns of a text file. Without it: comma, semicolon, tab or white space.
    bipartite
        Whether every edge joins a person, in the left column, to a place, in the right one; of a NetworkX graph, a
        node with ``bipartite=0`` to one with ``bipartite=1``. ``nodes`` are then two: (people, places).

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
    options = TableOptions(columns, header, delimiter)  # type: ignore[arg-type]
    source = source.graph if isinstance(source, EgoSurvey) else source
    if isinstance(source, Graph):
        if (bipartite and source.people is None) or (source.people is not None and nodes is not None):
            raise BadGraph("A graph that was read does not become one of people and places; read its source again.")
        return source if nodes is None else _listing_of(source).among(nodes).graph(source.source)
    listing, name = _read(source, options, bipartite)
    if bipartite:
        listing, nodes = people_and_places(listing, nodes), None
    listing = replace(listing, notes=(*listing.notes, *near_duplicates(listing.names)))
    return (listing if nodes is None else listing.among(nodes)).graph(name)


def _listing_of(graph: Graph) -> Listing:
    return Listing(graph.names, graph.edges, graph.notes)


def _read(source: Any, options: TableOptions, bipartite: bool) -> tuple[Listing, str]:
    if isinstance(source, str | os.PathLike):
        path = Path(source).expanduser()
        raw = load_bytes(path, BadGraph)
        read = other_format(raw.data, path.name)
        if read is not None:
            return _listed(read(), options, bipartite)[0], path.name
        return read_edge_list(raw, path, options), path.name
    return _listed(source, options, bipartite)


def _listed(source: Any, options: TableOptions, bipartite: bool) -> tuple[Listing, str]:
    """The edges that an object holds, and what kind of object it is."""
    if options.header is not None or options.delimiter is not None:
        raise BadGraph("A header and a delimiter belong to text files; leave them out here.")
    for fits, reader, name in _READERS:
        if fits(source):
            if bipartite and name in _WITHOUT_COLUMNS:
                raise BadGraph(f"People and places cannot be read from {name}; give two columns: a person and a place.")
            if bipartite and name == _NETWORKX:
                return from_bipartite_networkx(source), name
            return reader(source, options), name
    raise BadGraph(
        f"A {type(source).__name__} cannot be read as a graph. Give a path, a NetworkX or igraph graph, "
        "a scipy.sparse matrix, an (m, 2) array, a list of pairs or a table with two columns."
    )


def _by(library: str, attribute: str) -> Callable[[Any], bool]:
    return lambda source: formats.made_by(source, library) and hasattr(source, attribute)


def _is_list(source: Any) -> bool:
    return isinstance(source, Iterable) and not isinstance(source, bytes | bytearray | dict)


def from_networkx(graph: Any) -> Listing:
    """Any NetworkX graph, isolated nodes and the names of all nodes kept."""
    names = list(graph.nodes())
    place = {name: i for i, name in enumerate(names)}
    ends = chain.from_iterable(graph.edges())
    pairs = np.fromiter(map(place.__getitem__, ends), np.int64).reshape(-1, 2)
    return sort_nodes(Listing(names, pairs, kind="arcs" if graph.is_directed() else "list"))


def from_bipartite_networkx(graph: Any) -> Listing:
    """A NetworkX graph whose nodes say by ``bipartite`` 0 or 1 whether they are people or places."""
    side = {node: str(each) for node, each in graph.nodes(data="bipartite")}
    if not {*side.values()} <= {"0", "1"}:
        raise BadGraph("Every node of a bipartite NetworkX graph needs bipartite=0 (a person) or 1 (a place).")
    if any(side[u] == side[v] for u, v in graph.edges()):
        raise BadGraph("An edge joins two people, or two places; correct the nodes' attribute bipartite.")
    ordered = sort_nodes(Listing(list(side), np.zeros((0, 2), np.int64))).names
    names = sorted(ordered, key=lambda name: side[name])  # of one side in the order in which they were
    place = {name: i for i, name in enumerate(names)}
    ends = chain.from_iterable(graph.edges())
    pairs = np.fromiter(map(place.__getitem__, ends), np.int64).reshape(-1, 2)
    return Listing(names, np.sort(pairs, axis=1), people=list(side.values()).count("0"))


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
    if len(set(names)) == n and not any(map(formats.is_missing, names)):
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
    return formats.from_columns(array[:, 0], array[:, 1])


def from_pairs(pairs: Iterable[Any]) -> Listing:
    """Any iterable of pairs of names."""
    rows = [tuple(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else (pair,) for pair in pairs]
    wrong = next((i for i, row in enumerate(rows) if len(row) != 2), None)
    if wrong is not None:
        raise BadGraph(f"Item {wrong} of the list is not a pair of nodes: {rows[wrong]!r}. Give pairs (u, v).")
    return formats.from_columns([row[0] for row in rows], [row[1] for row in rows])


def _without_columns(read: Callable[[Any], Listing]) -> Callable[[Any, TableOptions], Listing]:
    """A reader of things that have no columns to choose from."""

    def reader(source: Any, options: TableOptions) -> Listing:
        if options.columns:
            raise BadGraph("Columns can be chosen of a table or a text file; leave them out here.")
        return read(source)

    return reader


_NETWORKX = "a NetworkX graph"
_WITHOUT_COLUMNS = ("an igraph graph", "a sparse matrix")
_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, TableOptions], Listing], str], ...] = (
    (_by("networkx", "edges"), _without_columns(from_networkx), _NETWORKX),
    (_by("igraph", "get_edgelist"), _without_columns(from_igraph), _WITHOUT_COLUMNS[0]),
    (_by("scipy", "tocoo"), _without_columns(from_sparse), _WITHOUT_COLUMNS[1]),
    (_by("pandas", "iloc"), formats.from_pandas, "a pandas table"),
    (_by("polars", "lazy"), formats.from_polars, "a polars table"),
    (formats.is_arrow, formats.from_arrow, "an Arrow table"),
    (lambda source: isinstance(source, np.ndarray), _without_columns(from_array), "an array"),
    (_is_list, _without_columns(from_pairs), "a list of edges"),
)
