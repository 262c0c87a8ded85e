"""USER groups: a collection of reports, and who has how many friends in which group from it.  [MIXING.1-6]"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from visibility_aware_edge_ldp.aggregator.answers import noise_hides
from visibility_aware_edge_ldp.aggregator.collection import Bits, Estimators, UserCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval, Value, estimate_of, inverted
from visibility_aware_edge_ldp.counts.mixing import (
    LINEAR,
    RATIOS,
    GroupCounts,
    Ratio,
    friend_sums,
    linear_values,
    target_names,
)
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.statistic import GROUPED, Statistic
from visibility_aware_edge_ldp.public.surveys.groups import GroupReport, GroupSurvey, group_survey
from visibility_aware_edge_ldp.public.view import PublicView

# Reported numbers are cut off here, so that no sum of squares overflows; honest ones are far below.
_FARTHEST = float(1 << 60)
# With fewer members who answered, a group's cells hang on very few people.
FEW = 10
# A denominator below so many standard errors might be 0, and its ratio anything.
_SURE = 3.0


class GroupCollection(UserCollection[GroupSurvey, GroupReport]):
    """Reports of groups: for each user whether it answered, and a number for each class and group."""

    protocol = "groups"
    estimators: ClassVar[Estimators] = {
        **dict.fromkeys(LINEAR, lambda given, asked: _linear(given, asked)),
        **dict.fromkeys(RATIOS, lambda given, asked: _ratios(given, asked)),
    }

    def __init__(self, survey: GroupSurvey, view: PublicView) -> None:
        super().__init__(survey, view, len(survey.asked))
        if survey != group_survey(view, survey.epsilon, survey.groups):
            raise ProtocolViolation("The survey is about another roster or another policy than this public view.")

    def is_for_this_survey(self, report: GroupReport) -> bool:
        """Whether the report answers the survey of this collection, with a number for each class and group."""
        return super().is_for_this_survey(report) and report.classes == len(self.survey.asked)

    def cannot_estimate(self, name: str) -> str:
        """The sentence that refuses a statistic which takes more than counts by group."""
        return f"{name!r} takes more than friends counted by group; ask for {', '.join(GROUPED)}."

    @property
    def groups(self) -> Groups:
        """The groups that friends were counted in."""
        return self.survey.groups

    @cached_property
    def hiding(self) -> Bits:
        """(classes, n): which users have positions of each class.  [DEGREESUM.4]"""
        return self.view.users_with(self.survey.classes)

    @property
    def response_rate(self) -> float:
        """The share of those who hide something that answered; 1 where nobody hides anything."""
        hides = self.hiding.any(axis=0)
        return float(self.took_part[hides].mean()) if hides.any() else 1.0

    def response_by_group(self) -> dict[str, float]:
        """The same share of each group's members."""
        known = self.known
        rates = np.where(known.asked > 0, known.answers / np.maximum(known.asked, 1), 1.0)
        return {f"{self.groups.attribute} {label}": float(rates[a]) for a, label in enumerate(self.groups.labels)}

    @property
    def known(self) -> GroupCounts:
        """What is known of how many friends each group's members have in each group.  [MIXING.1]"""
        hides, many = self.hiding.any(axis=0), self.groups.count
        reported = np.clip(self.numbers.astype(np.float64), -_FARTHEST, _FARTHEST)
        each = np.where(self.hiding[:, None], reported.reshape(-1, many, self.view.n), 0.0).sum(axis=0).T
        variances = np.array([float(self.survey.mechanism(kind).variance) for kind in self.survey.classes])
        noise = np.where(self.hiding, variances[:, None], 0.0).sum(axis=0)
        answered = [np.flatnonzero(self.took_part & hides & (self.groups.members == a)) for a in range(many)]
        return GroupCounts(
            friend_sums(self.groups.members, many, self.view.edges),
            np.bincount(self.groups.members[hides], minlength=many),
            tuple(each[users] for users in answered),
            tuple(noise[users] for users in answered),
        )

    def prepared(self, wanted: tuple[str, ...], budget: Any, made: Any) -> _Given:
        """What all statistics of groups are worked out from, once."""
        known = self.known
        if known.asked.any() and not known.answers.any():
            raise BadStatistic("Nobody has answered yet, so nothing can be estimated.")
        return _Given(self, known)


class _Given:
    """What the estimators of groups share."""

    def __init__(self, collection: GroupCollection, known: GroupCounts) -> None:
        self.collection, self.known = collection, known
        self.groups, self.sizes = collection.groups, collection.groups.sizes


def _linear(given: _Given, asked: Statistic) -> Estimate:
    """Cells, mean contacts or mean degrees, without bias, each with its own interval.  [MIXING.3-4]"""
    values = linear_values(asked.name, given.known.cells, given.sizes)
    gradients = LINEAR[asked.name](given.sizes)
    spreads = (given.known.spread(gradient) for gradient in gradients)
    each = [estimate_of(asked.name, value, spread) for value, spread in zip(values.tolist(), spreads, strict=True)]
    labels = given.groups.labels
    named: dict[str, Sequence[Hashable]] = {
        "mixing": given.groups.pairs,
        "contacts": [(a, b) for a in labels for b in labels],
        "ergm_targets": target_names(given.groups.attribute, labels),
    }
    return _joined(asked.name, each, named.get(asked.name, labels))


def _ratios(given: _Given, asked: Statistic) -> Estimate:
    """An index of homophily, or one of each group, by the delta method.  [MIXING.5-6]"""
    found = RATIOS[asked.name](given.known.cells, given.sizes, given.known.variance)
    each = [_ratio(given.known, asked, ratio) for ratio in found]
    return _joined(asked.name, each, given.groups.labels) if asked.per_person else each[0]


def _ratio(known: GroupCounts, asked: Statistic, ratio: Ratio) -> Estimate:
    """A ratio with all values that it may be an estimate of; where its denominator may be 0, all there are."""
    least, most = asked.bounds
    below = known.spread(ratio.below_gradient).variance
    if not ratio.below > _SURE * math.sqrt(below) or not math.isfinite(below):
        return Estimate(asked.name, 0.0, math.nan, unbiased=False, limits=lambda level: (least, most))

    def error(value: float) -> Estimate:
        gradient = (ratio.above_gradient - value * ratio.below_gradient) / ratio.below
        return estimate_of(asked.name, ratio.value - value, known.spread(gradient))

    plain = replace(error(ratio.value), value=ratio.value)

    def limits(level: float) -> Interval:
        low, high = inverted(plain, error, level) if math.isfinite(float(plain.variance)) else (-math.inf, math.inf)
        return max(ratio.scaled(low), least), min(ratio.scaled(high), most)

    value = min(max(ratio.scaled(ratio.value), least), most)
    variance = float(plain.variance) * ratio.slope(ratio.value) ** 2
    return Estimate(asked.name, value, variance, unbiased=False, limits=limits)


def _joined(statistic: str, each: Sequence[Estimate], labels: Sequence[Hashable]) -> Estimate:
    """One estimate with an entry for each of several, and their intervals."""

    def limits(level: float) -> tuple[Value, Value]:
        ends = [found.interval(level) for found in each]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    value, variance = (np.array([float(getattr(found, name)) for found in each]) for name in ("value", "variance"))
    return Estimate(
        statistic, value, variance, labels=labels, unbiased=all(found.unbiased for found in each), limits=limits
    )


def small_cells(collection: GroupCollection, found: Estimate) -> tuple[str, ...]:
    """What must be said of a mixing matrix: groups with few answers, and cells that the noise hides."""
    notes, known, labels = [], collection.known, collection.groups.labels
    few = [labels[a] for a in np.flatnonzero((known.answers < FEW) & (known.asked > 0))]
    if few:
        notes.append(f"Fewer than {FEW} members answered in {', '.join(few)}; their cells hang on very few people")
    values, errors = np.atleast_1d(found.value).tolist(), np.atleast_1d(found.standard_error).tolist()
    hidden = sum(noise_hides(value, error) for value, error in zip(values, errors, strict=True))
    if hidden:
        notes.append(f"{hidden} of {len(values)} cells are below twice their standard error and might as well be 0")
    return tuple(notes)
