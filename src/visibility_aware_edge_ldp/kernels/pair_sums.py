"""Sums over pairs of nodes of products of forms, for a block of rows; each has a compiled twin in ``compiled``.

A *form* is a weighted sum of the integers ``counts[k]``: an array with a row for each node of the block and a column
for each node from the block's first on. Row i is paired with columns j > i. The twins add in another order, so that
their sums agree but for rounding.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bits = npt.NDArray[np.bool_]


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
    others = ends[: len(paths), None] + ends[None, :] - 2 * here
    terms = (
        here * paths,
        noise * (paths * paths + paths - squares),
        here * noisy_paths,
        noise * noisy_paths,
        noise * paths * others,
    )
    return np.array([term.sum() for term in terms])


def cycle_sums(counts: Ints, differences: Ints, forms: Floats, skew: Floats) -> Floats:
    """The sums behind 4-cycles, with the forms of ``subgraphs.cycles``."""
    paths, squares, noisy, mixed, scored, both, three, four = _combined(forms, counts)
    odd = _combined(skew[None], differences)[0]
    terms = (
        paths * paths - squares,
        noisy * paths * paths - 2 * paths * scored + both,
        mixed * mixed - odd * odd - both,
        2 * (noisy * mixed - three),
        noisy * noisy - four,
    )
    inside = upper(*paths.shape)
    return np.array([(term * inside).sum() for term in terms])


def _combined(weights: Floats, arrays: Ints | Bits) -> Floats:
    """Σ weight · array for each row of weights, without touching arrays of weight 0."""
    totals = np.zeros((len(weights), *arrays.shape[1:]))
    scratch = np.empty(arrays.shape[1:])
    for total, row in zip(totals, weights, strict=True):
        for k in np.flatnonzero(row):
            total += np.multiply(arrays[k], row[k], out=scratch)
    return totals
