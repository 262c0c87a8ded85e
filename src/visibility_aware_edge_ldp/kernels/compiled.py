"""The compiled twins of kernels in ``bitset``. Need numba, the extra ``fast``."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types, uint64
from numba.extending import intrinsic

from visibility_aware_edge_ldp.kernels.cached import njit
from visibility_aware_edge_ldp.kernels.planes_compiled import plane_of as plane_of

# Sums may be added in any order, which is what lets several be added at once.
ANY_ORDER = {"reassoc", "contract", "nsz"}


@intrinsic  # type: ignore[untyped-decorator]
def _popcount(typing: Any, word: Any) -> Any:
    """The processor's own count of ones; Python has no operator for it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        count = builder.module.declare_intrinsic("llvm.ctpop", [ir.IntType(64)])
        return builder.call(count, [args[0]])

    return types.uint64(types.uint64), generate


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _rows_with_bits(plane: Any) -> Any:
    """The rows that hold a one."""
    found = np.empty(plane.shape[0], dtype=np.int64)
    size = 0
    for i in range(plane.shape[0]):
        for w in range(plane.shape[1]):
            if plane[i, w]:
                found[size] = i
                size += 1
                break
    return found[:size]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def shared_counts(left: Any, right: Any) -> Any:
    """As ``bitset.shared_counts``: four rows of ``left`` at a time, so that each word of ``right`` is read once.

    Empty rows are passed over: users whose lists are public have nothing in the planes of answers.
    """
    words = left.shape[1]
    counts = np.zeros((left.shape[0], right.shape[0]), dtype=np.int32)
    rows, columns = _rows_with_bits(left), _rows_with_bits(right)
    whole = rows.size - rows.size % 4
    for r in range(0, whole, 4):
        i0, i1, i2, i3 = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
        for j in columns:
            a, b, c, d = uint64(0), uint64(0), uint64(0), uint64(0)
            for w in range(words):
                word = right[j, w]
                a += _popcount(left[i0, w] & word)
                b += _popcount(left[i1, w] & word)
                c += _popcount(left[i2, w] & word)
                d += _popcount(left[i3, w] & word)
            counts[i0, j], counts[i1, j], counts[i2, j], counts[i3, j] = a, b, c, d
    for i in rows[whole:]:
        for j in columns:
            total = uint64(0)
            for w in range(words):
                total += _popcount(left[i, w] & right[j, w])
            counts[i, j] = total
    return counts


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def quadratic_form(plane: Any, vector: Any) -> Any:
    """As ``bitset.quadratic_form``: a word picks from 64 numbers at a time."""
    rows, words = plane.shape
    padded = np.zeros(words * 64)
    padded[: vector.size] = vector
    total = 0.0
    for u in range(rows):
        inside = 0.0
        for w in range(words):
            word = plane[u, w]
            if word:
                for b in range(64):
                    inside += padded[w * 64 + b] if (word >> uint64(b)) & uint64(1) else 0.0
        total += vector[u] * inside
    return total


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def add_list_counts(plane: Any, weight: Any, offsets: Any, members: Any, totals: Any) -> None:
    """As ``bitset.add_list_counts``: a word of the plane is spread over 64 counters at a time."""
    words = plane.shape[1]
    counts = np.empty(words * 64, dtype=np.int32)
    for i in range(offsets.size - 1):
        counts[:] = 0
        for place in range(offsets[i], offsets[i + 1]):
            row = members[place]
            for w in range(words):
                word = plane[row, w]
                if word:
                    for b in range(64):
                        counts[w * 64 + b] += np.int32((word >> uint64(b)) & uint64(1))
        for x in range(totals.shape[1]):
            totals[i, x] += weight * counts[x]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def list_total(plane: Any, offsets: Any, members: Any) -> Any:
    """As ``bitset.list_total``."""
    inside = np.zeros(plane.shape[1], dtype=np.uint64)
    total = uint64(0)
    for i in range(offsets.size - 1):
        inside[:] = uint64(0)
        for place in range(offsets[i], offsets[i + 1]):
            inside[members[place] >> 6] |= uint64(1) << uint64(members[place] & 63)
        for place in range(offsets[i], offsets[i + 1]):
            row = members[place]
            ones = uint64(0)
            for w in range(inside.size):
                ones += _popcount(plane[row, w] & inside[w])
            total += ones
    return np.int64(total)


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
