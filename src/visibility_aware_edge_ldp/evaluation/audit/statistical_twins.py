"""Broken twins: the real clients with one thing wrong, sent through the same audits, which must ring.  [SHOWN.2]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.hub import Hub, Territory
from visibility_aware_edge_ldp.client.neighbourhood import Neighbourhoods, owned_triangles
from visibility_aware_edge_ldp.client.position import Respondent
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_degrees import ListHolders, class_counts
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.evaluation.audit.events import Columns
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import (
    Answer,
    Bits,
    Pairs,
    Positions,
    Shipment,
    degrees,
    fresh_coins,
)
from visibility_aware_edge_ldp.evaluation.audit.shipped_counts import Hubs, Owned
from visibility_aware_edge_ldp.evaluation.audit.statistical_audits import (
    ALL,
    BITS,
    HUBS,
    PRIVATE,
    TWO,
    WIDTH,
    Pace,
    eight_bits,
    one_degree,
    one_round,
    paced,
    two_rounds,
    two_surveys,
)
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.many_laplaces import sample_each
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.public.degree_report import DegreeReport
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey
from visibility_aware_edge_ldp.public.hub_report import HubReport
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey
from visibility_aware_edge_ldp.public.neighbourhood_report import NeighbourhoodReport
from visibility_aware_edge_ldp.public.neighbourhood_survey import NeighbourhoodSurvey
from visibility_aware_edge_ldp.public.report import PositionReport, pack, unpack
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Floats = npt.NDArray[np.float64]
# Candidate triangles at one position; document 003 had about 50 at n = 300 and ε = 1.
TRIANGLES_AT_AN_EDGE = 5
# Which of a client's bits is not randomized.
BARE = 3
STAR = ((0, 3), (0, 1), (0, 2))


class Louder(PositionSurvey):
    """Answers with 1.1 times the loss that it is billed for."""

    def mechanism(self, visibility: Visibility, round_number: int) -> RandomizedResponse:
        return RandomizedResponse(self.round_price(visibility, round_number) * Fraction(11, 10))


class LowThreshold(RandomizedResponse):
    """Flips a little less often than it has to."""

    @property
    def threshold(self) -> int:
        return RandomizedResponse(self.epsilon).threshold * 98 // 100


class SlightlyOff(PositionSurvey):
    """Randomizes against a threshold that is 2 % too low."""

    def mechanism(self, visibility: Visibility, round_number: int) -> RandomizedResponse:
        return LowThreshold(self.round_price(visibility, round_number))


def _asked_by(kind: type[PositionSurvey], public: PublicView) -> Sequence[PositionSurvey]:
    return [kind(**{each.name: getattr(survey, each.name) for each in fields(survey)}) for survey in one_round(public)]


class OneBare(Respondent):
    """Sends one bit in eight as it is."""

    def _randomize(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None
    ) -> PositionReport:
        report = super()._randomize(survey, round_number, coins, present)
        ones = unpack(report.ones, report.count)
        ones[BARE::WIDTH] = self._view.bits[BARE::WIDTH]
        return replace(report, ones=pack(ones))


class AskedPerTriangle(Respondent):
    """Draws its second answer anew for every triangle that it is asked for, and pays once."""

    def answer(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None = None
    ) -> PositionReport:
        if (survey.identity, 2) in self._answers and round_number == 2:
            return self._randomize(survey, 2, coins, present)
        return super().answer(survey, round_number, coins, present)


class Forgetful(ListHolders):
    """Draws new noise whenever it is asked, and pays once."""

    def degrees(self, survey: DegreeSurvey, coins: Coins, present: Bits | None = None) -> DegreeReport:
        if survey.identity in self._answers:
            return self._randomize(survey, coins, present)
        return super().degrees(survey, coins, present)


class OwnScale(Neighbourhoods):
    """Scales its noise by its own degree."""

    def _randomize(self, survey: NeighbourhoodSurvey, coins: Coins, present: Bits | None) -> NeighbourhoodReport:
        answered = np.ones(self._view.count, np.bool_) if present is None else present
        counts = owned_triangles(self._view.edges, self._public, survey.plan)[self._view.users]
        own = np.maximum(np.bincount(self._view.edges.ravel(), minlength=self._public.n)[self._view.users], 1)
        values = np.where(answered, counts + sample_each(survey.loss, own, coins), 0)
        return NeighbourhoodReport(survey.identity, self._view.start, answered, values)


class ExactHub(Hub):
    """Adds no noise, because it is public itself."""

    def _randomize(self, survey: HubSurvey, coins: Coins) -> HubReport:
        place = survey.plan.hubs.index(self._view.start)
        territory = Territory.of(self._view.edges, self._public, survey.plan, place)
        return HubReport(survey.identity, place, tuple(territory.count(number) for number in survey.numbers))


def same_for_all_users(seed: str, *labels: int | str) -> Coins:
    """Coins that do not depend on who draws them."""
    return fresh_coins(seed, *labels[1:])


def same_for_all_surveys(seed: str, *labels: int | str) -> Coins:
    """Coins that do not depend on what was asked: one uniform number answers at several epsilons."""
    return fresh_coins(seed, labels[0], *labels[2:])


def float_degrees(lists: FriendLists, public: PublicView, purse: Purse) -> Answer:
    """Degrees with Laplace noise in double precision, sent as doubles."""

    def answer(survey: Any, coins: Coins) -> Columns:
        kind = survey.classes[0]
        counts = class_counts(lists, public, survey.classes)[0]
        noise = float_laplace(float(1 / survey.list_price(kind).epsilon), counts.size, coins)
        return low_bits(np.frombuffer((counts + noise).astype(">f8").tobytes(), ">f8").astype(np.float64))

    return answer


def float_laplace(scale: float, count: int, coins: Coins) -> Floats:
    """The inverse of the distribution function at uniform doubles of 53 bits, as libraries commonly do it."""
    uniform = (np.frombuffer(coins(8 * count), "<u8") >> np.uint64(11)).astype(np.float64) / 2.0**53
    uniform = np.maximum(uniform, 2.0**-53)
    upper = uniform >= 0.5
    return np.where(upper, -1.0, 1.0) * scale * np.log(np.where(upper, 2 - 2 * uniform, 2 * uniform))


def low_bits(values: Floats) -> Columns:
    """Two columns of a double: its whole part, and the exponent of the lowest bit that is set in it."""
    parts, exponents = np.frexp(values)
    digits = np.abs(np.ldexp(parts, 53)).astype(np.int64)
    lowest = np.log2(np.maximum(digits & -digits, 1)).astype(np.int64)
    return np.stack([np.floor(np.clip(values, -99, 99)).astype(np.int64), exponents - 53 + lowest], axis=1)


def twins(runs: int) -> tuple[Audit, ...]:
    """The twins with so many runs a side; 10^6 catch each of them."""
    again = Positions(PRIVATE, two_rounds, times=TRIANGLES_AT_AN_EDGE, client=AskedPerTriangle)
    own_scale = Owned(PRIVATE, epsilon=Fraction(1), drawn=STAR, client=OwnScale)
    twice = Pairs(PRIVATE, one_degree, partial(degrees, client=Forgetful), times=2)
    cases: list[tuple[str, str, list[Shipment], Pace]] = [
        (
            "epsilon × 1.1",
            "Randomized response is made for 1.1 times the loss that is billed.",
            [Positions(PRIVATE, partial(_asked_by, Louder))],
            ALL,
        ),
        (
            "threshold 2 % off",
            "Bits are flipped against a threshold that is 2 % too low.",
            [Positions(PRIVATE, partial(_asked_by, SlightlyOff))],
            ALL,
        ),
        (
            "one bit not randomized",
            "One of the eight bits of a client is sent as it is.",
            eight_bits(partial(Positions, client=OneBare)),
            BITS,
        ),
        (
            "same coins for two users",
            "Two users draw the same coins, so the known bit of one undoes the noise of the other.",
            [Positions(PRIVATE, one_round, users=2, coins=same_for_all_users)],
            ALL,
        ),
        (
            "edge re-asked per triangle",
            "The second answer is drawn anew for every candidate triangle (document 003).",
            [again],
            ALL,
        ),
        (
            "asked twice, new noise",
            "The same survey asked again is answered with new noise, and paid once.",
            [twice],
            ALL,
        ),
        (
            "noise scaled by own degree",
            "A user's noise is as wide as its own degree, which an edge changes (document 004).",
            [own_scale],
            ALL,
        ),
        (
            "exact public hub",
            "A public hub counts triangles among its friends without noise (document 004).",
            [Hubs(epsilon=Fraction(1), client=ExactHub)],
            HUBS,
        ),
        (
            "one uniform at two epsilons",
            "One uniform number answers two surveys; where the answers differ, the second is the bit.",
            [Positions(PRIVATE, two_surveys, coins=same_for_all_surveys, epsilon=TWO)],
            ALL,
        ),
        (
            "float Laplace",
            "Laplace noise in double precision: low bits that one count can have and the other cannot.",
            [Pairs(PRIVATE, one_degree, float_degrees)],
            ALL,
        ),
    ]
    return tuple(paced(name, shipments, runs, pace, broken) for name, broken, shipments, pace in cases)


TWINS = twins(10**6)
