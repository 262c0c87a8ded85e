"""Sums over pairs of nodes of products of forms, for a block of rows; each has a compiled twin.

A *form* is a weighted sum of the integers ``counts[k]``: an array with a row for each node of the block and a column
for each node from the block's first on. Row i is paired with columns j > i. Both twins, on every machine, round the
same operations in the same order.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Shorts = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
Bits = npt.NDArray[np.bool_]
Slots = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]
# Sums over a row of ``group_sums`` are added up in so many places: as many doubles as the widest registers hold.
LANES = 8
# Sums over pairs of planes are added up in chunks of so many columns: those of a chunk stay in the nearest cache.
CHUNK = 256


def upper(rows: int, columns: int) -> Bits:
    """Which of a block's pairs have u < v."""
    return np.arange(columns)[None, :] > np.arange(rows)[:, None]


def through_complete(
    nodes: Bits, bits: Bits, row_degrees: Ints, column_degrees: Ints, total: Ints, difference: Ints
) -> None:
    """N_ab + N_ba and N_ab − N_ba where plane a joins every two of some nodes, and ``bits`` are plane b's.

    u of the nodes reaches v through each of them that v is joined to in b, but not through u itself. ``nodes`` are
    told for the block's columns, the first of which are its rows; ``degrees`` count neighbours among the nodes.
    """
    there = np.where(nodes[: len(bits), None], column_degrees - bits, np.int32(0))
    back = np.where(nodes, row_degrees[:, None] - bits, np.int32(0))
    np.add(there, back, out=total)
    np.subtract(there, back, out=difference)


def through_groups(
    groups: Ints, closed: Ints, bits: Bits, row_degrees: Ints, column_degrees: Ints, total: Ints, difference: Ints
) -> None:
    """N_ab + N_ba and N_ab − N_ba where plane a joins all nodes of some groups, and ``bits`` are plane b's.

    ``groups`` are told for the block's columns, the first of which are its rows; ``degrees`` have a row for each group:
    through how many nodes one of that group reaches each row, or column. ``closed`` groups are joined in themselves:
    a node may not be reached through itself.
    """
    own = groups[: len(bits)]
    there = column_degrees[own] - closed[own, None] * bits
    back = row_degrees.T[:, groups] - closed[groups] * bits
    np.add(there, back, out=total)
    np.subtract(there, back, out=difference)


def path_sums(
    counts: Ints, weights: Floats, bits: Octets, itself: Slots, places: Slots, by_row: Floats, others: Slots,
    by_column: Floats, away: Floats, by_bits: Floats, ends: Floats,
) -> Floats:  # fmt: skip
    """(rows, 2): for some nodes u, Σ over the other nodes v of some columns of s·F² and of s·F·(ê_u + ê_v − 2ê).

    F is by_row[u, others[v]] + by_column[0, v] − Σ away[k, v]·bits[k] + Σ weights[q]·counts[q]; column v has its bits
    and counts at ``places[v]``. ê and s are rows 1 and 2 of ``by_column`` and what ``by_bits`` adds for each bit; ê_v
    is its row 3, and ê_u ``ends``. ``itself`` is the column that u itself has, or −1.
    """
    paths = by_row[:, others] + by_column[0]
    own, noise = (np.broadcast_to(each, paths.shape) for each in by_column[1:3])
    for held, less, (score, spread) in zip(bits, away, by_bits.T, strict=True):
        there = held[:, places] != 0
        paths -= np.where(there, less, 0.0)
        own, noise = own + np.where(there, score, 0.0), noise + np.where(there, spread, 0.0)
    for weight, count in zip(weights, counts, strict=True):
        paths += weight * count[:, places]
    once = np.where(np.arange(places.size) == itself[:, None], 0.0, noise * paths)
    terms = np.stack([once * paths, once * (ends[:, None] + by_column[3] - 2.0 * own)], axis=1)
    sums: Floats = np.add.accumulate(terms, axis=2)[:, :, -1] + 0.0  # as the twin adds them, one after the other
    return sums


def triangle_sums(counts: Ints, forms: Floats, bits: Bits, own: Floats, ends: Floats) -> Floats:
    """The sums behind triangles, with the forms and own functions of ``counts.triangles``; ``ends``: node sums."""
    paths, squares, noisy_paths = combined(forms, counts)
    here, noise = combined(own, bits) * upper(*paths.shape)
    terms = triangle_terms((paths, squares, noisy_paths), here, noise, ends[: len(paths), None] + ends[None, :])
    return np.asarray(np.stack([term.sum(axis=0) for term in terms]).sum(axis=1))


def triangle_terms(forms: Any, here: Any, noise: Any, ends: Any) -> tuple[Any, ...]:
    """The terms of triangles, of arrays or of whatever else can be added and multiplied."""
    paths, squares, noisy_paths = forms
    return (
        here * paths,
        noise * (paths * paths + paths - squares),
        here * noisy_paths,
        noise * noisy_paths,
        noise * paths * (ends - 2 * here),
    )


def cycle_sums(counts: Ints, differences: Ints, forms: Floats, skew: Floats) -> Floats:
    """The sums behind 4-cycles, with the forms of ``counts.cycles``."""
    found, odd = combined(forms, counts), combined(skew[None], differences)[0]
    inside = upper(*odd.shape)
    terms = (*cycle_terms(found, odd), *found[5:])
    return whole_cycles(np.stack([(term * inside).sum(axis=0) for term in terms]).sum(axis=1))


def cycle_terms(forms: Any, odd: Any) -> tuple[Any, ...]:
    """The terms of 4-cycles, but for forms that stand alone; of arrays or of whatever else."""
    paths, squares, noisy, mixed, scored = forms[:5]
    return (
        paths * paths - squares,
        noisy * paths * paths - 2 * paths * scored,
        mixed * mixed - odd * odd,
        noisy * mixed,
        noisy * noisy,
    )


def both_ways(ordered: Shorts) -> tuple[Ints, Ints]:
    """For planes a ≥ b the counts of (a, b) and (b, a) together, once where a = b; and for a > b their differences."""
    pairs = [(a, b) for a in range(len(ordered)) for b in range(a + 1)]
    one, two = (np.array([ordered[pair[side], pair[1 - side]] for pair in pairs], np.int32) for side in (0, 1))
    unequal = [a != b for a, b in pairs]
    return one + two * np.array(unequal)[:, None, None], (one - two)[unequal]


def whole_cycles(sums: Floats) -> Floats:
    """The five sums of 4-cycles from those of their terms, and of the three forms that stand alone; by last axis."""
    a, b, c, d, e, both, three, four = np.moveaxis(sums, -1, 0)
    return np.stack([a, b + both, c - both, 2 * (d - three), e - four], axis=-1)


def with_alone(
    sums: Floats,
    known: Floats,
    itself: Slots,
    begins: Slots,
    rows: Floats,
    columns: Floats,
    bit: Floats,
    shared: Floats,
) -> Floats:
    """The sums of ``group_sums`` from those of products, with the forms that stand alone: these need no pairs.

    ``known`` has, for each row, the sums of its counts and of its bits over all columns that it is paired with.
    """
    if len(shared) < 9:
        return sums
    size = columns.shape[1]
    met = (itself >= begins) & (itself < size)
    upto = np.zeros((3, size + 1))
    np.cumsum(columns[5:8], axis=1, out=upto[:, 1:])
    alone = rows[5:8] * (size - np.minimum(begins, size) - met) + (upto[:, -1:] - upto[:, np.minimum(begins, size)])
    alone -= np.where(met, columns[5:8, np.where(met, itself, 0)], 0.0)
    for weight, part in zip((*shared[5:8].T, bit[5:8]), known.T, strict=True):
        alone += weight[:, None] * part
    cycles = whole_cycles(np.concatenate([sums[:, 5:10], alone.T], axis=1))
    return np.concatenate([sums[:, :5], cycles, sums[:, 10:]], axis=1)


def combined(weights: Floats, arrays: Ints | Bits) -> Floats:
    """Σ weight · array for each row of weights, without touching arrays of weight 0."""
    totals = np.zeros((len(weights), *arrays.shape[1:]))
    scratch = np.empty(arrays.shape[1:])
    for total, row in zip(totals, weights, strict=True):
        for k in np.flatnonzero(row):
            total += np.multiply(arrays[k], row[k], out=scratch)
    return totals


def solved(root: Floats, right: Floats) -> Floats:
    """x with L Lᵀ x = right, for the root L of ``cholesky`` and a vector, or the columns of a matrix."""
    if right.ndim == 1:
        return _solved_vector(root.tolist(), right.tolist())
    found = right.copy()
    for i in range(len(root)):
        found[i] /= root[i, i]
        found[i + 1 :] -= np.multiply.outer(root[i + 1 :, i], found[i])
    for i in reversed(range(len(root))):
        found[i] /= root[i, i]
        found[:i] -= np.multiply.outer(root[i, :i], found[i])
    return found


def _solved_vector(root: list[list[float]], found: list[float]) -> Floats:
    """The same steps on Python's own numbers: for one column, calls of NumPy would take longer than the work."""
    for i, row in enumerate(root):
        total = found[i]
        for factor, known in zip(row[:i], found[:i], strict=True):
            total -= factor * known
        found[i] = total / row[i]
    for i in reversed(range(len(root))):
        found[i] /= root[i][i]
        known = found[i]
        found[:i] = [total - factor * known for total, factor in zip(found[:i], root[i][:i], strict=True)]
    return np.array(found)


def cholesky(matrix: Floats) -> Floats:
    """The lower triangular L with L Lᵀ = matrix, for a symmetric positive definite one."""
    rest, turned = matrix.copy(), np.zeros_like(matrix)
    for i in range(len(rest)):
        row = turned[i, i:]
        np.divide(rest[i, i:], math.sqrt(rest[i, i]), out=row)
        part = rest[i + 1 :, i + 1 :]
        part -= row[1:, None] * row[1:]
    return np.ascontiguousarray(turned.T)


def clique_sums(
    common: npt.NDArray[np.float32],
    bits: Floats,
    others: Floats,
    own: Floats,
    ends: Floats,
    lines: Floats,
    at_node: Floats,
    among: Floats,
) -> float:
    """From one node u's triples with later v, w: what they add to the variance of 4-cliques.  [GRAPHLET.3]

    Scores are a + b·bit; ``lines`` has (a, b) of the score and of its square. Of v and w are given: how many z all
    three have in common, their own bits, those with u, and of both functions what hangs on both and on each. Numbers of
    cliques through uv and vw are added to ``at_node`` and ``among``.
    """
    (low, slope), (_, _) = lines
    one, e = low + slope * own, low + slope * bits
    a, first = e * e, one * one
    moments = [
        b**3 * common.astype(np.float64)
        + others[i]
        + ends[i][:, None]
        + ends[i]
        - a0 * b**2 * (bits * (own[:, None] + own) + np.outer(own, own))
        for i, (a0, b) in enumerate(lines)
    ]
    t, tau = moments
    eee, aaa = np.outer(one, one) * e, np.outer(first, first) * a
    mixed = np.outer(one, first) * a + np.outer(first, one) * a + np.outer(first, first) * e
    found = (mixed - 2 * aaa - eee) * (t * t - tau) + (mixed / 2 - 1.25 * aaa) * tau - eee * t / 4
    t = t * ~np.eye(len(own), dtype=np.bool_)
    at_node += ((e * t) * one).sum(axis=1)
    among += np.triu(np.outer(one, one) * t, 1)
    return float(np.triu(found, 1).sum())
