"""What the first of two rounds said, which the second is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.campaign.questions import Questions
from visibility_aware_edge_ldp.campaign.server.store import StoreDamaged
from visibility_aware_edge_ldp.campaign.upload import report_in
from visibility_aware_edge_ldp.public import codec
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.report import PositionReport, part_of
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import Octets, PublicView


@dataclass(frozen=True, eq=False)
class Heard:
    """The first round's transcript: who answered, the octets that are broadcast, and their digest."""

    survey: str
    octets: bytes = field(repr=False)
    digest: str
    view: PublicView = field(repr=False)

    @cached_property
    def _halves(self) -> Octets:
        return np.frombuffer(self.octets, np.uint8).reshape(2, -1)

    def report(self, participant: int) -> bytes:
        """What a participant reported in the first round."""
        start, count = row_start(self.view.n, participant), self.view.n - 1 - participant
        answered, ones = (part_of(half, start, count).tobytes() for half in self._halves)
        return codec.encode(PositionReport(self.survey, 1, start, count, answered, ones))


def first_survey(questions: Questions) -> PositionSurvey | None:
    """The survey of a first round that a second one follows."""
    survey = questions.survey
    if isinstance(survey, TriangleSurvey):
        return survey.first
    return survey if isinstance(survey, PositionSurvey) and survey.rounds == 2 else None


def heard_from(questions: Questions, bodies: Iterable[bytes]) -> Heard | None:
    """The transcript of these reports; none where no second round follows."""
    survey = first_survey(questions)
    if survey is None:
        return None
    collection = PositionCollection(survey, questions.view)
    for body in bodies:
        collection.absorb(codec.decode(report_in(body)))
    transcript = collection.transcript
    transcript.rows_heard(questions.view)
    return Heard(
        survey.identity, transcript.answered.tobytes() + transcript.ones.tobytes(), transcript.digest, questions.view
    )


def heard_again(questions: Questions, octets: bytes, digest: str) -> Heard:
    """The transcript that was kept; refuses one that is not what was said to everybody."""
    survey = first_survey(questions)
    half = np.frombuffer(octets, np.uint8).reshape(2, -1)
    if survey is None or Transcript(survey.identity, half[0], half[1]).digest != digest:
        raise StoreDamaged("The kept transcript is not the one that was broadcast. Restore the store from a copy.")
    return Heard(survey.identity, octets, digest, questions.view)
