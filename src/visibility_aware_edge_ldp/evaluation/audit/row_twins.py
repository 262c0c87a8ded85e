"""Broken twins of users who sum over their rows: the real client with one thing wrong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.client.user_triangles import Bits, FirstRound, RowHolders
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Floats
from visibility_aware_edge_ldp.evaluation.audit.row_stage import Draw, ListenedSurvey
from visibility_aware_edge_ldp.evaluation.audit.row_walk import second_report
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.exact_sampling import Integers
from visibility_aware_edge_ldp.public.row_report import RowReport
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey


def redrawn(survey: TriangleSurvey, draw: Draw) -> ListenedSurvey:
    """The same survey, but for how the noise on sums is drawn."""
    return ListenedSurvey(**_given(survey), draw=draw)


def _given(survey: TriangleSurvey) -> dict[str, Any]:
    return {each.name: getattr(survey, each.name) for each in fields(TriangleSurvey)}


class Rescaled(RowHolders, ABC):
    """A client that asks its noise for another bound."""

    def total(self, survey: TriangleSurvey, first: FirstRound, coins: Coins, present: Bits | None = None) -> RowReport:
        def draw(bounds: Floats, coins: Coins) -> Integers:
            return survey.total_noise.sample_each(self._rescaled(bounds, survey, first), coins)

        return super().total(redrawn(survey, draw), first, coins, present)

    @abstractmethod
    def _rescaled(self, bounds: Floats, survey: TriangleSurvey, first: FirstRound) -> Floats:
        """The bounds that it asks for, instead of these."""


class OwnDegree(Rescaled):
    """Enough noise for its own sum, and a scale that tells how long the list is."""

    def _rescaled(self, bounds: Floats, survey: TriangleSurvey, first: FirstRound) -> Floats:
        return first.largest * 2.0**survey.fineness * np.maximum(1, np.diff(self._offsets)) + 2


class OwnReach(Rescaled):
    """The largest pull of its own list, without smoothing: an empty list shows by the lack of noise."""

    def _rescaled(self, bounds: Floats, survey: TriangleSurvey, first: FirstRound) -> Floats:
        return self._measure(survey, first)[0] * 2.0**survey.fineness + 2


class HalfTheBound(Rescaled):
    """As if the noise might be half as wide as the bound says."""

    def _rescaled(self, bounds: Floats, survey: TriangleSurvey, first: FirstRound) -> Floats:
        return bounds / 2


class ExactIfPublic(RowHolders):
    """User 0 has a public profile and adds no noise to its sum, but part of its row is not public."""

    def total(self, survey: TriangleSurvey, first: FirstRound, coins: Coins, present: Bits | None = None) -> RowReport:
        if self._view.start:
            return super().total(survey, first, coins, present)
        return super().total(redrawn(survey, _zeros), first, coins, present)


class SureAlone(RowHolders):
    """Whose list is empty has nothing to sum, and says so without noise."""

    def total(self, survey: TriangleSurvey, first: FirstRound, coins: Coins, present: Bits | None = None) -> RowReport:
        if self._members.size:
            return super().total(survey, first, coins, present)
        return super().total(redrawn(survey, _zeros), first, coins, present)


def _zeros(bounds: Floats, coins: Coins) -> Integers:
    return np.zeros(bounds.size, np.int64)


class Blind(TriangleSurvey):
    """A survey by which friend-visible positions hardly count."""

    @property
    def ratio(self) -> Fraction:
        return Fraction(10**300)


class Forgetful(RowHolders):
    """Leaves friend-visible positions out of its reach, and so out of its bound."""

    def _measure(self, survey: TriangleSurvey, first: FirstRound) -> tuple[Floats, Floats]:
        return super()._measure(Blind(**_given(survey)), first)


class HalfTheLargest(FirstRound):
    """Half of what one friend can move a pull by."""

    @cached_property
    def largest(self) -> float:
        return super().largest / 2


class MisledByHalf(RowHolders):
    """Believes that pulls move by half as much as they do, so that its bound is not as smooth as it must be."""

    def total(self, survey: TriangleSurvey, first: FirstRound, coins: Coins, present: Bits | None = None) -> RowReport:
        return super().total(survey, HalfTheLargest(first.survey, first.public, first.transcript), coins, present)


scaled_by_own_degree = partial(second_report, kind=OwnDegree)
scaled_by_own_reach = partial(second_report, kind=OwnReach)
half_the_bound = partial(second_report, kind=HalfTheBound)
exact_if_public = partial(second_report, kind=ExactIfPublic)
sure_alone = partial(second_report, kind=SureAlone)
forgetful = partial(second_report, kind=Forgetful)
misled_by_half = partial(second_report, kind=MisledByHalf)
