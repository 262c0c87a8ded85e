"""POSITION: a reporter that holds one bit answers by randomized response, once a round.  [POSITION.1-3]"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.response import Octets
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.report import PositionReport, part_of
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.view import PublicView, all_or_none
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Bits = npt.NDArray[np.bool_]
Places = Mapping[Visibility, Octets]
"""For each non-public class, packed bits: which positions of a run are meant."""


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
        if survey.sample is not None:
            raise ProtocolViolation("The survey asks a sample of positions; a SampledRespondent answers it.")
        check_question(survey, self._public, round_number, (survey.identity, 1) in self._answers)

    def _randomize(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None
    ) -> PositionReport:
        start, count = self._view.start, self._view.count
        places = class_places(self._public, start, count)
        answered = places[Visibility.FRIEND_VISIBLE] | places[Visibility.PRIVATE]
        if present is not None:
            answered &= packed_presence(present, count)
        asked = answered
        if round_number == 2:
            # A position that said 0 takes part in round 2 by saying nothing more.
            asked = answered & np.frombuffer(self._answers[survey.identity, 1].ones, np.uint8)
        due = {kind: places[kind] & asked for kind in NON_PUBLIC}
        ones = randomize(self._view.packed, due, survey, round_number, coins)
        return PositionReport(survey.identity, round_number, start, count, answered.tobytes(), ones.tobytes())


def check_question(survey: PositionSurvey, public: PublicView, round_number: int, first_answered: bool) -> None:
    """Take nothing on trust: the roster, the policy and the order of rounds must be the ones we know."""
    policy = public.policy
    if (survey.roster, survey.policy) != (public.roster_digest, policy.digest):
        raise ProtocolViolation("The survey is about another roster or another policy than this client's.")
    if survey.multipliers != policy.multipliers:
        raise ProtocolViolation(
            f"The survey would cost {survey.multipliers} per edge; this client's policy allows {policy.multipliers}."
        )
    if not 1 <= round_number <= survey.rounds:
        raise ProtocolViolation(f"The survey has {survey.rounds} rounds; round {round_number} was asked for.")
    if round_number == 2 and not first_answered:
        raise ProtocolViolation("Round 2 was asked for before round 1 was answered.")


def class_places(public: PublicView, start: int, count: int) -> Places:
    """Where in a run of positions the non-public classes are."""
    if public.classes.is_constant and public.n > 1:
        return {kind: all_or_none(count, public.present == {kind}) for kind in NON_PUBLIC}
    if "class_bits" in vars(public):
        return {kind: part_of(public.class_bits[kind], start, count) for kind in NON_PUBLIC}
    # One reporter of a large roster does not make the table of all positions for its own.
    classes = public.classes.range(start, count)
    return {kind: np.packbits(classes == kind, bitorder="little") for kind in NON_PUBLIC}


def randomize(bits: Octets, asked: Places, survey: PositionSurvey, round_number: int, coins: Coins) -> Octets:
    """One randomized answer for each asked position, by the mechanism of its class; 0 elsewhere.  [POSITION.1]"""
    ones, kernels = np.zeros(bits.size, np.uint8), choice.response_kernels()
    for kind in NON_PUBLIC:
        if number := kernels.ones_in(asked[kind]):
            flips = survey.mechanism(kind, round_number).packed_flips(number, coins)
            ones |= (bits ^ kernels.deposit(flips, asked[kind])) & asked[kind]
    return ones


def packed_presence(present: Bits, count: int) -> Octets:
    """Who takes part, packed; said of as many as are asked."""
    if present.shape != (count,):
        raise ProtocolViolation(f"Who is present was said for {present.size} positions; this client has {count}.")
    return np.packbits(present, bitorder="little")
