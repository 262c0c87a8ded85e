"""Triangles of reported rows: who is needed for how many of them, and how sure that is.  [HOLDERS.3-4]

A triangle u < v < w has the sides uv and uw in u's row and vw in v's: it needs at most two holders, u unless both of
its sides are public, and v, its *middle* user, unless vw is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.aggregator.reported_rows import Leaves, Parts, ReportedRows, Zone
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import unpack_rows
from visibility_aware_edge_ldp.compute.plain.pair_sums import upper
from visibility_aware_edge_ldp.counts.rows import on_all_cores
from visibility_aware_edge_ldp.counts.scores import Floats, score, spread, square

BLOCK = 48


def triangle_parts(rows: ReportedRows) -> Parts:
    """The number of triangles and how it varies.  [HOLDERS.3-4]"""
    return triangles_and_wedges(rows).triangles


def triangles_and_wedges(rows: ReportedRows, by_position: ByPosition | None = None) -> Together:
    """The number of triangles, how it varies, and how it varies together with 2-stars.  [HOLDERS.6]"""
    summed = _Sums(rows, by_position)
    backend.kernels("bitset")  # chosen once, before the threads start
    parts = on_all_cores(summed.block, range(0, rows.scores.n, BLOCK))
    value, noise, floor, pull_noise, *shared = np.sum([sums for sums, _ in parts], axis=0).tolist()
    pulls = np.concatenate([pulls for _, pulls in parts])
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


class _Sums:
    """Sums over pairs v < w of what third users add: earlier ones, those after v, and those after w."""

    def __init__(self, rows: ReportedRows, wedges: ByPosition | None = None) -> None:
        scores, self.wedges, self.public = rows.scores, wedges, rows.is_public
        self.n, self.planes, self.later = scores.n, scores.planes, rows.later
        self.earlier = self.planes ^ self.later
        _, self.one, self.two = rows.weights(2).tolist()
        self.score, self.spread, self.square = (scores.weights(each) for each in (score, spread, square))
        self.hidden, self.hidden_square = self.score - self.public, self.square - self.public

    def block(self, start: int) -> tuple[Floats, Floats]:
        """Sums over the pairs v < w with v in a block of rows, and the pulls of these v."""
        stop = min(start + BLOCK, self.n)
        inside = upper(stop - start, self.n - start)
        nothing = np.zeros(inside.shape)
        bits = [unpack_rows(plane[start:stop], self.n, start) & inside for plane in self.planes]
        sides = (self.score, self.public, self.hidden, self.spread)
        y, p, s, noise = (sum((w * b for w, b in zip(each.tolist(), bits, strict=True)), nothing) for each in sides)
        before = Zone.of(self.earlier[:, start:stop], self.planes[:, start:])
        after = Zone.of(self.later[:, start:stop], self.planes[:, start:])
        last = Zone.of(self.planes[:, start:stop], self.later[:, start:])
        between = after.less(last)
        known, all_first = before.form(self.public, self.public), before.form(self.score, self.score)
        by_first = self.one * known + self.two * (all_first - known)
        side = self.one * self.public + self.two * self.hidden
        by_own, by_public = after.form(self.score, side), after.form(self.public, side)
        slope = by_first + by_own
        change = slope**2
        pairs = before.form(self.spread, self.spread)
        mixed = before.form(self.spread, self.score) + before.form(self.score, self.spread)
        public_pairs, three = self.one**2 * p * pairs, self.two**2 * noise * pairs
        corrected = 2 * three + self.two**2 * (noise * mixed + s * pairs) + public_pairs
        elsewhere = before.form(self.square, self.square) - known
        elsewhere += between.form(self.square, self.hidden_square)
        by_last = last.form(self.score, self.hidden)
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
            beside = before.form(self.hidden_square, self.score) + before.form(self.score, self.hidden_square)
            beside += between.form(self.score, self.hidden_square) + by_last * self.wedges.later[start:]
            pulled = both + self.two**2 * noise * beside - 2 * adjacent
            shared = [float((both - adjacent).sum()), float(pulled.sum())]
        pulls: Floats = (s * by_first + (y * by_own - p * by_public) / 2).sum(axis=1)
        return np.array([*(each.sum() for each in sums), *shared]), pulls


class Middles(NamedTuple):
    """How many triangles each user who reported is the middle one of, as the holder of the far side.  [MIDDLE.1]

    ``noise`` is the variance of all of these together, and ``far`` the variance that first answers about far sides give
    to the sums of those who own triangles, together.
    """

    each: Floats
    noise: float
    far: float


def middles(rows: ReportedRows) -> Middles:
    """Of the first answers of rows, whatever the classes of their positions.  [MIDDLE.1]"""
    summed = _MiddleSums(rows)
    backend.kernels("bitset")  # chosen once, before the threads start
    parts = on_all_cores(summed.block, range(0, rows.scores.n, BLOCK))
    noise, far = np.sum([sums for sums, _ in parts], axis=0).tolist()
    return Middles(np.concatenate([each for _, each in parts]), noise, far)


class _MiddleSums:
    """Sums over pairs v < w of what earlier users u add, and of what later users add as ends of far sides."""

    def __init__(self, rows: ReportedRows) -> None:
        scores = rows.scores
        self.n, self.planes, self.later = scores.n, scores.planes, rows.later
        self.earlier, self.public, self.response = self.planes ^ self.later, rows.is_public, rows.response_rate
        _, one, two = rows.weights(2).tolist()
        # One over the chance that u reported, given that v did.
        self.rate = two / one if one else 1.0
        self.score, self.spread, self.square = (scores.weights(each) for each in (score, spread, square))
        self.hidden, self.hidden_square = self.score - self.public, self.square - self.public

    def block(self, start: int) -> tuple[Floats, Floats]:
        """Sums over the pairs v < w with v in a block of rows, and the triangles of these v."""
        stop, rate = min(start + BLOCK, self.n), self.rate
        inside = upper(stop - start, self.n - start)
        bits = [unpack_rows(plane[start:stop], self.n, start) & inside for plane in self.planes]
        sides, nothing = (self.hidden, self.spread), np.zeros(inside.shape)
        s, noise = (sum((w * b for w, b in zip(each.tolist(), bits, strict=True)), nothing) for each in sides)
        before = Zone.of(self.earlier[:, start:stop], self.planes[:, start:])
        last = Zone.of(self.planes[:, start:stop], self.later[:, start:])
        known, paths = before.form(self.public, self.public), before.form(self.score, self.score)
        # F, and Σφ²x²z² − Σφ²xz: φ is 1 where both sides of u are public, and the rate elsewhere.
        first = known + rate * (paths - known)
        beyond = rate**2 * (before.form(self.square, self.square) - paths)
        # As a far side, vw is told by w's triangles with later users.
        ends = last.form(self.score, self.hidden) ** 2 - last.form(self.square, self.hidden_square)
        sums = noise * (first**2 + rate**2 * ends) + s * beyond
        # Of users whose two sides are public, as many as of the others have told what they own.
        owned = paths - known + self.response * known
        return np.array([sums.sum(), rate**2 * float((noise * owned).sum())]), (s * first).sum(axis=1)


def earlier_share(rows: ReportedRows) -> Floats:
    """About the share of each user's hidden friends who come before it, by its place and its answers.  [MIDDLE.2]"""
    n, (_, later, earlier) = rows.scores.n, (each[1] for each in Leaves.of(rows, 1))
    _, one, two = rows.weights(2).tolist()
    place = (np.arange(n) + 0.5) / n
    before = np.maximum(earlier * two / one, 0.0) if one else earlier
    friends = np.maximum(before + later, 0.0)
    # The answers of a user with few friends say less than its place.
    noise = float(rows.scores.node_sums(spread).mean())
    found = (before * friends + place * noise) / (friends**2 + noise) if noise else before / np.maximum(friends, 1.0)
    return np.asarray(np.clip(found, 0.5 / n, 1 - 0.5 / n))
