"""Those who hide their whole degree, every column and every sign walked.  [AUDIT.2], [AUDIT.6], [WHOLE.1-2]"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law, ScriptedCoins, column_coin, flip_coin, walk
from visibility_aware_edge_ldp.client.histogram import HistogramClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse, Ints
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee, OneListEntry
from visibility_aware_edge_ldp.public.surveys import histogram as surveys
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Client = Callable[[FriendLists, PublicView, Purse], HistogramClient]
Question = Callable[[surveys.HistogramSurvey], surveys.HistogramSurvey]


@dataclass(frozen=True)
class Stage(small_worlds.ListStage):
    """A pattern of classes on n users, the bins of their degrees, and the client that answers."""

    epsilon: str = "1"
    bins: tuple[int, ...] | None = None
    nonresponse: frozenset[int] = frozenset()
    client: Client = HistogramClient
    question: Question = lambda survey: survey

    @cached_property
    def view(self) -> PublicView:
        """Every public position holds an edge, which counts in its ends' degrees."""
        return small_worlds.view_of(self.pattern, self.n)

    @cached_property
    def survey(self) -> surveys.HistogramSurvey:
        return self.question(surveys.histogram_survey(self.view, self.epsilon, self.bins))

    def agreed(self, kind: Visibility) -> Fraction:
        """An edge of any class stands in two lists."""
        return 2 * Fraction(self.epsilon)


def report_law(stage: Stage, user: int, friends: small_worlds.Friends) -> Law:
    """The law of the bytes that one user sends."""
    survey, present = stage.survey, np.array([user not in stage.nonresponse])
    held = FriendLists(user, np.array([0, len(friends)]), np.array(friends, np.int32))
    due = [[column_coin(survey.mechanism.columns)], [flip_coin(survey.mechanism.sign)]]

    def play(coins: ScriptedCoins) -> bytes:
        coins.offer(due)
        holders = stage.client(held, stage.view, Purse(dict.fromkeys(NON_PUBLIC, survey.list_price.epsilon)))
        return surveys.encode(surveys.decode(surveys.encode(holders.answer(survey, 1, coins, present))))

    return walk(play)


def degree_loss(stage: Stage) -> float:
    """The largest loss of one user's report between any two lists of it."""
    lists = [(user, friends) for user in range(stage.n) for friends in lists_of(stage.n, user)]
    spoken = {(user, friends): findings.Spoken(report_law(stage, user, friends)) for user, friends in lists}
    pairs = ((one, other) for one, other in product(lists, repeat=2) if one[0] == other[0])
    return max(findings.gap_between(spoken[one], spoken[other]).epsilon for one, other in pairs)


def lists_of(n: int, user: int) -> list[small_worlds.Friends]:
    """Every friend list that a user may have."""
    others = [other for other in range(n) if other != user]
    return list(chain.from_iterable(combinations(others, size) for size in range(n)))


def audit_edges(name: str, stages: Iterable[Stage], about: str) -> findings.Finding:
    """What an edge loses, in all stages together."""
    return small_worlds.audit_lists(name, stages, about, small_worlds.by_row(report_law))


def audit_degrees(name: str, stages: Iterable[Stage], about: str) -> findings.Finding:
    """What a whole degree loses: here two worlds are neighbours when one list is any other."""
    losses: list[findings.Loss] = []
    cases = 0
    for stage in stages:
        asked, billed = Fraction(stage.epsilon), stage.survey.guarantee.epsilon
        losses.append(findings.as_asked(findings.Loss("PRIVATE", float(asked), degree_loss(stage)), asked, billed))
        cases += stage.n * len(lists_of(stage.n, 0)) ** 2
    return findings.exact_finding(name, losses, cases, about)


def _edge_stages() -> Iterator[Stage]:
    for pattern in small_worlds.patterns(3):
        yield Stage(pattern, 3)
    for pattern in small_worlds.patterns_up_to_names(3):
        yield Stage(pattern, 3, "1/2", (0, 1, 3), frozenset({1}))
    for pattern in small_worlds.patterns_up_to_names(4):
        yield Stage(pattern, 4, bins=(0, 1, 2, 4))


def _whole_degrees() -> list[Stage]:
    secret = Stage((Visibility.PRIVATE,) * 6, 4, bins=(0, 1, 2, 3, 4))
    return [secret, replace(secret, epsilon="3"), replace(secret, bins=(0, 1, 4))]


AUDITS = (
    findings.exact(
        "user histogram, one edge",
        lambda name, about: audit_edges(name, _edge_stages(), about),
        "all graphs and patterns of 3 users, 4 up to names, some absent",
    ),
    findings.exact(
        "user histogram, whole degrees",
        lambda name, about: audit_degrees(name, _whole_degrees(), about),
        "any two lists of each of 4 users, by three sets of bins",
    ),
)


# ── mutants: the real client or survey with one thing wrong ──


def _sign_kept(
    client: HistogramClient, survey: surveys.HistogramSurvey, number: int, coins: RandomBytes, *given: Any
) -> surveys.HistogramReport:
    """The column is drawn, but its sign is never turned over."""

    def always_keep(count: int) -> bytes:
        return coins(count) if count == 4 else b"\xff" * count

    return HistogramClient.randomize(client, survey, number, always_keep, *given)


def _silent_alone(client: HistogramClient, report: surveys.HistogramReport, *_: object) -> surveys.HistogramReport:
    """A user without friends does not answer."""
    answered = report.answered & (np.diff(client._view.offsets) > 0)
    return surveys.histogram_report(report.survey, report.start, answered, report.values)


def _half_of_the_columns(response: HadamardResponse, bins: Ints, coins: RandomBytes) -> Ints:
    """Only half of the columns are drawn, so that the other half tells the row that led there."""

    def without_the_last_bit(count: int) -> bytes:
        drawn = coins(count)
        return bytes([drawn[0] & ~(response.columns // 2), *drawn[1:]]) if count == 4 else drawn

    return HadamardResponse.randomize(response, bins, without_the_last_bit)


def _asked_by(response: type[HadamardResponse] = HadamardResponse, epsilons: int = 1, **members: Any) -> Question:
    """The survey, whose mechanism is this one at so many times its epsilon."""
    mechanism = property(lambda survey: response(epsilons * survey.epsilon, survey.bins))
    return partial(findings.recast, findings.replaced(surveys.HistogramSurvey, mechanism=mechanism, **members))


LouderSign = findings.replaced(
    HadamardResponse, sign=property(lambda response: RandomizedResponse(response.epsilon * Fraction(11, 10)))
)
NarrowColumn = findings.replaced(HadamardResponse, randomize=_half_of_the_columns)
_WHOLE = _whole_degrees()[0]
_DOUBLE = _asked_by(epsilons=2, list_price=property(lambda survey: Guarantee(OneListEntry, 2 * survey.epsilon)))
MUTANTS = (
    *findings.exact_mutants(
        audit_degrees,
        [
            (
                "user histogram, sign never turned over",
                "The answer's sign is always the true one.",
                [replace(_WHOLE, client=findings.replaced(HistogramClient, randomize=_sign_kept))],
            ),
            (
                "user histogram, silence without friends",
                "A user without friends does not answer.",
                [replace(_WHOLE, client=findings.altered(HistogramClient, "randomize", _silent_alone))],
            ),
            (
                "user histogram, epsilon × 1.1",
                "The sign is kept as 1.1 times epsilon would allow.",
                [replace(_WHOLE, question=_asked_by(LouderSign))],
            ),
            (
                "user histogram, half of the columns",
                "A column is drawn with a bit too few.",
                [replace(_WHOLE, question=_asked_by(NarrowColumn))],
            ),
        ],
    ),
    *findings.exact_mutants(
        audit_edges,
        [
            (
                "user histogram, list price doubled",
                "Every list is asked for twice the epsilon that the survey says, and the bill with it.",
                [Stage(pattern, 3, question=_DOUBLE) for pattern in small_worlds.patterns_up_to_names(3)],
            )
        ],
    ),
)
