"""Owned triangles under one plan: what real clients add their noise to in each graph, and what it tells.  [WALK.5]"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.noise_laws import Floats, Ints, another_noise, closely, counts_and_scales
from visibility_aware_edge_ldp.audit.protocols.degrees import all_degrees
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient, owned_triangles
from visibility_aware_edge_ldp.client.reporter import Bits, Purse
from visibility_aware_edge_ldp.client.views import Edges, TwoHop
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import sample_each
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.surveys import neighbourhood as surveys
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import NeighbourhoodReport, NeighbourhoodSurvey, OwnerPlan
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Client = type[NeighbourhoodClient]
PUBLIC = Visibility.PUBLIC


class Spoken(NamedTuple):
    """What each user's noise is added to, and how far that noise reaches; 0 where there is none."""

    counts: Ints
    scales: Ints


@cache
def _reported(plan: OwnerPlan, loss: Fraction) -> tuple[DegreeSurvey, Ints] | None:
    """The degrees that a plan with these bounds, for counts of this loss, was made of."""
    if plan.first is None:
        return None
    return plan.first, plan.bounds - surveys.believed_margin(plan.first, plan.delta, loss)


def sent_counts(
    survey: NeighbourhoodSurvey,
    view: PublicView,
    edges: Edges,
    coins: RandomBytes,
    client: Client = NeighbourhoodClient,
) -> Ints:
    """The clients' reports through the wire format."""
    plan = survey.plan
    purse = Purse({kind: price.epsilon for kind, price in survey.payment().items()}, plan.delta)
    users = client(TwoHop(0, edges, view.n), view, purse, _reported(plan, survey.loss))
    return surveys.decode_owned(surveys.encode_owned(users.answer(survey, 1, coins))).values


def real_users(
    survey: NeighbourhoodSurvey,
    view: PublicView,
    edges: Edges,
    client: Client = NeighbourhoodClient,
    supposed: Ints | None = None,
) -> Spoken:
    """What the clients add their noise to in this world, and the scales of the noise that they add to it there.

    The scales that are supposed first, the plan's unless others are given, save time and are not believed.
    """
    send = partial(sent_counts, survey, view, edges, client=client)
    return Spoken(*counts_and_scales(send, survey.loss, survey.plan.sensitivities if supposed is None else supposed))


def check_users(stage: "OwnedStage") -> None:
    """That everybody adds the plan's noise in every world, and in the last one to the nearest words that there are.

    Five users do not use a claim up, so less noise than the plan's could keep it among them, and not among more.
    """
    scales, edges = stage.plan.sensitivities, small_worlds.edges_of(stage.worlds[-1], stage.n)
    send = partial(sent_counts, stage.survey, stage.view, edges, client=stage.client)
    near = closely(send, stage.spoken.counts[-1], stage.survey.loss, scales)
    if not near or (stage.spoken.scales != scales).any():
        raise another_noise()


@cache
def pairs_of(pattern: small_worlds.Pattern, place: int) -> tuple[Ints, Ints]:
    """The numbers of the worlds without an edge at a place, and of the same worlds with it."""
    at = {world: number for number, world in enumerate(small_worlds.worlds(pattern))}
    without = [world for world in at if not world[place]]
    return np.array([at[w] for w in without]), np.array([at[small_worlds.flipped(w, place)] for w in without])


@dataclass(frozen=True, eq=False)
class OwnedStage:
    """A pattern of classes, a plan, and what both rounds cost per PRIVATE edge; no first round where it is empty."""

    pattern: small_worlds.Pattern
    n: int
    plan: OwnerPlan
    first: str = "1/4"
    second: str = "3/4"
    client: Client = NeighbourhoodClient
    which = "all"

    @cached_property
    def view(self) -> PublicView:
        return small_worlds.view_of(self.pattern, self.n)

    @cached_property
    def survey(self) -> NeighbourhoodSurvey:
        return surveys.neighbourhood_survey(self.view, self.second, self.plan)

    @cached_property
    def degree_survey(self) -> DegreeSurvey | None:
        return degree_survey(self.view, self.first) if self.first else None

    @cached_property
    def worlds(self) -> list[small_worlds.World]:
        return list(small_worlds.worlds(self.pattern))

    @cached_property
    def spoken(self) -> Spoken:
        """(worlds, users): what is counted in every world."""
        each: list[Spoken] = []
        for world in self.worlds:
            supposed = each[-1].scales if each else None
            each.append(real_users(self.survey, self.view, small_worlds.edges_of(world, self.n), self.client, supposed))
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
        return before + self.survey.price(kind).epsilon

    @property
    def places(self) -> list[int]:
        """Where worlds may differ."""
        return [place for place, kind in enumerate(self.pattern) if kind is not PUBLIC]

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


@dataclass(frozen=True, eq=False)
class OwnedPair(OwnedStage):
    """Two graphs of more users, all private: ``edges`` without and with the edge (v, w).  [WALK.5]"""

    edges: tuple[tuple[int, int], ...] = ()
    changed: tuple[int, int] = (0, 1)
    which = "two"

    @cached_property
    def worlds(self) -> list[small_worlds.World]:
        pairs = small_worlds.positions(self.n)
        return [tuple(int(pair in there) for pair in pairs) for there in ({*self.edges}, {*self.edges, self.changed})]

    @property
    def places(self) -> list[int]:
        return [small_worlds.positions(self.n).index(self.changed)]

    def pairs(self, place: int) -> tuple[Ints, Ints]:
        return np.array([0]), np.array([1])


def losses_between(survey: NeighbourhoodSurvey, one: Spoken, other: Spoken) -> Floats:
    """The largest log-ratio over all reports of all users: they are independent, so each adds its own.  [WALK.2]"""
    moved, scales = np.abs(one.counts - other.counts), one.scales
    told = (float(survey.loss) * moved / np.maximum(scales, 1)).sum(axis=-1)
    bare = ((one.scales != other.scales) | ((scales == 0) & (moved > 0))).any(axis=-1)
    return np.where(bare, math.inf, told)


def plan_of(guard: str, *bounds: int, nonresponse: int | None = None) -> OwnerPlan:
    """A pure plan with these bounds; a user who did not report has none of its own."""
    return OwnerPlan(guard, np.array(bounds), np.arange(len(bounds)) != nonresponse)


# ── broken twins: each has one thing wrong, and the audit must catch it ──

ALONE = "a user without friends answers without noise"


def own_friends(client: NeighbourhoodClient) -> Ints:
    """How many friends each user has."""
    return np.bincount(client._view.edges.ravel(), minlength=client._public.n)[client._view.users]


def _own_scale(
    client: NeighbourhoodClient, survey: NeighbourhoodSurvey, number: int, coins: RandomBytes, present: Bits | None
) -> NeighbourhoodReport:
    """Scales its noise by its own degree."""
    answered = np.ones(client._view.count, np.bool_) if present is None else present
    counts = owned_triangles(client._view.edges, client._public, survey.plan)[client._view.users]
    values = np.where(answered, counts + sample_each(survey.loss, np.maximum(own_friends(client), 1), coins), 0)
    return NeighbourhoodReport(survey.identity, client._view.start, answered, values)


def _sure_alone(client: NeighbourhoodClient, report: NeighbourhoodReport, *_: object) -> NeighbourhoodReport:
    """A user without friends owns no triangle, and says so without noise."""
    return replace(report, values=np.where(own_friends(client) == 0, 0, report.values))


def _counted_by_all_three(
    client: NeighbourhoodClient, report: NeighbourhoodReport, survey: NeighbourhoodSurvey, *_: object
) -> NeighbourhoodReport:
    """Counts all triangles that it is in, at the scale of those that it owns."""
    edges, n = client._view.edges, client._public.n
    matrix = np.zeros((n, n), np.int64)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    more = np.diag(matrix @ matrix @ matrix) // 2 - owned_triangles(edges, client._public, survey.plan)
    return replace(report, values=report.values + more[client._view.users])


def _scaled_by(sensitivities: Callable[[OwnerPlan], Ints]) -> type[NeighbourhoodClient]:
    """Adds noise of these scales in place of the plan's."""
    plan = findings.replaced(OwnerPlan, sensitivities=property(sensitivities))
    return findings.replaced(
        NeighbourhoodClient,
        randomize=lambda client, survey, *given: NeighbourhoodClient.randomize(
            client, replace(survey, plan=findings.recast(plan, survey.plan)), *given
        ),
    )


# Laplace(D/ε): but joining two users may make both forget another friend, which moves up to 2(D − 1) triangles.
ScaledByTheCap = _scaled_by(lambda plan: plan.bounds)
LessNoise = _scaled_by(lambda plan: (5 * plan.bounds + 1) * (plan.unit // 4))
OwnScale = findings.replaced(NeighbourhoodClient, randomize=_own_scale)
SureAlone = findings.altered(NeighbourhoodClient, "randomize", _sure_alone)
CountedByAllThree = findings.altered(NeighbourhoodClient, "randomize", _counted_by_all_three)
