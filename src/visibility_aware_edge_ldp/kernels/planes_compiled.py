"""The compiled twins of ``bitset.plane_of`` and ``tiles.strips_of``. Need numba, the extra ``fast``.

Whole words are shifted into place above the diagonal, and squares of 64 × 64 bits are mirrored below it. A plane is a
single strip that is as wide as all columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from visibility_aware_edge_ldp.kernels.adders import PANEL, WORDS
from visibility_aware_edge_ldp.kernels.cached import njit
from visibility_aware_edge_ldp.kernels.cores import on_cores, pieces_of

# Rows are shorter the later they come, so that each core takes several pieces.
PIECES = 4


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _place_rows(flat: Any, end: Any, n: Any, first: Any, last: Any, strips: Any) -> None:
    """The bits above the diagonal, for the rows from ``first`` to ``last``; ``end`` is the word after the flat ones."""
    number, _, width = strips.shape
    for u in range(first, min(last, n - 1)):
        start = u * (2 * n - u - 1) // 2
        begin = (u + 1) >> 6
        for strip in range(begin // width, number):
            for w in range(max(begin, strip * width), min((strip + 1) * width, (n + 63) >> 6)):
                skipped = max(u + 1 - w * 64, 0)  # columns of the first word that are not after u
                place = start + w * 64 - u - 1 + skipped
                offset = uint64(place & 63)
                at = place >> 6
                word = (flat[at] if at < flat.size else end) >> offset
                if offset and at < flat.size:
                    word |= (flat[at + 1] if at + 1 < flat.size else end) << (uint64(64) - offset)
                word <<= uint64(skipped)
                if n - w * 64 < 64:
                    word &= (uint64(1) << uint64(n & 63)) - uint64(1)
                strips[strip, u, w - strip * width] = word


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _transpose(square: Any) -> None:
    """Mirror 64 × 64 bits at their diagonal: halves change places, then quarters, down to single bits."""
    width, mask = 32, uint64(0x00000000FFFFFFFF)
    while width:
        row = 0
        while row < 64:
            moved = ((square[row] >> uint64(width)) ^ square[row + width]) & mask
            square[row] ^= moved << uint64(width)
            square[row + width] ^= moved
            row = (row + width + 1) & ~width
        width >>= 1
        mask ^= mask << uint64(width)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _mirror(flat: Any, end: Any, n: Any, first: Any, last: Any, strips: Any) -> None:
    """Add the mirror image of the rows from ``first``, a multiple of 64, to ``last``: no other rows' words are met."""
    width = strips.shape[2]
    square = np.empty(64, dtype=np.uint64)
    for top in range(first, last, 64):
        strip, place = (top >> 6) // width, (top >> 6) % width
        for left in range(top, n, 64):
            other, column = (left >> 6) // width, (left >> 6) % width
            square[:] = uint64(0)
            for i in range(min(64, n - top)):
                square[i] = strips[other, top + i, column]
            _transpose(square)
            for j in range(min(64, n - left)):
                strips[strip, left + j, place] |= square[j]


def _fill(flat: Any, n: int, strips: Any) -> None:
    whole = flat.size // 8 * 8
    # Most of it as it lies: a copy of all positions would be the largest thing here but the strips themselves.
    words, end = np.ascontiguousarray(flat[:whole]).view("<u8"), np.zeros(8, np.uint8)
    end[: flat.size - whole] = flat[whole:]
    last = end.view("<u8")[0]
    pieces = pieces_of(0, n, 64, PIECES)
    for work in (_place_rows, _mirror):  # one after the other: every row is there before it is mirrored
        list(on_cores(lambda piece, work=work: work(words, last, n, *piece, strips), pieces))  # type: ignore[misc]


def plane_of(flat: Any, n: int) -> Any:
    """As ``bitset.plane_of``."""
    plane = np.zeros((n, (n + 63) // 64), np.uint64)
    _fill(flat, n, plane[None])
    return plane


def strips_of(flat: Any, n: int, sides: int) -> Any:
    """As ``tiles.strips_of``."""
    strips = np.zeros((sides, sides * PANEL, WORDS), np.uint64)
    _fill(flat, n, strips)
    return strips
