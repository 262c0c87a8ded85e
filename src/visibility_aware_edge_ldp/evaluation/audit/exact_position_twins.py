"""Broken twins of POSITION: the real client with one thing broken, caught by the audit of the real one.  [AUDIT.9]"""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from functools import partial

from visibility_aware_edge_ldp.client.position import Bits, Respondent
from visibility_aware_edge_ldp.evaluation.audit.coin_walk import Coin, cuts_coin
from visibility_aware_edge_ldp.evaluation.audit.exact_position import (
    FRIEND_VISIBLE,
    PRIVATE,
    PUBLIC,
    Stage,
    audit_position,
)
from visibility_aware_edge_ldp.evaluation.audit.exact_words import flipping_words
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import patterns_up_to_names
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.public.report import PositionReport, pack, unpack
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility


class Louder(PositionSurvey):
    """A broken twin: every answer is given at 1.1 times its epsilon."""

    def mechanism(self, visibility: Visibility, round_number: int) -> RandomizedResponse:
        return RandomizedResponse(Fraction(11, 10) * self.round_price(visibility, round_number))


class OneBareBit(Respondent):
    """A broken twin: the first position of a respondent is sent as it is."""

    def _randomize(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None
    ) -> PositionReport:
        report = super()._randomize(survey, round_number, coins, present)
        ones = unpack(report.ones, report.count).copy()
        ones[0] = self._view.bits[0] & unpack(report.answered, report.count)[0]
        return replace(report, ones=pack(ones))


class Forgetful(Respondent):
    """A broken twin: asked again, it throws its coins again."""

    def answer(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None = None
    ) -> PositionReport:
        self._answers.pop((survey.identity, round_number), None)
        return super().answer(survey, round_number, coins, present)


class OneUniform(Respondent):
    """A broken twin: the coins of the first round serve the second, at another epsilon. It holds one position."""

    _drawn = b""

    def answer(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None = None
    ) -> PositionReport:
        def same(count: int) -> bytes:
            self._drawn = self._drawn or coins(count)
            return self._drawn[:count]

        return super().answer(survey, round_number, same, present)


def louder(survey: PositionSurvey) -> PositionSurvey:
    """The survey, with the mechanisms of the twin."""
    return Louder(**{field.name: getattr(survey, field.name) for field in fields(survey)})


def coin_of_both_rounds(survey: PositionSurvey, kind: Visibility, round_number: int) -> Coin:
    """One uniform number that is compared with the thresholds of both rounds."""
    return cuts_coin(*(flipping_words(survey.mechanism(kind, number)) for number in (1, 2)))


ONE_SECRET = (PRIVATE, PUBLIC, PUBLIC, PUBLIC, PUBLIC, PUBLIC)


def _twin(name: str, broken: str, *stages: Stage) -> Audit:
    return Audit(name, "exact", partial(audit_position, name, stages, broken), broken)


TWINS = (
    _twin(
        "position, ε × 1.1",
        "The survey's mechanisms answer at 1.1 times the epsilon that is claimed.",
        *(Stage(pattern, 3, question=louder) for pattern in patterns_up_to_names(3)),
    ),
    _twin(
        "position, one bit not randomized",
        "The first position of every respondent is sent as it is.",
        *(Stage(pattern, 3, client=OneBareBit) for pattern in patterns_up_to_names(3)),
    ),
    _twin(
        "position, an edge re-asked per triangle",
        "Round 2 asks an edge anew in each of its triangles, with new coins (document 003).",
        Stage(ONE_SECRET, 4, asked=(1, 2, 2), client=Forgetful),
    ),
    _twin(
        "position, one uniform reused at two ε",
        "Both rounds compare the same uniform number with their thresholds, at two different epsilons.",
        Stage(ONE_SECRET, 4, asked=(1, 2), first_share="1/4", client=OneUniform, coin=coin_of_both_rounds),
    ),
    _twin(
        "position, a client that forgets its answer",
        "The client does not store its answer: asked twice, it throws its coins twice.",
        Stage((PRIVATE, FRIEND_VISIBLE, PRIVATE), 3, asked=(1, 1), client=Forgetful),
    ),
)
