"""Degree histograms from one noisy degree per node: fitted  [HIST.1], unbiased and projected  [DEGREESUM.6]"""

import math
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike, NDArray

from visibility_aware_edge_ldp.compute.reproducible_math import Rows, product, weighted
from visibility_aware_edge_ldp.counts.degrees import degree_distribution as distribution
from visibility_aware_edge_ldp.counts.degrees.degree_distribution import Fit, Law, Sample
from visibility_aware_edge_ldp.counts.degrees.degree_functions import Floats, Ints, NoisyDegrees, clamp

_NORMAL = NormalDist()
_BIN_WIDTH = 2.0  # histogram bins, in noise standard deviations
_SHIFTS = (-2, -1, 0, 1, 2)


@dataclass(frozen=True)
class DegreeHistogram:
    """`counts[i]` nodes are estimated to have a degree in ``edges[i] <= degree < edges[i + 1]``."""

    edges: NDArray[np.int64]
    counts: Floats
    standard_errors: Floats
    is_fitted: bool = False

    @property
    def variances(self) -> Floats:
        """Those of the counts; of fitted ones only whether they are exact: what smoothing hides is not known."""
        return np.where(self.standard_errors > 0, np.nan, 0.0) if self.is_fitted else self.standard_errors**2

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the largest degree of each bin."""
        return [(int(low), int(high) - 1) for low, high in pairwise(self.edges)]

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Limits per bin, rounded outwards because the truth is a whole number of nodes."""
        reach = _NORMAL.inv_cdf((1.0 + level) / 2.0) * self.standard_errors
        # The tolerance keeps an exact count exact when the sum that made it is off by one rounding.
        below = np.floor(np.maximum(self.counts - reach, 0.0) + 1e-9)
        return below, np.ceil(np.minimum(self.counts + reach, self.counts.sum()) - 1e-9) + 0.0  # no negative zero


def bin_edges(nodes: int, variance: ArrayLike) -> NDArray[np.int64]:
    """Histogram edges: a function of public things only, single degrees when there is no noise."""
    deviation = math.sqrt(float(np.mean(np.sort(np.asarray(variance, dtype=np.float64)))))
    width = max(1, round(_BIN_WIDTH * deviation))
    return np.append(np.arange(0, nodes, width), nodes).astype(np.int64)


def histogram(
    noisy: ArrayLike,
    variance: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    skew: float | None = None,
    law: Law = distribution.NORMAL,
) -> DegreeHistogram:
    """Estimated number of nodes per degree bin; non-negative, summing to the number of nodes [HIST.1]."""
    nodes = np.asarray(noisy).size
    edges = bin_edges(nodes, variance)
    sample = distribution.group(noisy, variance, low, high, skew, law)
    counts = np.histogram(sample.exact, edges)[0].astype(np.float64)
    errors = np.zeros_like(counts)
    if sample.noisy_nodes:
        rough = distribution.fits(sample)
        estimate, variances = _bin_counts(sample, distribution.best(rough), edges)
        # What a rougher prior would have said measures what the smoothing may have hidden.
        hidden = estimate - _bin_counts(sample, rough[-1], edges)[0]
        counts, errors = counts + estimate, np.sqrt(np.maximum(variances, 0.0) + hidden**2)
    return DegreeHistogram(edges, counts, errors, is_fitted=True)


def _bin_counts(sample: Sample, fit: Fit, edges: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Expected bin counts given the data; variance from unknown nodes and unknown prior (delta method)."""
    inner = edges[(edges - 0.5 > fit.edges[0]) & (edges - 0.5 < fit.edges[-1])] - 0.5
    union = np.unique(np.concatenate([fit.edges, inner]))
    middle = (union[1:] + union[:-1]) / 2.0
    cell = np.searchsorted(fit.edges, middle) - 1
    weight = (fit.weight / np.diff(fit.edges))[cell] * np.diff(union)
    joint = distribution.likelihood(sample, union) * weight
    posterior = joint / joint.sum(axis=1, keepdims=True)
    starts, home = np.unique(np.searchsorted(edges - 0.5, middle) - 1, return_index=True)
    shares = np.add.reduceat(posterior, home, axis=1)
    basis = fit.basis[cell]
    moved = np.add.reduceat(weighted(sample.count, posterior)[:, None] * basis, home, axis=0)
    slope = moved - Rows(shares.T * sample.count).times(Rows(posterior).times(basis))
    counts, variances = np.zeros(edges.size - 1), np.zeros(edges.size - 1)
    counts[starts] = weighted(sample.count, shares)
    variances[starts] = weighted(sample.count, shares * (1.0 - shares))
    variances[starts] += np.sum(product(slope, fit.covariance) * slope, axis=1)
    return counts, variances


def default_edges(degrees: NoisyDegrees) -> Ints:
    """Bins of two noise deviations; a function of public things only: who answered, and with which noise."""
    return bin_edges(degrees.nodes, _noise(degrees))


def unbiased_histogram(degrees: NoisyDegrees, edges: Ints | None = None) -> DegreeHistogram:
    """How many users have a degree in each bin, without bias; sums to the number of users, may be negative."""
    edges = default_edges(degrees) if edges is None else edges
    bins, expansion = edges.size - 1, degrees.expansion
    places = [_bins_of(clamp(degrees, shift), edges) for shift in _SHIFTS]
    weights = _weights(degrees)
    sums = sum((_count(p, w, bins) for p, w in zip(places, weights, strict=True)), np.zeros(bins))
    squares = sum((_count(p, w**2, bins) for p, w in zip(places, weights, strict=True)), np.zeros(bins))
    for (p, w), (q, v) in combinations(list(zip(places, weights, strict=True)), 2):
        squares += _count(p, 2 * w * v * (p == q), bins)
    # An indicator is its own square, so its noise is the squared estimate minus the estimate.
    variance = expansion**2 * (squares - sums)
    if degrees.absent.size:
        variance += degrees.asked * degrees.absent.size / degrees.noisy.size * _spread(sums, squares, degrees)
    counts = _count(_bins_of(degrees.certain, edges), np.ones(degrees.certain.size), bins) + expansion * sums
    return DegreeHistogram(edges, counts, np.sqrt(np.maximum(variance, 0.0)))


def projected(counts: Floats, nodes: int) -> Floats:
    """The nearest counts (least squares) that are not negative and sum to the number of users."""
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - nodes) / np.arange(1, counts.size + 1)
    nearest: Floats = np.maximum(counts - excess[np.flatnonzero(falling > excess)[-1]], 0.0)
    return nearest


def projected_histogram(degrees: NoisyDegrees, edges: Ints | None = None) -> DegreeHistogram:
    """The unbiased histogram, projected; its standard errors are those of the unbiased one."""
    found = unbiased_histogram(degrees, edges)
    return replace(found, counts=projected(found.counts, degrees.nodes))


def fitted_histogram(degrees: NoisyDegrees) -> DegreeHistogram:
    """The counts behind a smooth distribution that explains the noisy degrees; not negative, sums to the users.

    It has a far smaller error than the unbiased one, and a bias.  [HIST.1]
    """
    answers, exact = degrees.noisy.size, degrees.certain.size + degrees.absent.size
    # The absent stand in as exact users of degree 0, so that bins reach up to all users, and are taken out again.
    known = np.concatenate([degrees.certain, np.zeros_like(degrees.absent)])
    noisy = np.concatenate([degrees.noisy, known]).astype(np.float64)
    low = np.concatenate([degrees.public, known]).astype(np.float64)
    high = np.concatenate([np.full(answers, degrees.nodes - 1), known]).astype(np.float64)
    found = histogram(noisy, _noise(degrees), low, high, skew=0.0, law=distribution.LAPLACE)
    edges, bins = found.edges, found.counts.size
    fitted = found.counts - _count(_bins_of(known, edges), np.ones(exact), bins)
    counts = _count(_bins_of(degrees.certain, edges), np.ones(degrees.certain.size), bins)
    variance = degrees.expansion**2 * found.standard_errors**2
    if degrees.absent.size:
        share = np.clip(fitted / answers, 0.0, 1.0)
        variance = variance + degrees.asked * degrees.absent.size / answers * share * (1 - share)
    return DegreeHistogram(edges, counts + degrees.expansion * fitted, np.sqrt(variance), is_fitted=True)


@dataclass(frozen=True)
class DegreeQuantile:
    """A quantile of degrees: ``wanted`` of all users have a degree of at most it.

    ``counts[d]`` users are estimated to have a degree of at most d.
    """

    wanted: float
    counts: Floats
    standard_errors: Floats

    @property
    def value(self) -> float:
        """The middle of the first and the last degree at which the wanted number is crossed."""
        low, high = self._crossings(0.0)
        return (low + high) / 2

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The outermost degrees that the counts allow.  [QUANTILE.1]"""
        return self._crossings(_NORMAL.inv_cdf((1.0 + level) / 2.0))

    def _crossings(self, reach: float) -> tuple[float, float]:
        room = reach * self.standard_errors if reach else np.zeros(self.counts.size)
        wanted, last = self.wanted - 1e-6, self.counts.size - 1  # rounding alone moves no degree
        enough, few = self.counts + room >= wanted, self.counts - room < wanted
        # Everybody has at most the last degree, whatever noise says.
        low = int(np.argmax(enough)) if enough.any() else last
        return float(low), float(min(int(np.flatnonzero(few).max(initial=-1)) + 1, last))


def degree_quantile(degrees: NoisyDegrees, percent: int) -> DegreeQuantile:
    """The least degree that so many percent of all users do not exceed.  [QUANTILE.1]"""

    def up_to(places: Ints, weights: Floats) -> Floats:
        """The weights of all users whose place is at most 0, 1, …, n − 1."""
        return np.cumsum(_count(np.clip(places, 0, degrees.nodes - 1), weights, degrees.nodes))

    def users(places: Ints) -> Floats:
        return up_to(places, np.ones(places.size))

    pairs = list(zip((clamp(degrees, shift) for shift in _SHIFTS), _weights(degrees), strict=True))
    none = np.zeros(degrees.nodes)
    sums, squares = (sum((up_to(p, w**power) for p, w in pairs), none) for power in (1, 2))
    for (p, w), (q, v) in combinations(pairs, 2):
        # Both of two indicators 1[p ≤ d], 1[q ≤ d] are 1 from the larger of the two on.
        squares = squares + up_to(np.maximum(p, q), 2 * w * v)
    constant, public = float(degrees.first.max(initial=0.0)), users(degrees.public)
    noise = np.maximum(squares - sums, constant * (1 + constant))
    variance = degrees.expansion**2 * noise
    if degrees.absent.size:
        variance = variance + _by_who_answered(degrees, public, users(degrees.absent), sums, squares)
    counts = users(degrees.certain) + public + users(degrees.absent) - degrees.expansion * (public - sums)
    return DegreeQuantile(float(-(-percent * degrees.nodes // 100)), counts, np.sqrt(variance))


def _by_who_answered(degrees: NoisyDegrees, public: Floats, absent: Floats, sums: Floats, squares: Floats) -> Floats:
    """What counts of degrees vary by who answered, at least as much as a share of so few does.  [DEGREESUM.2]"""
    answers, above = degrees.noisy.size, public - sums  # those above a degree of whom the public does not know it
    hidden = (public + absent) / degrees.asked
    share = (np.clip(above, 0.0, answers * hidden) + 2 * hidden) / (answers + 4)
    found = _spread(above, public - 2 * sums + squares, degrees)
    spread: Floats = degrees.asked * degrees.absent.size / answers * np.maximum(found, share * (1 - share))
    return spread


def _noise(degrees: NoisyDegrees) -> Floats:
    """The noise of those who answered, then none for the others."""
    return np.concatenate([degrees.noise, np.zeros(degrees.certain.size + degrees.absent.size)])


def _weights(degrees: NoisyDegrees) -> list[Floats]:
    """The correction as weights of the function at x − 2 … x + 2.  [DL.2]"""
    first, second = degrees.first, degrees.second
    outer, inner = second, -first - 4 * second
    return [outer, inner, 1 + 2 * first + 6 * second, inner, outer]


def _spread(sums: Floats, squares: Floats, degrees: NoisyDegrees) -> Floats:
    """The variance of the true indicators of each bin among users, without bias, or 0 where that is negative."""
    answers = degrees.noisy.size
    if answers == 1:
        return np.full(sums.shape, np.inf)
    spread: Floats = (squares - sums**2 / answers) / (answers - 1) - (squares - sums) / answers
    return np.maximum(spread, 0.0)


def _bins_of(values: Ints, edges: Ints) -> npt.NDArray[np.intp]:
    return np.searchsorted(edges, values, side="right") - 1


def _count(bins_of: npt.NDArray[np.intp], weights: Floats, bins: int) -> Floats:
    return np.bincount(bins_of, weights=weights, minlength=bins).astype(np.float64, copy=False)
