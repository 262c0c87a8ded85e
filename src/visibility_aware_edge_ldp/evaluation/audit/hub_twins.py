"""A survey of hubs that listens to the scales they ask for, and broken twins: the real hub with one thing wrong."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from visibility_aware_edge_ldp.client.hub import Hub, Ints, Territory
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Overheard
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.public.hub_report import HubReport
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey


@dataclass(frozen=True)
class ListenedSurvey(HubSurvey):
    """The same survey, whose noises note the scales that they are asked for."""

    ears: dict[str, Overheard] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def noises(self) -> dict[str, SmoothPower]:
        return {**self.ears}


def listened(survey: HubSurvey) -> ListenedSurvey:
    """A survey with ears."""
    given = {each.name: getattr(survey, each.name) for each in fields(survey)}
    return ListenedSurvey(**given, ears={number: Overheard.of(noise) for number, noise in survey.noises.items()})


# ── twins ──


class Floorless(ListenedSurvey):
    """Its noise has no least scale."""

    def floors(self, number: str) -> Ints:
        return np.ones_like(super().floors(number))


class Weightless(Floorless):
    """Every hub spends all of epsilon on every position, without a least scale."""

    def weights(self, number: str) -> Ints:
        return np.ones_like(super().weights(number))


class WithoutFloors(Hub):
    """Adds noise at its own largest number of triangles, without smoothing."""

    asked_by: ClassVar[type[ListenedSurvey]] = Floorless

    def _randomize(self, survey: HubSurvey, coins: Coins) -> HubReport:
        given = {each.name: getattr(survey, each.name) for each in fields(survey)}
        return super()._randomize(self.asked_by(**given), coins)


class WithoutWeights(WithoutFloors):
    """Spends all of epsilon although other hubs share its positions."""

    asked_by = Weightless


class SureOfNothing(Hub):
    """Where it has nothing to count, it says so without noise."""

    def _randomize(self, survey: HubSurvey, coins: Coins) -> HubReport:
        report = super()._randomize(survey, coins)
        counts = (self._territory(survey).count(number) for number in survey.numbers)
        return replace(report, values=tuple(v if n else 0 for v, n in zip(report.values, counts, strict=True)))

    def _territory(self, survey: HubSurvey) -> Territory:
        place = survey.plan.hubs.index(self._view.start)
        return Territory.of(self._view.edges, self._public, survey.plan, place)


class SureOfLooseEdges(SureOfNothing):
    """Says without noise how many edges no territory holds."""

    def _randomize(self, survey: HubSurvey, coins: Coins) -> HubReport:
        return replace(Hub._randomize(self, survey, coins), loose=self._territory(survey).loose_edges)
