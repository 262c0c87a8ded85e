"""Square tiles of bits above the diagonal, and the triangles in every three of them.

Nodes stand in *slots*; 512 slots make a side. Tile (i, k), i ≤ k, holds the bits between the slots of sides i and k,
512 rows of eight words, and only those above the diagonal. Tiles lie strip after strip: (0, 0), (0, 1), (1, 1),
(0, 2), …, so that all that a strip k holds about the sides before it is one run of memory or of a file.

A triangle has its three slots a < b < c in three sides i ≤ j ≤ k: tile (i, j) holds ab, tile (i, k) ac, tile (j, k) bc.

Tiles are written to a file row by row. The row of side i holds the bits (u, v), v > u, of the nodes u in its 512 slots,
each v in its own slot. Nodes stand in their slots in order, in *runs* of consecutive nodes in consecutive slots: an
array with the first node, the node after the last, and the first slot of each. The compiled twins give the same
integers.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.bitset import Words, pack_rows, unpack_rows

SIDE = 512
WORDS = SIDE // 64
OCTETS = SIDE * SIDE // 8
Ints = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int32]
Shorts = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.float32]


def strip_start(k: int) -> int:
    """The number of tile (0, k); tile (i, k) follows i places later."""
    return k * (k + 1) // 2


def tiles_of(plane: Words) -> Words:
    """The (tiles, 512, 8) upper tiles of a plane in strips."""
    sides = len(plane)
    tiles = np.empty((strip_start(sides), SIDE, WORDS), np.uint64)
    for k in range(sides):
        tiles[strip_start(k) : strip_start(k + 1)] = plane[k, : (k + 1) * SIDE].reshape(-1, SIDE, WORDS)
        tiles[strip_start(k) + k] &= ABOVE
    return tiles


def arranged(plane: Words, slots: Ints, sides: int) -> Words:
    """The plane of ``sides`` · 512 slots that has node u of another plane in slot ``slots[u]``; others are empty.

    It comes in strips: (sides, slots, 8), the bits of every slot with those of each side.
    """
    return moved(plane, slots, slots, sides)


def moved(rows: Words, slots: Ints, columns: Ints, sides: int) -> Words:
    """A plane in strips from packed rows: row i goes to slot ``slots[i]``, and column j to slot ``columns[j]``."""
    result = np.zeros((sides, sides * SIDE, WORDS), np.uint64)
    for start in range(0, len(slots), SIDE):
        bits = unpack_rows(rows[start : start + SIDE], len(columns))
        wide = np.zeros((len(bits), sides * SIDE), np.bool_)
        at, column = np.nonzero(bits)
        wide[at, columns[column]] = True
        words = pack_rows(wide, sides * SIDE).reshape(-1, sides, WORDS)
        result[:, slots[start : start + SIDE]] = words.transpose(1, 0, 2)
    return result


def rows_of(plane: Words, slots: Ints) -> Words:
    """Whole rows of a plane in strips: one for each of these slots."""
    return np.ascontiguousarray(plane[:, slots].transpose(1, 0, 2)).reshape(len(slots), -1)


def listed(first: Words) -> Any:
    """What ``triangle_counts`` wants to know of the tiles (i, j), for some sides i and one side j."""
    return unpack_rows(first.reshape(-1, WORDS), SIDE)


def triangle_counts(lists: Any, second: Words, third: Words) -> Ints:
    """For each side i: the triangles of (i, j, k), given ``listed`` tiles (i, j), the tiles (i, k), and tile (j, k)."""
    masks = second.reshape(-1, WORDS)
    counts = np.zeros(len(masks), np.int64)
    for column, row in zip(lists.T, third, strict=True):
        counts[column] += np.bitwise_count(masks[column] & row).sum(axis=1, dtype=np.int64)
    totals: Ints = counts.reshape(-1, SIDE).sum(axis=1)
    return totals


ABOVE = pack_rows(np.triu(np.ones((SIDE, SIDE), np.bool_), 1), SIDE)


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


def shared_among(
    planes: Words, degrees: Ints, derived: int, others: tuple[int, ...], slots: Ints, first_column: int, counts: Shorts
) -> None:
    """(K, K, slots, columns): for planes a and b, in how many ways each slot is joined to each column through the two.

    ``degrees`` count the ones of every slot in each of the K planes; columns are as many whole sides as there are
    counts, from side ``first_column`` on. Where ``derived`` is a plane, each position is in it or in exactly one of the
    ``others``, which may be planes beyond the first K: then it need not be counted, but follows from those.
    """
    for a in range(len(counts)):
        for b in range(len(counts)):
            found = np.zeros(counts.shape[2:], np.int32)
            add_shared(planes[a], planes[b], slots, first_column, (0, planes.shape[1]), found)
            counts[a, b] = found


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
