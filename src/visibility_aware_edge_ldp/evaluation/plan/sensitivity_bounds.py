"""How large the smooth bounds of USER's second round will be: the law of a maximum of noisy pulls.  [PLAN.5]"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.float32]

# Bins of pulls: four for each doubling.
BINS = 96
_GRID = 48
_FAR = 7.0
_POINTS = np.linspace(-9.0, 9.0, 3601)
_TAILS = np.array([0.5 * math.erfc(x / math.sqrt(2)) for x in _POINTS.tolist()])


@dataclass(eq=False)
class Pulls:
    """For each chosen user, how its possible friends x are spread by what they would add: counts and sums by bin."""

    counts: Floats
    sums: Floats

    @classmethod
    def empty(cls, users: int) -> Pulls:
        return cls(np.zeros((users, BINS)), np.zeros((users, BINS)))

    def add(self, users: slice, pulls: Rows, asked: npt.NDArray[np.bool_]) -> None:
        """Take in some users' pulls, (nodes, users), where ``asked``."""
        width = pulls.shape[1]
        bins = np.minimum(4 * np.log2(1 + np.maximum(pulls, 0)), BINS - 1).astype(np.int64)
        flat = (bins + BINS * np.arange(width))[asked]
        for target, weights in ((self.counts, None), (self.sums, pulls[asked].astype(np.float64))):
            target[users] = np.bincount(flat, weights, minlength=BINS * width).reshape(width, BINS)

    @property
    def means(self) -> Floats:
        return self.sums / np.maximum(self.counts, 1)


@dataclass(frozen=True, eq=False)
class Noise:
    """Around its mean every pull of a user varies by ``deviation``, with this skewness, and never beyond ``most``."""

    deviation: Floats
    skewness: Floats
    most: Floats

    def of(self, users: npt.NDArray[np.int64]) -> Noise:
        """That of some users."""
        return Noise(self.deviation[users], self.skewness[users], self.most[users])


def squared_bounds(pulls: Pulls, noise: Noise, largest: float, beta: float, more: float) -> Floats:
    """E(s + more)² for each user, s the smooth bound of the largest |pull|; 0 for users who are not asked."""
    asked = pulls.counts.any(axis=1)
    grid, chances = law_of_reach(pulls, noise, largest)
    pace = largest / beta
    smooth = np.where(grid >= pace, grid, pace * np.exp(np.minimum(grid / pace, 1.0) - 1))
    mass = np.diff(chances, axis=1, prepend=0.0)
    return np.asarray(np.where(asked, (mass * (smooth + more) ** 2).sum(axis=1), 0.0))


def law_of_reach(pulls: Pulls, noise: Noise, largest: float) -> tuple[Floats, Floats]:
    """A grid of reaches for each user, and the chance that its reach is at most each."""
    top = pulls.means.max(axis=1, initial=0.0) + _FAR * noise.deviation + 1e-9
    grid = np.linspace(0, 1, _GRID + 1)[1:] * top[:, None]
    logs = np.zeros(grid.shape)
    for each in range(pulls.counts.shape[1]):
        count = pulls.counts[:, each]
        used = np.flatnonzero(count)
        if used.size:
            mean = pulls.means[used, each][:, None]
            beyond = _beyond(grid[used], mean, noise, used)
            logs[used] += count[used][:, None] * np.log1p(-np.minimum(beyond, 1 - 1e-12))
    chances = np.maximum.accumulate(np.exp(logs), axis=1)
    chances[:, -1] = 1.0
    # A value stands for the step below it: its middle is nearer the truth than its end.
    return grid - top[:, None] / _GRID / 2, chances


def _beyond(grid: Floats, mean: Floats, noise: Noise, used: npt.NDArray[np.int64]) -> Floats:
    """The chance that one pull lies outside ±grid."""
    deviation = np.maximum(noise.deviation[used], 1e-12)[:, None]
    skewness, most = noise.skewness[used][:, None], np.maximum(noise.most[used][:, None], mean)
    above = np.where(grid >= most, 0.0, _tail((grid - mean) / deviation, skewness))
    return np.asarray(above + _tail((grid + mean) / deviation, -skewness), dtype=np.float64)


def _tail(z: Floats, skewness: Floats) -> Floats:
    """The chance to lie beyond z, for a law with a little skewness: Wilson and Hilferty's cube root."""
    bend = np.where(np.abs(skewness) < 1e-6, 1e-6, skewness)
    root = np.cbrt(np.maximum(1 + bend * z / 2, 0.0))
    point = 6 / bend * (root - 1) + bend / 6
    return np.asarray(np.interp(point, _POINTS, _TAILS), dtype=np.float64)


def largest_of_many(counts: Floats, means: Floats, deviation: Floats, shares: Floats) -> float:
    """The median of the largest |value| among so many of each mean, a share of them with each deviation."""
    low, high = 0.0, float(means.max(initial=0.0)) + 12 * float(deviation.max(initial=0.0)) + 1.0
    zero = np.zeros(1)
    for _ in range(50):
        middle = (low + high) / 2
        tails = _tail((middle - means[:, None]) / deviation, zero) + _tail((middle + means[:, None]) / deviation, zero)
        expected = float(counts @ (tails @ shares))
        low, high = (middle, high) if expected > math.log(2) else (low, middle)
    return high
