"""USER degrees and groups of more users than memory has reports for, counted as they arrive and never kept.

Reports come in the order of users, and everybody answers. A function of the degree is the same for equal answers, so a
table of how often each number was reported tells its sum ([DEGREESUM.1]); cells of groups are sums over their members
([MIXING.1]). The releases of degrees are named as those of a collection in memory are, from the same bytes.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import Collection, Estimators
from visibility_aware_edge_ldp.aggregator.degrees import sum_of_stars
from visibility_aware_edge_ldp.aggregator.derived import linear, ratios
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, estimate_of
from visibility_aware_edge_ldp.compute.reproducible_math import dot
from visibility_aware_edge_ldp.counts.degrees import degree_functions
from visibility_aware_edge_ldp.counts.degrees.degree_functions import NoisyDegrees
from visibility_aware_edge_ldp.counts.mixing import LINEAR, RATIOS, GroupCounts
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeReport, DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import GroupReport, GroupSurvey, group_survey
from visibility_aware_edge_ldp.public.view import PublicView

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# What is reported is cut off here, as in memory.
_FARTHEST = 1 << 60
_PART = 1 << 20


class _InOrder(Collection[Any, Any]):
    """Reports of users in their order, everybody's."""

    def __init__(self, survey: Any, view: PublicView) -> None:
        super().__init__(survey, view)
        if survey != self._survey_of(view, survey) or not view.classes.is_constant or view.people is not None:
            raise ProtocolViolation("The survey is about another roster, or its policy has classes; keep its reports.")
        self._next, self._digest = 0, hashlib.sha256()

    @staticmethod
    @abstractmethod
    def _survey_of(view: PublicView, survey: Any) -> Any:
        """The one survey that is counted so, at the same price."""

    def add(self, report: Any) -> None:
        """Count the numbers of the next users; refuse reports out of order and of some users alone."""
        if report.survey != self.survey.identity or len(report.values) != len(self.survey.asked):
            raise ProtocolViolation("A report for another survey was sent here.")
        if report.start != self._next or report.start + report.count > self.view.n:
            raise ProtocolViolation(f"Reports must come in the order of users: that of user {self._next} is next.")
        if not report.answered.all():
            raise ProtocolViolation("Somebody stays away; who answered is told only by a collection in memory.")
        self._take_in(report)
        self._next += report.count

    @abstractmethod
    def _take_in(self, report: Any) -> None:
        """Count the numbers of a report that was accepted."""

    @property
    def digest(self) -> str:
        """SHA-256 of what arrived."""
        return self._digest.hexdigest()

    def cannot_estimate(self, name: str) -> str:
        """The sentence that refuses a statistic which takes everybody's own report."""
        return f"{name!r} takes reports that are kept; of a stream ask for {', '.join(self.estimators)}."

    def _check_complete(self) -> None:
        if self._next < self.view.n:
            raise BadStatistic(
                f"{self.view.n - self._next:,} users have not answered yet, so nothing can be estimated."
            )


class StreamedDegrees(_InOrder):
    """How often each number was reported."""

    protocol = "degrees"
    estimators: ClassVar[Estimators] = {
        "edges": lambda given, asked: given.combined(asked.name, {asked.name: 1.0}),
        "stars": lambda given, asked: given.combined(asked.name, {asked.name: 1.0}),
        "tail": lambda given, asked: given.tail(asked.name, asked.parameter or 0),
    }

    def __init__(self, survey: DegreeSurvey, view: PublicView) -> None:
        super().__init__(survey, view)
        self._numbers, self._times = np.zeros(0, np.int64), np.zeros(0, np.int64)
        for start in range(0, view.n, _PART):
            self._digest.update(bytes([1]) * min(_PART, view.n - start))  # everybody took part

    @staticmethod
    def _survey_of(view: PublicView, survey: DegreeSurvey) -> DegreeSurvey:
        return degree_survey(view, survey.epsilon)

    def _take_in(self, report: DegreeReport) -> None:
        self._digest.update(report.values.tobytes())
        values, times = np.unique(np.clip(report.values[0], -_FARTHEST, _FARTHEST), return_counts=True)
        self._numbers, place = np.unique(np.concatenate([self._numbers, values]), return_inverse=True)
        both = np.concatenate([self._times, times])
        self._times = np.zeros(self._numbers.size, np.int64)
        np.add.at(self._times, place, both)

    def prepared(self, wanted: tuple[str, ...], budget: Any, made: Any) -> _Table:
        """The table, once for all statistics."""
        self._check_complete()
        (kind,) = self.survey.classes
        constant = self.survey.mechanism(kind).second_difference_constant
        none, zeros = np.zeros(0, np.int64), np.zeros(self._numbers.size)
        whole = zeros.astype(np.int64)
        known = NoisyDegrees(self.view.n, none, self._numbers, whole, zeros + constant, zeros, none)
        return _Table(known, self._times, self.survey.lists)


@dataclass(frozen=True, eq=False)
class _Table:
    """Each number that was reported, once, and how often."""

    degrees: NoisyDegrees
    times: Ints
    lists: int

    def combined(self, name: str, weights: Mapping[str, float]) -> Estimate:
        """A weighted sum of edges and k-stars.  [DERIVED.2]"""
        orders = {1 if each == "edges" else int(each.partition(":")[2]): weight for each, weight in weights.items()}
        value, variance = self._sum(sum_of_stars(orders, self.lists))
        return estimate_of(name, value, Spread(variance))

    def tail(self, name: str, threshold: int) -> Estimate:
        """How many users have at least this degree.  [DEGREESUM.7]"""
        value, variance = self._sum(lambda degrees: degrees >= threshold, clamped=True)
        least = degree_functions.least_tail_noise(self.degrees, threshold, self.times)
        if variance >= least:
            return estimate_of(name, value, Spread(variance))
        wider = estimate_of(name, value, Spread(least))
        return replace(wider, variance=variance or math.nan, limits=wider.interval, conservative=True)

    def _sum(self, function: degree_functions.DegreeFunction, clamped: bool = False) -> tuple[float, float]:
        each, noise = degree_functions.per_answer(self.degrees, function, clamped)
        return float((self.times * each).sum()), max(float((self.times * noise).sum()), 0.0)


class StreamedGroups(_InOrder):
    """What the members of each group reported of each group, added up."""

    protocol = "groups"
    estimators: ClassVar[Estimators] = {
        **dict.fromkeys(LINEAR, lambda given, asked: linear(given, given.groups, asked)),
        **dict.fromkeys(RATIOS, lambda given, asked: ratios(given, given.groups, asked)),
    }

    def __init__(self, survey: GroupSurvey, view: PublicView) -> None:
        super().__init__(survey, view)
        self._sums = np.zeros((survey.groups.count, survey.groups.count))

    @staticmethod
    def _survey_of(view: PublicView, survey: GroupSurvey) -> GroupSurvey:
        return group_survey(view, survey.epsilon, survey.groups)

    def _take_in(self, report: GroupReport) -> None:
        self._digest.update(report.digest.encode())
        members = self.survey.groups.members[report.users]
        for b, said in enumerate(np.clip(report.values, -_FARTHEST, _FARTHEST).astype(np.float64)):
            self._sums[:, b] += np.bincount(members, said, len(self._sums))

    def prepared(self, wanted: tuple[str, ...], budget: Any, made: Any) -> SummedCounts:
        """The mixing matrix, once for all statistics."""
        self._check_complete()
        (kind,) = self.survey.classes
        groups, variance = self.survey.groups, float(self.survey.mechanism(kind).variance)
        noise = tuple(np.array([size * variance]) for size in groups.sizes.tolist())
        return SummedCounts(np.zeros_like(self._sums), groups.sizes, (), noise, groups, self._sums)


@dataclass(frozen=True, eq=False)
class SummedCounts(GroupCounts):
    """The same as counts of every member, of whom all answered, from their sums.  [MIXING.1-4]

    ``noise`` holds one number for each group, its members' noise together; ``said`` is (groups, groups).
    """

    groups: Groups
    said: Floats = field(repr=False)

    @property
    def answers(self) -> Ints:
        """All members answered."""
        return self.asked

    @property
    def sums(self) -> Floats:
        """(groups, groups): friends in b of all members of a, by what members of a said."""
        return self.said

    def spread(self, gradient: Floats) -> Spread:
        """How a linear function of the cells varies: by noise alone.  [MIXING.4]"""
        factors = self.factors(gradient)
        return Spread(sum(dot(row, row) * float(noise.sum()) for row, noise in zip(factors, self.noise, strict=True)))
