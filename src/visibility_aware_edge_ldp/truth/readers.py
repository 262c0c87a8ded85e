"""One door for every graph: a file, or whatever object already holds the edges."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth import foreign
from visibility_aware_edge_ldp.truth.edge_list import read_edge_list
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.listing import Listing


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
    return lambda source: foreign.made_by(source, library) and hasattr(source, attribute)


def _is_list(source: Any) -> bool:
    return isinstance(source, Iterable) and not isinstance(source, bytes | bytearray | dict)


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Listing], str], ...] = (
    (_by("networkx", "edges"), foreign.from_networkx, "a NetworkX graph"),
    (_by("igraph", "get_edgelist"), foreign.from_igraph, "an igraph graph"),
    (_by("scipy", "tocoo"), foreign.from_sparse, "a sparse matrix"),
    (_by("pandas", "iloc"), foreign.from_pandas, "a pandas table"),
    (foreign.is_arrow, foreign.from_arrow, "an Arrow table"),
    (lambda source: isinstance(source, np.ndarray), foreign.from_array, "an array"),
    (_is_list, foreign.from_pairs, "a list of edges"),
)
