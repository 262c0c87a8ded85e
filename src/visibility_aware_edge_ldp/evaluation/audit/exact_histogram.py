"""Those who hide their whole degree, every column and every sign walked.  [AUDIT.2], [AUDIT.6], [WHOLE.1-2]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, combinations, product

import numpy as np

from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_histogram import Bits, DegreeHolders
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.evaluation.audit.coin_walk import Law, ScriptedCoins, column_coin, flip_coin, walk
from visibility_aware_edge_ldp.evaluation.audit.exact_loss import (
    Friends,
    Gaps,
    Spoken,
    by_row,
    gap_between,
    largest_gaps_by_list,
    losses_of,
)
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.measured_noise import as_asked
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import (
    Pattern,
    neighbours,
    patterns,
    patterns_up_to_names,
    view_of,
)
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse, Ints
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneListEntry
from visibility_aware_edge_ldp.public.histogram_report import HistogramReport, decode, encode, histogram_report
from visibility_aware_edge_ldp.public.histogram_survey import HistogramSurvey, histogram_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Client = Callable[[FriendLists, PublicView, Purse], DegreeHolders]
Question = Callable[[HistogramSurvey], HistogramSurvey]

Speak = Callable[["Stage", int, Friends], Law]


@dataclass(frozen=True)
class Stage:
    """A pattern of classes on n users, the bins of their degrees, and the client that answers."""

    pattern: Pattern
    n: int
    epsilon: str = "1"
    bins: tuple[int, ...] | None = None
    absent: frozenset[int] = frozenset()
    client: Client = DegreeHolders
    question: Question = lambda survey: survey

    @cached_property
    def view(self) -> PublicView:
        """Every public position holds an edge, which counts in its ends' degrees."""
        return view_of(self.pattern, self.n)

    @cached_property
    def survey(self) -> HistogramSurvey:
        return self.question(histogram_survey(self.view, self.epsilon, self.bins))

    @property
    def claims(self) -> dict[Visibility, float]:
        """What was asked for of an edge of any class: it stands in two lists."""
        return dict.fromkeys(NON_PUBLIC, float(2 * Fraction(self.epsilon)))

    def billed(self, loss: Loss) -> Loss:
        """An edge's loss beside the bill too, which must not be above what was asked for."""
        return as_asked(loss, 2 * Fraction(self.epsilon), Bill(self.survey.releases)[loss.kind].epsilon)

    @property
    def setting(self) -> Stage:
        """All but where in the pattern which class stands."""
        return replace(self, pattern=tuple(sorted({*self.pattern})))


def report_law(stage: Stage, user: int, friends: Friends) -> Law:
    """The law of the bytes that one user sends."""
    survey, present = stage.survey, np.array([user not in stage.absent])
    held = FriendLists(user, np.array([0, len(friends)]), np.array(friends, np.int32))
    due = [[column_coin(survey.mechanism.columns)], [flip_coin(survey.mechanism.sign)]]

    def play(coins: ScriptedCoins) -> bytes:
        coins.offer(due)
        holders = stage.client(held, stage.view, Purse(dict.fromkeys(NON_PUBLIC, survey.list_price.epsilon)))
        return encode(decode(encode(holders.bins(survey, coins, present))))

    return walk(play)


def gaps_of(stage: Stage, speak: Speak = report_law) -> Gaps:
    """The largest loss of an edge of each class over all neighbouring worlds of a stage."""
    return largest_gaps_by_list(stage.pattern, stage.n, partial(speak, stage))


def degree_loss(stage: Stage) -> float:
    """The largest loss of one user's report between any two lists of it."""
    lists = [(user, friends) for user in range(stage.n) for friends in lists_of(stage.n, user)]
    spoken = {(user, friends): Spoken(report_law(stage, user, friends)) for user, friends in lists}
    pairs = ((one, other) for one, other in product(lists, repeat=2) if one[0] == other[0])
    return max(gap_between(spoken[one], spoken[other]).epsilon for one, other in pairs)


def lists_of(n: int, user: int) -> list[Friends]:
    """Every friend list that a user may have."""
    others = [other for other in range(n) if other != user]
    return list(chain.from_iterable(combinations(others, size) for size in range(n)))


def audit_edges(name: str, stages: Iterable[Stage], about: str) -> Finding:
    """What an edge loses, in all stages together."""
    speak = by_row(report_law)
    losses: list[Loss] = []
    cases = 0
    for stage in stages:
        losses += map(stage.billed, losses_of(gaps_of(stage, speak), stage.claims, closed=False))
        cases += sum(1 for _ in neighbours(stage.pattern))
    return exact_finding(name, losses, cases, about)


def audit_degrees(name: str, stages: Iterable[Stage], about: str) -> Finding:
    """What a whole degree loses: here two worlds are neighbours when one list is any other."""
    losses: list[Loss] = []
    cases = 0
    for stage in stages:
        asked, billed = Fraction(stage.epsilon), stage.survey.guarantee.epsilon
        losses.append(as_asked(Loss("PRIVATE", float(asked), degree_loss(stage)), asked, billed))
        cases += stage.n * len(lists_of(stage.n, 0)) ** 2
    return exact_finding(name, losses, cases, about)


def _edge_stages() -> Iterator[Stage]:
    for pattern in patterns(3):
        yield Stage(pattern, 3)
    for pattern in patterns_up_to_names(3):
        yield Stage(pattern, 3, "1/2", (0, 1, 3), frozenset({1}))
    for pattern in patterns_up_to_names(4):
        yield Stage(pattern, 4, bins=(0, 1, 2, 4))


def _whole_degrees() -> list[Stage]:
    secret = Stage((Visibility.PRIVATE,) * 6, 4, bins=(0, 1, 2, 3, 4))
    return [secret, replace(secret, epsilon="3"), replace(secret, bins=(0, 1, 4))]


_EDGES, _DEGREES = "user histogram, one edge", "user histogram, whole degrees"
AUDITS = (
    Audit(
        _EDGES,
        "exact",
        lambda: audit_edges(_EDGES, _edge_stages(), "all graphs and patterns of 3 users, 4 up to names, some absent"),
    ),
    Audit(
        _DEGREES,
        "exact",
        lambda: audit_degrees(_DEGREES, _whole_degrees(), "any two lists of each of 4 users, by three sets of bins"),
    ),
)


class BareBin(DegreeHolders):
    """A broken twin: the column is drawn, but its sign is never turned over."""

    def _randomize(self, survey: HistogramSurvey, coins: Coins, present: Bits | None) -> HistogramReport:
        def always_keep(count: int) -> bytes:
            return coins(count) if count == 4 else b"\xff" * count

        return super()._randomize(survey, always_keep, present)


class SilentAlone(DegreeHolders):
    """A broken twin: a user without friends does not answer."""

    def _randomize(self, survey: HistogramSurvey, coins: Coins, present: Bits | None) -> HistogramReport:
        report = super()._randomize(survey, coins, present)
        answered = report.who_answered & (np.diff(self._view.offsets) > 0)
        return histogram_report(report.survey, report.start, answered, report.values)


class LouderSign(HadamardResponse):
    """A broken twin: the sign is kept as 1.1 times epsilon would allow."""

    @cached_property
    def sign(self) -> RandomizedResponse:
        return RandomizedResponse(self.epsilon * Fraction(11, 10))


class NarrowColumn(HadamardResponse):
    """A broken twin: only half of the columns are drawn, so that the other half tells the row that led there."""

    def randomize(self, bins: Ints, coins: Coins) -> Ints:
        def without_the_last_bit(count: int) -> bytes:
            drawn = coins(count)
            return bytes([drawn[0] & ~(self.columns // 2), *drawn[1:]]) if count == 4 else drawn

        return super().randomize(bins, without_the_last_bit)


class LouderSurvey(HistogramSurvey):
    @property
    def mechanism(self) -> HadamardResponse:
        return LouderSign(self.epsilon, self.bins)


class NarrowSurvey(HistogramSurvey):
    @property
    def mechanism(self) -> HadamardResponse:
        return NarrowColumn(self.epsilon, self.bins)


class DoublePrice(HistogramSurvey):
    """A broken twin: every list pays, and loses, twice what was asked for, and the bill says so."""

    @property
    def mechanism(self) -> HadamardResponse:
        return HadamardResponse(2 * self.epsilon, self.bins)

    @property
    def list_price(self) -> Guarantee[OneListEntry]:
        return Guarantee(OneListEntry, 2 * self.epsilon)


def _asked_by(kind: type[HistogramSurvey]) -> Question:
    return lambda survey: kind(**{each.name: getattr(survey, each.name) for each in fields(survey)})


def _twin(name: str, broken: str, client: Client = DegreeHolders, kind: type[HistogramSurvey] | None = None) -> Audit:
    """Of whole degrees."""
    question = _asked_by(kind) if kind else lambda survey: survey
    stages = [replace(stage, client=client, question=question) for stage in _whole_degrees()[:1]]
    return Audit(name, "exact", lambda: audit_degrees(name, stages, broken), broken)


def _edge_twin(name: str, broken: str, kind: type[HistogramSurvey]) -> Audit:
    """Of one edge."""
    stages = [Stage(pattern, 3, question=_asked_by(kind)) for pattern in patterns_up_to_names(3)]
    return Audit(name, "exact", lambda: audit_edges(name, stages, broken), broken)


TWINS = (
    _twin("user histogram, sign never turned over", "The answer's sign is always the true one.", BareBin),
    _twin("user histogram, silence without friends", "A user without friends does not answer.", SilentAlone),
    _twin("user histogram, epsilon × 1.1", "The sign is kept as 1.1 times epsilon would allow.", kind=LouderSurvey),
    _twin("user histogram, half of the columns", "A column is drawn with a bit too few.", kind=NarrowSurvey),
    _edge_twin(
        "user histogram, list price doubled",
        "Every list is asked for twice the epsilon that the survey says, and the bill with it.",
        DoublePrice,
    ),
)
