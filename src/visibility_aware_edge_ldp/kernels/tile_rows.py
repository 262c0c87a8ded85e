"""A row of tiles from the flat bits of positions, and the ones in it: what writing tiles to a file takes.

The row of side i holds the bits (u, v), v > u, of the nodes u in its 512 slots, each v in its own slot. Nodes stand in
their slots in order, in *runs* of consecutive nodes in consecutive slots: an array with the first node, the node after
the last, and the first slot of each. The compiled twins in ``tile_rows_compiled`` give the same integers.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import bitset, choice
from visibility_aware_edge_ldp.kernels.bitset import Words, pack_rows, unpack_rows
from visibility_aware_edge_ldp.kernels.tiles import SIDE, WORDS, Ints

Octets = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int32]


def fastest() -> ModuleType:
    """The compiled kernels where numba is installed, these elsewhere."""
    if choice.kernels() is bitset:
        from visibility_aware_edge_ldp.kernels import tile_rows

        return tile_rows
    from visibility_aware_edge_ldp.kernels import tile_rows_compiled

    return tile_rows_compiled


def tile_row(flat: Octets, place: int, nodes: tuple[int, int], n: int, runs: Ints, sides: int) -> Words:
    """The 512 rows, of ``sides`` · 8 words, of some nodes, whose first position is bit number ``place``."""
    result = np.zeros((SIDE, sides * WORDS), np.uint64)
    for row, u in enumerate(range(*nodes)):
        length = n - 1 - u
        octets = np.unpackbits(flat[place >> 3 : (place + length + 7) >> 3], bitorder="little")
        bits, slots = octets[place & 7 :][:length], np.zeros((1, sides * SIDE), np.bool_)
        for first, last, slot in runs.tolist():
            begin = max(first, u + 1)
            if begin < last:
                slots[0, slot + begin - first : slot + last - first] = bits[begin - u - 1 : last - u - 1]
        result[row] = pack_rows(slots, sides * SIDE)
        place += length
    return result


def column_ones(rows: Words) -> Counts:
    """How many of the 512 rows hold a one in each column."""
    sums = [
        unpack_rows(rows[:, w : w + WORDS], SIDE).sum(axis=0, dtype=np.int32) for w in range(0, rows.shape[1], WORDS)
    ]
    return np.concatenate(sums)


def row_ones(rows: Words) -> Counts:
    """How many ones each row has in each tile."""
    ones: Counts = np.bitwise_count(rows).reshape(len(rows), -1, WORDS).sum(axis=2, dtype=np.int32)
    return ones
