"""The compiled twins of kernels in ``pair_sums``. Need numba, the extra ``fast``."""

import math
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.compute.compiled import njit
from visibility_aware_edge_ldp.compute.plain.pair_sums import Floats, whole_cycles

# Pairs at a time: their forms stay in the nearest cache.
CHUNK = 256


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
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


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def through_groups(
    groups: Any, closed: Any, bits: Any, row_degrees: Any, column_degrees: Any, total: Any, difference: Any
) -> None:
    """As ``pair_sums.through_groups``, in one pass."""
    for i in range(bits.shape[0]):
        own, there, back = groups[i], column_degrees[groups[i]], row_degrees[:, i].copy()
        for j in range(bits.shape[1]):
            held = np.int32(bits[i, j])
            first, second = there[j] - closed[own] * held, back[groups[j]] - closed[groups[j]] * held
            total[i, j] = first + second
            difference[i, j] = first - second


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _runs_of(places: Any, others: Any) -> Any:
    """Where runs of columns begin that stand side by side and belong together, and where the last one ends."""
    found, size = np.zeros(places.size + 1, np.int64), 1
    for j in range(1, places.size + 1):
        if j == places.size or places[j] != places[j - 1] + 1 or others[j] != others[j - 1]:
            found[size] = j
            size += 1
    return found[:size]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def path_sums(
    counts: Any, weights: Any, bits: Any, itself: Any, places: Any, by_row: Any, others: Any, by_column: Any,
    away: Any, by_bits: Any, ends: Any,
) -> Any:  # fmt: skip
    """As ``pair_sums.path_sums``: a row's forms are put together run by run, and its terms are added up last."""
    size, runs, sums = places.size, _runs_of(places, others), np.zeros((itself.size, 2))
    paths, own, noise = np.empty(size), np.empty(size), np.empty(size)
    for i in range(itself.size):
        own[:], noise[:] = by_column[1], by_column[2]
        for r in range(runs.size - 1):
            first, last, at = runs[r], runs[r + 1], places[runs[r]]
            base, known, run = by_row[i, others[first]], by_column[0, first:last], paths[first:last]
            for j in range(last - first):
                run[j] = base + known[j]
            for k in range(bits.shape[0]):
                held, less = bits[k, i, at : at + last - first], away[k, first:last]
                here, noisy, score, spread = own[first:last], noise[first:last], by_bits[0, k], by_bits[1, k]
                for j in range(last - first):
                    run[j] -= less[j] * held[j]
                for j in range(last - first):
                    here[j] += score * held[j]
                for j in range(last - first):
                    noisy[j] += spread * held[j]
            for q in range(weights.size):
                count, weight = counts[q, i, at : at + last - first], weights[q]
                for j in range(last - first):
                    run[j] += weight * count[j]
        if itself[i] >= 0:
            noise[itself[i]] = 0.0
        total, with_ends = 0.0, 0.0
        for j in range(size):
            once = noise[j] * paths[j]
            total += once * paths[j]
            with_ends += once * (ends[i] + by_column[3, j] - 2.0 * own[j])
        sums[i, 0], sums[i, 1] = total, with_ends
    return sums


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_triangles(held: Any, mine: Any, size: Any, end: Any, ends: Any, sums: Any, at: Any) -> None:
    """Add the terms of ``pair_sums.triangle_sums`` for one node and ``size`` others, each in its own place."""
    paths, squares, noisy, here, noise = held[0], held[1], held[2], mine[0], mine[1]
    a, b, c, d, e = sums[0, at:], sums[1, at:], sums[2, at:], sums[3, at:], sums[4, at:]
    # A loop for each: of many arrays at once the compiler cannot tell that they lie apart, and adds one at a time.
    for j in range(size):
        a[j] += here[j] * paths[j]
    for j in range(size):
        b[j] += noise[j] * (paths[j] * paths[j] + paths[j] - squares[j])
    for j in range(size):
        c[j] += here[j] * noisy[j]
    for j in range(size):
        d[j] += noise[j] * noisy[j]
    for j in range(size):
        e[j] += noise[j] * paths[j] * (end + ends[j] - 2 * here[j])


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_products(held: Any, odd: Any, size: Any, sums: Any, top: Any, at: Any) -> None:
    """Add the terms of 4-cycles for one node and ``size`` others, but for forms that stand alone."""
    paths, squares, noisy, mixed, scored = held[0], held[1], held[2], held[3], held[4]
    a, b, c = sums[top, at:], sums[top + 1, at:], sums[top + 2, at:]
    d, e = sums[top + 3, at:], sums[top + 4, at:]
    for j in range(size):
        a[j] += paths[j] * paths[j] - squares[j]
    for j in range(size):
        b[j] += noisy[j] * paths[j] * paths[j] - 2 * paths[j] * scored[j]
    for j in range(size):
        c[j] += mixed[j] * mixed[j] - odd[j] * odd[j]
    for j in range(size):
        d[j] += noisy[j] * mixed[j]
    for j in range(size):
        e[j] += noisy[j] * noisy[j]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _triangle_columns(counts: Any, forms: Any, bits: Any, own: Any, ends: Any) -> Any:
    """The five sums of every column, some columns at a time."""
    taken, held = np.empty((counts.shape[0], CHUNK)), np.empty((3, CHUNK))
    taken_bits, mine = np.empty((bits.shape[0], CHUNK)), np.empty((2, CHUNK))
    columns, sums = counts.shape[2], np.zeros((5, counts.shape[2]))
    for start in range(0, columns, CHUNK):
        last = min(start + CHUNK, columns)
        for i in range(min(counts.shape[1], last - 1)):
            first = max(start, i + 1)
            size = last - first
            _take(counts, i, first, last, taken)
            _take(bits, i, first, last, taken_bits)
            for q in range(3):
                _combine(forms[q], taken, size, held[q])
            for q in range(2):
                _combine(own[q], taken_bits, size, mine[q])
            _add_triangles(held, mine, size, ends[i], ends[first:last], sums, first)
    return sums


def triangle_sums(counts: Any, forms: Any, bits: Any, own: Any, ends: Any) -> Any:
    """As ``pair_sums.triangle_sums``."""
    return _triangle_columns(counts, forms, bits, own, ends).sum(axis=1)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _cycle_columns(counts: Any, differences: Any, forms: Any, skew: Any) -> Any:
    """The eight sums of every column, some columns at a time."""
    taken, held = np.empty((counts.shape[0], CHUNK)), np.empty((8, CHUNK))
    taken_odd, odd = np.empty((differences.shape[0], CHUNK)), np.empty(CHUNK)
    columns, sums = counts.shape[2], np.zeros((8, counts.shape[2]))
    for start in range(0, columns, CHUNK):
        last = min(start + CHUNK, columns)
        for i in range(min(counts.shape[1], last - 1)):
            first = max(start, i + 1)
            size = last - first
            _take(counts, i, first, last, taken)
            _take(differences, i, first, last, taken_odd)
            for q in range(8):
                _combine(forms[q], taken, size, held[q])
            _combine(skew, taken_odd, size, odd)
            _add_products(held, odd, size, sums, 0, first)
            for q in range(5, 8):
                alone, total = held[q], sums[q, first:last]
                for j in range(size):
                    total[j] += alone[j]
    return sums


def cycle_sums(counts: Any, differences: Any, forms: Any, skew: Any) -> Any:
    """As ``pair_sums.cycle_sums``."""
    return whole_cycles(_cycle_columns(counts, differences, forms, skew).sum(axis=1))


def solved(root: Floats, right: Floats) -> Floats:
    """x with L Lᵀ x = right, for the root L of ``cholesky`` and a vector, or the columns of a matrix."""
    found = np.array(right, np.float64, order="C")
    _solve(np.ascontiguousarray(root), found.reshape(len(root), -1))
    return found


def cholesky(matrix: Floats) -> Floats:
    """The lower triangular L with L Lᵀ = matrix, for a symmetric positive definite one."""
    found = np.array(matrix, np.float64, order="C")
    _root(found)
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _solve(root: Floats, found: Floats) -> None:
    """L, then Lᵀ: each unknown takes away what is known of it, in the order of the unknowns."""
    n, columns = found.shape
    for i in range(n):
        for column in range(columns):
            found[i, column] /= root[i, i]
        for j in range(i + 1, n):
            for column in range(columns):
                found[j, column] -= root[j, i] * found[i, column]
    for i in range(n - 1, -1, -1):
        for column in range(columns):
            found[i, column] /= root[i, i]
        for j in range(i):
            for column in range(columns):
                found[j, column] -= root[i, j] * found[i, column]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _root(rest: Floats) -> None:
    """The root takes the matrix's place; above the diagonal it is 0."""
    n = len(rest)
    for i in range(n):
        pivot = math.sqrt(rest[i, i])
        for j in range(i, n):
            rest[j, i] /= pivot
        for j in range(i + 1, n):
            rest[i, j] = 0.0
            for k in range(i + 1, j + 1):
                rest[j, k] -= rest[j, i] * rest[k, i]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def clique_sums(
    common: Any, bits: Any, others: Any, own: Any, ends: Any, lines: Any, at_node: Any, among: Any
) -> float:
    """As ``pair_sums.clique_sums``, in one pass."""
    low, slope = lines[0]
    cube, more = lines[:, 1] ** 3, lines[:, 0] * lines[:, 1] ** 2
    total = 0.0
    for v in range(own.size):
        x = low + slope * own[v]
        a, here, subtotal = x * x, 0.0, 0.0
        for w in range(v + 1, own.size):
            y, e = low + slope * own[w], low + slope * bits[v, w]
            b, c = y * y, e * e
            less = bits[v, w] * (own[v] + own[w]) + own[v] * own[w]
            t = cube[0] * common[v, w] + others[0, v, w] + ends[0, v] + ends[0, w] - more[0] * less
            tau = cube[1] * common[v, w] + others[1, v, w] + ends[1, v] + ends[1, w] - more[1] * less
            eee, aaa, mixed = x * y * e, a * b * c, x * b * c + a * y * c + a * b * e
            subtotal += (mixed - 2.0 * aaa - eee) * (t * t - tau) + (0.5 * mixed - 1.25 * aaa) * tau - 0.25 * eee * t
            here += y * e * t
            at_node[w] += x * e * t
            among[v, w] += x * y * t
        at_node[v] += here
        total += subtotal
    return total
