"""Sums over all pairs of nodes of what they share: the work behind triangles and 4-cycles.

For functions f, g of the score, the *form* F[f, g](u, v) = Σ_w f(ê_uw) g(ê_wv) is a weighted sum of
the integers N_ab(u, v) = "how many w have u–w in plane a and w–v in plane b". Those integers are
counted once per block of rows; every form is then a few multiplications.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import unpack_rows
from visibility_aware_edge_ldp.subgraphs.scores import Floats, ScoreFunction, Scores

# Rows at a time: large enough that Python's share of the work is small, small enough to stay near the cache.
BLOCK = 48
Sums = Mapping[str, float]
Counts = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class PairBlock:
    """All pairs (u, v) with u in a block of rows and v at or after its first row.

    Arrays have a row for each u and a column for each v; entries with v ≤ u mean nothing.
    """

    def __init__(self, scores: Scores, start: int) -> None:
        self.scores, self.start, self.stop = scores, start, min(start + BLOCK, scores.n)
        self._planes = [unpack_rows(plane[start : self.stop], scores.n, start) for plane in scores.planes]
        self._sums: dict[tuple[int, int], Floats] = {}
        self._differences: dict[tuple[int, int], Counts] = {}
        for a in range(len(self._planes)):
            self._sums[a, a] = self._shared(a, a).astype(np.float64)
            for b in range(a):
                there, back = self._shared(a, b), self._shared(b, a)
                self._sums[a, b], self._differences[a, b] = (there + back).astype(np.float64), there - back
        self._known: dict[tuple[ScoreFunction, ScoreFunction], Floats] = {}

    @property
    def shape(self) -> tuple[int, int]:
        return self.stop - self.start, self.scores.n - self.start

    @property
    def upper(self) -> npt.NDArray[np.bool_]:
        """Which of the block's pairs have u < v."""
        return np.arange(self.shape[1])[None, :] > np.arange(self.shape[0])[:, None]

    def inside(self, plane: int) -> npt.NDArray[np.bool_]:
        """Which pairs u < v are in a plane."""
        return self._planes[plane] & self.upper

    def shared(self, a: int, b: int) -> Floats:
        """N_aa, or N_ab + N_ba: in how many ways each pair is joined through planes a and b."""
        return self._sums[max(a, b), min(a, b)]

    def at(self, function: ScoreFunction) -> Floats:
        """The function of the pairs' own scores, 0 unless u < v."""
        weighted = zip(self.scores.weights(function).tolist(), self._planes, strict=True)
        return _combined(weighted, self.shape) * self.upper

    def form(self, left: ScoreFunction, right: ScoreFunction) -> Floats:
        """(F[left, right] + F[right, left])/2 at every pair."""
        if (left, right) not in self._known:
            f, g = self.scores.weights(left), self.scores.weights(right)
            terms = (
                ((f[a] * g[b] + f[b] * g[a]) / 2 if a != b else f[a] * g[a], counts)
                for (a, b), counts in self._sums.items()
            )
            self._known[left, right] = _combined(terms, self.shape)
        return self._known[left, right]

    def skew_form(self, left: ScoreFunction, right: ScoreFunction) -> Floats:
        """(F[left, right] − F[right, left])/2 at every pair."""
        f, g = self.scores.weights(left), self.scores.weights(right)
        terms = (((f[a] * g[b] - f[b] * g[a]) / 2, counts) for (a, b), counts in self._differences.items())
        return _combined(terms, self.shape)

    def _shared(self, a: int, b: int) -> Counts:
        return joined(self.scores, a, b, self.start, self.stop)


def joined(scores: Scores, a: int, b: int, start: int, stop: int) -> Counts:
    """N_ab for users ``start`` to ``stop`` and those from ``start`` on; a plane of every position needs no counting."""
    degrees, full = scores.plane_degrees, scores.full
    if a == b == full:
        return np.full((stop - start, scores.n - start), scores.n - 2)
    if full in (a, b):
        other = b if a == full else a
        ends = degrees[b][None, start:] if a == full else degrees[a][start:stop, None]
        return np.asarray(ends - unpack_rows(scores.planes[other, start:stop], scores.n, start))
    return choice.shared_counts()(scores.planes[a, start:stop], scores.planes[b, start:])


def _combined(
    terms: Iterator[tuple[float, npt.NDArray[np.generic]]] | zip[tuple[float, npt.NDArray[np.bool_]]],
    shape: tuple[int, int],
) -> Floats:
    """Σ weight · array, without touching arrays of weight 0."""
    total, scratch = np.zeros(shape), np.empty(shape)
    for weight, array in terms:
        if weight:
            np.multiply(array, weight, out=scratch)
            total += scratch
    return total


def inner(left: Floats, right: Floats) -> float:
    """Σ left · right, without the linear-algebra library, whose own threads would fight with ours."""
    return float((left * right).sum())


def sum_over_pairs(scores: Scores, summand: Callable[[PairBlock], Sums]) -> dict[str, float]:
    """Add up a summand over all blocks; the order of addition does not depend on the threads."""
    choice.shared_counts()  # compiled once, before the threads start
    starts = range(0, scores.n, BLOCK)
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, len(starts))) as pool:
        parts = list(pool.map(lambda start: summand(PairBlock(scores, start)), starts))
    return {key: float(np.sum([part[key] for part in parts])) for key in parts[0]}
