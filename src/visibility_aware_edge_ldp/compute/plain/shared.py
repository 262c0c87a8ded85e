"""What rows of a plane have in common, also with earlier users, and a plane times numbers; with compiled twins."""

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.bitset import Words, pack_rows, shared_counts, unpack_rows
from visibility_aware_edge_ldp.compute.plain.rows import Bits, rows_of
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, Ints

Counts = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float32]
# Rows of a block.
_ROWS = 64


def add_shared(
    near: Words, far: Words, slots: Ints, first_column: int, through: tuple[int, int], counts: Counts
) -> None:
    """Add, for each of these slots and each of some columns: how many slots of some sides join them.

    The slot has a one with them in the plane ``near``, and the column in the plane ``far``. ``through`` is a range of
    sides; columns are as many whole sides as there are counts, from side ``first_column`` on.
    """
    first, last = first_column * SIDE, first_column * SIDE + counts.shape[1]
    for own, strip in zip(near[through[0] : through[1]], far[through[0] : through[1]], strict=True):
        for row, total in zip(own[slots], counts, strict=True):
            total += np.bitwise_count(row & strip[first:last]).sum(axis=1, dtype=np.int32)


def times(plane: Words, numbers: Numbers, first: int, last: int) -> Numbers:
    """For the slots from ``first`` to ``last``: the sum of the rows of ``numbers`` that each has ones with."""
    total = np.zeros((last - first, numbers.shape[1]), np.float32)
    for slot, sums in zip(range(first, last), total, strict=True):
        ones = np.flatnonzero(unpack_rows(plane[:, slot], SIDE))
        if ones.size:
            # One row after the other, as the compiled twin does; a single column would be added in pairs.
            np.add.accumulate(numbers[ones], axis=0, out=(rows := np.empty((ones.size, sums.size), np.float32)))
            sums[:] = rows[-1]
    return total


def earlier_sums(panels: Words, wanted: Bits, start: int, stop: int) -> tuple[Ints, Ints]:
    """For each wanted user j from ``start`` to ``stop``: ten sums over later users k; how many earlier ones j has.

    N is how many users before j have ones with both j and k, t how many have one with k. The sums are of N, t, N², Nt
    and t², first over all k, then over those with a one with j. Zeros for users that are not wanted.
    """
    plane, n = rows_of(panels), panels.shape[1] - 1
    columns = plane.shape[1] * 64
    sums, sizes = np.zeros((stop - start, 2, 5), np.int64), np.zeros(stop - start, np.int64)
    for first in range(start, stop, _ROWS):
        rows = np.arange(first, min(first + _ROWS, stop))
        earlier = pack_rows(np.arange(columns) < rows[:, None], columns)
        words = (int(rows[-1]) + 63) // 64
        shared, early = (
            shared_counts(left[:, :words], plane[first:, :words]).astype(np.int64)
            for left in (plane[rows] & earlier, earlier)
        )
        later = (np.arange(first, n) > rows[:, None]) & wanted[rows, None]
        for side, kept in enumerate((later, later & unpack_rows(plane[rows], n, first))):
            of_two = (shared, early, shared * shared, shared * early, early * early)
            sums[rows - start, side] = np.stack([np.where(kept, each, 0).sum(axis=1) for each in of_two], axis=1)
        own = np.bitwise_count(plane[rows] & earlier).sum(axis=1, dtype=np.int64)
        sizes[rows - start] = np.where(wanted[rows], own, 0)
    return sums, sizes
