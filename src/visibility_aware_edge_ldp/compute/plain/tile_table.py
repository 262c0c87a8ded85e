"""Planes of which only the tiles with ones are kept, as inside a scope: memory goes with what is asked, not with n².

Nodes stand in slots, and 512 slots make a side. A plane is a *table*: tile ``table[i, k]`` of an array of tiles, 512
rows of eight words each, has the bits of the slots of side i with those of side k. Tile 0 is empty, and stands for
every two sides that have no ones. Several planes share one array of tiles. The compiled twins give the same integers.
"""

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.bitset import Words, plane_of, unpack_rows

Bits = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]
SIDE = 512  # as in ``tiles``


def sides_with_ones(flat: Octets, slots: Ints, sides: int) -> Bits:
    """(sides, sides): which two sides have a one, from the flat bits of all positions; node u is in ``slots[u]``."""
    near, far = _ones(flat, slots)
    found = np.zeros((sides, sides), np.bool_)
    found[near // SIDE, far // SIDE] = True
    return found


def _ones(flat: Octets, slots: Ints) -> tuple[Ints, Ints]:
    """The two slots of each one, from both of its ends."""
    u, v = np.nonzero(unpack_rows(plane_of(flat, len(slots)), len(slots)))
    return slots[u], slots[v]


def place(flat: Octets, slots: Ints, table: Ints, tiles: Words) -> None:
    """Put the flat bits of all positions into the tiles of a table, which are empty."""
    near, far = _ones(flat, slots)
    where = table[near // SIDE, far // SIDE], near % SIDE, far % SIDE // 64
    np.bitwise_or.at(tiles, where, np.uint64(1) << (far % 64).astype(np.uint64))


def rows_in_order(table: Ints, tiles: Words, slots: Ints, sides: Ints) -> Words:
    """The words of some slots with the slots of some sides, one after the other; both twins take this."""
    found: Words = tiles[table[slots // SIDE][:, sides], (slots % SIDE)[:, None]].reshape(len(slots), -1)
    return found


def ones_within(table: Ints, tiles: Words, bounds: Ints) -> Counts:
    """(runs, slots): how many ones each slot has in every run of slots, which goes from one bound to the next."""
    last, everything = int(bounds[-1]), np.arange(len(table))
    found = np.empty((bounds.size - 1, last), np.int32)
    for start in range(0, last, SIDE):
        slots = np.arange(start, min(start + SIDE, last))
        bits = unpack_rows(rows_in_order(table, tiles, slots, everything), last)
        found[:, slots] = np.add.reduceat(bits, bounds[:-1], axis=1, dtype=np.int32).T
    return found


def closed_paths(few: Ints, near: Ints, far: Ints, tiles: Words) -> int:
    """Σ over the pairs u < v of the first plane: how many slots u has in the second and v in the third one."""
    total, everything, slots = 0, np.arange(len(few)), len(few) * SIDE
    for u in range(slots):
        own, one = (rows_in_order(table, tiles, np.array([u]), everything) for table in (few, near))
        others = np.flatnonzero(unpack_rows(own, slots)[0, u:]) + u
        if others.size:
            other = rows_in_order(far, tiles, others, everything)
            total += int(np.bitwise_count(one & other).sum(dtype=np.int64))
    return total


def add_shared(near: Ints, far: Ints, tiles: Words, slots: Ints, middles: Ints, sides: Ints, counts: Counts) -> None:
    """Add, for each of these slots and all slots of some sides: how many slots of the middle sides join them.

    The slot has a one with them in the plane ``near``, and the other slot in the plane ``far``.
    """
    own = rows_in_order(near, tiles, slots, middles)
    for place, side in enumerate(sides.tolist()):
        others = rows_in_order(far, tiles, np.arange(side * SIDE, (side + 1) * SIDE), middles)
        for row, total in zip(own, counts[:, place * SIDE : (place + 1) * SIDE], strict=True):
            total += np.bitwise_count(row & others).sum(axis=1, dtype=np.int32)
