"""A participant's seat in a campaign: which of its positions are asked about, with which integers.  [LEDGER.2]

Everything here follows from public documents; no friend list is near.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.documents import Documents
from visibility_aware_edge_ldp.campaign.participant.accounts import Request
from visibility_aware_edge_ldp.campaign.participant.rosters import Bits, Names
from visibility_aware_edge_ldp.campaign.questions import Questions
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility


@dataclass(frozen=True, eq=False)
class Seat:
    """One participant of one campaign; making one recomputes every integer of the charter.  [CHARTER.3]"""

    charter: Charter
    documents: Documents
    number: int

    def __post_init__(self) -> None:
        self.questions  # noqa: B018 - refuses a charter that misstates what it asks

    @classmethod
    def of(cls, charter: Charter, documents: Documents, name: str) -> Seat:
        """The seat of the participant with this name."""
        names = [str(each) for each in documents.roster]
        if name not in names:
            raise BadInput(f"{name!r} is not in the campaign's roster; use the name that came with the token.")
        return cls(charter, documents, names.index(name))

    @cached_property
    def questions(self) -> Questions:
        return Questions(self.charter, self.documents.view)

    @property
    def view(self) -> PublicView:
        return self.documents.view

    @cached_property
    def names(self) -> Names:
        """The roster's names as the ledger writes them: 7 and "7" are one person."""
        return tuple(str(name) for name in self.documents.roster)

    @cached_property
    def classes(self) -> npt.NDArray[np.uint8]:
        """The class of the position with each name; with oneself there is none, and PUBLIC stands for it."""
        others = np.arange(self.view.n)
        others[self.number] = 0 if self.number else 1
        found = self.view.classes.of(np.minimum(others, self.number), np.maximum(others, self.number)).copy()
        found[self.number] = Visibility.PUBLIC
        return found.astype(np.uint8)

    @cached_property
    def public_friends(self) -> Bits:
        """With whom everybody knows that there is an edge."""
        edges, found = self.view.edges, np.zeros(self.view.n, np.bool_)
        found[edges[edges[:, 0] == self.number, 1]] = True
        found[edges[edges[:, 1] == self.number, 0]] = True
        return found

    def request(self, round_number: int) -> Request:
        """What a round asks of this participant, and what that costs."""
        survey, losses = self.questions.survey, self.questions.round_losses(round_number)
        if isinstance(survey, HubSurvey):
            return Request(self._places(np.zeros(self.view.n, np.bool_)), pairs=losses)
        if not isinstance(survey, (PositionSurvey, TriangleSurvey)):
            return Request(self._places(np.ones(self.view.n, np.bool_)), charges=losses)
        return self._rows(round_number, self._places(np.arange(self.view.n) > self.number))

    def others(self, round_number: int) -> Request:
        """What a round asks others about positions of this participant: who holds them, or hubs that see them.

        Degrees are charged at what both ends' reports cost, so of them nothing is left to others.
        """
        if isinstance(self.questions.survey, HubSurvey):
            everybody = self._places(np.ones(self.view.n, np.bool_))
            return Request(everybody, charges=self.questions.round_losses(round_number))
        if isinstance(self.questions.survey, (PositionSurvey, TriangleSurvey)):
            return self._rows(round_number, self._places(np.arange(self.view.n) < self.number))
        return Request(self._places(np.zeros(self.view.n, np.bool_)))

    def _rows(self, round_number: int, places: Mapping[Visibility, Bits]) -> Request:
        """The same questions about any positions, whoever holds them."""
        survey = self.questions.survey
        if round_number == 2:
            return Request(places, charges=self.questions.round_losses(2))
        first = survey.first if isinstance(survey, TriangleSurvey) else cast(PositionSurvey, survey)
        return Request(places, thresholds={kind: first.mechanism(kind, 1).threshold for kind in NON_PUBLIC})

    def _places(self, asked: Bits) -> dict[Visibility, Bits]:
        return {kind: asked & (self.classes == kind) for kind in NON_PUBLIC}


def pace_of(seat: Seat, round_number: int) -> float:
    """Seconds for making an answer, from public numbers alone: longer than the longest list takes.  [PACE.1]"""
    table = seat.charter.question == "hubs" or (seat.charter.question == "triangles" and round_number == 2)
    return 0.5 + seat.view.n * 2e-5 + (seat.view.n**2 * 1e-7 if table else 0.0)
