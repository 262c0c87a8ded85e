"""Sums over pairs of nodes of two groups, for scores that the groups and one bit decide; they have compiled twins.

Both twins, on every machine, round the same operations in the same order.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.compute.plain.bitset import Words, unpack_rows
from visibility_aware_edge_ldp.compute.plain.pair_sums import (
    CHUNK,
    LANES,
    Bits,
    Floats,
    Ints,
    Shorts,
    Slots,
    both_ways,
    combined,
    cycle_terms,
    triangle_terms,
    upper,
    with_alone,
)

Parts = Sequence[tuple[Any, ...]]


def group_sums(
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
    """The terms of triangles, and with nine forms of 4-cycles, of nodes of one group with consecutive slots of another.

    Form q of row i and column j is rows[q, i] + columns[q, j] + bit[q]·b + Σ shared[q, t]·counts[t, i, j], b being the
    bit of the two in the rows' ``words``; the ninth is the difference that 4-cycles need. Their own score and spread
    are own[·, 0] + own[·, 1]·b. ``slots`` are the rows', ``first_slot`` the first column's; row i is paired with all
    columns from ``begins[i]`` on, but not with itself. Returns ten sums for each row, and with nine forms the sum of
    the first form's squares, which are also added to ``squares`` column by column.
    """
    size = counts.shape[2]
    columns_of = np.arange(first_slot, first_slot + size)
    bits = ((words[:, columns_of >> 6] >> (columns_of & 63).astype(np.uint64)) & np.uint64(1)).astype(np.float64)
    forms = rows[:, :, None] + columns[:, None, :] + bit[:, None, None] * bits
    for weight, count in zip(shared.T, counts, strict=True):
        forms += weight[:, None, None] * count
    here, noise = (each[0] + each[1] * bits for each in own)
    paired = (columns_of != slots[:, None]) & (np.arange(size) >= begins[:, None])
    terms = list(triangle_terms(tuple(forms[:3]), here, noise, ends[:, None] + other_ends))
    terms += (*cycle_terms(forms[:8], forms[8]), forms[0] ** 2) if len(forms) == 9 else [np.zeros_like(here)] * 6
    squares += (terms[-1] * paired).sum(axis=0)
    found = np.stack([_by_lanes(term * paired) for term in terms], axis=1)
    known = np.stack([(each * paired).sum(axis=1) for each in (*counts, bits)], axis=1)
    return with_alone(found, known, slots - first_slot, begins, rows, columns, bit, shared)


def block_sums(plane: Words, slots: Slots, groups: Slots, parts: Parts) -> list[Floats]:
    """For each part the ``group_sums`` of some slots with the consecutive slots of a group from its first slot on.

    Groups are ranges of sides, and every count of a part is of the slots of a group that both slots have ones with. A
    part has the other arguments of ``group_sums``: its first slot, the first of a side; and from ``rows`` on all.
    """
    words, found = np.concatenate(list(plane[:, slots]), axis=1), []
    for first_slot, rows, columns, *rest in parts:
        last_slot = first_slot + columns.shape[1]
        counts = np.zeros((len(groups), slots.size, columns.shape[1]), np.int32)
        for (first, last), count in zip(groups.tolist(), counts, strict=True):
            for strip in plane[first:last]:
                for row, total in zip(strip[slots], count, strict=True):
                    total += np.bitwise_count(row & strip[first_slot:last_slot]).sum(axis=1, dtype=np.int32)
        found.append(group_sums(counts, words, slots, first_slot, rows, columns, *rest))
    return found


def _by_lanes(terms: Floats) -> Floats:
    """The sum of each row: of every ``LANES``-th number, one after the other; then of halves, again and again."""
    chunks = -(-terms.shape[1] // LANES)
    filled = np.zeros((len(terms), chunks, LANES))
    filled.reshape(len(terms), -1)[:, : terms.shape[1]] = terms
    lanes: Floats = np.add.accumulate(filled, axis=1)[:, -1] + 0.0  # sums begin with 0, so that none is −0
    while lanes.shape[1] > 1:
        lanes = lanes[:, : lanes.shape[1] // 2] + lanes[:, lanes.shape[1] // 2 :]
    return lanes[:, 0]


def add_pair_sums(
    ordered: Shorts, bits: Bits, forms: Floats, skew: Floats, own: Floats, ends: Floats, sums: Floats, squares: Floats
) -> None:
    """Add the terms of ``triangle_sums`` and, with five forms, of 4-cycles to the columns' ``sums``.

    ``ordered[a, b]`` are the counts of planes a and b, and ``counts`` those of (a, b) and (b, a) together, for all
    a ≥ b; ``differences`` are the first less the second, for a > b. The terms of 4-cycles are those of ``cycle_terms``,
    but that the first is the squared form alone; of each row it is added to ``squares``, too. Where a plane has weight
    0 with itself in the third or fifth form, which are of one function twice, it has none in them at all.
    """
    counts, differences = both_ways(ordered)
    found, inside = combined(forms, counts), upper(*ordered.shape[2:])
    here, noise = combined(own, bits) * inside
    terms = list(triangle_terms(tuple(found[:3]), here, noise, ends[: len(here), None] + ends[None, :]))
    if len(forms) > 3:
        odd, square = combined(skew[None], differences)[0], found[0] * found[0]
        terms += [term * inside for term in (square, *cycle_terms(found, odd)[1:])]
        for start in range(0, inside.shape[1], CHUNK):
            for row in range(len(inside)):
                part = square[row : row + 1, max(start, row + 1) : start + CHUNK]
                squares[row] += _by_lanes(part)[0] if part.size else 0.0
    sums += np.stack([term.sum(axis=0) for term in terms])


def later_sums(plane: Words, rows: tuple[int, int], sides: tuple[int, int], vector: Floats) -> Floats:
    """For some slots of a plane in strips: the sum of the vector over its ones with later slots of some sides.

    The twins agree where sums are exact in any order, as of ``reproducible_math.on_grid``.
    """
    total, slots = np.zeros(rows[1] - rows[0]), np.arange(*rows)
    for side in range(*sides):
        columns = np.arange(side * 512, side * 512 + 512)
        bits = unpack_rows(plane[side, rows[0] : rows[1]], 512) & (columns > slots[:, None])
        total += np.where(bits, vector[columns], 0.0).sum(axis=1)
    return total
