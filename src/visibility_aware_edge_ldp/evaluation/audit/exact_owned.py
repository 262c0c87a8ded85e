"""NEIGHBOURHOOD (a): the survey of degrees and the counts of owned triangles together, on every small graph.  [WALK.5]

The real clients report their degrees and count under a plan; the noise of both rounds is put back as its exact law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.neighbourhood import Neighbourhoods
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.two_hop import Edges, TwoHop
from visibility_aware_edge_ldp.client.user_degrees import ListHolders
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Floats, check_noise, exact_finding, loss_of, no_noise
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import (
    Pattern,
    World,
    flipped,
    friends,
    positions,
    view_of,
    worlds,
)
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.degree_report import decode, encode
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.neighbourhood_report import decode_owned, encode_owned
from visibility_aware_edge_ldp.public.neighbourhood_survey import NeighbourhoodSurvey, neighbourhood_survey
from visibility_aware_edge_ldp.public.owner_plan import CLIPPED, WEIGHTED, OwnerPlan
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Ints = npt.NDArray[np.int64]
PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


class Spoken(NamedTuple):
    """What each user's noise is added to, and how far that noise reaches; 0 where there is none."""

    counts: Ints
    scales: Ints


Speak = Callable[[NeighbourhoodSurvey, PublicView, Edges], Spoken]


def edges_of(world: World, n: int) -> Edges:
    """A world as its edges."""
    return np.array([p for p, bit in zip(positions(n), world, strict=True) if bit], np.int32).reshape(-1, 2)


def real_reports(survey: NeighbourhoodSurvey, view: PublicView, edges: Edges, coins: Coins) -> Ints:
    """The real clients' reports through the wire format."""
    plan = survey.plan
    purse = Purse({kind: price.epsilon for kind, price in survey.price.items()}, plan.delta)
    first = None if plan.first is None else (plan.first, plan.bounds - plan.margin)
    users = Neighbourhoods(TwoHop(0, edges, view.n), view, purse, first)
    return decode_owned(encode_owned(users.owned(survey, coins))).values


def real_users(survey: NeighbourhoodSurvey, view: PublicView, edges: Edges) -> Spoken:
    """What the real clients add their noise to, and the scales of the plan."""
    return Spoken(real_reports(survey, view, edges, no_noise), survey.plan.sensitivities)


def check_users(stage: OwnedStage) -> None:
    """That the real clients add the noises of the plan; those that add none draw a word and leave it."""
    scales, edges = stage.plan.sensitivities, edges_of(stage.worlds[-1], stage.n)
    noisy = np.flatnonzero(scales)

    def numbers(coins: Coins) -> list[int]:
        drawn = Placed(coins, noisy, stage.n)
        return [int(x) for x in real_reports(stage.survey, stage.view, edges, drawn)[noisy]]

    check_noise(numbers, [DiscreteLaplace(stage.survey.loss, int(scales[user])).law for user in noisy])


@dataclass(frozen=True)
class Placed:
    """Words for the users with noise, among words for all."""

    coins: Coins
    users: Ints
    n: int

    def __call__(self, count: int) -> bytes:
        if count != 8 * self.n:
            return self.coins(count)
        words = np.frombuffer(no_noise(count), ">u8").copy()
        words[self.users] = np.frombuffer(self.coins(8 * self.users.size), ">u8")
        return words.tobytes()


def real_degrees(survey: DegreeSurvey, view: PublicView, world: World) -> Ints:
    """(classes, users): the real clients' reported degrees through the wire format, without noise."""
    lists = [friends(world, view.n, user) for user in range(view.n)]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
    held = FriendLists(0, offsets, np.array(sum(lists, ()), np.int32))
    purse = Purse({kind: survey.list_price(kind).epsilon for kind in survey.classes})
    return decode(encode(ListHolders(held, view, purse).degrees(survey, no_noise))).values


@cache
def all_degrees(pattern: Pattern, n: int, epsilon: str) -> Ints:
    """(worlds, classes, users): what the real clients report in every world, without noise."""
    view = view_of(pattern, n)
    survey = degree_survey(view, epsilon)
    return np.array([real_degrees(survey, view, world) for world in worlds(pattern)])


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
    speak: Speak = real_users

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
        each = [self.speak(self.survey, self.view, edges_of(world, self.n)) for world in self.worlds]
        return Spoken(np.array([s.counts for s in each]), np.array([s.scales for s in each]))

    @cached_property
    def degrees(self) -> Floats:
        """(worlds, classes, users): degrees times what one unit of them costs."""
        first = self.degree_survey
        if first is None:
            return np.zeros((len(self.worlds), 0, self.n))
        rates = np.array([float(first.mechanism(kind).rate) for kind in first.classes])
        return np.asarray(all_degrees(self.pattern, self.n, self.first) * rates[:, None], np.float64)

    def claim(self, kind: Visibility) -> float:
        """What both rounds may cost an edge of this class."""
        before = self.degree_survey.price(kind).epsilon if self.degree_survey else Fraction(0)
        return float(before + self.survey.price[kind].epsilon)

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
            yield loss_of(kind, stage.claim(kind), found)


def audit_owned(name: str, stages: list[OwnedStage]) -> Finding:
    """Guards that need no delta."""
    for stage in stages:
        check_users(stage)
    losses = [loss for stage in stages for loss in stage_losses(stage)]
    cases = sum(len(stage.pairs(place)[0]) for stage in stages for place, k in enumerate(stage.pattern) if k)
    about = f"{len(stages)} plans and policies, all graphs of up to {max(stage.n for stage in stages)} users"
    return exact_finding(name, losses, cases, f"{about}; degrees and counts together")


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


def scaled_by_own_degree(survey: NeighbourhoodSurvey, view: PublicView, edges: Edges) -> Spoken:
    """Noise that reaches as far as the user's own friends do."""
    degrees = np.bincount(edges.ravel(), minlength=view.n)
    return Spoken(real_users(survey, view, edges).counts, np.maximum(degrees, 1) * survey.plan.unit)


def scaled_by_the_cap(survey: NeighbourhoodSurvey, view: PublicView, edges: Edges) -> Spoken:
    """Laplace(D/ε): but joining two users may make both forget another friend, which moves more than D triangles."""
    return Spoken(real_users(survey, view, edges).counts, survey.plan.bounds)


WEIGHTED_NAME, CLIPPED_NAME = "neighbourhood (a), weighted", "neighbourhood (a), clipped"
AUDITS: tuple[Audit, ...] = (
    Audit(WEIGHTED_NAME, "exact", lambda: audit_owned(WEIGHTED_NAME, pure_stages(WEIGHTED, "1/4"))),
    Audit(CLIPPED_NAME, "exact", lambda: audit_owned(CLIPPED_NAME, pure_stages(CLIPPED, ""))),
)


def _twin(name: str, broken: str, n: int, plan: OwnerPlan, speak: Speak) -> Audit:
    pattern = (PRIVATE,) * len(positions(n))
    return Audit(name, "exact", lambda: audit_owned(name, [OwnedStage(pattern, n, plan, "", "1", speak)]), broken)


TWINS: tuple[Audit, ...] = (
    _twin(
        WEIGHTED_NAME,
        "noise scaled by the own degree (document 004)",
        4,
        plan_of(WEIGHTED, 3, 3, 3, 3),
        scaled_by_own_degree,
    ),
    _twin(
        CLIPPED_NAME,
        "a hard cap D with noise of scale D/ε (document 004)",
        5,
        plan_of(CLIPPED, 3, 3, 3, 3, 3),
        scaled_by_the_cap,
    ),
)
