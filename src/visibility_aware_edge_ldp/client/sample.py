"""POSITION with a sample: who is drawn is worked out from the survey, and only they answer.  [SAMPLE.2]"""

import numpy as np

from visibility_aware_edge_ldp.client.position import randomize, taking_part, verify_round
from visibility_aware_edge_ldp.client.reporter import Bits, Client
from visibility_aware_edge_ldp.client.views import PositionBits, PositionEdges
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.positions import Ints, ends_of
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.surveys.sample import SampledReport
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC


class SampledPositionClient(Client[PositionSurvey, PositionBits | PositionEdges, SampledReport]):
    """As ``PositionClient``, for surveys of a sample. It never asks anybody which of its positions were drawn.

    ``present`` says which of the drawn positions take part. The purse pays as if every position were asked: a bit that
    is not drawn loses nothing, and pays all the same.  [SAMPLE.2]
    """

    def verify(self, survey: PositionSurvey, round_number: int) -> PositionSurvey:
        """Refuse a survey without a sample too, and rounds out of order."""
        super().verify(survey, round_number)
        verify_round(survey, round_number, (survey.identity, 1) in self._answers)
        if survey.sample is None or survey.nodes != self._public.n:
            raise ProtocolViolation("The survey has no sample, or is for another number of nodes than the roster has.")
        return survey

    def _drawn(self, survey: PositionSurvey) -> Ints:
        """Which of the held positions are asked; their bits have no say in it."""
        return survey.drawn.between(self._view.start, self._view.count)

    def randomize(
        self, survey: PositionSurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> SampledReport:
        """One randomized answer for each drawn non-public position that takes part."""
        drawn = self._drawn(survey)
        classes = self._public.classes.of(*ends_of(self._public.n, drawn))
        places = {kind: np.packbits(classes == kind, bitorder="little") for kind in NON_PUBLIC}
        before = self._answers[survey.identity, 1].ones if round_number == 2 else None
        answered, due = taking_part(places, drawn.size, present, before)
        bits = np.packbits(bits_at(self._view, drawn), bitorder="little")
        ones = randomize(bits, due, survey, round_number, random_bytes)
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
