"""NEIGHBOURHOOD (b): a collection of hubs' reports, their sum, and what no hub covers.  [HUBSUM.1-4]"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from math import comb, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval, raised
from visibility_aware_edge_ldp.aggregator.neighbourhood import public_triangles
from visibility_aware_edge_ldp.aggregator.noise_sum import reach
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.hub_report import HubReport
from visibility_aware_edge_ldp.public.hub_survey import PLAIN, HubSurvey
from visibility_aware_edge_ldp.public.view import PublicView

Floats = npt.NDArray[np.float64]

# Loose edges are bounded with this confidence, whatever level an interval is asked for.
LOOSE_LEVEL = 0.999


class HubCollection:
    """All that has arrived for one survey of hubs: a few numbers for each reporter."""

    def __init__(self, survey: HubSurvey, view: PublicView) -> None:
        if (survey.roster, survey.policy) != (view.roster_digest, view.policy.digest):
            raise ProtocolViolation("The survey is about another roster or another policy than this public view.")
        self.survey, self.view = survey, view
        self._reports: dict[int, HubReport] = {}

    def absorb(self, report: HubReport) -> None:
        """Take a report in. The same report again changes nothing; a second answer is refused."""
        if report.survey != self.survey.identity or len(report.values) != len(self.survey.numbers):
            raise ProtocolViolation("A report for another survey was sent here.")
        if report.hub >= len(self.survey.plan.hubs):
            raise ProtocolViolation(f"The survey asks {len(self.survey.plan.hubs)} hubs; there is no {report.hub}.")
        if self._reports.setdefault(report.hub, report) != report:
            raise ProtocolViolation("A second, different answer of a hub to the same survey; the first one stands.")

    def snapshot(self) -> HubCollection:
        """What has arrived so far; later reports do not change it."""
        copy = HubCollection(self.survey, self.view)
        copy._reports = dict(self._reports)
        return copy

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for, named by what arrived."""
        digest = hashlib.sha256("".join(self._reports[h].digest for h in self.present).encode()).hexdigest()
        return tuple(replace(release, transcript=digest) for release in self.survey.releases)

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
        public = np.bincount(self.view.edges.ravel(), minlength=self.view.n)
        spare = (public - np.bitwise_count(plan.marks))[plan.hiding].max(initial=0)
        apart = sqrt(2) / 3 * edges**1.5 if plan.can_miss_triangles else 0.0
        return apart + 2 * float(spare) * edges

    def left_out(self, level: float = 0.95) -> float:
        """At most so many triangles are not in the estimate.  [HUBSUM.2]"""
        if self.missing:
            return float(comb(self.view.n, 3))
        rest = self.total("rest") + self.reach("rest", level) if self.survey.kind == PLAIN else 0.0
        return max(rest, 0.0) + self.uncovered


def estimate(collection: HubCollection) -> Estimate:
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
        low, high = raised(noise, taken.left_out(level), level)
        return low, min(high, max(most, noise(level)[1]))

    exact = taken.survey.kind != PLAIN and not taken.missing and not taken.uncovered
    return Estimate("triangles", value, taken.variance(number), taken.releases, unbiased=exact, limits=limits)
