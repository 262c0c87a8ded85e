"""USER histogram: every user tells the bin of its degree by Hadamard response, once.  [WHOLE.1-3]"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.client.degrees import check_lists
from visibility_aware_edge_ldp.client.reporter import Bits, Client, Purse, who_takes_part
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee
from visibility_aware_edge_ldp.public.surveys.histogram import HistogramReport, HistogramSurvey, histogram_report
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility


class HistogramClient(Client[HistogramSurvey, FriendLists, HistogramReport]):
    """Users with consecutive numbers who hide their whole degree: their lists, their purse, what they have answered.

    [WHOLE.1-3]
    """

    def __init__(self, view: FriendLists, public: PublicView, purse: Purse) -> None:
        check_lists(view, public.n)
        super().__init__(view, public, purse)

    def verify(self, survey: HistogramSurvey, round_number: int) -> HistogramSurvey:
        """Refuse bins for another number of users too."""
        super().verify(survey, round_number)
        if survey.nodes != self._public.n:
            raise ProtocolViolation(f"The survey's bins are for {survey.nodes:,} users, not {self._public.n:,}.")
        return survey

    def prices(self, survey: HistogramSurvey, round_number: int) -> Mapping[Visibility, Guarantee[Any]]:
        """What the purse pays for each class that the policy has."""
        return dict.fromkeys(self._public.non_public, survey.list_price)

    def randomize(
        self, survey: HistogramSurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> HistogramReport:
        """The bin of each user's degree, by Hadamard response.  [WHOLE.1]"""
        bins = np.searchsorted(survey.edges, np.diff(self._view.offsets), side="right") - 1
        sent = survey.mechanism.randomize(bins, random_bytes)
        return histogram_report(survey.identity, self._view.start, who_takes_part(present, self._view.count), sent)
