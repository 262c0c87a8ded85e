"""NEIGHBOURHOOD (b): a collection of hubs' reports, their sum, and what no hub covers.  [HUBSUM.1-4]"""

from __future__ import annotations

from functools import lru_cache
from math import comb, sqrt
from statistics import NormalDist
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import (
    Collection,
    Estimators,
    digest_of,
    public_graph,
    public_triangles,
)
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval, with_bias_bound
from visibility_aware_edge_ldp.compute.reproducible_math import exp, log, norm
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothNoise
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, HubReport, HubSurvey
from visibility_aware_edge_ldp.public.view import PublicView

Floats = npt.NDArray[np.float64]
# Loose edges are bounded with this confidence, whatever level an interval is asked for.
LOOSE_LEVEL = 0.999
# A bound so large that rounding to whole numbers does not show.
_LARGE = 10**6
_POINTS, _FARTHEST = 1500, 1e4
_GRID = 1 << 15
# The window is this many standard deviations to each side.
_WINDOW = 60.0


def reach(noise: SmoothNoise, bounds: Floats, level: float) -> float:
    """The q such that the sum of the noises on these bounds lies in [−q, q] with probability ``level``."""
    return float(np.interp(level, *_inside(noise, tuple(bounds[bounds > 0].tolist())))) if (bounds > 0).any() else 0.0


@lru_cache(maxsize=8)
def _inside(noise: SmoothNoise, bounds: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Chances that the sum lies within some distances, and these: an interval asks for many levels."""
    total = noise.standard_deviation(1) * norm(bounds)
    grid = (np.arange(_GRID) - _GRID // 2) * (2 * _WINDOW * total / _GRID)
    edges = np.append(grid, grid[-1] + grid[1] - grid[0]) - (grid[1] - grid[0]) / 2
    real, imaginary = np.ones(_GRID // 2 + 1), np.zeros(_GRID // 2 + 1)
    for bound in bounds:
        mass = np.diff(_distribution(noise, edges / bound))
        one = np.fft.rfft(np.fft.ifftshift(mass))
        # In parts: processors round products of complex numbers differently.
        real, imaginary = real * one.real - imaginary * one.imag, real * one.imag + imaginary * one.real
    law = np.fft.fftshift(np.fft.irfft(real + 1j * imaginary, _GRID))
    inside = np.cumsum(law[_GRID // 2 :]) + np.cumsum(law[_GRID // 2 :: -1])[: _GRID // 2] - law[_GRID // 2]
    return np.maximum.accumulate(inside), np.asarray(grid[_GRID // 2 :], np.float64)


def _distribution(noise: SmoothNoise, z: Floats) -> Floats:
    """The probability that the noise on a bound of 1 is at most z."""
    points, logs = _tail(noise)
    beyond = exp(np.interp(log(np.maximum(np.abs(z), 1e-12)), points, logs))
    return np.where(z < 0, beyond, 1 - beyond)


@lru_cache(maxsize=64)
def _tail(noise: SmoothNoise) -> tuple[Floats, Floats]:
    """Logarithms of distances from 0, and of the probability to lie beyond them on one side."""
    law, scale = noise.law(_LARGE), float(noise.scale(1))
    evenly = np.linspace(float(log(np.array([1e-3]))[0]), float(log(np.array([_FARTHEST]))[0]), _POINTS)
    distances = scale * np.concatenate([[1e-5], exp(evenly)])
    beyond = [float(law.cdf(-round(x * _LARGE), 30)) for x in distances]
    return log(distances), log(np.maximum(beyond, 1e-300))


class HubCollection(Collection[HubSurvey, HubReport]):
    """Reports of public hubs: a few numbers of each."""

    protocol = "hubs"
    estimators: ClassVar[Estimators] = {"triangles": lambda given, asked: triangles(given)}

    def __init__(self, survey: HubSurvey, view: PublicView) -> None:
        super().__init__(survey, view)
        self._reports: dict[int, HubReport] = {}

    def add(self, report: HubReport) -> None:
        """Keep the numbers of a hub that had not answered before."""
        if report.survey != self.survey.identity or len(report.values) != len(self.survey.numbers):
            raise ProtocolViolation("A report for another survey was sent here.")
        if report.hub >= len(self.survey.plan.hubs):
            raise ProtocolViolation(f"The survey asks {len(self.survey.plan.hubs)} hubs; there is no {report.hub}.")
        if self._reports.setdefault(report.hub, report) != report:
            raise ProtocolViolation("A second, different answer of a hub to the same survey; the first one stands.")

    @property
    def digest(self) -> str:
        """SHA-256 of the digests of all reports, in the order of the plan."""
        return digest_of(*(self._reports[hub].digest.encode() for hub in self.present))

    def snapshot(self) -> HubCollection:
        """What has arrived so far; later reports do not change it."""
        copy = HubCollection(self.survey, self.view)
        copy._reports = dict(self._reports)
        return copy

    @property
    def present(self) -> list[int]:
        """The places in the plan of the reporters that have answered."""
        return sorted(self._reports)

    @property
    def missing(self) -> tuple[int, ...]:
        """The nodes that were asked and have not answered: their triangles are not in the estimate."""
        return tuple(hub for place, hub in enumerate(self.survey.plan.hubs) if place not in self._reports)

    def total(self, number: str) -> float:
        """The sum of one number over the reporters that have answered."""
        place = self.survey.numbers.index(number)
        return float(sum(report.values[place] for report in self._reports.values()))

    def reach(self, number: str, level: float) -> float:
        """How far that sum's noise lies from 0, at most, with this probability.  [HUBSUM.3]"""
        return reach(self.survey.noises[number], self._bounds(number), level)

    def variance(self, number: str) -> float:
        """The variance of that sum."""
        return self.survey.noises[number].standard_deviation(1) ** 2 * float((self._bounds(number) ** 2).sum())

    def _bounds(self, number: str) -> Floats:
        return self.survey.floors(number)[self.present].astype(np.float64)

    @property
    def loose_edges(self) -> float:
        """At most so many edges, but for one time in a thousand, at positions that no territory holds.  [HUBSUM.2]"""
        plan, noise = self.survey.plan, self.survey.loose_noise
        seen = 0.0
        if noise is not None:
            spread = sqrt(noise.variance * len(self._reports))
            seen = sum(report.loose for report in self._reports.values()) + NormalDist().inv_cdf(LOOSE_LEVEL) * spread
        return float(np.clip(seen, 0, plan.loose_positions)) + plan.unseen_positions

    @property
    def uncovered(self) -> float:
        """At most so many triangles have no side that a territory holds.  [HUBSUM.2]"""
        plan, edges = self.survey.plan, self.loose_edges
        spare = (public_graph(self.view).degrees - np.bitwise_count(plan.marks))[plan.hiding].max(initial=0)
        apart = sqrt(2) / 3 * edges**1.5 if plan.can_miss_triangles else 0.0
        return apart + 2 * float(spare) * edges

    def left_out(self, level: float = 0.95) -> float:
        """At most so many triangles are not in the estimate.  [HUBSUM.2]"""
        if self.missing:
            return float(comb(self.view.n, 3))
        rest = self.total("rest") + self.reach("rest", level) if self.survey.kind == PLAIN else 0.0
        return max(rest, 0.0) + self.uncovered


def triangles(collection: HubCollection) -> Estimate:
    """The number of triangles, from the reporters that have answered.  [HUBSUM.1]"""
    if not collection.present:
        raise BadStatistic("No hub has answered yet, so nothing can be estimated.")
    taken, number = collection.snapshot(), collection.survey.numbers[0]
    value = public_triangles(taken.view) + taken.total(number)
    most = float(comb(taken.view.n, 3))

    def noise(level: float) -> Interval:
        reach = taken.reach(number, level)
        return value - reach, value + reach

    def limits(level: float) -> Interval:
        low, high = with_bias_bound(noise, taken.left_out(level), level)
        return low, min(high, max(most, noise(level)[1]))

    exact = taken.survey.kind != PLAIN and not taken.missing and not taken.uncovered
    return Estimate("triangles", value, taken.variance(number), taken.releases, unbiased=exact, limits=limits)
