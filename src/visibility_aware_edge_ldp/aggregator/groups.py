"""USER groups: a collection of reports, and who has how many friends in which group from it.  [MIXING.1-6]"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from visibility_aware_edge_ldp.aggregator.answers import noise_hides
from visibility_aware_edge_ldp.aggregator.collection import Bits, Estimators, UserCollection
from visibility_aware_edge_ldp.aggregator.derived import linear, ratios
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.counts.mixing import LINEAR, RATIOS, GroupCounts, friend_sums
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.statistic import GROUPED
from visibility_aware_edge_ldp.public.surveys.groups import GroupReport, GroupSurvey, group_survey
from visibility_aware_edge_ldp.public.view import PublicView

# Reported numbers are cut off here, so that no sum of squares overflows; honest ones are far below.
_FARTHEST = float(1 << 60)
# With fewer members who answered, a group's cells hang on very few people.
FEW = 10


class GroupCollection(UserCollection[GroupSurvey, GroupReport]):
    """Reports of groups: for each user whether it answered, and a number for each class and group."""

    protocol = "groups"
    estimators: ClassVar[Estimators] = {
        **dict.fromkeys(LINEAR, lambda given, asked: linear(given.known, given.groups, asked)),
        **dict.fromkeys(RATIOS, lambda given, asked: ratios(given.known, given.groups, asked)),
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

    def prepared(self, wanted: tuple[str, ...], budget: Any, made: Any) -> Any:
        """What all statistics of groups are worked out from, once."""
        known = self.known
        if known.asked.any() and not known.answers.any():
            raise BadStatistic("Nobody has answered yet, so nothing can be estimated.")
        return _Given(self, known)


class _Given:
    """What the estimators of groups share."""

    def __init__(self, collection: GroupCollection, known: GroupCounts) -> None:
        self.collection, self.known = collection, known
        self.groups = collection.groups


def small_cells(collection: GroupCollection, found: Estimate) -> tuple[str, ...]:
    """What must be said of a mixing matrix: groups with few answers, and cells that the noise hides."""
    known, labels = collection.known, collection.groups.labels
    few = [labels[a] for a in np.flatnonzero((known.answers < FEW) & (known.asked > 0))]
    told = f"Fewer than {FEW} members answered in {', '.join(few)}; their cells hang on very few people"
    return (*((told,) if few else ()), *hidden_cells(found))


def hidden_cells(found: Estimate) -> tuple[str, ...]:
    """What must be said of a mixing matrix of which the noise hides some cells."""
    values, errors = np.atleast_1d(found.value).tolist(), np.atleast_1d(found.standard_error).tolist()
    hidden = sum(noise_hides(value, error) for value, error in zip(values, errors, strict=True))
    told = f"{hidden} of {len(values)} cells are below twice their standard error and might as well be 0"
    return (told,) if hidden else ()
