"""USER histogram: every user tells the bin of its degree by Hadamard response, once.  [WHOLE.1-3]"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_degrees import check_lists
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.histogram_report import HistogramReport, histogram_report
from visibility_aware_edge_ldp.public.histogram_survey import HistogramSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

Bits = npt.NDArray[np.bool_]


class DegreeHolders:
    """Users with consecutive numbers who hide their whole degree: their lists, their purse, what they have answered."""

    def __init__(self, view: FriendLists, public: PublicView, purse: Purse) -> None:
        check_lists(view, public.n)
        self._view, self._public, self._purse = view, public, purse
        self._answers: dict[str, HistogramReport] = {}

    def bins(self, survey: HistogramSurvey, coins: Coins, present: Bits | None = None) -> HistogramReport:
        """The report; asked again, the same report again, whatever the coins.  [WHOLE.3]

        ``present`` says which users take part; by default all do.
        """
        if survey.identity not in self._answers:
            if (survey.roster, survey.policy) != (self._public.roster_digest, self._public.policy.digest):
                raise ProtocolViolation("The survey is about another roster or another policy than this client's.")
            if survey.nodes != self._public.n:
                raise ProtocolViolation(f"The survey's bins are for {survey.nodes:,} users, not {self._public.n:,}.")
            asked = [kind for kind in NON_PUBLIC if kind in self._public.present]
            self._purse.pay(dict.fromkeys(asked, survey.list_price.epsilon))
            self._answers[survey.identity] = self._randomize(survey, coins, present)
        return self._answers[survey.identity]

    def _randomize(self, survey: HistogramSurvey, coins: Coins, present: Bits | None) -> HistogramReport:
        degrees = np.diff(self._view.offsets)
        bins = np.searchsorted(survey.edges, degrees, side="right") - 1
        answered = np.ones(degrees.size, np.bool_) if present is None else present
        return histogram_report(survey.identity, self._view.start, answered, survey.mechanism.randomize(bins, coins))
