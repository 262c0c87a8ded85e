"""Triangles, their variance, and their covariance with 2-stars, from sums over all pairs of nodes.  [COUNTS.4]

For functions f, g of the score, the *form* F[f, g](u, v) = Σ_w f(ê_uw) g(ê_wv) is a weighted sum of
the integers N_ab(u, v) = "how many w have u–w in plane a and w–v in plane b". Those integers are
counted once per block of rows; every form is then a few multiplications, with weights from ``Scores.form_weights``.
4-cycles are made of the same blocks.
"""

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import unpack_rows
from visibility_aware_edge_ldp.compute.plain.pair_sums import both_ways, upper
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.counts.plane_products import joined
from visibility_aware_edge_ldp.counts.scores import Counts, Floats, ScoreFunction, Scores, score, spread, square

Sums = Mapping[str, float]
Forms = tuple[tuple[ScoreFunction, ScoreFunction], ...]
NAMES = ("count", "one noisy", "two noisy", "three noisy", "with 2-stars")
FORMS: Forms = ((score, score), (square, square), (spread, spread))
# Rows at a time: large enough that Python's share of the work is small, small enough to stay near the cache.
BLOCK = 48


class PairBlock:
    """All pairs (u, v) with u in a block of rows and v at or after its first row, and before ``last``.

    Arrays have a row for each u and a column for each v; entries with v ≤ u mean nothing.

    Parameters
    ----------
    bits
        (K, rows, columns): which pairs are in each plane.
    counts
        For each of ``Scores.plane_pairs``, N_aa, or N_ab + N_ba: in how many ways each pair is joined through the two.
    differences
        For those with a ≠ b, N_ab − N_ba.
    squares
        For each node from ``start`` on, the squared two-paths of its pairs in the block, once ``sums`` has made them.
    """

    def __init__(self, scores: Scores, start: int, last: int | None = None) -> None:
        self.scores, self.start, self.stop = scores, start, min(start + BLOCK, scores.n)
        self.last = scores.n if last is None else last
        self.bits = np.empty((len(scores.planes), self.stop - start, self.last - start), np.bool_)
        for plane, held in zip(scores.planes, self.bits, strict=True):
            held[:] = unpack_rows(plane[start : self.stop], self.last, start)
        self.ordered = scores.shared_among(np.arange(start, self.stop), start, self.last) if scores.is_counted else None
        self._sums: Floats | None = None
        self.squares: Floats | None = None

    @cached_property
    def _counted(self) -> tuple[Counts, Counts]:
        """Both arrays."""
        if self.ordered is not None:
            return both_ways(self.ordered)
        scores, pairs, shape = self.scores, self.scores.plane_pairs, (self.stop - self.start, self.last - self.start)
        counts = np.empty((len(pairs), *shape), np.int32)
        differences = np.empty((len(pairs) - len(self.bits), *shape), np.int32)
        odd = iter(differences)
        for (a, b), total in zip(pairs, counts, strict=True):
            if a == b:
                total[:] = joined(scores, a, b, slice(self.start, self.stop), self.start, self.last)
            else:
                self._both_ways(a, b, total, next(odd))
        return counts, differences

    @property
    def counts(self) -> Counts:
        return self._counted[0]

    @property
    def differences(self) -> Counts:
        return self._counted[1]

    def sums(self, forms: Forms, with_skew: Forms = ()) -> Floats | None:
        """The sums of ``group_sums.add_pair_sums`` with these forms or with more; None where planes are not counted."""
        if self.ordered is not None and self._sums is None:
            scores = self.scores
            weights = np.stack([scores.form_weights(*form) for form in forms])
            own = np.stack([scores.weights(score), scores.weights(spread)])
            ends, skew = scores.node_sums(score)[self.start : self.last], [scores.skew_weights(*f) for f in with_skew]
            found, squares = np.zeros((10 if with_skew else 5, ends.size)), np.zeros(self.stop - self.start)
            kernel = backend.kernels("group_sums").add_pair_sums
            kernel(self.ordered, self.bits, weights, np.concatenate([*skew, np.empty(0)]), own, ends, found, squares)
            self._sums = found.sum(axis=1)
            if with_skew:
                self.squares = found[5]
                self.squares[: squares.size] += squares
        return self._sums

    def _both_ways(self, a: int, b: int, total: Counts, difference: Counts) -> None:
        scores, rows, ends = self.scores, slice(self.start, self.stop), slice(self.start, self.last)
        whole, other = (a, b) if a in scores.complete else (b, a)
        if whole in scores.complete:
            nodes, degrees = scores.complete[whole][ends], scores.degrees_among[whole][other]
            kernel = backend.kernels("pair_sums").through_complete
            kernel(nodes, self.bits[other], degrees[rows], degrees[ends], total, difference)
            if whole == b:
                np.negative(difference, out=difference)
            return
        whole, other = (a, b) if a in scores.by_groups else (b, a)
        if whole in scores.by_groups:
            plane, degrees = scores.by_groups[whole], scores.group_degrees[whole, other]
            kernel = backend.kernels("pair_sums").through_groups
            near, far = degrees[:, rows], degrees[:, ends]
            kernel(plane.groups[ends], plane.closed, self.bits[other], near, far, total, difference)
            if whole == b:
                np.negative(difference, out=difference)
            return
        there, back = (joined(scores, *pair, rows, self.start, self.last) for pair in ((a, b), (b, a)))
        np.add(there, back, out=total)
        np.subtract(there, back, out=difference)

    def inside(self, plane: int) -> npt.NDArray[np.bool_]:
        """Which pairs u < v are in a plane."""
        held: npt.NDArray[np.bool_] = self.bits[plane] & upper(*self.bits.shape[1:])
        return held

    def shared(self, a: int, b: int) -> npt.NDArray[np.int32]:
        """N_aa, or N_ab + N_ba."""
        counts: npt.NDArray[np.int32] = self.counts[self.scores.plane_pairs.index((max(a, b), min(a, b)))]
        return counts


def sum_over_pairs(
    scores: Scores,
    summand: Callable[[PairBlock], Sums],
    *,
    scored_only: bool = False,
    squares: Floats | None = None,
) -> dict[str, float]:
    """Add up a summand over all blocks; the order of addition does not depend on the threads.

    ``scored_only``: pairs whose own score is 0 add nothing, so that a block ends at its last score. ``squares``: where
    planes are counted and 4-cycles summed, each node's squared two-paths to all others are added to them.
    """
    scores = scores.in_group_order()
    if len(scores.complete) < len(scores.planes):
        _ = scores.strips  # and these are cut once
    if scores.is_counted:
        _ = scores.among
    _ = scores.group_degrees, scores.lists
    lasts = scores.last_columns(BLOCK).tolist() if scored_only else None
    starts = range(0, scores.n, BLOCK)

    def part(start: int) -> tuple[Sums, Floats | None]:
        block = PairBlock(scores, start, lasts and lasts[start // BLOCK])
        return summand(block), block.squares

    parts = []
    for start, (sums, across) in zip(starts, on_cores(part, starts), strict=True):
        parts.append(sums)
        if squares is not None and across is not None:
            squares[start : start + across.size] += across
    return {key: float(np.sum([part[key] for part in parts])) for key in parts[0]}


def triangle_sums(block: PairBlock) -> Sums:
    """The block's part of every sum that triangles and transitivity need."""
    if (known := block.sums(FORMS)) is not None:
        return dict(zip(NAMES, known[: len(NAMES)].tolist(), strict=True))
    scores = block.scores
    forms = np.stack([scores.form_weights(each, each) for each, _ in FORMS])
    own = np.stack([scores.weights(score), scores.weights(spread)])
    ends = scores.node_sums(score)[block.start : block.last]
    found = backend.kernels("pair_sums").triangle_sums(block.counts, forms, block.bits, own, ends)
    return dict(zip(NAMES, found.tolist(), strict=True))


def triangles(sums: Sums) -> tuple[float, float]:
    """The triangle count and its variance, with what a sample of tile triples adds."""
    floor = sums["three noisy"] / 3
    noise = max(sums["one noisy"] + sums["two noisy"] + floor, floor)
    return sums["count"] / 3, noise + sums.get("sampling", 0.0) / 9


def covariance_with_two_stars(sums: Sums) -> float:
    """Covariance of the triangle and 2-star estimates.  [COUNTS.5]"""
    return sums["with 2-stars"] - sums["two noisy"]
