"""POSITION: a client that holds one bit answers by randomized response, once a round.  [POSITION.1-3]"""

from collections.abc import Mapping

import numpy as np

from visibility_aware_edge_ldp.client.reporter import Bits, Client
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.response import Octets
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.layout import part_of
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.view import PublicView, all_or_none
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Places = Mapping[Visibility, Octets]
"""For each non-public class, packed bits: which positions of a run are meant."""


class PositionClient(Client[PositionSurvey, PositionBits, PositionReport]):
    """Clients at consecutive positions: their bits, their purse and what they have answered.  [POSITION.1-3]"""

    def verify(self, survey: PositionSurvey, round_number: int) -> PositionSurvey:
        """Refuse a sampled survey too, and rounds out of order."""
        if survey.sample is not None:
            raise ProtocolViolation("The survey asks a sample of positions; a SampledPositionClient answers it.")
        super().verify(survey, round_number)
        verify_round(survey, round_number, (survey.identity, 1) in self._answers)
        return survey

    def randomize(
        self, survey: PositionSurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> PositionReport:
        """One randomized answer for each non-public position that takes part."""
        start, count = self._view.start, self._view.count
        places = class_places(self._public, start, count)
        before = self._answers[survey.identity, 1].ones if round_number == 2 else None
        answered, due = taking_part(places, count, present, before)
        ones = randomize(self._view.packed, due, survey, round_number, random_bytes)
        return PositionReport(survey.identity, round_number, start, count, answered.tobytes(), ones.tobytes())


def verify_round(survey: PositionSurvey, round_number: int, first_answered: bool) -> None:
    """Refuse a round that the survey does not have, and the second round before the first."""
    if not 1 <= round_number <= survey.rounds:
        raise ProtocolViolation(f"The survey has {survey.rounds} rounds; there is no round {round_number}.")
    if round_number == 2 and not first_answered:
        raise ProtocolViolation("Round 2 was asked for before round 1 was answered.")


def taking_part(places: Places, count: int, present: Bits | None, before: bytes | None) -> tuple[Octets, Places]:
    """Which positions take part, and which of each class answer; ``before`` are the ones of the first round."""
    answered = places[Visibility.FRIEND_VISIBLE] | places[Visibility.PRIVATE]
    if present is not None:
        answered &= packed_presence(present, count)
    # A position that said 0 takes part in round 2 by saying nothing more.
    asked = answered if before is None else answered & np.frombuffer(before, np.uint8)
    return answered, {kind: places[kind] & asked for kind in NON_PUBLIC}


def class_places(public: PublicView, start: int, count: int) -> Places:
    """Where in a run of positions the non-public classes are."""
    if public.classes.is_constant and public.n > 1:
        return {kind: all_or_none(count, public.present == {kind}) for kind in NON_PUBLIC}
    if "class_bits" in vars(public):
        return {kind: part_of(public.class_bits[kind], start, count) for kind in NON_PUBLIC}
    # One client of a large roster does not make the table of all positions for its own.
    classes = public.classes.range(start, count)
    return {kind: np.packbits(classes == kind, bitorder="little") for kind in NON_PUBLIC}


def randomize(
    bits: Octets, asked: Places, survey: PositionSurvey, round_number: int, random_bytes: RandomBytes
) -> Octets:
    """One randomized answer for each asked position, by the mechanism of its class; 0 elsewhere.  [POSITION.1]"""
    ones, kernels = np.zeros(bits.size, np.uint8), backend.kernels("response")
    for kind in NON_PUBLIC:
        if number := kernels.ones_in(asked[kind]):
            flips = survey.mechanism(kind, round_number).packed_flips(number, random_bytes)
            ones |= (bits ^ kernels.deposit(flips, asked[kind])) & asked[kind]
    return ones


def packed_presence(present: Bits, count: int) -> Octets:
    """Who takes part, packed; said of as many as are asked."""
    if present.shape != (count,):
        raise ProtocolViolation(f"Who is present was said for {present.size} positions; this client has {count}.")
    return np.packbits(present, bitorder="little")
