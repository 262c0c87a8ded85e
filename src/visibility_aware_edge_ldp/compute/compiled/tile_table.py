"""The compiled twins of ``tile_table``. Need numba, the extra ``fast``."""

from typing import Any

import numpy as np
from numba import uint64

from visibility_aware_edge_ldp.compute.compiled import instructions as code
from visibility_aware_edge_ldp.compute.compiled import njit
from visibility_aware_edge_ldp.compute.compiled.instructions import ONES, ROOM, WORDS, count_columns, list_ones
from visibility_aware_edge_ldp.compute.compiled.instructions import PANEL as SIDE
from visibility_aware_edge_ldp.compute.plain.bitset import zeros_in_line

# A panel of so many sides stays in the second cache.
NEAR_SIDES = 8
_PLACES = code.places_of_ones()


def _as_words(flat: Any) -> tuple[Any, Any]:
    """Flat bits as words, and the word after the last whole one."""
    whole, end = flat.size // 8 * 8, np.zeros(8, np.uint8)
    end[: flat.size - whole] = flat[whole:]
    return np.ascontiguousarray(flat[:whole]).view("<u8"), end.view("<u8")[0]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _look(flat: Any, end: Any, slots: Any, found: Any) -> None:
    u, first, last = 0, 0, slots.size - 1  # the positions of u with later nodes
    for w in range(flat.size + 1):
        word = flat[w] if w < flat.size else end
        while word:
            number = w * 64 + code.lowest_one(word)
            word &= word - uint64(1)
            while number >= last:
                u += 1
                first, last = last, last + slots.size - 1 - u
            near, far = slots[u] >> 9, slots[u + 1 + number - first] >> 9
            found[near, far] = found[far, near] = True


def sides_with_ones(flat: Any, slots: Any, sides: int) -> Any:
    """As ``tile_table.sides_with_ones``."""
    found = np.zeros((sides, sides), np.bool_)
    _look(*_as_words(flat), slots, found)
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _place(flat: Any, end: Any, slots: Any, table: Any, tiles: Any) -> None:
    """Each one goes to its two places: a plane in the nodes' own order is never made."""
    u, first, last = 0, 0, slots.size - 1
    for w in range(flat.size + 1):
        word = flat[w] if w < flat.size else end
        while word:
            number = w * 64 + code.lowest_one(word)
            word &= word - uint64(1)
            while number >= last:
                u += 1
                first, last = last, last + slots.size - 1 - u
            near, far = slots[u], slots[u + 1 + number - first]
            tiles[table[near >> 9, far >> 9], near & 511, (far >> 6) & 7] |= uint64(1) << uint64(far & 63)
            tiles[table[far >> 9, near >> 9], far & 511, (near >> 6) & 7] |= uint64(1) << uint64(near & 63)


def place(flat: Any, slots: Any, table: Any, tiles: Any) -> None:
    """As ``tile_table.place``."""
    _place(*_as_words(flat), slots, table, tiles)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _ones_within(table: Any, tiles: Any, bounds: Any, runs: Any, counts: Any) -> None:
    """``runs`` has the run in which every word begins."""
    for side in range(table.shape[0]):
        for slot in range(counts.shape[1]):
            tile = table[slot >> 9, side]
            if tile:
                for w in range(WORDS):
                    word, run = tiles[tile, slot & 511, w], runs[side * WORDS + w]
                    while word:
                        left = bounds[run + 1] - (side * WORDS + w) * 64  # slots of the word up to the run's end
                        part = word if left >= 64 else word & ((uint64(1) << uint64(left)) - uint64(1))
                        counts[run, slot] += code.popcount(part)
                        word ^= part
                        run += 1


def ones_within(table: Any, tiles: Any, bounds: Any) -> Any:
    """As ``tile_table.ones_within``."""
    counts = np.zeros((bounds.size - 1, bounds[-1]), np.int32)
    runs = np.searchsorted(bounds, np.arange(len(table) * WORDS) * 64, side="right") - 1
    _ones_within(table, tiles, bounds, runs, counts)
    return counts


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def closed_paths(few: Any, near: Any, far: Any, tiles: Any) -> Any:
    """As ``tile_table.closed_paths``."""
    sides, total = few.shape[0], 0
    for u in range(sides * SIDE):
        for side in range(u >> 9, sides):
            tile = few[u >> 9, side]
            for w in range(WORDS if tile else 0):
                word = tiles[tile, u & 511, w]
                while word:
                    v = side * SIDE + w * 64 + code.lowest_one(word)
                    word &= word - uint64(1)
                    if v > u:
                        for other in range(sides):
                            one, two = near[u >> 9, other], far[v >> 9, other]
                            for x in range(WORDS if one and two else 0):
                                total += code.popcount(tiles[one, u & 511, x] & tiles[two, v & 511, x])
    return total


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _list_all(table: Any, octets: Any, slots: Any, middles: Any, places: Any, ones: Any, ends: Any, found: Any) -> None:
    """For each slot, the slots of some sides that it has ones with; filled up to whole groups with an empty row."""
    end = ends[0] = 0
    for i in range(slots.size):
        for m in range(middles.size):
            tile = table[slots[i] >> 9, middles[m]]
            if tile:
                end = list_ones(octets[tile, slots[i] & 511], places, ones, 8, m * SIDE, found, end)
        while end & (code.GROUP - 1):
            found[end] = middles.size * SIDE
            end += 1
        ends[i + 1] = end


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _share(table: Any, tiles: Any, middles: Any, sides: Any, ends: Any, listed: Any, panel: Any, counts: Any) -> None:
    """Add to the counts what is shared through the middle sides; ``panel`` has room for them and for an empty row."""
    work, found = np.zeros((code.SLICES, WORDS), np.uint64), np.empty(SIDE, np.uint16)
    filled = np.zeros(middles.size, np.bool_)  # the panel is empty at first
    for place in range(sides.size):
        held = False
        for m in range(middles.size):
            tile = table[middles[m], sides[place]]
            if tile or filled[m]:
                panel[m * SIDE : (m + 1) * SIDE] = tiles[tile]
            filled[m] = tile != 0
            held |= filled[m]
        for i in range(ends.size - 1 if held else 0):
            if ends[i] < ends[i + 1]:
                count_columns(panel, listed, ends[i], ends[i + 1], work, found)
                total = counts[i, place * SIDE : (place + 1) * SIDE]
                for x in range(SIDE):
                    total[x] += found[x]


def add_shared(near: Any, far: Any, tiles: Any, slots: Any, middles: Any, sides: Any, counts: Any) -> None:
    """As ``tile_table.add_shared``: the rows that a row names are added up, all columns of a tile at once."""
    octets, ends = tiles.view(np.uint8), np.empty(slots.size + 1, np.int64)
    for first in range(0, middles.size, NEAR_SIDES):
        part = middles[first : first + NEAR_SIDES]
        listed = np.empty(slots.size * (part.size * SIDE + code.GROUP) + ROOM, np.uint16)
        _list_all(near, octets, slots, part, _PLACES, ONES, ends, listed)
        _share(far, tiles, part, sides, ends, listed, zeros_in_line(part.size * SIDE + 1, WORDS), counts)
