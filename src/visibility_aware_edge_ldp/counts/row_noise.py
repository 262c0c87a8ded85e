"""How sums over rows vary: by the first answers, and where users read a part of these.  [ROWS.2], [PARTS.4-6]"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.list_groups import short_weights
from visibility_aware_edge_ldp.compute.plain.bitset import Words, pack_rows
from visibility_aware_edge_ldp.compute.plain.rows import PANEL, panels_of
from visibility_aware_edge_ldp.compute.reproducible_math import exp, log
from visibility_aware_edge_ldp.counts.plane_products import joined
from visibility_aware_edge_ldp.counts.rows import BLOCK, Bits, Earlier, Integers, Step, on_all_cores
from visibility_aware_edge_ldp.counts.scores import Floats, Scores, score, spread, square
from visibility_aware_edge_ldp.mechanisms.power_noise import smooth_bound

# Up to this many friends a group on average, the largest group is that of Poisson numbers; beyond, of normal ones.
_MANY = 60.0


def first_vertex_noise(scores: Scores, step: Step | None = None) -> float:
    """Σ over positions {j, k} of the spread of its score times the squared number of earlier users tied to both.

    An unbiased estimate from the scores alone. Users without a spread score have no part in it. ``step`` hears which
    share of the work was done.  [ROWS.2]
    """
    reported = _rows_of_one_class(scores)
    if reported is not None:
        return _of_one_class(scores, reported, step)
    noisy = scores.weights(spread) != 0
    earlier = Earlier(scores, np.flatnonzero((scores.plane_degrees[noisy] > 0).any(axis=0)))
    starts = range(0, earlier.users.size, BLOCK // 2)
    return float(np.sum(on_all_cores(partial(_noise_of, earlier), starts, _by_shares(starts, step))))


def _by_shares(starts: range, step: Step | None) -> Step | None:
    """A block's users have those before them tied to those after: so many are worth a share of the whole."""
    if step is None or not starts:
        return None
    before = np.arange(len(starts)) + 0.5
    work = before * (len(starts) - before + 0.5)
    shares = iter((work / work.sum()).tolist())
    return lambda _: step(next(shares))


def _rows_of_one_class(scores: Scores) -> Bits | None:
    """Who reported, if a position has a score exactly where its row was reported, one of two; None otherwise."""
    if scores.values.size != 2 or not np.array_equal(scores.member, np.tri(2, dtype=np.bool_)):
        return None
    if 0 in scores.complete and scores.complete[0].all():
        return scores.complete[0]
    return whole_rows(scores.planes[0], scores.n)


def whole_rows(plane: Words, n: int) -> Bits | None:
    """Which users have a one with every later user, if all others have none with any; None otherwise."""
    full = pack_rows(np.ones((1, n), np.bool_), n)[0]
    after = ~((np.uint64(2) << np.arange(64, dtype=np.uint64)) - np.uint64(1))
    reported = np.zeros(n, np.bool_)
    for first in range(0, n, 64):
        word, rows = first // 64, plane[first : first + 64, first // 64 :]
        later = np.repeat(full[None, word:], len(rows), axis=0)
        later[:, 0] &= after[: len(rows)]
        held = rows & later
        reported[first : first + 64] = whole = (held == later).all(axis=1)
        if held[~whole].any():
            return None
    return reported


def _of_one_class(scores: Scores, reported: Bits, step: Step | None = None) -> float:
    """[ROWS.2] where the score of {i, j}, i < j, is a + b·bit if i reported, and 0 otherwise.

    P = a²h + ab(r + t) + b²N, with h users before j who reported, r of them with a one with j, t with k, and N with
    both: the sum over k needs no more than the sums of t and N and of their products.
    """
    ones = panels_of(scores.planes[1]) if scores.joins_all[1] else scores.panels[1]
    kernel, starts = backend.kernels("rows").earlier_sums, range(0, scores.n, PANEL)
    parts = on_all_cores(
        lambda start: kernel(ones, reported, start, min(start + PANEL, scores.n)), starts, _by_shares(starts, step)
    )
    sums, tied = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    before: Integers = np.cumsum(reported) - reported
    later = scores.n - 1 - np.arange(scores.n)
    sizes = np.stack([later, scores.plane_degrees[1] - tied], axis=1) * reported[:, None]
    (a, b), (c, d) = _line(score(scores.values)), _line(square(scores.values))
    paths, squares = (a * a * before + a * b * tied)[:, None], (c * c * before + c * d * tied)[:, None]
    shared, early, both, mixed, twice = np.moveaxis(sums, 2, 0)
    terms = sizes * (paths**2 + paths - squares) + early * (2 * paths * a * b + a * b - c * d)
    terms += shared * (2 * paths * b * b + b * b - d * d) + (a * b) ** 2 * twice + 2 * a * b**3 * mixed + b**4 * both
    all_of_them, ones_of_them = terms.sum(axis=0)
    low, more = _line(spread(scores.values))
    return float(low * all_of_them + more * ones_of_them)


def _line(values: Floats) -> tuple[float, float]:
    """Two values as a first one, and what the second is more."""
    return float(values[0]), float(values[1] - values[0])


def _noise_of(earlier: Earlier, start: int) -> float:
    scores, stop = earlier.scores, start + BLOCK // 2
    pairs = list(product(range(len(scores.planes)), repeat=2))
    bits = np.stack([earlier.bits(plane, start, stop) for plane in range(len(scores.planes))])
    # Pairs without a spread score add nothing, so that nobody has to count who joins them: inside a scope, most.
    noisy = np.asarray(bits[scores.weights(spread) != 0].any(axis=(0, 1)))
    kept, counts = None if noisy.all() else np.flatnonzero(noisy), np.zeros((len(pairs), *bits.shape[1:]), np.int32)
    for count, (a, b) in zip(counts, pairs, strict=True):
        count[:, slice(None) if kept is None else kept] = earlier.joining(a, b, start, stop, kept)
    forms = np.zeros((3, len(pairs)))
    forms[:2] = [np.outer(scores.weights(each), scores.weights(each)).ravel() for each in (score, square)]
    own = np.stack([np.zeros(len(scores.planes)), scores.weights(spread)])
    ends = np.zeros(counts.shape[2])
    return float(backend.kernels("pair_sums").triangle_sums(counts, forms, bits, own, ends)[1])


def _power(exponent: int) -> Callable[[Floats], Floats]:
    return lambda values: values**exponent


class Opposite(NamedTuple):
    """Sums over pairs {i, l} of users with c common neighbours, without bias where every row was reported.  [PARTS.11]

    ``squares`` are those of C(c, 2), the 4-cycles in which the two are opposite; ``lists`` of c, times the two degrees
    together.
    """

    squares: float
    lists: float


def opposite_sums(scores: Scores) -> Opposite:
    """Both sums, from the power sums of ê_ij·ê_jl over j, by Newton's identities.  [PARTS.11]"""
    planes = range(len(scores.planes))
    powers = [scores.weights(_power(exponent)) for exponent in (1, 2, 3, 4)]
    degrees = scores.node_sums(score)

    def part(start: int) -> tuple[float, float]:
        rows = slice(start, min(start + BLOCK // 2, scores.n))
        p = np.zeros((4, rows.stop - start, scores.n - start))
        for a, b in product(planes, repeat=2):
            counts = joined(scores, a, b, rows, start)
            for total, weights in zip(p, powers, strict=True):
                total += weights[a] * weights[b] * counts
        # The elementary symmetric sums of two, three and four terms: C(c, 2), C(c, 3), C(c, 4) in the mean.
        second = (p[0] ** 2 - p[1]) / 2
        third = (second * p[0] - p[0] * p[1] + p[2]) / 3
        fourth = (third * p[0] - second * p[1] + p[0] * p[2] - p[3]) / 4
        ends = degrees[rows, None] + degrees[None, start:]
        found = np.triu(6 * fourth + 6 * third + second, 1), np.triu(ends * (2 * second + p[0]), 1)
        squares, lists = (float(each.sum(axis=1).sum()) for each in found)
        return squares, lists

    parts = on_all_cores(part, range(0, scores.n, BLOCK // 2))
    return Opposite(*(math.fsum(each) for each in zip(*parts, strict=True)))


class Shape(NamedTuple):
    """What the first answers say of all users' degrees, and what a graph with these and no other order has.

    ``variance`` is that of one score, 0 where nothing was reported; ``kept`` the share of users who reported.
    [TRIANGLE.6]
    """

    edges: float
    stars: float
    variance: float
    kept: float

    @property
    def branching(self) -> float:
        """How many further friends a friend has."""
        return self.stars / self.edges

    @property
    def triangles(self) -> float:
        return self.branching**3 / 6

    @property
    def cycles(self) -> float:
        return self.branching**4 / 8

    @property
    def own_noise(self) -> float:
        """The variance that first answers give to the reported rows' sums of triangles, one by one and together."""
        return self.variance * self.kept * self.stars / 3


def shape_of(scores: Scores, kept: float) -> Shape:
    """Edges and 2-stars of all users from reported scores; what may be noise of the 2-stars is left out."""
    n, (heard, variance) = scores.n, size_and_spread(scores)
    edges = heard / kept
    # A 2-star is reported by one user if its middle comes first, and else by two.
    share = (kept + 2 * kept**2) / 3
    stars = float((scores.node_sums(score) ** 2 - scores.node_sums(square)).sum()) / 2 / share
    least = max(2 * edges**2 / n - edges, edges / 2)
    more, noise = max(stars - least, 0.0), (variance / kept) ** 2 * n**3 / 2 / share
    return Shape(edges, least + more * (more**2 / (more**2 + noise) if more else 0.0), variance, kept)


def size_and_spread(scores: Scores) -> tuple[float, float]:
    """About how many edges were reported, and the variance of one score."""
    n = scores.n
    edges = max(float(scores.node_sums(score).sum()) / 2, 1.0)
    return edges, float(scores.node_sums(spread).sum()) / max(n * (n - 1), 1)


@dataclass(frozen=True)
class ListLaw:
    """How the sum of one list varies, as a function of its length; the length has noise, by which it is short or long.

    Parameters
    ----------
    groups, longest, last
        G; up to which noisy length a list is short; and from which length on its weight stays.
    length_rate
        The loss of a length: its noise is discrete Laplace.
    largest, variance
        M, and σ², the variance of the score of a position without an edge.
    short_noise, long_noise
        The standard deviation of the noise over its bound.
    beta
        How fast the bound of a long list may move.
    rounding
        What is added to every bound because sums are reported in whole units.
    """

    groups: int
    longest: int
    last: int
    length_rate: float
    largest: float
    variance: float
    short_noise: float
    long_noise: float
    beta: float
    rounding: float = 0.0

    def short_chance(self, lengths: Integers) -> Floats:
        """With which chance a list of this length is taken as short."""
        room = (self.longest - lengths).astype(np.float64)
        beyond = exp(-self.length_rate * (np.abs(room) + (room >= 0))) / (1 + math.exp(-self.length_rate))
        return np.where(room >= 0, 1 - beyond, beyond)

    def second(self, lengths: Integers, density: float = 0.0) -> Floats:
        """The mean variance of the second round's noise; ``density`` is the share of pairs of friends with an edge."""
        short = self.short_chance(lengths)
        return short * self._second_short(lengths, density) + (1 - short) * self._second_long(lengths)

    def first(self, lengths: Integers) -> Floats:
        """What first answers add, each list by itself: σ² times the pairs, each with its weight.  [PARTS.4]"""
        return self.variance * _pairs_of(lengths) * self.weights(lengths)

    def weights(self, lengths: Integers) -> Floats:
        """The mean weight of a pair."""
        short = self.short_chance(lengths)
        return short * short_weights(lengths, self.groups, self.last) + (1 - short) * self.groups

    def _second_short(self, lengths: Integers, density: float) -> Floats:
        """The mean square of w(d + 1)(M(1 + s) + s|A|), times that of the noise.  [PARTS.2]"""
        s, weight = 1 / self.groups, short_weights(lengths, self.groups, self.last)
        alone = _pairs_of(lengths) / weight
        square = (self.variance + density) * alone + (density * alone) ** 2
        size, base = np.sqrt(2 / math.pi * square), self.largest * (1 + s)
        bound = short_weights(lengths + 1, self.groups, self.last) ** 2
        bound = bound * (base**2 + 2 * base * s * size + s * s * square)
        found: Floats = (np.sqrt(bound) + self.rounding) ** 2 * self.short_noise**2
        return found

    def _second_long(self, lengths: Integers) -> Floats:
        """G²·M² times the mean square of the smooth bound on the largest group."""
        grid, values = self._long_table(int(lengths.max(initial=0)))
        bound = self.groups * self.largest * np.sqrt(np.interp(lengths, grid, values))
        found: Floats = (bound + self.rounding) ** 2 * self.long_noise**2
        return found

    def _long_table(self, most: int) -> tuple[Floats, Floats]:
        """At some lengths, the mean square of the bound in units of M: groups are as Poisson numbers, nearly."""
        if most not in self._tables:
            grid = np.unique(np.concatenate([np.arange(min(most, 64) + 1), np.geomspace(64, max(most, 64), 160)]))
            mean = grid / self.groups
            few = np.minimum(mean, _MANY)
            values, below = np.zeros(grid.size), np.zeros(grid.size)
            chance, total, count = exp(-few), exp(-few), 0
            while count < 4 * _MANY + 40:
                largest = np.where(total > 0, exp(self.groups * log(np.maximum(total, 1e-300))), 0.0)
                values += (largest - below) * smooth_bound(np.array([float(count)]), 1.0, self.beta)[0] ** 2
                below, count = largest, count + 1
                chance = chance * few / count
                total = np.minimum(total + chance, 1.0)
            farthest = NormalDist().inv_cdf(1 - 0.56 / self.groups)
            beyond = smooth_bound(mean + farthest * np.sqrt(mean), 1.0, self.beta) ** 2
            self._tables[most] = grid, np.where(mean <= _MANY, values, beyond)
        return self._tables[most]

    @cached_property
    def _tables(self) -> dict[int, tuple[Floats, Floats]]:
        return {}


def _pairs_of(lengths: Integers) -> Floats:
    """C(d, 2)."""
    found: Floats = lengths * (lengths - 1.0) / 2
    return found
