"""Friends of one list in groups: their pairs, and how sums over them vary with the length of the list.  [PARTS.4-6]"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import exp, log
from visibility_aware_edge_ldp.mechanisms.power_noise import smooth_bound

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]
# Up to this many friends a group on average, the largest group is that of Poisson numbers; beyond, of normal ones.
_MANY = 60.0


class Pairs(NamedTuple):
    """All pairs of one list's friends that are in one group: whose list, both friends, and how many share the group.

    ``loads`` is, of each list, how many friends its largest group has.
    """

    owner: Ints
    u: Ints
    v: Ints
    load: Ints
    loads: Ints


def pairs_in_groups(offsets: Ints, members: npt.NDArray[np.int32], groups: Ints) -> Pairs:
    """From lists of friends, each in rising order, and each friend's group, to the pairs within groups."""
    owner = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    order = np.lexsort((groups, owner))
    owner, friends, groups = owner[order], members[order].astype(np.int64), groups[order]
    begins = np.flatnonzero(np.diff(owner, prepend=-1).astype(np.bool_) | np.diff(groups, prepend=-1).astype(np.bool_))
    sizes = np.diff(np.append(begins, owner.size))
    loads = np.zeros(offsets.size - 1, np.int64)
    np.maximum.at(loads, owner[begins], sizes)
    load, after = np.repeat(sizes, sizes), np.repeat(begins + sizes, sizes) - np.arange(owner.size) - 1
    firsts, seconds = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    here, step = np.flatnonzero(after > 0), 1
    while here.size:
        firsts.append(here)
        seconds.append(here + step)
        step += 1
        here = here[after[here] >= step]
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    return Pairs(owner[first], friends[first], friends[second], load[first], loads)


def short_weights(lengths: Ints, groups: int, last: int) -> Floats:
    """1/(s(1 − s)^(d − 2)): one over the chance that two of d friends are alone in a group; the same from ``last`` on.

    [PARTS.1]
    """
    step = float(log(np.array([1 - 1 / groups]))[0])
    return groups * exp(-step * (np.minimum(lengths, last) - 2.0))


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

    def short_chance(self, lengths: Ints) -> Floats:
        """With which chance a list of this length is taken as short."""
        room = (self.longest - lengths).astype(np.float64)
        beyond = exp(-self.length_rate * (np.abs(room) + (room >= 0))) / (1 + math.exp(-self.length_rate))
        return np.where(room >= 0, 1 - beyond, beyond)

    def second(self, lengths: Ints, density: float = 0.0) -> Floats:
        """The mean variance of the second round's noise; ``density`` is the share of pairs of friends with an edge."""
        short = self.short_chance(lengths)
        return short * self._second_short(lengths, density) + (1 - short) * self._second_long(lengths)

    def first(self, lengths: Ints) -> Floats:
        """What first answers add, each list by itself: σ² times the pairs, each with its weight.  [PARTS.4]"""
        return self.variance * _pairs(lengths) * self.weights(lengths)

    def weights(self, lengths: Ints) -> Floats:
        """The mean weight of a pair."""
        short = self.short_chance(lengths)
        return short * short_weights(lengths, self.groups, self.last) + (1 - short) * self.groups

    def _second_short(self, lengths: Ints, density: float) -> Floats:
        """The mean square of w(d + 1)(M(1 + s) + s|A|), times that of the noise.  [PARTS.2]"""
        s, weight = 1 / self.groups, short_weights(lengths, self.groups, self.last)
        alone = _pairs(lengths) / weight
        square = (self.variance + density) * alone + (density * alone) ** 2
        size, base = np.sqrt(2 / math.pi * square), self.largest * (1 + s)
        bound = short_weights(lengths + 1, self.groups, self.last) ** 2
        bound = bound * (base**2 + 2 * base * s * size + s * s * square)
        found: Floats = (np.sqrt(bound) + self.rounding) ** 2 * self.short_noise**2
        return found

    def _second_long(self, lengths: Ints) -> Floats:
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


def _pairs(lengths: Ints) -> Floats:
    """C(d, 2)."""
    found: Floats = lengths * (lengths - 1.0) / 2
    return found
