"""Graph files that are not edge lists: GraphML, GML, Pajek, Parquet, Feather; and files that are refused by name.

A file is known by its first bytes, not by its name.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.errors import BadGraph, MissingPart

_SEEN = 4096
_REFUSED = (
    (b"PK\x03\x04", "an Excel workbook or a ZIP archive", "Save the sheet as CSV, or unpack the archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Save the sheet as CSV"),
    (b"$FL2", "an SPSS file", "Export it as CSV"),
    (b"RDX", "an R workspace", "Write the edges with write.csv"),
    (b"{", "a JSON file", "Write its edges as CSV, two names on a line, or read it with NetworkX and pass the graph"),
    (b"[{", "a JSON file", "Write its edges as CSV, two names on a line"),
    (b"[[", "a JSON file", "Write its edges as CSV, two names on a line"),
    (b"<gexf", "a GEXF file", "Save it as GraphML"),
)


def other_format(data: bytes, source: str) -> Callable[[], Any] | None:
    """What reads a file's bytes into a NetworkX graph or an Arrow table, or None for an edge list as text.

    Parameters
    ----------
    data
        The file's bytes, unpacked.
    source
        The file's name, for sentences.
    """
    head = data[:_SEEN].lstrip()
    lower = head.lower()
    if data[:4] == b"PAR1" or data[:6] == b"ARROW1":
        return lambda: _table(data, source)
    for name, fits, read in (
        ("GraphML", b"<graphml" in lower, "read_graphml"),
        ("Pajek", lower.startswith((b"*vertices", b"*network")), "read_pajek"),
        ("GML", lower.startswith((b"graph [", b"graph[", b"graph\n", b"creator ")) and b"[" in head, "read_gml"),
    ):
        if fits:
            return lambda name=name, read=read: _graph(data, source, name, read)  # type: ignore[misc]
    body = head[head.find(b"?>") + 2 :].lstrip() if head.startswith(b"<?xml") else head
    for mark, what, instead in _REFUSED:
        if body.startswith(mark):
            raise BadGraph(f"{source} is {what}, which is not read here. {instead}.")
    return None


def _graph(data: bytes, source: str, name: str, read: str) -> Any:
    """A NetworkX graph from a file in one of NetworkX's formats."""
    try:
        import networkx
    except ImportError:
        raise MissingPart("networkx", "graph", f"Reading {name}") from None
    try:
        if read == "read_gml":
            return _gml(networkx, data)
        graph = getattr(networkx, read)(io.BytesIO(data))
    except Exception as reason:  # parsers of three formats, each with errors of its own
        said = str(reason).strip().splitlines() or [type(reason).__name__]
        raise BadGraph(f"{source} looks like {name} but cannot be read: {said[0]}. Save it again, or as CSV.") from None
    declared = re.match(rb"\s*\*vertices\s+(\d+)", data[data.lower().find(b"*vertices") :], re.IGNORECASE)
    if name == "Pajek" and declared and int(declared[1]) > len(graph):
        raise BadGraph(
            f"{source} has {int(declared[1]):,} vertices but only {len(graph):,} different labels. Make labels unique, "
            "or two people would become one."
        )
    return graph


def _gml(networkx: Any, data: bytes) -> Any:
    """Nodes by their labels where these tell all nodes apart, else by their numbers."""
    try:
        return networkx.read_gml(io.BytesIO(data), label="label")
    except networkx.NetworkXError:
        return networkx.read_gml(io.BytesIO(data), label="id")


def _table(data: bytes, source: str) -> Any:
    """An Arrow table from a Parquet or Feather file."""
    try:
        import pyarrow
        from pyarrow import feather, parquet
    except ImportError:
        raise MissingPart("pyarrow", "graph", f"Reading {Path(source).suffix or 'such a file'}") from None
    try:
        stream = pyarrow.BufferReader(data)
        return parquet.read_table(stream) if data[:4] == b"PAR1" else feather.read_table(stream)
    except pyarrow.ArrowException as reason:
        raise BadGraph(f"{source} is damaged or cut off: {str(reason).splitlines()[0]}. Write it again.") from None
