"""USER histogram: the public question for those who hide their whole degree, its bins and its price.  [WHOLE.1]"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

import visibility_aware_edge_ldp.privacy as privacy
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse
from visibility_aware_edge_ldp.public.layout import Bits, Ints, Numbers, ValueReport
from visibility_aware_edge_ldp.public.surveys.base import Content, RosterSurvey
from visibility_aware_edge_ldp.public.trust import USER
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

_hadamard_response = cache(HadamardResponse)


@dataclass(frozen=True)
class HistogramSurvey(RosterSurvey):
    """Every user tells the bin of its degree by Hadamard response.

    ``edges`` are the bins' first degrees and, last, one more than the largest degree. ``epsilon`` is the loss per
    **degree**, whatever the degree is changed to; an edge, which two users report on, loses at most twice that.
    """

    trust = USER
    protocol = "histogram"
    edges: tuple[int, ...]

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in pairwise(self.edges))
        if len(self.edges) < 2 or self.edges[0] != 0 or self.edges[-1] != self.nodes or not rising:
            raise BadInput(f"Bins of degrees start at 0, rise, and end at the number of users, {self.nodes:,}.")
        _ = self.mechanism

    @property
    def bins(self) -> int:
        return len(self.edges) - 1

    @property
    def mechanism(self) -> HadamardResponse:
        """What a user answers with."""
        return _hadamard_response(self.epsilon, self.bins)

    @property
    def guarantee(self) -> privacy.Guarantee[privacy.OneDegree]:
        """What one user's degree loses.  [WHOLE.1]"""
        return privacy.Guarantee(privacy.OneDegree, self.epsilon)

    @property
    def list_price(self) -> privacy.Guarantee[privacy.OneListEntry]:
        """One entry of a list changes one degree, and that is all that is seen of it."""
        return privacy.Guarantee(privacy.OneListEntry, self.epsilon)

    def price(self, kind: Visibility, round_number: int = 1) -> privacy.Guarantee[privacy.OneEdge]:
        """What an edge of any non-public class loses at most.  [WHOLE.2]"""
        return privacy.edge_from_lists(self.list_price)

    def payment(self, round_number: int = 1) -> dict[Visibility, privacy.Guarantee[privacy.OneListEntry]]:
        """What one user pays: the same for each class."""
        return dict.fromkeys(NON_PUBLIC, self.list_price)

    def content(self) -> Content:
        return {
            "question": "degree histogram, whole degrees hidden",
            "epsilon": str(self.epsilon),
            "edges": list(self.edges),
            "flip threshold out of 2^64": str(self.mechanism.sign.threshold),
        }


def histogram_survey(view: PublicView, epsilon: privacy.Number, edges: Sequence[int] | None = None) -> HistogramSurvey:
    """A survey of the degree histogram; without ``edges`` the bins grow with the degree."""
    bins = growing_bins(view.n) if edges is None else tuple(int(edge) for edge in edges)
    return HistogramSurvey(view.roster_digest, view.n, view.policy.digest, privacy.parse_epsilon(epsilon), bins)


def growing_bins(nodes: int) -> tuple[int, ...]:
    """0, 1, 2, 3, 4, 6, 8, 12, 16, 24, … up to the number of users: two bins for each doubling."""
    edges = [0, 1, 2, 3]
    while edges[-1] < nodes:
        edges.append(edges[-2] * 2)
    return (*(edge for edge in edges if edge < nodes), nodes)


class HistogramReport(ValueReport):
    """The answers of the users numbered ``start`` and on: one column of the Hadamard matrix a user."""


LAYOUT = Numbers("report of bins", b"VAEH", "start:Q count:Q survey:32s", HistogramReport, dtype=">u4")
encode, decode = LAYOUT.encode, LAYOUT.decode


def histogram_report(survey: str, start: int, answered: Bits, values: Ints) -> HistogramReport:
    """The report of these users; the columns of those who did not answer are left out."""
    return HistogramReport(survey, start, answered, np.where(answered, values, 0))
