"""Broken twins of users who count the triangles that they own: the real client with one thing wrong."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.client.neighbourhood import Bits, Ints, Neighbourhoods, owned_triangles
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneEdge
from visibility_aware_edge_ldp.public.neighbourhood_report import NeighbourhoodReport
from visibility_aware_edge_ldp.public.neighbourhood_survey import NeighbourhoodSurvey
from visibility_aware_edge_ldp.public.owner_plan import OwnerPlan
from visibility_aware_edge_ldp.public.visibility import Visibility


class HardCapPlan(OwnerPlan):
    """Laplace(D/ε): but joining two users may make both forget another friend, which moves more than D triangles."""

    @property
    def sensitivities(self) -> Ints:
        return self.bounds


class ScaledByTheCap(Neighbourhoods):
    """Its noise reaches as far as its cap."""

    def _randomize(self, survey: NeighbourhoodSurvey, coins: Coins, present: Bits | None) -> NeighbourhoodReport:
        capped = replace(survey, plan=HardCapPlan(**_given(survey.plan)))
        return super()._randomize(capped, coins, present)


class SureAlone(Neighbourhoods):
    """A user without friends owns no triangle, and says so without noise."""

    def _randomize(self, survey: NeighbourhoodSurvey, coins: Coins, present: Bits | None) -> NeighbourhoodReport:
        report = super()._randomize(survey, coins, present)
        friends = np.bincount(self._view.edges.ravel(), minlength=self._public.n)[self._view.users]
        return replace(report, values=np.where(friends == 0, 0, report.values))


class CountedByAllThree(Neighbourhoods):
    """Counts all triangles that it is in, at the scale of those that it owns."""

    def _randomize(self, survey: NeighbourhoodSurvey, coins: Coins, present: Bits | None) -> NeighbourhoodReport:
        report = super()._randomize(survey, coins, present)
        edges, users = self._view.edges, self._view.users
        matrix = np.zeros((self._public.n, self._public.n), np.int64)
        matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
        every = np.diag(matrix @ matrix @ matrix) // 2
        owned = owned_triangles(edges, self._public, survey.plan)
        return replace(report, values=report.values + (every - owned)[users])


class NoDelta(NeighbourhoodSurvey):
    """Bills believed bounds as if they were certain."""

    @property
    def price(self) -> dict[Visibility, Guarantee[OneEdge]]:
        return {kind: Guarantee(OneEdge, self.loss) for kind in self.classes}


def without_delta(survey: NeighbourhoodSurvey) -> NeighbourhoodSurvey:
    """The survey, with the bill of the twin."""
    return NoDelta(**_given(survey))


def _given(value: OwnerPlan | NeighbourhoodSurvey) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}
