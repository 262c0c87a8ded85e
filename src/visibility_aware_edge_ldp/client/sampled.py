"""POSITION with a sample: who is drawn is worked out from the survey, and only they answer.  [SAMPLE.2]"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from visibility_aware_edge_ldp.client.position import Bits, check_question, packed_presence, randomize
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.positions import Ints
from visibility_aware_edge_ldp.public.report import SampledReport
from visibility_aware_edge_ldp.public.sample import ends_of
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility


@dataclass(frozen=True, eq=False)
class PositionEdges:
    """POSITION: what ``PositionBits`` says of a run of positions, as the numbers of those with an edge, sorted.

    A simulation of many users cannot write a bit for every position down.
    """

    start: int
    count: int
    edges: Ints = field(repr=False)


class SampledRespondent:
    """As ``Respondent``, for surveys of a sample. It never asks anybody which of its positions were drawn."""

    def __init__(self, view: PositionBits | PositionEdges, public: PublicView, purse: Purse) -> None:
        self._view, self._public, self._purse = view, public, purse
        self._answers: dict[tuple[str, int], SampledReport] = {}

    def answer(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None = None
    ) -> SampledReport:
        """The report of one round; asked again, the same report again, whatever the coins.  [POSITION.2]

        ``present`` says which of the drawn positions take part; by default all do. The purse pays as if every
        position were asked: a bit that is not drawn loses nothing, and pays all the same.
        """
        key = (survey.identity, round_number)
        if key not in self._answers:
            self._check(survey, round_number)
            self._purse.pay({kind: survey.round_price(kind, round_number) for kind in NON_PUBLIC})
            self._answers[key] = self._randomize(survey, round_number, coins, present)
        return self._answers[key]

    def _check(self, survey: PositionSurvey, round_number: int) -> None:
        check_question(survey, self._public, round_number, (survey.identity, 1) in self._answers)
        if survey.sample is None or survey.nodes != self._public.n:
            raise ProtocolViolation("The survey has no sample, or is for another number of nodes than the roster has.")

    def _drawn(self, survey: PositionSurvey) -> Ints:
        """Which of the held positions are asked; their bits have no say in it."""
        return survey.drawn.between(self._view.start, self._view.count)

    def _randomize(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None
    ) -> SampledReport:
        drawn = self._drawn(survey)
        classes = self._public.classes.of(*ends_of(self._public.n, drawn))
        places = {kind: np.packbits(classes == kind, bitorder="little") for kind in NON_PUBLIC}
        answered = places[Visibility.FRIEND_VISIBLE] | places[Visibility.PRIVATE]
        if present is not None:
            answered &= packed_presence(present, drawn.size)
        asked = answered
        if round_number == 2:
            # A position that said 0 takes part in round 2 by saying nothing more.
            asked = answered & np.frombuffer(self._answers[survey.identity, 1].ones, np.uint8)
        due = {kind: places[kind] & asked for kind in NON_PUBLIC}
        bits = np.packbits(bits_at(self._view, drawn), bitorder="little")
        ones = randomize(bits, due, survey, round_number, coins)
        run = (self._view.start, self._view.count, drawn.size)
        return SampledReport(survey.identity, round_number, *run, answered.tobytes(), ones.tobytes())


def bits_at(view: PositionBits | PositionEdges, drawn: Ints) -> Bits:
    """The bits of these positions, which are all in the run."""
    if isinstance(view, PositionEdges):
        if not view.edges.size:
            return np.zeros(drawn.size, np.bool_)
        place = np.minimum(np.searchsorted(view.edges, drawn), view.edges.size - 1)
        found: Bits = view.edges[place] == drawn
        return found
    inside = drawn - view.start
    held: Bits = (view.packed[inside >> 3] >> (inside & 7).astype(np.uint8) & 1).view(np.bool_)
    return held
