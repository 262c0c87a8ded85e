"""The largest eigenvalue of a graph, and its eigenvector, from scores with noise.  [SPECTRUM.1-2]"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import dot, on_grid
from visibility_aware_edge_ldp.errors import BadStatistic, TooLarge

Floats = npt.NDArray[np.float64]
# A matrix of more nodes does not fit into the memory of most machines.
MOST_NODES = 8000
# Steps of the search at most, and when it ends: the error of an eigenvalue is at most the square of this part of it.
STEPS, ENOUGH = 300, 1e-6
# How many times the edge of the others the largest eigenvalue has to be: nearer to it, the law of many nodes is off by
# a good part of a standard error on graphs of some hundred nodes.
CLEAR = 1.4
# Two eigenvalues that are nearer than so many deviations of a score push each other away, and change places; where they
# are nearer than this part of the first, so do their eigenvectors. One wrong answer moves one by a half or so.
APART, PART, ONE_ANSWER = 8.0, 0.1, 0.5
# Digits that every machine has, in whatever order it adds.
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The largest eigenvalue behind noise of one size, and its eigenvector: right to first order.  [SPECTRUM.1-2]

    Parameters
    ----------
    seen, second
        The two largest eigenvalues of the scores.
    noise
        The standard deviation of each score.
    rest
        The mean square of the scores without the largest eigenvalue: what spreads the other ones.
    direction
        The eigenvector of length 1 of the largest.
    """

    seen: float
    second: float
    nodes: int
    noise: float
    rest: float
    direction: Floats = field(repr=False)

    @property
    def edge(self) -> float:
        """Up to where the other eigenvalues reach."""
        return 2 * math.sqrt(self.nodes * self.rest)

    @property
    def is_clear(self) -> bool:
        """Whether the largest eigenvalue stands out of the noise."""
        return self.seen > CLEAR * self.edge

    @property
    def _root(self) -> float:
        return math.sqrt(max(self.seen**2 - self.edge**2, 0.0))

    @property
    def radius(self) -> float:
        """λ̂: what the graph alone has."""
        return self.seen - 2 * self.nodes * self.noise**2 / (self.seen + self._root) if self.noise else self.seen

    @property
    def alignment(self) -> float:
        """c²: the square of the cosine between the eigenvector that is seen and the graph's own."""
        return 1 / (1 + self.noise**2 * (self.seen / self._root - 1) / (2 * self.rest)) if self.noise else 1.0

    @property
    def variance(self) -> float:
        """Of the radius."""
        fourth = float((self.direction**4).sum()) / self.alignment**2
        return 2 * self.noise**2 * max(1 - fourth, 0.0) / self.alignment

    @property
    def centralities(self) -> tuple[Floats, float]:
        """Everybody's entry in the graph's eigenvector of length 1, and the variance of each."""
        c = self.alignment
        return self.direction / math.sqrt(c), (1 - c) / (self.nodes * c)

    def refuse_hidden(self, name: str, apart: float) -> None:
        """Say that noise hides it, or another eigenvalue that is nearer than ``apart``."""
        seen, larger = f"{name} is hidden: the largest eigenvalue seen, {self.seen:.4g},", "Use a larger ε."
        if self.noise and not self.is_clear:
            raise BadStatistic(
                f"{seen} is not clear of what noise makes one on {self.nodes:,} nodes, {self.edge:.4g}. {larger}"
            )
        if self.noise and self.seen - self.second < max(apart, ONE_ANSWER):
            raise BadStatistic(f"{seen} and the second, {self.second:.4g}, are too near to be told apart. {larger}")


def largest_eigenvalues(times: Callable[[Floats], Floats], n: int) -> tuple[float, float, Floats]:
    """The two largest eigenvalues of a symmetric matrix that is given by its products, and the first's eigenvector.

    By Lanczos: each new vector is made orthogonal to all earlier ones, twice. The eigenvector's entries have a sum that
    is not negative.
    """
    # A start that no symmetry of a graph annuls, the same on every machine.
    start = 1.0 + (np.arange(n) * 7919 % 1000) / 1e4
    basis, diagonal, beside = [start / math.sqrt(dot(start, start))], list[float](), list[float]()
    value, second, weights = 0.0, -math.inf, np.ones(1)
    for _ in range(min(n, STEPS)):
        new = times(basis[-1])
        diagonal.append(dot(new, basis[-1]))
        for _ in range(2):
            for each in basis:
                new = new - dot(new, each) * each
        length = math.sqrt(dot(new, new))
        values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
        value, weights = float(values[-1]), vectors[:, -1]
        second = float(values[-2]) if values.size > 1 else second
        if length * abs(float(weights[-1])) <= ENOUGH * max(abs(value), 1.0):
            break
        beside.append(length)
        basis.append(new / length)
    found = np.round(sum(w * each for w, each in zip(weights.tolist(), basis, strict=False)), _DIGITS)
    return _rounded(value), _rounded(second), found if found.sum() >= 0 else -found


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def spectrum(scores: Floats, noise: float) -> Spectrum:
    """From a matrix of all scores, each with noise of this standard deviation, to its largest eigenvalue.

    Scores with the same noise have one of two values. Sums of a vector's entries over those who have the higher one are
    exact, in whatever order a machine adds, once the entries are rounded to a grid.
    """
    n, apart = len(scores), ~np.eye(len(scores), dtype=np.bool_)
    low, high = float(scores.min(where=apart, initial=math.inf)), float(scores.max(where=apart, initial=-math.inf))
    high_bits = apart & (scores == high)
    if not ((scores == low) | high_bits | ~apart).all():
        raise BadStatistic(f"{n:,} nodes have scores of more than two values; noise must be the same everywhere.")
    ones, above = high_bits.astype(np.float64), int(high_bits.sum())
    below = n * (n - 1) - above

    def times(vector: Floats) -> Floats:
        entries = on_grid(vector, n)
        sums = ones @ entries
        return np.asarray(high * sums + low * (entries.sum() - sums - entries), np.float64)

    value, second, direction = largest_eigenvalues(times, n)
    rest = (above * high**2 + below * low**2 - value**2) / n**2
    return Spectrum(value, second, n, noise, _rounded(rest), direction)


def refuse_uneven(spreads: Floats, name: str) -> float:
    """The noise of each score, where it is the same for all; ``spreads`` are everybody's sums of variances."""
    n = spreads.size
    if n > MOST_NODES:
        raise TooLarge(f"{name} takes a matrix of all scores, for up to {MOST_NODES:,} nodes; choose some with --top.")
    if n < 2 or not np.ptp(spreads) <= 1e-6 * abs(float(spreads.mean())):
        raise BadStatistic(
            f"{name} is known for noise that is the same at every position; here some are public, are asked twice or "
            "did not answer. Use the policy nothing, one round, and no dropout."
        )
    return math.sqrt(max(float(spreads.mean()), 0.0) / (n - 1))
