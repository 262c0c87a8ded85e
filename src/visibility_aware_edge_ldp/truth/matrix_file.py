"""Adjacency matrices as text: zeros and ones or weights, with or without names around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.header import is_word
from visibility_aware_edge_ldp.truth.listing import Listing, sort_nodes

MATRIX = "the file was read as an adjacency matrix: every entry that is not zero is an edge"
_NARROWEST = 3
Row = Sequence[str]
Numbers = npt.NDArray[np.float64]


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
