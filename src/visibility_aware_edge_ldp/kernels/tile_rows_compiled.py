"""The compiled twins of the kernels in ``tile_rows``. Need numba, the extra ``fast``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from visibility_aware_edge_ldp.kernels.cached import njit

SIDE, WORDS = 512, 8
# Counts of up to 512 have so many binary digits.
DIGITS = 10


@njit(nogil=True)  # type: ignore[untyped-decorator]
def _fill(flat: Any, place: Any, first: Any, last: Any, n: Any, runs: Any, result: Any) -> None:
    """Whole words are shifted into place; ``flat`` is words, with a spare one at the end."""
    for u in range(first, last):
        for r in range(runs.shape[0]):
            begin = max(runs[r, 0], u + 1)
            if begin >= runs[r, 1]:
                continue
            slot = runs[r, 2] + begin - runs[r, 0]
            end = runs[r, 2] + runs[r, 1] - runs[r, 0]
            for w in range(slot >> 6, (end + 63) >> 6):
                skipped = max(slot - w * 64, 0)  # columns of the first word that are not after u
                source = place + (begin - u - 1) + (w * 64 + skipped - slot)
                offset = uint64(source & 63)
                word = flat[source >> 6] >> offset
                if offset:
                    word |= flat[(source >> 6) + 1] << (uint64(64) - offset)
                word <<= uint64(skipped)
                if end - w * 64 < 64:
                    word &= (uint64(1) << uint64(end - w * 64)) - uint64(1)
                result[u - first, w] = word
        place += n - 1 - u


def tile_row(flat: Any, place: int, nodes: Any, n: int, runs: Any, sides: int) -> Any:
    """As ``tile_rows.tile_row``."""
    result = np.zeros((SIDE, sides * WORDS), np.uint64)
    padded = np.zeros((flat.size + 15) // 8 * 8, np.uint8)
    padded[: flat.size] = flat
    _fill(padded.view("<u8"), place, *nodes, n, runs, result)
    return result


@njit(nogil=True)  # type: ignore[untyped-decorator]
def column_ones(rows: Any) -> Any:
    """As ``tile_rows.column_ones``: 64 columns are counted at once, one word for each binary digit of their counts."""
    counts = np.zeros(rows.shape[1] * 64, dtype=np.int32)
    digits = np.zeros((WORDS, DIGITS), dtype=np.uint64)
    for left in range(0, rows.shape[1], WORDS):
        digits[:] = uint64(0)
        for row in range(rows.shape[0]):
            for w in range(WORDS):
                carry, digit = rows[row, left + w], 0
                while carry:
                    kept = digits[w, digit]
                    digits[w, digit] = kept ^ carry
                    carry &= kept
                    digit += 1
        for w in range(WORDS):
            for bit in range(64):
                total = 0
                for digit in range(DIGITS):
                    total += int((digits[w, digit] >> uint64(bit)) & uint64(1)) << digit
                counts[(left + w) * 64 + bit] = total
    return counts
