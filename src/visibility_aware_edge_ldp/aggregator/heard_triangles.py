"""Triangles from the rows that were heard.  [HOLDERS.3]

A triangle u < v < w has the sides uv and uw in u's row and vw in v's: it needs at most two holders, u unless both of
its sides are public, and v unless vw is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.heard_rows import HeardRows, Parts
from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import Bits, Words, unpack_rows
from visibility_aware_edge_ldp.kernels.pair_sums import upper
from visibility_aware_edge_ldp.subgraphs.rows import on_all_cores
from visibility_aware_edge_ldp.subgraphs.scores import Floats, score, spread, square

Counts = npt.NDArray[np.int32]
BLOCK = 48


def triangle_parts(rows: HeardRows) -> Parts:
    """The number of triangles and how it varies.  [HOLDERS.3-4]"""
    return triangles_and_wedges(rows).triangles


def triangles_and_wedges(rows: HeardRows, by_position: ByPosition | None = None) -> Together:
    """The number of triangles, how it varies, and how it varies together with 2-stars.  [HOLDERS.6]"""
    sums = _Sums(rows, by_position)
    choice.shared_counts()  # chosen once, before the threads start
    parts = on_all_cores(sums.block, range(0, rows.scores.n, BLOCK))
    value, noise, floor, pull_noise, *shared = np.sum([part.sums for part in parts], axis=0).tolist()
    pulls = np.concatenate([part.pulls for part in parts])
    return Together(Parts(value, noise, floor, pulls, pull_noise), *shared)


class Together(NamedTuple):
    """Triangles, and what they have in common with 2-stars: 0 where nothing is said of these.  [HOLDERS.6]

    ``noise`` is the noise covariance of the estimates given who answered, ``pull_noise`` that of each user's pulls,
    added up.
    """

    triangles: Parts
    noise: float
    pull_noise: float


class ByPosition(NamedTuple):
    """How 2-stars change with the score of vw, v < w: ``first`` of v and ``second`` of w, less the score times ``own``.

    ``later`` is the score of each user's own row.  [HOLDERS.6]
    """

    first: Floats
    second: Floats
    own: float
    later: Floats


class _Block(NamedTuple):
    sums: Floats
    pulls: Floats


class _Sums:
    """Sums over pairs v < w of what third users add: earlier ones, those after v, and those after w."""

    def __init__(self, rows: HeardRows, wedges: ByPosition | None = None) -> None:
        scores, self.wedges = rows.scores, wedges
        self.n, self.planes, self.later = scores.n, scores.planes, rows.later
        self.earlier = self.planes ^ self.later
        _, self.one, self.two = rows.weights(2).tolist()
        self.public = rows.is_public
        self.score, self.spread, self.square = (scores.weights(each) for each in (score, spread, square))
        self.hidden, self.hidden_square = self.score - self.public, self.square - self.public

    def block(self, start: int) -> _Block:
        """The pairs v < w with v in a block of rows."""
        stop = min(start + BLOCK, self.n)
        inside = upper(stop - start, self.n - start)
        bits = [unpack_rows(plane[start:stop], self.n, start) & inside for plane in self.planes]
        y, p, s, noise = (_weighed(each, bits, inside) for each in (self.score, self.public, self.hidden, self.spread))
        before = self._counts(self.earlier[:, start:stop], self.planes[:, start:])
        after = self._counts(self.later[:, start:stop], self.planes[:, start:])
        last = self._counts(self.planes[:, start:stop], self.later[:, start:])

        known, all_first = _form(before, self.public, self.public), _form(before, self.score, self.score)
        by_first = self.one * known + self.two * (all_first - known)
        side = self.one * self.public + self.two * self.hidden
        by_own, by_public = _form(after, self.score, side), _form(after, self.public, side)
        slope = by_first + by_own
        change = slope**2

        pairs = _form(before, self.spread, self.spread)
        mixed = _form(before, self.spread, self.score) + _form(before, self.score, self.spread)
        public_pairs, three = self.one**2 * p * pairs, self.two**2 * noise * pairs
        corrected = 2 * three + self.two**2 * (noise * mixed + s * pairs) + public_pairs

        elsewhere = _form(before, self.square, self.square) - known
        elsewhere += _form(after - last, self.square, self.hidden_square)
        by_last = _form(last, self.score, self.hidden)
        elsewhere += by_last**2
        sums = (
            s * by_first + p * (known + self.one * (all_first - known)),
            noise * change - corrected,
            three,
            noise * (change + self.two**2 * elsewhere) - 2 * corrected + public_pairs,
        )
        shared = [0.0, 0.0]
        if self.wedges is not None:
            by_wedges = self.wedges.first[start:stop, None] + self.wedges.second[start:] - self.wedges.own * s
            both = noise * slope * by_wedges - self.one * pairs * (self.two * s + self.one * p)
            adjacent = self.two**2 * noise * mixed
            beside = _form(before, self.hidden_square, self.score) + _form(before, self.score, self.hidden_square)
            beside += _form(after - last, self.score, self.hidden_square) + by_last * self.wedges.later[start:]
            pulled = both + self.two**2 * noise * beside - 2 * adjacent
            shared = [float((both - adjacent).sum()), float(pulled.sum())]
        pulls: Floats = (s * by_first + (y * by_own - p * by_public) / 2).sum(axis=1)
        return _Block(np.array([*(each.sum() for each in sums), *shared]), pulls)

    @staticmethod
    def _counts(left: Words, right: Words) -> Counts:
        """(K, K, rows, columns): how many users each pair shares through every two planes."""
        kernel = choice.shared_counts()
        return (
            np.stack([[kernel(a, b) for b in right] for a in left]) if len(left) else np.zeros((0, 0, 1, 1), np.int32)
        )


def _weighed(weights: Floats, bits: list[Bits], inside: Bits) -> Floats:
    found = np.zeros(inside.shape)
    for weight, each in zip(weights.tolist(), bits, strict=True):
        found += weight * each
    return found


def _form(counts: Counts, left: Floats, right: Floats) -> Floats:
    """Σ over third users of a function of the one side times a function of the other."""
    found = np.zeros(counts.shape[2:])
    for (a, b), count in zip(np.ndindex(counts.shape[:2]), counts.reshape(-1, *counts.shape[2:]), strict=True):
        if weight := float(left[a] * right[b]):
            found += weight * count
    return found
