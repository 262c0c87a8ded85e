"""What rows of a plane in strips have in common, and a plane times numbers; has twins in ``shared_compiled``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels.bitset import Words, unpack_rows
from visibility_aware_edge_ldp.kernels.tiles import SIDE, Ints

Counts = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float32]


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
    for side, strip in enumerate(plane):
        bits = unpack_rows(strip[first:last], SIDE).astype(np.float32)
        total += bits @ numbers[side * SIDE : (side + 1) * SIDE]
    return total
