"""The compiled twins of kernels in ``pair_sums``. Need numba, the extra ``fast``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from visibility_aware_edge_ldp.kernels.cached import njit

# Pairs at a time: their forms stay in the nearest cache.
CHUNK = 256
# Sums may be added in any order, which is what lets several be added at once.
ANY_ORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def _combine(weights: Any, arrays: Any, size: Any, total: Any) -> None:
    """Σ weight · array over the first ``size`` places."""
    total[:size] = 0.0
    for k in range(weights.size):
        weight = weights[k]
        if weight != 0.0:
            for j in range(size):
                total[j] += weight * arrays[k, j]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _take(arrays: Any, i: Any, first: Any, last: Any, taken: Any) -> None:
    """Row i of all arrays, from ``first`` to ``last``, as floats."""
    for k in range(arrays.shape[0]):
        for j in range(first, last):
            taken[k, j - first] = arrays[k, i, j]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def through_complete(nodes: Any, bits: Any, row_degrees: Any, column_degrees: Any, total: Any, difference: Any) -> None:
    """As ``pair_sums.through_complete``, in one pass."""
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            there = column_degrees[j] - np.int32(bits[i, j]) if nodes[i] else np.int32(0)
            back = row_degrees[i] - np.int32(bits[i, j]) if nodes[j] else np.int32(0)
            total[i, j] = there + back
            difference[i, j] = there - back


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def _add_triangles(held: Any, mine: Any, size: Any, end: Any, ends: Any, sums: Any) -> None:
    """The terms of ``pair_sums.triangle_sums`` for one node and the first ``size`` others."""
    a, b, c, d, e = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(size):
        here, noise, paths, noisy = mine[0, j], mine[1, j], held[0, j], held[2, j]
        a += here * paths
        b += noise * (paths * paths + paths - held[1, j])
        c += here * noisy
        d += noise * noisy
        e += noise * paths * (end + ends[j] - 2 * here)
    sums[0] += a
    sums[1] += b
    sums[2] += c
    sums[3] += d
    sums[4] += e


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def _add_products(held: Any, odd: Any, size: Any, sums: Any) -> None:
    """The terms of 4-cycles for one node and the first ``size`` others, but for forms that stand alone."""
    a, b, c, d, e = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(size):
        paths, noisy, mixed = held[0, j], held[2, j], held[3, j]
        a += paths * paths - held[1, j]
        b += noisy * paths * paths - 2 * paths * held[4, j]
        c += mixed * mixed - odd[j] * odd[j]
        d += noisy * mixed
        e += noisy * noisy
    sums[0] += a
    sums[1] += b
    sums[2] += c
    sums[3] += 2 * d
    sums[4] += e


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_alone(both: Any, three: Any, four: Any, sums: Any) -> None:
    """The forms of ``pair_sums.cycle_sums`` that stand alone, summed over pairs."""
    sums[1] += both
    sums[2] -= both
    sums[3] -= 2 * three
    sums[4] -= four


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def triangle_sums(counts: Any, forms: Any, bits: Any, own: Any, ends: Any) -> Any:
    """As ``pair_sums.triangle_sums``, a few pairs at a time."""
    taken, held = np.empty((counts.shape[0], CHUNK)), np.empty((3, CHUNK))
    taken_bits, mine = np.empty((bits.shape[0], CHUNK)), np.empty((2, CHUNK))
    sums = np.zeros(5)
    for i in range(counts.shape[1]):
        for first in range(i + 1, counts.shape[2], CHUNK):
            size = min(CHUNK, counts.shape[2] - first)
            _take(counts, i, first, first + size, taken)
            _take(bits, i, first, first + size, taken_bits)
            for q in range(3):
                _combine(forms[q], taken, size, held[q])
            for q in range(2):
                _combine(own[q], taken_bits, size, mine[q])
            _add_triangles(held, mine, size, ends[i], ends[first:], sums)
    return sums


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def cycle_sums(counts: Any, differences: Any, forms: Any, skew: Any) -> Any:
    """As ``pair_sums.cycle_sums``, a few pairs at a time."""
    taken, held = np.empty((counts.shape[0], CHUNK)), np.empty((8, CHUNK))
    taken_odd, odd = np.empty((differences.shape[0], CHUNK)), np.empty(CHUNK)
    sums = np.zeros(5)
    for i in range(counts.shape[1]):
        for first in range(i + 1, counts.shape[2], CHUNK):
            size = min(CHUNK, counts.shape[2] - first)
            _take(counts, i, first, first + size, taken)
            _take(differences, i, first, first + size, taken_odd)
            for q in range(8):
                _combine(forms[q], taken, size, held[q])
            _combine(skew, taken_odd, size, odd)
            _add_products(held, odd, size, sums)
            _add_alone(held[5, :size].sum(), held[6, :size].sum(), held[7, :size].sum(), sums)
    return sums


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def _affine(row: Any, column: Any, bit: Any, shared: Any, taken: Any, bits: Any, total: Any) -> None:
    """A form of one node and some others: its terms of rows, columns and bits, and the ones they share."""
    first, weight = taken[0], shared[0]
    second, other = (taken[1], shared[1]) if shared.size > 1 else (first, 0.0)
    for j in range(column.size):
        total[j] = row + column[j] + bit * bits[j] + weight * first[j] + other * second[j]
    for kind in range(2, shared.size):
        more, weight = taken[kind], shared[kind]
        for j in range(column.size):
            total[j] += weight * more[j]


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def _add_squares(values: Any, squares: Any) -> Any:
    """Add each value's square to its place, and return their sum."""
    total = 0.0
    for j in range(values.size):
        squares[j] += values[j] * values[j]
        total += values[j] * values[j]
    return total


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _unpack(words: Any, first: Any, bits: Any) -> None:
    """The bits from place ``first`` on, which begins a word, as numbers."""
    for w in range((bits.size + 63) // 64):
        word, part = words[first // 64 + w], bits[w * 64 : w * 64 + 64]
        for b in range(part.size):
            part[b] = float((word >> uint64(b)) & uint64(1))


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def kind_sums(
    counts: Any, words: Any, slots: Any, first_slot: Any, rows: Any, columns: Any, bit: Any, shared: Any, own: Any,
    ends: Any, other_ends: Any, begins: Any, squares: Any,
) -> Any:  # fmt: skip
    """As ``pair_sums.kind_sums``: of the forms that stand alone, only sums over a row are worked out."""
    forms, size = shared.shape[0], counts.shape[2]
    sums, bits = np.zeros((slots.size, 11)), np.empty(size)
    held, taken, mine = np.empty((9, CHUNK)), np.empty((counts.shape[0], CHUNK)), np.empty((2, CHUNK))
    used = np.array([0, 1, 2, 3, 4, 8]) if forms == 9 else np.arange(3)
    # Of each form that stands alone, the sum of its columns up to each; then the sums of a row's bits and counts.
    upto, alone, whole = np.zeros((3, size + 1)), np.empty(3), np.empty(counts.shape[0] + 1)
    for q in range(5, forms - 1):
        for j in range(size):
            upto[q - 5, j + 1] = upto[q - 5, j] + columns[q, j]
    for i in range(slots.size):
        itself = slots[i] - first_slot
        _unpack(words[i], first_slot, bits)
        for part in range(2):
            # First the columns before this node itself, then those after it.
            low = begins[i] if part == 0 else max(itself + 1, begins[i])
            high = min(itself, size) if part == 0 else size
            whole[:] = 0.0
            for first in range(low, high, CHUNK):
                last = min(first + CHUNK, high)
                some = bits[first:last]
                ones = 0.0
                for j in range(some.size):
                    mine[0, j] = own[0, 0] + own[0, 1] * some[j]
                    mine[1, j] = own[1, 0] + own[1, 1] * some[j]
                    ones += some[j]
                whole[counts.shape[0]] += ones
                for kind in range(counts.shape[0]):
                    cut, into, total = counts[kind, i, first:last], taken[kind], 0.0
                    for j in range(some.size):
                        into[j] = cut[j]
                        total += cut[j]
                    whole[kind] += total
                for q in used:
                    _affine(rows[q, i], columns[q, first:last], bit[q], shared[q], taken, some, held[q])
                _add_triangles(held, mine, some.size, ends[i], other_ends[first:], sums[i, :5])
                if forms == 9:
                    _add_products(held, held[8], some.size, sums[i, 5:])
                    sums[i, 10] += _add_squares(held[0, : some.size], squares[first:last])
            if forms == 9 and high > low:
                for q in range(5, 8):
                    total = rows[q, i] * (high - low) + upto[q - 5, high] - upto[q - 5, low]
                    total += bit[q] * whole[counts.shape[0]]
                    for kind in range(counts.shape[0]):
                        total += shared[q, kind] * whole[kind]
                    alone[q - 5] = total
                _add_alone(alone[0], alone[1], alone[2], sums[i, 5:])
    return sums


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def pair_form(plane: Any, rows: Any, sides: Any, vector: Any) -> Any:
    """As ``pair_sums.pair_form``: the sum of every choice of eight numbers is looked up by the octet that chooses."""
    table, total = np.empty((64, 256)), 0.0
    for side in range(sides[0], sides[1]):
        for octet in range(64):
            table[octet, 0] = 0.0
            for bit in range(8):
                for lower in range(1 << bit):
                    table[octet, lower + (1 << bit)] = table[octet, lower] + vector[side * 512 + octet * 8 + bit]
        for u in range(rows[0], min(rows[1], side * 512 + 512)):
            inside = 0.0
            for w in range(8):
                word, later = plane[side, u, w], u - side * 512 - w * 64
                if later >= 0:
                    # Only what comes after u; shifting by 64 would be undefined, so in two steps.
                    word = uint64(0) if later >= 64 else word & ((~uint64(0) << uint64(later)) << uint64(1))
                if word:
                    for octet in range(8):
                        inside += table[w * 8 + octet, (word >> uint64(octet * 8)) & uint64(255)]
            total += vector[u] * inside
    return total
