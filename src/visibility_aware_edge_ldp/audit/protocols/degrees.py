"""The whole protocol of degrees, every noise in a window walked.  [AUDIT.4-6], [DEGREE.2]

Users are separate clients with separate coins, so a transcript's probability is a product over users, and the loss of
an edge is the sum of what the reports of all users lose.

Also the degrees as later rounds use them: what the clients add noise to in one world, and that noise.  [WALK.1]
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings, noise_laws, small_worlds
from visibility_aware_edge_ldp.client.degrees import DegreeClient, class_counts, randomize
from visibility_aware_edge_ldp.client.reporter import Bits, Purse
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee, OneListEntry
from visibility_aware_edge_ldp.public.surveys.degrees import (
    DegreeReport,
    DegreeSurvey,
    decode,
    degree_report,
    degree_survey,
    encode,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Client = Callable[[FriendLists, PublicView, Purse], DegreeClient]
Noises = Callable[[DegreeSurvey, small_worlds.Friends], list[DiscreteLaplace]]


def survey_noises(survey: DegreeSurvey, friends: small_worlds.Friends) -> list[DiscreteLaplace]:
    """The noises that a report draws, class by class."""
    return [survey.mechanism(kind) for kind in survey.asked]


@dataclass(frozen=True)
class Stage(small_worlds.ListStage):
    """A pattern of classes on n users, how far the noise of a survey of it is walked, and who does not take part.

    ``client``, ``question`` and ``noises`` are the code that answers, the survey, and what noise it draws for a list:
    the real ones, or a mutant's.
    """

    epsilon: str
    window: int
    guard: small_worlds.Guard = ("2", "1")
    nonresponse: frozenset[int] = frozenset()
    client: Client = DegreeClient
    question: Callable[[DegreeSurvey], DegreeSurvey] = lambda survey: survey
    noises: Noises = survey_noises

    @cached_property
    def view(self) -> PublicView:
        """Every public position holds an edge, which a client must leave out of what it counts."""
        return small_worlds.view_of(self.pattern, self.n, self.guard)

    @cached_property
    def survey(self) -> DegreeSurvey:
        return self.question(degree_survey(self.view, self.epsilon))

    def agreed(self, kind: Visibility) -> Fraction:
        """The survey's epsilon, as often as the policy allows this class to lose it."""
        return Fraction(self.epsilon) * self.view.policy.multipliers.of(kind)

    @property
    def closed(self) -> bool:
        """Whether beyond the window nothing can be lost that is not lost inside it.  [AUDIT.4]"""
        return all(randomness.tail_is_geometric(noise, self.window) for noise in self.noises(self.survey, ()))


def report_law(stage: Stage, user: int, friends: small_worlds.Friends) -> randomness.Law:
    """The law of the bytes that one user sends."""
    present, survey = np.array([user not in stage.nonresponse]), stage.survey
    held = FriendLists(user, np.array([0, len(friends)]), np.array(friends, np.int32))
    coins_due = [[randomness.noise_coin(noise, stage.window)] for noise in stage.noises(survey, friends)]

    def play(coins: randomness.ScriptedCoins) -> bytes:
        coins.offer(coins_due)
        # A purse that has room for all that is asked of it.
        client = stage.client(held, stage.view, Purse(dict.fromkeys(NON_PUBLIC, 20 * survey.epsilon)))
        report = client.answer(survey, 1, coins, present)
        return report.layout.encode(report.layout.decode(report.layout.encode(report)))

    return randomness.walk(play)


def _stages() -> Iterator[Stage]:
    for pattern in small_worlds.patterns(3):
        yield Stage(pattern, 3, "4", 1)
    for pattern in small_worlds.patterns_up_to_names(3):
        yield Stage(pattern, 3, "2", 1, ("3", "1/2"), nonresponse=frozenset({2}))
    yield Stage((PRIVATE, PRIVATE, FRIEND_VISIBLE), 3, "4", 3)
    yield Stage((PRIVATE,) * 3, 3, "1", 20)
    for pattern in small_worlds.patterns_up_to_names(4):
        yield Stage(pattern, 4, "6", 1)


AUDITS = (
    findings.exact(
        "user degrees",
        lambda name, about: small_worlds.audit_lists(name, _stages(), about, small_worlds.by_row(report_law)),
        "all graphs and patterns of 3 users, 4 up to names, some absent; noise in a window, tails by proof",
    ),
)


# ── mutants: the real client or survey with one thing wrong ──


class ScaledByOwnDegree(DegreeClient):
    """A mutant: whoever has more friends adds more noise, and so tells how many it has."""

    def randomize(self, survey: DegreeSurvey, number: int, coins: RandomBytes, present: Bits | None) -> DegreeReport:
        values = class_counts(self._view, self._public, survey.classes)
        lengths = np.diff(self._view.offsets)
        for row, noise in zip(values, survey_noises(survey, ()), strict=True):
            for user, length in enumerate(lengths):
                row[user] = randomize(row[user : user + 1], _scaled(noise, max(1, int(length))), coins)[0]
        return degree_report(survey.identity, self._view.start, np.ones(self._view.count, np.bool_), values)


def _with(report: DegreeReport, values: noise_laws.Ints) -> DegreeReport:
    return degree_report(report.survey, report.start, report.answered, values)


def _without_noise(client: DegreeClient, report: DegreeReport, survey: DegreeSurvey, *_: object) -> DegreeReport:
    return _with(report, class_counts(client._view, client._public, survey.classes))


def _sure_alone(client: DegreeClient, report: DegreeReport, *_: object) -> DegreeReport:
    """A user without friends says so without noise."""
    return _with(report, np.where(np.diff(client._view.offsets) == 0, 0, report.values))


def noises_by_degree(survey: DegreeSurvey, friends: small_worlds.Friends) -> list[DiscreteLaplace]:
    """The noises of the mutant for a list of friends."""
    return [_scaled(noise, max(1, len(friends))) for noise in survey_noises(survey, friends)]


@cache
def _scaled(noise: DiscreteLaplace, degree: int) -> DiscreteLaplace:
    return replace(noise, sensitivity=degree)


FullPrice = findings.replaced(
    DegreeSurvey, mechanism=lambda survey, kind: DiscreteLaplace(survey.multipliers.of(kind) * survey.epsilon)
)
"""Both ends of an edge spend all of its epsilon."""
DoublePrice = findings.replaced(
    DegreeSurvey,
    list_price=lambda survey, kind: Guarantee(OneListEntry, 2 * DegreeSurvey.list_price(survey, kind).epsilon),
)
"""Every list pays, and loses, twice what was asked for, and the bill says so."""
ExactDegrees = findings.altered(DegreeClient, "randomize", _without_noise)
SureAlone = findings.altered(DegreeClient, "randomize", _sure_alone)
BothAtFullPrice = findings.replaced(
    DegreeClient,
    randomize=lambda client, survey, *given: DegreeClient.randomize(client, findings.recast(FullPrice, survey), *given),
)
MUTANTS = findings.exact_mutants(
    partial(small_worlds.audit_lists, speak=report_law),
    [
        (
            "user degrees, both ends at full ε",
            "Each end of an edge spends the whole epsilon, so that the edge loses twice what is claimed.",
            [
                Stage(pattern, 3, "4", 1, question=partial(findings.recast, FullPrice))
                for pattern in small_worlds.patterns_up_to_names(3)
            ],
        ),
        (
            "user degrees, noise scaled by own degree",
            "A user scales its noise by its own degree, which the scale then tells (document 004).",
            [Stage((PRIVATE,) * 3, 3, "1", 20, client=ScaledByOwnDegree, noises=noises_by_degree)],
        ),
        (
            "user degrees, no noise without friends",
            "A user without friends answers without noise.",
            [Stage((PRIVATE,) * 3, 3, "4", 1, client=SureAlone)],
        ),
        (
            "user degrees, list price doubled",
            "Every list is asked for twice the epsilon that the survey says, and the bill with it.",
            [
                Stage(pattern, 3, "4", 1, question=partial(findings.recast, DoublePrice))
                for pattern in small_worlds.patterns_up_to_names(3)
            ],
        ),
    ],
)


class Degrees(NamedTuple):
    """(classes, users): degrees before their noise, and the rate of that noise; infinite where there is none."""

    values: noise_laws.Ints
    rates: noise_laws.Floats


def sent_degrees(
    survey: DegreeSurvey,
    view: PublicView,
    world: small_worlds.World,
    coins: RandomBytes,
    client: type[DegreeClient] = DegreeClient,
) -> noise_laws.Ints:
    """(classes, users): the reports through the wire format."""
    lists = [small_worlds.friends(world, view.n, user) for user in range(view.n)]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
    held = FriendLists(0, offsets, np.array(sum(lists, ()), np.int32))
    purse = Purse({kind: survey.list_price(kind).epsilon for kind in survey.classes})
    return decode(encode(client(held, view, purse).answer(survey, 1, coins))).values


def real_degrees(
    survey: DegreeSurvey, view: PublicView, world: small_worlds.World, client: type[DegreeClient] = DegreeClient
) -> Degrees:
    """What is reported in this world, its noise found in this world."""
    sent = partial(sent_degrees, survey, view, world, client=client)
    supposed = [survey.mechanism(kind) for kind in survey.classes for _ in range(view.n)]
    values, rates = noise_laws.counts_and_rates(lambda coins: sent(coins).ravel(), supposed)
    return Degrees(values.reshape(-1, view.n), rates.reshape(-1, view.n))


@cache
def all_degrees(pattern: small_worlds.Pattern, n: int, epsilon: str) -> noise_laws.Ints:
    """(worlds, classes, users): what the real clients add the survey's noise to in every world, and no other noise."""
    view = small_worlds.view_of(pattern, n)
    survey = degree_survey(view, epsilon)
    rates = np.array([float(survey.mechanism(kind).rate) for kind in survey.classes])[:, None]
    each = [real_degrees(survey, view, world) for world in small_worlds.worlds(pattern)]
    if any((degrees.rates != rates).any() for degrees in each):
        raise noise_laws.another_noise()
    return np.array([degrees.values for degrees in each])
