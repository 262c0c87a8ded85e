"""The compiled twins of kernels in ``bitset``. Need numba, the extra ``fast``."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types, uint64
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def _popcount(typing: Any, word: Any) -> Any:
    """The processor's own count of ones; Python has no operator for it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        count = builder.module.declare_intrinsic("llvm.ctpop", [ir.IntType(64)])
        return builder.call(count, [args[0]])

    return types.uint64(types.uint64), generate


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def shared_counts(left: Any, right: Any) -> Any:
    """As ``bitset.shared_counts``: four rows of ``left`` at a time, so that each word of ``right`` is read once."""
    rows, columns, words = left.shape[0], right.shape[0], left.shape[1]
    counts = np.empty((rows, columns), dtype=np.int32)
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        for j in range(columns):
            a, b, c, d = uint64(0), uint64(0), uint64(0), uint64(0)
            for w in range(words):
                word = right[j, w]
                a += _popcount(left[i, w] & word)
                b += _popcount(left[i + 1, w] & word)
                c += _popcount(left[i + 2, w] & word)
                d += _popcount(left[i + 3, w] & word)
            counts[i, j], counts[i + 1, j], counts[i + 2, j], counts[i + 3, j] = a, b, c, d
    for i in range(whole, rows):
        for j in range(columns):
            total = uint64(0)
            for w in range(words):
                total += _popcount(left[i, w] & right[j, w])
            counts[i, j] = total
    return counts


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def list_counts(plane: Any, offsets: Any, members: Any, n: Any) -> Any:
    """As ``bitset.list_counts``: a word of the plane is spread over 64 counters at a time."""
    lists, words = offsets.size - 1, plane.shape[1]
    counts = np.zeros((lists, words * 64), dtype=np.int32)
    for i in range(lists):
        for place in range(offsets[i], offsets[i + 1]):
            row = members[place]
            for w in range(words):
                word = plane[row, w]
                if word:
                    for b in range(64):
                        counts[i, w * 64 + b] += np.int32((word >> uint64(b)) & uint64(1))
    return counts[:, :n]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def list_sums(matrix: Any, offsets: Any, members: Any) -> Any:
    """As ``bitset.list_sums``."""
    lists, columns = offsets.size - 1, matrix.shape[1]
    sums = np.zeros((lists, columns))
    for i in range(lists):
        for place in range(offsets[i], offsets[i + 1]):
            row = members[place]
            for x in range(columns):
                sums[i, x] += matrix[row, x]
    return sums
