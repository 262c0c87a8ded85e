"""Degree histograms from one noisy degree a user: unbiased, projected and fitted.  [DEGREESUM.6]"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.subgraphs.degree_distribution import LAPLACE
from visibility_aware_edge_ldp.subgraphs.degree_functions import Floats, Ints, NoisyDegrees, clamp
from visibility_aware_edge_ldp.subgraphs.degree_histogram import DegreeHistogram, bin_edges, histogram

_SHIFTS = (-2, -1, 0, 1, 2)


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
    found = histogram(noisy, _noise(degrees), low, high, skew=0.0, law=LAPLACE)
    edges, bins = found.edges, found.counts.size
    fitted = found.counts - _count(_bins_of(known, edges), np.ones(exact), bins)
    counts = _count(_bins_of(degrees.certain, edges), np.ones(degrees.certain.size), bins)
    variance = degrees.expansion**2 * found.standard_errors**2
    if degrees.absent.size:
        share = np.clip(fitted / answers, 0.0, 1.0)
        variance = variance + degrees.asked * degrees.absent.size / answers * share * (1 - share)
    return DegreeHistogram(edges, counts + degrees.expansion * fitted, np.sqrt(variance))


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
