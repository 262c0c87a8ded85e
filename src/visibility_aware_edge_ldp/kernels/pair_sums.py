"""Sums over pairs of nodes of products of forms, for a block of rows; each has a twin in ``pair_sums_compiled``.

A *form* is a weighted sum of the integers ``counts[k]``: an array with a row for each node of the block and a column
for each node from the block's first on. Row i is paired with columns j > i. The twins add in another order, so that
their sums agree but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels.bitset import Words, unpack_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bits = npt.NDArray[np.bool_]
Slots = npt.NDArray[np.int64]


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


def triangle_sums(counts: Ints, forms: Floats, bits: Bits, own: Floats, ends: Floats) -> Floats:
    """The sums behind triangles, with the forms and own functions of ``subgraphs.triangles``; ``ends``: node sums."""
    paths, squares, noisy_paths = _combined(forms, counts)
    here, noise = _combined(own, bits) * upper(*paths.shape)
    terms = _triangle_terms((paths, squares, noisy_paths), here, noise, ends[: len(paths), None] + ends[None, :])
    return np.array([term.sum() for term in terms])


def _triangle_terms(forms: Sequence[Floats], here: Floats, noise: Floats, ends: Floats) -> tuple[Floats, ...]:
    paths, squares, noisy_paths = forms
    return (
        here * paths,
        noise * (paths * paths + paths - squares),
        here * noisy_paths,
        noise * noisy_paths,
        noise * paths * (ends - 2 * here),
    )


def cycle_sums(counts: Ints, differences: Ints, forms: Floats, skew: Floats) -> Floats:
    """The sums behind 4-cycles, with the forms of ``subgraphs.cycles``."""
    found, odd = _combined(forms, counts), _combined(skew[None], differences)[0]
    inside = upper(*odd.shape)
    return np.array([(term * inside).sum() for term in _cycle_terms(found, odd)])


def _cycle_terms(forms: Floats, odd: Floats) -> tuple[Floats, ...]:
    paths, squares, noisy, mixed, scored, both, three, four = forms
    return (
        paths * paths - squares,
        noisy * paths * paths - 2 * paths * scored + both,
        mixed * mixed - odd * odd - both,
        2 * (noisy * mixed - three),
        noisy * noisy - four,
    )


def kind_sums(
    counts: Ints,
    words: Words,
    slots: Slots,
    first_slot: int,
    rows: Floats,
    columns: Floats,
    bit: Floats,
    shared: Floats,
    own: Floats,
    ends: Floats,
    other_ends: Floats,
    begins: Slots,
    squares: Floats,
) -> Floats:
    """The terms of triangles, and with nine forms of 4-cycles, of nodes of one kind with consecutive slots of another.

    Form q of row i and column j is rows[q, i] + columns[q, j] + bit[q]·b + Σ shared[q, t]·counts[t, i, j], b being the
    bit of the two in the rows' ``words``; the ninth is the difference that 4-cycles need. Their own score and spread
    are own[·, 0] + own[·, 1]·b. ``slots`` are the rows', ``first_slot`` the first column's; row i is paired with all
    columns from ``begins[i]`` on, but not with itself. Returns ten sums for each row, and with nine forms the sum of
    the first form's squares, which are also added to ``squares`` column by column.
    """
    size = counts.shape[2]
    columns_of = np.arange(first_slot, first_slot + size)
    bits = ((words[:, columns_of >> 6] >> (columns_of & 63).astype(np.uint64)) & np.uint64(1)).astype(np.float64)
    forms = rows[:, :, None] + columns[:, None, :] + bit[:, None, None] * bits + np.tensordot(shared, counts, 1)
    here, noise = (each[0] + each[1] * bits for each in own)
    paired = (columns_of != slots[:, None]) & (np.arange(size) >= begins[:, None])
    terms = list(_triangle_terms(tuple(forms[:3]), here, noise, ends[:, None] + other_ends))
    terms += (*_cycle_terms(forms[:8], forms[8]), forms[0] ** 2) if len(forms) == 9 else [np.zeros_like(here)] * 6
    squares += (terms[-1] * paired).sum(axis=0)
    return np.stack([(term * paired).sum(axis=1) for term in terms], axis=1)


def pair_form(plane: Words, rows: tuple[int, int], sides: tuple[int, int], vector: Floats) -> float:
    """Σ over the ones of a plane in strips, from some slots to later ones of some sides, of vector_u · vector_v."""
    total, slots = 0.0, np.arange(*rows)
    for side in range(*sides):
        columns = np.arange(side * 512, side * 512 + 512)
        bits = unpack_rows(plane[side, rows[0] : rows[1]], 512) & (columns > slots[:, None])
        total += float(vector[slots] @ (bits @ vector[columns]))
    return total


def _combined(weights: Floats, arrays: Ints | Bits) -> Floats:
    """Σ weight · array for each row of weights, without touching arrays of weight 0."""
    totals = np.zeros((len(weights), *arrays.shape[1:]))
    scratch = np.empty(arrays.shape[1:])
    for total, row in zip(totals, weights, strict=True):
        for k in np.flatnonzero(row):
            total += np.multiply(arrays[k], row[k], out=scratch)
    return totals
