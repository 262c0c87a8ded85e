"""Graphs that do not come as an edge list: data frames, Arrow tables, adjacency matrices, and files in other formats.

A file of another format (GraphML, GML, Pajek, Parquet, Feather; some are refused by name) is known by its first bytes,
not by its name. A table has two columns of names. A matrix holds zeros and ones or weights, with or without names
around it.
"""

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadGraph, MissingPart
from visibility_aware_edge_ldp.truth.header import TableOptions, choose_columns, is_word
from visibility_aware_edge_ldp.truth.listing import Integers, Listing, from_integers, from_names, sort_nodes

Column = npt.NDArray[Any] | list[Any]
MATRIX = "the file was read as an adjacency matrix: every entry that is not zero is an edge"
_NARROWEST = 3
Row = Sequence[str]
Numbers = npt.NDArray[np.float64]
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


def made_by(thing: object, library: str) -> bool:
    """Whether a thing's type, or one that it extends, comes from this library."""
    return any(cls.__module__.partition(".")[0] == library for cls in type(thing).__mro__)


def is_arrow(thing: object) -> bool:
    """Whether a thing hands out Arrow data through the PyCapsule interface."""
    return hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "__arrow_c_array__")


def from_pandas(frame: Any, options: TableOptions) -> Listing:
    """A pandas DataFrame with two columns of names, or with the same names as rows and columns: a matrix."""
    header = [str(name) for name in frame.columns]
    if len(header) > 2 and list(frame.columns) == list(frame.index) and not options.columns:
        rows = [["", *header], *([str(name), *map(str, row)] for name, row in zip(header, frame.values, strict=True))]
        matrix = read_matrix(rows, "the table")
        if matrix is not None:
            return matrix
    i, j, notes = _chosen(header, options)
    left, right = frame.iloc[:, i], frame.iloc[:, j]
    if left.isna().any() or right.isna().any():
        raise BadGraph(_MISSING_NAME)
    return from_columns(left.to_numpy(), right.to_numpy(), notes)


def from_polars(frame: Any, options: TableOptions) -> Listing:
    """A polars DataFrame or LazyFrame with two columns of names; needs no other library."""
    table = frame.collect() if hasattr(frame, "collect") else frame
    i, j, notes = _chosen(list(table.columns), options)
    return from_columns(table.to_series(i).to_list(), table.to_series(j).to_list(), notes)


def from_arrow(stream: Any, options: TableOptions) -> Listing:
    """Anything with the Arrow PyCapsule interface, such as a pyarrow Table."""
    try:
        import pyarrow
    except ImportError:
        raise MissingPart("pyarrow", "graph", "Reading an Arrow table") from None
    table = pyarrow.table(stream)
    i, j, notes = _chosen(table.column_names, options)
    return from_columns(_arrow_column(table.column(i)), _arrow_column(table.column(j)), notes)


def _arrow_column(column: Any) -> Column:
    if column.null_count:
        raise BadGraph(_MISSING_NAME)
    values: Column = column.to_numpy() if "int" in str(column.type) else column.to_pylist()
    return values


def _chosen(header: list[str], options: TableOptions) -> tuple[int, int, tuple[str, ...]]:
    """The two columns to read, with a note where there was a choice."""
    if len(header) < 2:
        raise BadGraph(f"A table of edges needs two columns of node names; this one has {len(header)}.")
    i, j = options.named_columns(header) or choose_columns(header, "The table")
    if len(header) == 2:
        return i, j, ()
    return i, j, (f"the table has {len(header)} columns; {header[i]!r} and {header[j]!r} were read as the edges",)


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
    if any(map(is_missing, names)):
        raise BadGraph(_MISSING_NAME)
    return names


_MISSING_NAME = "A node name is missing (None or NaN). Remove those rows or fill the names in."


def is_missing(name: Any) -> bool:
    return name is None or name == "" or (isinstance(name, float | np.floating) and name != name)


def read_matrix(rows: Sequence[Row], source: str) -> Listing | None:
    """The edges of an adjacency matrix, or None where the rows are not one.

    Parameters
    ----------
    rows
        The fields of every line.
    source
        The file's name, for sentences.
    """
    labels, body = _labelled(rows)
    entries = _numbers(body)
    if entries is None or entries.shape[1] < _NARROWEST:
        return None
    n, width = entries.shape
    binary = bool(np.isin(entries, (0, 1)).all())
    if n != width:
        if binary and n >= _NARROWEST and labels is None and not is_edge_list_of_two(entries):
            raise BadGraph(
                f"{source} is a table of zeros and ones with {n:,} rows and {width:,} columns. An adjacency matrix "
                "must be square; give one, or two names on each line."
            )
        return None
    symmetric = bool((entries == entries.T).all())
    if not (labels or binary or symmetric):
        if n > _NARROWEST and not entries.diagonal().any():
            raise BadGraph(
                f"{source} may be an adjacency matrix that is not symmetric, or a list of {n} edges with weights. "
                "Say which two columns hold an edge with --columns 1,2, or put the names around the matrix."
            )
        return None
    notes = [MATRIX, *(() if binary else ("the matrix's values were ignored",))]
    return sort_nodes(Listing(labels or range(n), np.argwhere(entries != 0), tuple(notes), "matrix"))


def is_edge_list_of_two(entries: Numbers) -> bool:
    """Whether a table of zeros and ones may be edges between nodes 0 and 1, with a weight."""
    return entries.shape[1] == _NARROWEST and bool((entries[:, 0] != entries[:, 1]).all())


def _labelled(rows: Sequence[Row]) -> tuple[list[Any] | None, Sequence[Row]]:
    """The names around a matrix, if there are any, and what they stand around."""
    first, below = rows[0], rows[1:]
    names = [row[0] for row in below]
    for corner, header in (first[0], list(first[1:])), ("", list(first)):
        if is_word(corner) and header == names and len(set(names)) == len(names):
            return [_name(name) for name in names], [row[1:] for row in below]
    if len(below) == len(first) and all(map(is_word, first)) and len(set(first)) == len(first):
        return list(first), below
    return None, rows


def _name(text: str) -> Any:
    return int(text) if text.isdigit() else text


def _numbers(rows: Sequence[Row]) -> Numbers | None:
    """The rows as a rectangle of numbers, or None."""
    if len({len(row) for row in rows}) != 1:
        return None
    try:
        entries = np.array(rows, dtype=np.float64)
    except ValueError:
        return None
    return entries if entries.ndim == 2 and np.isfinite(entries).all() else None


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
