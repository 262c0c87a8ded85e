"""CURATOR: a trusted centre that holds the whole graph answers with integer noise.  [CURATOR.1-4]"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.client.reporter import Bits, Client, Purse
from visibility_aware_edge_ldp.client.sensitivity import Profile, constant_sensitivity, star_profile, triangle_profile
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw, RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee
from visibility_aware_edge_ldp.public.positions import numbers
from visibility_aware_edge_ldp.public.statistic import exact, star_size
from visibility_aware_edge_ldp.public.surveys.curator import LARGEST_ANSWER, CuratorQuery, CuratorReport, CuratorSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility


@dataclass(frozen=True)
class Evidence:
    """What the centre can check for itself about one answer.

    Where the sensitivity is not constant, all of it follows from private data and is not for release.
    """

    local_sensitivity: Fraction = field(repr=False)
    smooth_sensitivity: Decimal = field(repr=False)
    beta: Decimal | None
    noise_scale: float = field(repr=False)
    standard_deviation: float = field(repr=False)
    releasable: bool


@dataclass(frozen=True, eq=False)
class WorkedOut:
    """What centres of one graph and one policy have worked out, each once: true values, and sensitivities' profiles."""

    view: WholeGraph = field(repr=False)
    public: PublicView = field(repr=False)
    values: dict[str, int] = field(default_factory=dict, repr=False)
    profiles: dict[str, Profile] = field(default_factory=dict, repr=False)

    def is_of(self, view: WholeGraph, public: PublicView) -> bool:
        """Whether it is about this graph under this policy: another's profile would scale the noise wrongly."""
        same = self.view is view or (self.view.n == view.n and np.array_equal(self.view.edges, view.edges))
        return same and self.public is public


class Curator(Client[CuratorSurvey, WholeGraph, CuratorReport]):
    """A trusted centre: the whole graph, a purse, and what it has answered; its rounds are questions, from 0 on."""

    whose = "this centre's"
    first_round = 0

    def __init__(self, view: WholeGraph, public: PublicView, purse: Purse, worked_out: WorkedOut | None = None) -> None:
        if not _agree(view, public):
            raise ProtocolViolation(
                "The graph and the public view differ in users or in edges at PUBLIC positions; give both of one world."
            )
        super().__init__(view, public, purse)
        if worked_out is not None and not worked_out.is_of(view, public):
            raise ProtocolViolation("What was worked out is about another graph or another policy than this centre's.")
        self.worked_out = worked_out or WorkedOut(view, public)

    def verify(self, survey: CuratorSurvey, round_number: int) -> CuratorSurvey:
        """Refuse a question that the survey does not have too, and one that would cost more than the policy allows."""
        if not 0 <= round_number < len(survey.queries):
            asked = f"The survey has questions 0 to {len(survey.queries) - 1}; {round_number} was asked for."
            raise ProtocolViolation(asked)
        super().verify(survey, round_number)
        allowed, multipliers = self._public.policy.multipliers, survey.queries[round_number].multipliers
        if multipliers != allowed:
            raise ProtocolViolation(
                f"The question would cost {multipliers} per edge; this centre's policy allows {allowed}."
            )
        return survey

    def prices(self, survey: CuratorSurvey, round_number: int) -> Mapping[Visibility, Guarantee[Any]]:
        """What the answer to one question costs."""
        return survey.payment(round_number + 1)

    def randomize(
        self, survey: CuratorSurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> CuratorReport:
        """The true value with noise, and a random mark.  [CURATOR.1]"""
        query = survey.queries[round_number]
        value = self._value(query.statistic) + self._noise(query, random_bytes)
        sent = max(-LARGEST_ANSWER, min(value, LARGEST_ANSWER))
        return CuratorReport(survey.identity, round_number, sent, random_bytes(16).hex())

    def _value(self, statistic: str) -> int:
        values = self.worked_out.values
        if statistic not in values:
            values[statistic] = int(exact(self._view, statistic))
        return values[statistic]

    def _noise(self, query: CuratorQuery, random_bytes: RandomBytes) -> int:
        law = self.law(query)
        return law.sample(random_bytes) if law is not None else 0

    def law(self, query: CuratorQuery) -> IntegerLaw | None:
        """The law of the noise on this question; none where no private bit can move the answer."""
        if query.has_constant_sensitivity:
            noise = query.constant_noise(self._public)
            return noise.law if noise is not None else None
        smooth = query.smooth_noise
        return smooth.law(self.profile(query.statistic).smooth(smooth.beta))

    def profile(self, statistic: str) -> Profile:
        """All that decides the sensitivity of triangles or k-stars; worked out once.  [SENS.1]"""
        profiles = self.worked_out.profiles
        if statistic not in profiles:
            graph, classes, k = self._view, self._public.classes, star_size(statistic)
            w = self._public.policy.multipliers.steps
            profiles[statistic] = (
                triangle_profile(graph.n, graph.edges, classes, w)
                if k is None
                else star_profile(graph.n, graph.edges, classes, k, w)
            )
        return profiles[statistic]

    def evidence(self, query: CuratorQuery) -> Evidence:
        """For the centre's own eyes: what the noise of this question was scaled by."""
        if query.has_constant_sensitivity:
            ratio = query.multipliers.friend_visible / query.multipliers.private
            bound, noise = constant_sensitivity(self._public.present, ratio), query.constant_noise(self._public)
            scale = 1 / float(noise.rate) if noise is not None else 0.0
            deviation = noise.variance**0.5 if noise is not None else 0.0
            smooth = Decimal(bound.numerator) / bound.denominator
            return Evidence(bound, smooth, None, scale, deviation, True)
        mechanism, profile = query.smooth_noise, self.profile(query.statistic)
        smooth = profile.smooth(mechanism.beta)
        scale, deviation = float(mechanism.scale(smooth)), mechanism.standard_deviation(smooth)
        return Evidence(profile.local(0), smooth, mechanism.beta, scale, deviation, False)

    def reach(self, query: CuratorQuery, level: float) -> int:
        """Half the width of the interval that holds the noise with this probability."""
        law = self.law(query)
        return law.symmetric_interval(level)[1] if law is not None else 0


def _agree(view: WholeGraph, public: PublicView) -> bool:
    """Whether the public edges are the graph's at PUBLIC positions; an edge that nobody was told of gets no noise."""
    if view.n != public.n:
        return False
    u, v = view.edges[public.classes.of(view.edges[:, 0], view.edges[:, 1]) == Visibility.PUBLIC].T
    return np.array_equal(np.sort(numbers(view.n, u, v)), public.edge_numbers)
