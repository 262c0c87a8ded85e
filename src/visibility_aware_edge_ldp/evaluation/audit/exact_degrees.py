"""The whole protocol of degrees, every noise in a window walked.  [AUDIT.4-6], [DEGREE.2]

Users are separate clients with separate coins, so a transcript's probability is a product over users, and the loss of
an edge is the sum of what the reports of all users lose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_degrees import Bits, ListHolders, class_counts, randomize
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.evaluation.audit.coin_walk import Law, ScriptedCoins, noise_coin, walk
from visibility_aware_edge_ldp.evaluation.audit.exact_loss import Friends, Gaps, by_row, largest_gaps_by_list, losses_of
from visibility_aware_edge_ldp.evaluation.audit.exact_words import tail_is_geometric
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.measured_noise import as_asked
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import (
    Guard,
    Pattern,
    neighbours,
    patterns,
    patterns_up_to_names,
    view_of,
)
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneListEntry
from visibility_aware_edge_ldp.public.degree_report import DegreeReport, decode, degree_report, encode
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Client = Callable[[FriendLists, PublicView, Purse], ListHolders]
Noises = Callable[[DegreeSurvey, Friends], list[DiscreteLaplace]]
Speak = Callable[["Stage", int, Friends], Law]


def survey_noises(survey: DegreeSurvey, friends: Friends) -> list[DiscreteLaplace]:
    """The noises that a report draws, class by class."""
    return [survey.mechanism(kind) for kind in survey.classes]


@dataclass(frozen=True)
class Stage:
    """A pattern of classes on n users, how far the noise of a survey of it is walked, and who does not take part.

    ``client``, ``question`` and ``noises`` are the code that answers, the survey, and what noise it draws for a list:
    the real ones, or a broken twin's.
    """

    pattern: Pattern
    n: int
    epsilon: str
    window: int
    guard: Guard = ("2", "1")
    absent: frozenset[int] = frozenset()
    client: Client = ListHolders
    question: Callable[[DegreeSurvey], DegreeSurvey] = lambda survey: survey
    noises: Noises = survey_noises

    @cached_property
    def view(self) -> PublicView:
        """Every public position holds an edge, which a client must leave out of what it counts."""
        return view_of(self.pattern, self.n, self.guard)

    @cached_property
    def survey(self) -> DegreeSurvey:
        return self.question(degree_survey(self.view, self.epsilon))

    @property
    def claims(self) -> dict[Visibility, float]:
        """What was asked for of an edge of each class."""
        return {kind: float(self.asked(kind)) for kind in NON_PUBLIC}

    def asked(self, kind: Visibility) -> Fraction:
        """The survey's epsilon, as often as the policy allows this class to lose it."""
        return Fraction(self.epsilon) * self.view.policy.multipliers.of(kind)

    def billed(self, loss: Loss) -> Loss:
        """A loss beside the bill too, which must not be above what was asked for."""
        kind = Visibility[loss.kind]
        return as_asked(loss, self.asked(kind), Bill(self.survey.releases)[kind].epsilon)

    @property
    def setting(self) -> Stage:
        """All but where in the pattern which class stands."""
        return replace(self, pattern=tuple(sorted({*self.pattern})))

    @property
    def closed(self) -> bool:
        """Whether beyond the window nothing can be lost that is not lost inside it.  [AUDIT.4]"""
        return all(tail_is_geometric(noise, self.window) for noise in self.noises(self.survey, ()))


def holders(stage: Stage, user: int, friends: Friends) -> ListHolders:
    """A client with one list, and a purse that has room for all that is asked of it."""
    held = FriendLists(user, np.array([0, len(friends)]), np.array(friends, np.int32))
    return stage.client(held, stage.view, Purse(dict.fromkeys(NON_PUBLIC, 20 * stage.survey.epsilon)))


def report_law(stage: Stage, user: int, friends: Friends) -> Law:
    """The law of the bytes that one user sends."""
    present = np.array([user not in stage.absent])
    coins_due = [[noise_coin(noise, stage.window)] for noise in stage.noises(stage.survey, friends)]

    def play(coins: ScriptedCoins) -> bytes:
        coins.offer(coins_due)
        return encode(decode(encode(holders(stage, user, friends).degrees(stage.survey, coins, present))))

    return walk(play)


def gaps_of(stage: Stage, speak: Speak = report_law) -> Gaps:
    """The largest loss of each class over all neighbouring worlds of a stage."""
    return largest_gaps_by_list(stage.pattern, stage.n, partial(speak, stage))


def audit_degrees(name: str, stages: Iterable[Stage], about: str, speak: Speak = report_law) -> Finding:
    """All stages together; the same for the real client and for twins."""
    losses: list[Loss] = []
    cases = 0
    for stage in stages:
        losses += map(stage.billed, losses_of(gaps_of(stage, speak), stage.claims, stage.closed))
        cases += sum(1 for _ in neighbours(stage.pattern))
    return exact_finding(name, losses, cases, about)


def _stages() -> Iterator[Stage]:
    for pattern in patterns(3):
        yield Stage(pattern, 3, "4", 1)
    for pattern in patterns_up_to_names(3):
        yield Stage(pattern, 3, "2", 1, ("3", "1/2"), absent=frozenset({2}))
    yield Stage((PRIVATE, PRIVATE, FRIEND_VISIBLE), 3, "4", 3)
    yield Stage((PRIVATE,) * 3, 3, "1", 20)
    for pattern in patterns_up_to_names(4):
        yield Stage(pattern, 4, "6", 1)


def _degrees() -> Finding:
    about = "all graphs and patterns of 3 users, 4 up to names, some absent; noise in a window, tails by proof"
    return audit_degrees("user degrees", _stages(), about, by_row(report_law))


AUDITS = (Audit("user degrees", "exact", _degrees),)


class FullPrice(DegreeSurvey):
    """A broken twin: both ends of an edge spend all of its epsilon."""

    def mechanism(self, kind: Visibility) -> DiscreteLaplace:
        return DiscreteLaplace(self.multipliers.of(kind) * self.epsilon)


class ScaledByOwnDegree(ListHolders):
    """A broken twin: whoever has more friends adds more noise, and so tells how many it has."""

    def _randomize(self, survey: DegreeSurvey, coins: Coins, present: Bits | None) -> DegreeReport:
        values = class_counts(self._view, self._public, survey.classes)
        lengths = np.diff(self._view.offsets)
        for row, noise in zip(values, survey_noises(survey, ()), strict=True):
            for user, length in enumerate(lengths):
                row[user] = randomize(row[user : user + 1], _scaled(noise, max(1, int(length))), coins)[0]
        return degree_report(survey.identity, self._view.start, np.ones(self._view.count, np.bool_), values)


class SureAlone(ListHolders):
    """A broken twin: a user without friends says so without noise."""

    def _randomize(self, survey: DegreeSurvey, coins: Coins, present: Bits | None) -> DegreeReport:
        report = super()._randomize(survey, coins, present)
        values = np.where(np.diff(self._view.offsets) == 0, 0, report.values)
        return degree_report(survey.identity, report.start, report.who_answered, values)


class ExactDegrees(ListHolders):
    """A broken twin: no noise at all."""

    def _randomize(self, survey: DegreeSurvey, coins: Coins, present: Bits | None) -> DegreeReport:
        report = super()._randomize(survey, coins, present)
        values = class_counts(self._view, self._public, survey.classes)
        return degree_report(survey.identity, report.start, report.who_answered, values)


class BothAtFullPrice(ListHolders):
    """A broken twin: both ends of an edge spend all of its epsilon."""

    def _randomize(self, survey: DegreeSurvey, coins: Coins, present: Bits | None) -> DegreeReport:
        return super()._randomize(full_price(survey), coins, present)


def noises_by_degree(survey: DegreeSurvey, friends: Friends) -> list[DiscreteLaplace]:
    """The noises of the twin for a list of friends."""
    return [_scaled(noise, max(1, len(friends))) for noise in survey_noises(survey, friends)]


@cache
def _scaled(noise: DiscreteLaplace, degree: int) -> DiscreteLaplace:
    return replace(noise, sensitivity=degree)


class DoublePrice(DegreeSurvey):
    """A broken twin: every list pays, and loses, twice what was asked for, and the bill says so."""

    def list_price(self, kind: Visibility) -> Guarantee[OneListEntry]:
        return Guarantee(OneListEntry, 2 * super().list_price(kind).epsilon)


def full_price(survey: DegreeSurvey) -> DegreeSurvey:
    """The survey, with the mechanisms of the twin."""
    return FullPrice(**_given(survey))


def double_price(survey: DegreeSurvey) -> DegreeSurvey:
    """The survey, with the prices of the twin."""
    return DoublePrice(**_given(survey))


def _given(survey: DegreeSurvey) -> dict[str, Any]:
    return {field.name: getattr(survey, field.name) for field in fields(survey)}


def _twin(name: str, broken: str, stages: Iterable[Stage]) -> Audit:
    return Audit(name, "exact", partial(audit_degrees, name, tuple(stages), broken), broken)


TWINS = (
    _twin(
        "user degrees, both ends at full ε",
        "Each end of an edge spends the whole epsilon, so that the edge loses twice what is claimed.",
        (Stage(pattern, 3, "4", 1, question=full_price) for pattern in patterns_up_to_names(3)),
    ),
    _twin(
        "user degrees, noise scaled by own degree",
        "A user scales its noise by its own degree, which the scale then tells (document 004).",
        [Stage((PRIVATE,) * 3, 3, "1", 20, client=ScaledByOwnDegree, noises=noises_by_degree)],
    ),
    _twin(
        "user degrees, no noise without friends",
        "A user without friends answers without noise.",
        [Stage((PRIVATE,) * 3, 3, "4", 1, client=SureAlone)],
    ),
    _twin(
        "user degrees, list price doubled",
        "Every list is asked for twice the epsilon that the survey says, and the bill with it.",
        (Stage(pattern, 3, "4", 1, question=double_price) for pattern in patterns_up_to_names(3)),
    ),
)
