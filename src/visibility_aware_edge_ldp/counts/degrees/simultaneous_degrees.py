"""Intervals that hold everybody's degree at once, and what they say of the largest.  [ATONCE.1-4]"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from visibility_aware_edge_ldp.compute.reproducible_math import exp, log, weighted
from visibility_aware_edge_ldp.counts.degrees.degree_functions import Bits, Floats
from visibility_aware_edge_ldp.mechanisms.randomized_response import Channel

Limits = tuple[Floats, Floats]
# Rounding may not make an interval smaller than it has to be.
_ROUNDING = 1e-9
# Constants of two noises that differ by less than this share are both taken as the larger one.
_ALIKE = 1e-3
# The largest exponent of the bound on a tail, and by how much each exponent that is tried is below the one before.
_STEEPEST, _STEP = 40.0, 2.0**-0.25
# The level at which somebody is said to be surely among the largest.
LEVEL = 0.95
SURE, PERHAPS = "sure", "perhaps"


@dataclass(frozen=True, eq=False)
class SimultaneousDegrees:
    """Everybody's degree, and for each level intervals that hold all of them at once.

    Parameters
    ----------
    noisy
        An estimate of each degree.
    least, most
        Between what the public knows it to be.
    intervals
        From a level to intervals that hold all degrees together with at least this chance.
    """

    noisy: Floats = field(repr=False)
    least: Floats = field(repr=False)
    most: Floats = field(repr=False)
    intervals: Callable[[float], Limits] = field(repr=False)

    @property
    def value(self) -> Floats:
        """The noisy degrees, each moved to the nearest that is possible."""
        return np.clip(self.noisy, self.least, self.most)

    def limits(self, level: float) -> Limits:
        """Intervals that hold all degrees together, without what is impossible; each holds its own value."""
        low, high = (np.clip(end, self.least, self.most) for end in self.intervals(level))
        return np.minimum(low, self.value), np.maximum(high, self.value)

    def largest(self, count: int) -> LargestDegrees:
        """The so many nodes of largest noisy degree; of equal ones the first."""
        return LargestDegrees(self, np.argsort(-self.value, kind="stable")[:count])


@dataclass(frozen=True, eq=False)
class LargestDegrees:
    """The K largest degrees, and who seems to have them."""

    degrees: SimultaneousDegrees
    named: np.ndarray[tuple[int], np.dtype[np.intp]]

    @property
    def value(self) -> Floats:
        """The noisy degrees of those who are named, the largest first; too large by the luck of who is named."""
        return self.degrees.value[self.named]

    def limits(self, level: float) -> Limits:
        """Of the 1st, 2nd, …, K-th largest degree: intervals that hold all of them together.  [ATONCE.3]"""
        count, (low, high) = self.named.size, self.degrees.limits(level)
        return np.sort(low)[::-1][:count].copy(), np.sort(high)[::-1][:count].copy()

    def surely(self, level: float = LEVEL) -> Bits:
        """Who of those named is among the K largest for sure, all of them together with this chance.  [ATONCE.4]"""
        low, high = self.degrees.limits(level)
        ends = np.sort(high)
        # How many may have more than one's own least, without oneself.
        above = ends.size - np.searchsorted(ends, low[self.named], side="right")
        above -= high[self.named] > low[self.named]
        return np.asarray(above < self.named.size)

    def labels(self, names: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        """The rank, the name, and whether it is surely among the K largest."""
        told = zip(self.named.tolist(), self.surely().tolist(), strict=True)
        return [(rank, names[node], SURE if sure else PERHAPS) for rank, (node, sure) in enumerate(told, 1)]


def by_laplace(noisy: Floats, constants: Floats) -> Callable[[float], Limits]:
    """Intervals for degrees with independent discrete Laplace noise, by its exact law.  [ATONCE.1]

    ``constants`` are (classes, n): c of each noise in a degree, at most two of them, and 0 where there is none. [DL.2]
    """
    each, kinds = np.unique(constants, axis=1, return_inverse=True)
    count = int((constants > 0).any(axis=0).sum())

    def intervals(level: float) -> Limits:
        missed = -math.expm1(math.log(level) / max(count, 1))
        reach = np.array([laplace_reach([c for c in pair if c], missed) for pair in each.T.tolist()], np.float64)
        return noisy - reach[kinds.ravel()], noisy + reach[kinds.ravel()]

    return intervals


def laplace_reach(constants: Sequence[float], missed: float) -> int:
    """The least m such that a sum of at most two discrete Laplace noises is beyond ±m with no more than this chance.

    [ATONCE.1]
    """
    if not constants:
        return 0
    low, high = -1, 1
    while laplace_tail(constants, high) > missed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if laplace_tail(constants, middle) <= missed else (middle, high)
    return high


def laplace_tail(constants: Sequence[float], reach: int) -> float:
    """The chance that the sum of one or two discrete Laplace noises is beyond ±reach.  [ATONCE.1]"""
    large, small = max(constants), min(constants)
    if len(constants) == 1:
        return _one_tail(large, reach)
    if large - small > _ALIKE * large:
        return (large * _one_tail(large, reach) - small * _one_tail(small, reach)) / (large - small)
    alpha = math.exp(-_rate(large))
    return _one_tail(large, reach) * (1 + (1 - alpha) / (1 + alpha) * (reach + 1 - alpha / (1 + alpha)))


def _one_tail(constant: float, reach: int) -> float:
    """2α^(m+1)/(1 + α), with c = α/(1 − α)²."""
    rate = _rate(constant)
    return 2 * math.exp(-rate * (reach + 1)) / (1 + math.exp(-rate))


def _rate(constant: float) -> float:
    """−ln α, from c = 1/(4 sinh²(rate/2))."""
    return 2 * math.asinh(1 / (2 * math.sqrt(constant)))


@dataclass(frozen=True, eq=False)
class ScoredPositions:
    """Of each node, its positions of one class: how many there are and answered, and the sum of their scores.

    Scores are those of the channel, not divided by how many answered.
    """

    channel: Channel
    positions: Floats = field(repr=False)
    answered: Floats = field(repr=False)
    sums: Floats = field(repr=False)

    def edges(self, missed: float) -> Limits:
        """How many edges each node has there: both ends are wrong with no more than this chance each.  [ATONCE.2]"""
        scores = np.array([float(each) for each in self.channel.scores])
        steepest = _STEEPEST / np.abs(scores).max()
        tried = 8 + math.ceil(math.log(_STEEPEST * math.sqrt(self.positions.max(initial=1.0) + 1)) / -math.log(_STEP))
        slopes = steepest * _STEP ** np.arange(tried)
        slopes = np.concatenate([slopes, -slopes])
        zero, one = (
            weighted(np.array([float(p) for p in chances]), exp(np.multiply.outer(scores, slopes)))
            for chances in (self.channel.given_zero, self.channel.given_one)
        )
        low, high = np.zeros(self.sums.size), self.positions.astype(np.float64)
        for slope, at_zero, at_one in zip(slopes.tolist(), zero.tolist(), one.tolist(), strict=True):
            end = self._end(slope, at_zero, at_one, math.log(missed))
            if slope > 0:
                low = np.maximum(low, np.ceil(end - _ROUNDING))
            else:
                high = np.minimum(high, np.floor(end + _ROUNDING))
        return np.minimum(low, self.positions), np.maximum(high, 0.0)

    def _end(self, slope: float, zero: float, one: float, missed: float) -> Floats:
        """The number of edges beyond which so large, or so small, a sum is less likely than this.  [ATONCE.2]

        ``zero`` and ``one`` are the means of e^(slope·score) at a non-edge and at an edge.
        """
        above, logs = slope * self.sums + missed, log(np.array([zero, one]))
        if np.array_equal(self.answered, self.positions):
            return np.asarray((above - self.positions * logs[0]) / (logs[1] - logs[0]))
        part = self.positions * (exp(above / np.maximum(self.answered, 1.0)) - zero) / (one - zero)
        whole = (above - self.positions * logs[0]) / (logs[1] - logs[0])
        return np.where(self.answered == self.positions, whole, np.where(self.answered > 0, part, -slope * np.inf))


def by_scores(known: Floats, classes: Sequence[ScoredPositions]) -> Callable[[float], Limits]:
    """Intervals for degrees from the answers of positions: ``known`` edges, and those of each class.  [ATONCE.2]"""
    noisy = sum(int((each.positions > 0).sum()) for each in classes)

    @cache
    def intervals(level: float) -> Limits:
        ends = [each.edges((1 - level) / (2 * max(noisy, 1))) for each in classes]
        low, high = (known + sum((end[side] for end in ends), np.zeros(known.size)) for side in (0, 1))
        return low, high

    return intervals
