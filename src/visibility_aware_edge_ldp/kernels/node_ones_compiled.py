"""The compiled twin of the kernel in ``node_ones``. Needs numba, the extra ``fast``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, types, uint64
from numba.extending import intrinsic

from visibility_aware_edge_ldp.kernels.cached import njit


@intrinsic  # type: ignore[untyped-decorator]
def _popcount(typing: Any, word: Any) -> Any:
    """The processor's own count of ones."""
    return types.uint64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@njit(nogil=True)  # type: ignore[untyped-decorator]
def _add(words: Any, size: Any, row: Any, skip: Any, counts: Any) -> None:
    """Words are shifted so that a word's bits are consecutive columns; ``words`` has a spare one at the end."""
    place = 0
    while place < size and row < counts.size - 1:
        column = row + 1 + skip
        length = min(counts.size - column, size - place)
        total = uint64(0)
        for at in range(0, length, 64):
            source, left = place + at, min(length - at, 64)
            offset = uint64(source & 63)
            word = words[source >> 6] >> offset
            if offset:
                word |= words[(source >> 6) + 1] << (uint64(64) - offset)
            if left < 64:
                word &= (uint64(1) << uint64(left)) - uint64(1)
            total += _popcount(word)
            part = counts[column + at : column + at + left]
            if left == 64:  # as often as the compiler knows beforehand: several at once
                for bit in range(64):
                    part[bit] += int32((word >> uint64(bit)) & uint64(1))
            else:
                for bit in range(left):
                    part[bit] += int32((word >> uint64(bit)) & uint64(1))
        counts[row] += int32(total)
        place, row, skip = place + length, row + 1, 0


def add_node_ones(run: Any, first: int, skip: int, counts: Any) -> None:
    """As ``node_ones.add_node_ones``."""
    words = np.zeros(run.size // 8 + 2, np.uint64)
    words.view(np.uint8)[: run.size] = run
    _add(words, run.size * 8, first, skip, counts)
