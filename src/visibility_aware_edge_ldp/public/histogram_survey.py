"""USER histogram: the public question for those who hide their whole degree, its bins and its price.  [WHOLE.1]"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee, edge_from_lists
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_epsilon
from visibility_aware_edge_ldp.privacy.relation import OneDegree, OneEdge, OneListEntry
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC


@dataclass(frozen=True)
class HistogramSurvey:
    """Every user tells the bin of its degree by Hadamard response.

    ``edges`` are the bins' first degrees and, last, one more than the largest degree. ``epsilon`` is the loss per
    **degree**, whatever the degree is changed to; an edge, which two users report on, loses at most twice that.
    """

    roster: str
    nodes: int
    policy: str
    epsilon: Fraction
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
    def guarantee(self) -> Guarantee[OneDegree]:
        """What one user's degree loses.  [WHOLE.1]"""
        return Guarantee(OneDegree, self.epsilon)

    @property
    def list_price(self) -> Guarantee[OneListEntry]:
        """One entry of a list changes one degree, and that is all that is seen of it."""
        return Guarantee(OneListEntry, self.epsilon)

    @property
    def price(self) -> Guarantee[OneEdge]:
        """What an edge of any non-public class loses at most.  [WHOLE.2]"""
        return edge_from_lists(self.list_price)

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the survey in canonical JSON."""
        content = {
            "format": "va-edge-ldp survey 1",
            "trust": "user",
            "question": "degree histogram, whole degrees hidden",
            "roster": self.roster,
            "nodes": self.nodes,
            "policy": self.policy,
            "epsilon": str(self.epsilon),
            "edges": list(self.edges),
            "flip threshold out of 2^64": str(self.mechanism.sign.threshold),
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def releases(self) -> tuple[Release, ...]:
        """What the survey costs, per edge, so that it can be added to what others cost."""
        return (Release(self.identity, 1, tuple((kind, self.price) for kind in NON_PUBLIC[::-1])),)


@cache
def _hadamard_response(epsilon: Fraction, bins: int) -> HadamardResponse:
    return HadamardResponse(epsilon, bins)


def histogram_survey(view: PublicView, epsilon: Number, edges: Sequence[int] | None = None) -> HistogramSurvey:
    """A survey of the degree histogram; without ``edges`` the bins grow with the degree."""
    bins = growing_bins(view.n) if edges is None else tuple(int(edge) for edge in edges)
    return HistogramSurvey(view.roster_digest, view.n, view.policy.digest, exact_epsilon(epsilon), bins)


def growing_bins(nodes: int) -> tuple[int, ...]:
    """0, 1, 2, 3, 4, 6, 8, 12, 16, 24, … up to the number of users: two bins for each doubling."""
    edges = [0, 1, 2, 3]
    while edges[-1] < nodes:
        edges.append(edges[-2] * 2)
    return (*(edge for edge in edges if edge < nodes), nodes)
