"""NEIGHBOURHOOD (a): the survey of degrees and the counts of owned triangles together, on every small graph.  [WALK.5]

The real clients report their degrees and count under a plan; the noise of both rounds is put back as its exact law.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.client.neighbourhood import Neighbourhoods
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.two_hop import Edges, TwoHop
from visibility_aware_edge_ldp.evaluation.audit.degree_round import all_degrees
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.measured_noise import (
    Ints,
    another_noise,
    as_asked,
    closely,
    counts_and_scales,
)
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Floats, exact_finding, loss_of
from visibility_aware_edge_ldp.evaluation.audit.owned_twins import ScaledByTheCap, SureAlone
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import Pattern, World, flipped, positions, view_of, worlds
from visibility_aware_edge_ldp.evaluation.audit.statistical_twins import OwnScale
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.neighbourhood_report import decode_owned, encode_owned
from visibility_aware_edge_ldp.public.neighbourhood_survey import NeighbourhoodSurvey, neighbourhood_survey
from visibility_aware_edge_ldp.public.owner_plan import CLIPPED, WEIGHTED, OwnerPlan
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Client = type[Neighbourhoods]
PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


class Spoken(NamedTuple):
    """What each user's noise is added to, and how far that noise reaches; 0 where there is none."""

    counts: Ints
    scales: Ints


def edges_of(world: World, n: int) -> Edges:
    """A world as its edges."""
    return np.array([p for p, bit in zip(positions(n), world, strict=True) if bit], np.int32).reshape(-1, 2)


@cache
def _reported(plan: OwnerPlan) -> tuple[DegreeSurvey, Ints] | None:
    """The degrees that a plan with these bounds was made of."""
    return None if plan.first is None else (plan.first, plan.bounds - plan.margin)


def sent_counts(
    survey: NeighbourhoodSurvey, view: PublicView, edges: Edges, coins: Coins, client: Client = Neighbourhoods
) -> Ints:
    """The clients' reports through the wire format."""
    plan = survey.plan
    purse = Purse({kind: price.epsilon for kind, price in survey.price.items()}, plan.delta)
    users = client(TwoHop(0, edges, view.n), view, purse, _reported(plan))
    return decode_owned(encode_owned(users.owned(survey, coins))).values


def real_users(
    survey: NeighbourhoodSurvey,
    view: PublicView,
    edges: Edges,
    client: Client = Neighbourhoods,
    supposed: Ints | None = None,
) -> Spoken:
    """What the clients add their noise to in this world, and the scales of the noise that they add to it there.

    The scales that are supposed first, the plan's unless others are given, save time and are not believed.
    """
    send = partial(sent_counts, survey, view, edges, client=client)
    return Spoken(*counts_and_scales(send, survey.loss, survey.plan.sensitivities if supposed is None else supposed))


def check_users(stage: OwnedStage) -> None:
    """That everybody adds the plan's noise in every world, and in the last one to the nearest words that there are.

    Five users do not use a claim up, so less noise than the plan's could keep it among them, and not among more.
    """
    scales, edges = stage.plan.sensitivities, edges_of(stage.worlds[-1], stage.n)
    send = partial(sent_counts, stage.survey, stage.view, edges, client=stage.client)
    near = closely(send, stage.spoken.counts[-1], stage.survey.loss, scales)
    if not near or (stage.spoken.scales != scales).any():
        raise another_noise()


@cache
def pairs_of(pattern: Pattern, place: int) -> tuple[Ints, Ints]:
    """The numbers of the worlds without an edge at a place, and of the same worlds with it."""
    at = {world: number for number, world in enumerate(worlds(pattern))}
    without = [world for world in at if not world[place]]
    return np.array([at[w] for w in without]), np.array([at[flipped(w, place)] for w in without])


@dataclass(frozen=True, eq=False)
class OwnedStage:
    """A pattern of classes, a plan, and what both rounds cost per PRIVATE edge; no first round where it is empty."""

    pattern: Pattern
    n: int
    plan: OwnerPlan
    first: str = "1/4"
    second: str = "3/4"
    client: Client = Neighbourhoods

    @cached_property
    def view(self) -> PublicView:
        return view_of(self.pattern, self.n)

    @cached_property
    def survey(self) -> NeighbourhoodSurvey:
        return neighbourhood_survey(self.view, self.second, self.plan)

    @cached_property
    def degree_survey(self) -> DegreeSurvey | None:
        return degree_survey(self.view, self.first) if self.first else None

    @cached_property
    def worlds(self) -> list[World]:
        return list(worlds(self.pattern))

    @cached_property
    def spoken(self) -> Spoken:
        """(worlds, users): what is counted in every world."""
        each: list[Spoken] = []
        for world in self.worlds:
            supposed = each[-1].scales if each else None
            each.append(real_users(self.survey, self.view, edges_of(world, self.n), self.client, supposed))
        return Spoken(np.array([s.counts for s in each]), np.array([s.scales for s in each]))

    @cached_property
    def degrees(self) -> Floats:
        """(worlds, classes, users): degrees times what one unit of them costs."""
        first = self.degree_survey
        if first is None:
            return np.zeros((len(self.worlds), 0, self.n))
        rates = np.array([float(first.mechanism(kind).rate) for kind in first.classes])
        return np.asarray(all_degrees(self.pattern, self.n, self.first) * rates[:, None], np.float64)

    def asked(self, kind: Visibility) -> Fraction:
        """What both rounds may cost an edge of this class; counts are as well guarded as the best guarded class."""
        multiplier = self.view.policy.multipliers.of
        strictest = min(multiplier(each) for each in NON_PUBLIC if each in self.pattern)
        return Fraction(self.first or 0) * multiplier(kind) + Fraction(self.second) * strictest

    def billed(self, kind: Visibility) -> Fraction:
        """What the code says that both rounds cost."""
        before = self.degree_survey.price(kind).epsilon if self.degree_survey else Fraction(0)
        return before + self.survey.price[kind].epsilon

    def pairs(self, place: int) -> tuple[Ints, Ints]:
        """The numbers of the worlds without an edge at a place, and of the same worlds with it."""
        return pairs_of(self.pattern, place)

    def first_losses(self, place: int) -> Floats:
        """For every pair of worlds that differ in this place, what the reported degrees tell at most."""
        one, other = self.pairs(place)
        return np.asarray(np.abs(self.degrees[one] - self.degrees[other]).sum(axis=(1, 2)), np.float64)

    def second_losses(self, place: int) -> Floats:
        """For every pair of worlds that differ in this place, what the counts tell at most, given the plan."""
        one, other = self.pairs(place)
        return losses_between(self.survey, *(Spoken(*(part[at] for part in self.spoken)) for at in (one, other)))


def losses_between(survey: NeighbourhoodSurvey, one: Spoken, other: Spoken) -> Floats:
    """The largest log-ratio over all reports of all users: they are independent, so each adds its own.  [WALK.2]"""
    moved, scales = np.abs(one.counts - other.counts), one.scales
    told = (float(survey.loss) * moved / np.maximum(scales, 1)).sum(axis=-1)
    bare = ((one.scales != other.scales) | ((scales == 0) & (moved > 0))).any(axis=-1)
    return np.where(bare, math.inf, told)


def stage_losses(stage: OwnedStage) -> Iterator[Loss]:
    """Both rounds together for each class, whatever plan the first one led to."""
    for place, kind in enumerate(stage.pattern):
        if kind is not PUBLIC:
            found = float((stage.first_losses(place) + stage.second_losses(place)).max())
            asked = stage.asked(kind)
            yield as_asked(loss_of(kind, float(asked), found), asked, stage.billed(kind))


def audit_owned(name: str, stages: list[OwnedStage]) -> Finding:
    """Guards that need no delta."""
    losses = [loss for stage in stages for loss in stage_losses(stage)]
    cases = sum(len(stage.pairs(place)[0]) for stage in stages for place, k in enumerate(stage.pattern) if k)
    about = f"{len(stages)} plans and policies, all graphs of up to {max(stage.n for stage in stages)} users"
    finding = exact_finding(name, losses, cases, f"{about}; degrees and counts together")
    for stage in stages if finding.holds else ():
        check_users(stage)
    return finding


# ── what is run ──


def plan_of(guard: str, *bounds: int, absent: int | None = None) -> OwnerPlan:
    """A pure plan with these bounds; an absent user has none of its own."""
    return OwnerPlan(guard, np.array(bounds), np.arange(len(bounds)) != absent)


MIXED: tuple[Pattern, ...] = (
    (PUBLIC, FRIEND_VISIBLE, PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC),
    (PRIVATE, PRIVATE, PRIVATE, FRIEND_VISIBLE, FRIEND_VISIBLE, FRIEND_VISIBLE),
    (PUBLIC, PUBLIC, PRIVATE, FRIEND_VISIBLE, PRIVATE, PRIVATE),
    (FRIEND_VISIBLE, FRIEND_VISIBLE, FRIEND_VISIBLE, FRIEND_VISIBLE, FRIEND_VISIBLE, PUBLIC),
)
FIVE = ((3, 3, 3, 3, 3), (1, 2, 2, 3, 4))


def pure_stages(guard: str, first: str) -> list[OwnedStage]:
    """Four users under every plan there is, up to their names; five under some; mixes of classes; absent users."""
    second = "3/4" if first else "1"
    every = [plan_of(guard, *bounds) for bounds in combinations_with_replacement(range(1, 5), 4)]
    absent = [plan_of(guard, 1, 2, 2, 3, absent=user) for user in range(4)] if guard == WEIGHTED else []
    private = [((PRIVATE,) * 6, 4, plan) for plan in (*every, *absent)]
    mixed = [(pattern, 4, plan_of(guard, 2, 1, 3, 2)) for pattern in MIXED]
    five = [((PRIVATE,) * 10, 5, plan_of(guard, *bounds)) for bounds in FIVE]
    return [OwnedStage(pattern, n, plan, first, second) for pattern, n, plan in (*private, *mixed, *five)]


WEIGHTED_NAME, CLIPPED_NAME = "neighbourhood (a), weighted", "neighbourhood (a), clipped"
AUDITS: tuple[Audit, ...] = (
    Audit(WEIGHTED_NAME, "exact", lambda: audit_owned(WEIGHTED_NAME, pure_stages(WEIGHTED, "1/4"))),
    Audit(CLIPPED_NAME, "exact", lambda: audit_owned(CLIPPED_NAME, pure_stages(CLIPPED, ""))),
)


def _twin(name: str, broken: str, n: int, plan: OwnerPlan, client: Client) -> Audit:
    first, second = ("1/4", "3/4") if plan.guard == WEIGHTED else ("", "1")
    stage = OwnedStage((PRIVATE,) * len(positions(n)), n, plan, first, second, client)
    return Audit(name, "exact", lambda: audit_owned(name, [stage]), broken)


_ALONE = "a user without friends answers without noise"
TWINS: tuple[Audit, ...] = (
    _twin(WEIGHTED_NAME, "noise scaled by the own degree (document 004)", 4, plan_of(WEIGHTED, 3, 3, 3, 3), OwnScale),
    _twin(WEIGHTED_NAME, _ALONE, 4, plan_of(WEIGHTED, 1, 2, 3, 4), SureAlone),
    _twin(
        CLIPPED_NAME,
        "a hard cap D with noise of scale D/ε (document 004)",
        5,
        plan_of(CLIPPED, 3, 3, 3, 3, 3),
        ScaledByTheCap,
    ),
    _twin(CLIPPED_NAME, _ALONE, 4, plan_of(CLIPPED, 2, 2, 3, 3), SureAlone),
)
