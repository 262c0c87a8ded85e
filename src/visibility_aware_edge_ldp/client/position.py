"""POSITION: a reporter that holds one bit answers by randomized response, once a round.  [POSITION.1-3]"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.report import PositionReport, pack, unpack
from visibility_aware_edge_ldp.public.rules import Classes
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Bits = npt.NDArray[np.bool_]


class Respondent:
    """Reporters at consecutive positions: their bits, their purse and what they have answered."""

    def __init__(self, view: PositionBits, public: PublicView, purse: Purse) -> None:
        self._view, self._public, self._purse = view, public, purse
        self._answers: dict[tuple[str, int], PositionReport] = {}

    def answer(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None = None
    ) -> PositionReport:
        """The report of one round; asked again, the same report again, whatever the coins.  [POSITION.2]

        ``present`` says which positions take part; by default all do.
        """
        key = (survey.identity, round_number)
        if key not in self._answers:
            self._check(survey, round_number)
            self._purse.pay({kind: survey.round_price(kind, round_number) for kind in NON_PUBLIC})
            self._answers[key] = self._randomize(survey, round_number, coins, present)
        return self._answers[key]

    def _check(self, survey: PositionSurvey, round_number: int) -> None:
        """Take nothing on trust: the roster, the policy and the order of rounds must be the ones we know."""
        policy = self._public.policy
        if (survey.roster, survey.policy) != (self._public.roster_digest, policy.digest):
            raise ProtocolViolation("The survey is about another roster or another policy than this client's.")
        if survey.multipliers != policy.multipliers:
            raise ProtocolViolation(
                f"The survey would cost {survey.multipliers} per edge; "
                f"this client's policy allows {policy.multipliers}."
            )
        if not 1 <= round_number <= survey.rounds:
            raise ProtocolViolation(f"The survey has {survey.rounds} rounds; round {round_number} was asked for.")
        if round_number == 2 and (survey.identity, 1) not in self._answers:
            raise ProtocolViolation("Round 2 was asked for before round 1 was answered.")

    def _randomize(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None
    ) -> PositionReport:
        start, bits = self._view.start, self._view.bits
        classes = self._public.classes.range(start, bits.size)
        answered = classes != Visibility.PUBLIC
        if present is not None:
            answered &= present
        asked = answered
        if round_number == 2:
            # A position that said 0 takes part in round 2 by saying nothing more.
            asked = answered & unpack(self._answers[survey.identity, 1].ones, bits.size)
        ones = randomize(bits, classes, asked, survey, round_number, coins)
        return PositionReport(survey.identity, round_number, start, bits.size, pack(answered), pack(ones))


def randomize(
    bits: Bits, classes: Classes, asked: Bits, survey: PositionSurvey, round_number: int, coins: Coins
) -> Bits:
    """One randomized answer for each asked position, by the mechanism of its class; 0 elsewhere.  [POSITION.1]"""
    ones = np.zeros(bits.size, dtype=np.bool_)
    for visibility in NON_PUBLIC:
        chosen = np.flatnonzero(asked & (classes == visibility))
        if chosen.size:
            ones[chosen] = survey.mechanism(visibility, round_number).randomize(bits[chosen], coins)
    return ones
