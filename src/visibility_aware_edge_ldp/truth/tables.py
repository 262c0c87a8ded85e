"""Tables with two columns of names: pandas, polars, Arrow, or two sequences."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadGraph, MissingPart
from visibility_aware_edge_ldp.truth.header import TableOptions, choose_columns
from visibility_aware_edge_ldp.truth.listing import Integers, Listing, from_integers, from_names
from visibility_aware_edge_ldp.truth.matrix_file import read_matrix

Column = npt.NDArray[Any] | list[Any]


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


def near_duplicates(names: Sequence[Hashable]) -> tuple[str, ...]:
    """A note where names differ only in capitals or blanks, and so may be one person twice; else nothing."""
    if isinstance(names, range):
        return ()
    first: dict[str, str] = {}
    alike = []
    for name in names:
        if isinstance(name, str):
            known = first.setdefault(" ".join(name.casefold().split()), name)
            if known != name:
                alike.append((known, name))
    if not alike:
        return ()
    more = f" and {len(alike) - 1:,} more" if len(alike) > 1 else ""
    return (
        f"names that differ only in capitals or blanks are different people here: {alike[0][0]!r} and "
        f"{alike[0][1]!r}{more}",
    )
