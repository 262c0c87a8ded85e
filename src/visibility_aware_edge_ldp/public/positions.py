"""The canonical order of positions: {u, v} with u < v, row by row.

Position (u, v) of n nodes has the number u(2n − u − 1)/2 + (v − u − 1). Reports speak of ranges of
these numbers, so nobody needs to send node names.
"""

import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation

Ints = npt.NDArray[np.int64]
Row = TypeVar("Row", int, Ints)
# Positions are worked on in runs of this many, a multiple of 8 so that packed runs join.
TILE = 1 << 19


def position_count(n: int) -> int:
    """N = n(n − 1)/2."""
    return n * (n - 1) // 2


def numbers(n: int, u: npt.ArrayLike, v: npt.ArrayLike) -> Ints:
    """The numbers of the positions (u, v), u < v."""
    first, second = np.asarray(u, dtype=np.int64), np.asarray(v, dtype=np.int64)
    return row_start(n, first) + (second - first - 1)


def row_start(n: int, u: Row) -> Row:
    """The number of (u, u + 1): where row u begins; for u = n − 1, where everything ends."""
    return u * (2 * n - u - 1) // 2


def row_of(n: int, number: int) -> int:
    """The row u that holds a position's number."""
    if not 0 <= number < position_count(n):
        raise ProtocolViolation(f"{n} nodes have positions 0 to {position_count(n) - 1}; there is no {number}.")
    # Invert the quadratic in exact integers: float square roots go wrong for large n.
    root = math.isqrt((2 * n - 1) ** 2 - 8 * number)
    u = (2 * n - 1 - root) // 2
    while row_start(n, u + 1) <= number:
        u += 1
    while row_start(n, u) > number:
        u -= 1
    return u


def ends_of(n: int, places: Ints) -> tuple[Ints, Ints]:
    """The ends (u, v) of positions with these numbers, in order."""
    if not places.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.arange(row_of(n, int(places[0])), row_of(n, int(places[-1])) + 2, dtype=np.int64)
    begins = row_start(n, rows)
    counts = np.diff(np.searchsorted(places, begins))
    u = np.repeat(rows[:-1], counts)
    return u, places - np.repeat(begins[:-1], counts) + u + 1


def endpoints(n: int, start: int, count: int) -> tuple[Ints, Ints]:
    """The ends (u, v) of the positions numbered start … start + count − 1."""
    return ends_of(n, np.arange(start, start + count, dtype=np.int64))
