"""Smooth sensitivity for a trusted centre that holds the whole graph, when only non-public positions can change.

A profile is the small part of the graph that decides the local sensitivity at every distance. It holds
private facts: it stays with the centre, and only noise scaled by ``smooth`` leaves.  [SENS.1-2]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.star_frontier import StarPoint, star_frontier
from visibility_aware_edge_ldp.client.triangle_frontier import TrianglePoint, triangle_frontier
from visibility_aware_edge_ldp.compute.ranked_graph import Ints
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, BadStatistic
from visibility_aware_edge_ldp.public.visibility import Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy

HORIZON = 64
DIGITS = 50
# Floats only choose which distances are worth the exact arithmetic; their errors are far below this.
NEARLY = 1e-9
Edges = npt.NDArray[np.int32]


Point = StarPoint | TrianglePoint
"""A position, as far as it decides the sensitivity: its own cost, and what it can change after changes elsewhere."""


@dataclass(frozen=True)
class Ramp:
    """Beyond the horizon the local sensitivity grows by at most one per unit of cost, up to a cap.  [SENS.4]"""

    horizon: int
    level: Fraction
    cap: Fraction

    def local(self, distance: int) -> Fraction:
        """The bound at a distance beyond the horizon."""
        return min(self.level + distance - self.horizon, self.cap)

    def peaks(self, beta: float) -> Iterable[int]:
        """The distances among which the weighted bound is largest.

        (c + t)·e^{−βt} rises until c + t = 1/β, and falls from there.
        """
        rise = math.ceil(self.cap - self.level)
        top = math.floor(min(1 / beta - float(self.level), rise)) if beta > 0 else rise
        near = {min(max(at, 1), rise) for at in (top - 1, top, top + 1, top + 2, rise)} if rise > 0 else set()
        return sorted(self.horizon + at for at in near)


@dataclass(frozen=True)
class FreeStars:
    """Beyond the horizon the graph with nothing public and every change at cost 1 is an upper bound.  [SENS.9]"""

    horizon: int
    end: int
    points: tuple[StarPoint, ...]

    def local(self, distance: int) -> Fraction:
        """The bound at a distance beyond the horizon."""
        return _largest(self.points, np.array([distance]))[0]

    def peaks(self, beta: float) -> Iterable[int]:
        """All distances whose weighted bound is nearly the largest, found in floating point."""
        if not self.points:
            return ()
        if self.end <= self.horizon:
            # The bound has stopped growing, while the exact values may still grow at a higher cost a step.
            return (self.horizon + 1,)
        distances = np.arange(self.horizon + 1, self._last(beta) + 1, dtype=np.float64)
        logs = self._logs(distances) - beta * distances
        return (np.flatnonzero(logs >= logs.max() - _slack(logs.max())) + self.horizon + 1).tolist()

    def _last(self, beta: float) -> int:
        """Beyond here even the largest bound of all weighs less than the first."""
        first, most = self._logs(np.array([self.horizon + 1, self.end], dtype=np.float64))
        if not (beta > 0 and np.isfinite(first)):
            return self.end
        return int(min(self.end, self.horizon + 2 + math.ceil(min((most - first) / beta, self.end))))

    def _logs(self, distances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        logs = [_log_free(point, distances) for point in self.points]
        return np.asarray(np.max(logs, axis=0), dtype=np.float64)


Tail = Ramp | FreeStars
"""What holds beyond the horizon: at least the local sensitivity, and smooth.  [SENS.2]"""


@dataclass(frozen=True)
class Profile:
    """All that decides a graph's smooth sensitivity: one profile serves every epsilon.

    ``local(t)`` is exact up to the horizon and an upper bound beyond; ``smooth(beta)`` is always
    beta-smooth and at least the local sensitivity, and it is the least such value, S*, wherever
    ``is_exact(beta)``.  [SENS.1-2]
    """

    points: tuple[Point, ...] = field(repr=False)
    horizon: int
    tail: Tail = field(repr=False)

    def local(self, distance: int) -> Fraction:
        """The largest local sensitivity among graphs within this distance."""
        if distance < 0:
            raise BadStatistic(f"A distance cannot be negative; this one is {distance}.")
        return self.within[distance] if distance <= self.horizon else self.tail.local(distance)

    @cached_property
    def within(self) -> tuple[Fraction, ...]:
        """The exact values up to the horizon."""
        return _largest(self.points, np.arange(self.horizon + 1))

    def smooth(self, beta: Decimal) -> Decimal:
        """max over t of e^{−βt}·local(t), rounded up in the last of 50 digits.  [SENS.1]"""
        _check_beta(beta)
        return max(self._best(beta, range(self.horizon + 1)), self._best(beta, self.tail.peaks(float(beta))))

    def is_exact(self, beta: Decimal) -> bool:
        """Whether ``smooth(beta)`` is S* itself: the horizon holds its maximum.  [SENS.2]"""
        _check_beta(beta)
        return self._best(beta, range(self.horizon + 1)) >= self._best(beta, self.tail.peaks(float(beta)))

    def _best(self, beta: Decimal, distances: Iterable[int]) -> Decimal:
        values = {t: value for t in distances if (value := self.local(t)) > 0}
        logs = {t: _log(value) - float(beta) * t for t, value in values.items()}
        best = max(logs.values(), default=0.0)
        near = (t for t, log in logs.items() if log >= best - _slack(best))
        return max((_weighted(values[t], beta, t) for t in near), default=Decimal(0))


def triangle_profile(n: int, edges: Edges, classes: BoundPolicy, w: int = 2, horizon: int = HORIZON) -> Profile:
    """The profile of the number of triangles.  [SENS.3-6]

    Parameters
    ----------
    n, edges
        The graph: an (m, 2) array of node numbers, u < v in each row, rows sorted and distinct.
    classes
        Which positions can change, and of which class they are.
    w
        What a FRIEND_VISIBLE change counts as, a whole number of PRIVATE ones: such an edge may lose w times as much.
    horizon
        Distances up to here are worked out exactly. It must not be chosen by looking at the graph.
    """
    end = _end(n, w)
    horizon = _check_range(w, horizon, end)
    found = triangle_frontier(n, edges, classes, w, horizon)
    level = _largest(found.points, np.array([horizon]))[0]
    cap = level if found.all_public or horizon == end else Fraction(n - 2)
    return Profile(found.points, horizon, Ramp(horizon, level, cap))


def star_profile(n: int, edges: Edges, classes: BoundPolicy, k: int, w: int = 2, horizon: int = HORIZON) -> Profile:
    """The profile of the number of k-stars; parameters as for triangles.  [SENS.7-9]"""
    if k < 2:
        raise BadStatistic(f"A k-star has at least two edges; k = {k} was asked for.")
    end = _end(n, w)
    horizon = _check_range(w, horizon, end)
    found = star_frontier(n, edges, classes, k, w, horizon)
    free = found.free if horizon < end else found.points
    return Profile(found.points, horizon, FreeStars(horizon, 2 * (n - 2), free))


def constant_sensitivity(present: Iterable[Visibility], w: Fraction | int = 2) -> Fraction:
    """The smooth sensitivity of the number of edges, and of the highest degree, for any beta.  [SENS.10]

    ``present`` names the classes that the policy gives to at least one position.
    """
    costs = {Visibility.FRIEND_VISIBLE: w, Visibility.PRIVATE: 1}
    return max((1 / Fraction(costs[kind]) for kind in set(present) if kind in costs), default=Fraction(0))


def _largest(points: Sequence[Point], budgets: Ints) -> tuple[Fraction, ...]:
    """The largest change per unit of its own position's cost, for each budget."""
    # Divisors are 1 or w: what is compared is a whole number of parts 1/w.
    w = max((point.divisor for point in points), default=1)
    parts = np.zeros(len(budgets), dtype=np.object_)
    for point in points:
        parts = np.maximum(parts, point.changes(budgets).astype(np.object_) * (w // point.divisor))
    return tuple(Fraction(int(value), w) for value in parts)


def _end(n: int, w: int) -> int:
    """The distance at which both ends of any position have all that they can get."""
    return max(0, 2 * w * (n - 2))


def _check_range(w: int, horizon: int, end: int) -> int:
    if not isinstance(w, int) or w < 1:
        raise BadPrivacyParameter(f"A friend-visible change costs a whole number of at least 1; {w!r} was given.")
    if horizon < 0:
        raise BadPrivacyParameter(f"The horizon cannot be negative; {horizon} was given.")
    return min(horizon, end)


def _check_beta(beta: Decimal) -> None:
    if not (beta.is_finite() and beta > 0):
        raise BadPrivacyParameter(f"beta must be a positive number; {beta} was given.")


def _slack(log: float) -> float:
    return NEARLY * (1 + abs(log))


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _weighted(value: Fraction, beta: Decimal, distance: int) -> Decimal:
    """e^{−βt}·value, rounded up, with ten digits more than are kept until the end."""
    fine = Context(prec=DIGITS + 10, rounding=ROUND_CEILING, Emin=-(10**15), Emax=10**15)
    # Decimal's exp rounds to nearest whatever the context says.
    shrunk = fine.next_plus(fine.exp(fine.multiply(beta, Decimal(-distance)))) if distance else Decimal(1)
    exact = fine.divide(fine.multiply(shrunk, Decimal(value.numerator)), Decimal(value.denominator))
    return Context(prec=DIGITS, rounding=ROUND_CEILING, Emin=-(10**15), Emax=10**15).plus(exact)


def _log_free(point: StarPoint, distances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The logarithm of the point's change: the higher end grows first, the other with what is left."""
    high, low = sorted((point.first, point.second), key=lambda end: -end.degree)
    grown = np.minimum(distances, high.at_one)
    rest = np.minimum(distances - grown, low.at_one)
    logs = np.logaddexp(_log_stars(high.degree + grown, point.k), _log_stars(low.degree + rest, point.k))
    return np.asarray(logs, dtype=np.float64)


def _log_stars(degree: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.float64]:
    """log C(d, k − 1), minus infinity where there is no star."""
    with np.errstate(divide="ignore"):
        logs = sum((np.log(np.maximum(degree - i, 0)) for i in range(k - 1)), np.zeros(degree.shape))
    return np.asarray(logs - math.lgamma(k), dtype=np.float64)
