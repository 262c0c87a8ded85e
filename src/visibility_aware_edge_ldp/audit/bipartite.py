"""People and places: between them the loss is what was asked for; two of one side are never asked, and lose nothing.

The worlds are all graphs of a few people and places, edges between two of one side among them: nobody may tell of
these. In USER an edge loses what its person's noisy degree and answers lose together.  [BIPARTITE.2-3], [AUDIT.4-6]
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.small_worlds import Pattern, positions
from visibility_aware_edge_ldp.audit.protocols import degrees, position, scope
from visibility_aware_edge_ldp.audit.whole_estimates import Way, audit_estimates
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import SameClass
from visibility_aware_edge_ldp.public.trust import ON_PLACES, POSITION, USER
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.options import plan_for
from visibility_aware_edge_ldp.truth.readers import read_graph

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


def between(people: int, n: int) -> frozenset[int]:
    """The places of the positions of a person and a place."""
    return frozenset(place for place, (u, v) in enumerate(positions(n)) if u < people <= v)


@cache
def view_between(whole: Pattern, people: int, n: int) -> PublicView:
    """What everybody knows: the classes of this pattern between people and places, every public one with an edge.

    Where all have one class, it goes by kinds of nodes, and else position by position: both are in use.
    """
    inside, policy = between(people, n), small_worlds.view_of(whole, n).policy
    if len({*whole}) == 1:
        policy = VisibilityPolicy.of(SameClass(whole[0]))
    edges = [pair for place, pair in enumerate(positions(n)) if place in inside and whole[place] is PUBLIC]
    return PublicView(range(n), policy.between(people), np.array(edges, np.int32).reshape(-1, 2))


def asked_classes(whole: Pattern, people: int, n: int) -> Pattern:
    """The class of each position: two of one side are PUBLIC.  [BIPARTITE.1]"""
    inside = between(people, n)
    return tuple(kind if place in inside else PUBLIC for place, kind in enumerate(whole))


# ── POSITION: every coin ──


@dataclass(frozen=True)
class BitsStage(scope.PositionStage):
    """A conversation of people and places; ``whole`` has a class for two of one side too, who hold a bit as well."""

    people: int = 1

    @property
    def view(self) -> PublicView:
        return view_between(self.whole, self.people, self.n)


def bits_stage(whole: Pattern, people: int, n: int, epsilon: str = "1", asked: tuple[int, ...] = (1,)) -> BitsStage:
    return BitsStage(
        asked_classes(whole, people, n), n, epsilon, asked, whole=whole, inside=between(people, n), people=people
    )


def _bits_stages() -> Iterator[BitsStage]:
    for whole in small_worlds.patterns(3):
        for people in (1, 2):
            yield bits_stage(whole, people, 3, asked=(1, 1))
            yield bits_stage(whole, people, 3, asked=(1, 2))
    yield bits_stage((PRIVATE,) * 6, 2, 4)
    yield bits_stage((PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC, PRIVATE, PRIVATE), 2, 4)
    yield bits_stage((PRIVATE,) * 6, 3, 4)


# ── USER: the noisy degree of every person, and its answers ──


@dataclass(frozen=True)
class ListsStage(degrees.Stage):
    """Reports of degrees, and answers for rows, as one estimate splits ε; ``whole`` as in :class:`BitsStage`."""

    whole: Pattern = ()
    people: int = 1
    total: str = "4"

    @cached_property
    def view(self) -> PublicView:
        return view_between(self.whole, self.people, self.n)

    @cached_property
    def answers(self) -> BitsStage:
        """The answers of all people for their rows."""
        return bits_stage(self.whole, self.people, self.n, str(_split(self.total, self.n, self.people)[1]))

    def may_lose(self, kind: Visibility) -> Fraction:
        """What an edge of a person and a place may lose in all."""
        return Fraction(self.total) * self.view.policy.multipliers.of(kind)

    def losses(self) -> Iterator[scope.Lost]:
        """What both ends' reports and all answers lose of a position, between people and places or not."""
        spoken = cache(lambda user, held: findings.Spoken(degrees.report_law(self, user, held)))
        said = cache(lambda world: findings.Spoken(position.conversation(self.answers, world)))
        for world, other, place in small_worlds.neighbours(self.whole):
            every = findings.gap_between(said(world), said(other))
            unsure = bool(every.delta)
            for user in positions(self.n)[place]:
                held = (small_worlds.friends(graph, self.n, user) for graph in (world, other))
                gap = findings.gap_between(*(spoken(user, each) for each in held))
                every, unsure = every + gap, unsure or (bool(gap.delta) and not self.closed)
            yield place in self.answers.inside, self.whole[place], math.inf if unsure else every.epsilon


def _split(total: str, n: int, people: int) -> tuple[Fraction, Fraction]:
    """What an estimate of everything gives the degrees and the answers, where it asks for both."""
    plan = plan_for(ON_PLACES, total, n, absent=True, people=people)
    return plan.degree_epsilon, plan.row_epsilon


def lists_stage(
    whole: Pattern, people: int, n: int, total: str = "8", client: type[DegreeClient] = DegreeClient
) -> ListsStage:
    asked, first = asked_classes(whole, people, n), str(_split(total, n, people)[0])
    return ListsStage(asked, n, first, 2, client=client, whole=whole, people=people, total=total)


def audit_user(name: str, stages: Iterable[ListsStage], about: str) -> findings.Finding:
    """Everything that is sent about a position, by both its ends and in all answers."""
    return scope.finding_of(name, about, ((stage.losses(), stage.may_lose) for stage in stages))


def _lists_stages() -> Iterator[ListsStage]:
    for whole in small_worlds.patterns_up_to_names(3):
        for people in (1, 2):
            yield lists_stage(whole, people, 3)
    yield lists_stage((PRIVATE,) * 6, 2, 4)
    yield lists_stage((PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC, PRIVATE, PRIVATE), 2, 4)


def _everybody(client: DegreeClient) -> Any:
    return np.ones(client._view.count, np.bool_)


PlacesToo = findings.replaced(DegreeClient, holders=property(_everybody))
"""Places hold a list of their visitors and report its length, at the price at which people report theirs."""

# ── whole estimates, and what is run ──

VISITS = read_graph([(person, person * step % 4) for person in range(8) for step in (1, 3)], bipartite=True)
_MIXED = VisibilityPolicy.from_profiles({0: "public", "place 1": "public"}, rule="both")
WAYS: tuple[Way, ...] = (
    (POSITION, _MIXED, {}),
    (POSITION, _MIXED, {"rounds": 2}),
    (POSITION, _MIXED, {"sample_positions": "1/2", "statistics": ["edges", "place_degrees"]}),
    (USER, _MIXED, {}),
    (USER, _MIXED.guarded("3", "1/2"), {"dropout": 0.2}),
    (USER, _MIXED, {"statistics": ["edges", "people_degrees"]}),
    (USER, _MIXED, {"statistics": ["butterflies"]}),
)
BITS, LISTS, WHOLE = (f"people and places, {what}" for what in (POSITION.name, USER.name, "whole estimates"))
_SMALL = "all graphs of 3 nodes, some of 4, of either side; two of one side hold bits that nobody may tell of"
AUDITS = (
    findings.exact(BITS, lambda name: scope.audit_position(name, _bits_stages(), f"one round and two; {_SMALL}")),
    findings.exact(
        LISTS, lambda name: audit_user(name, _lists_stages(), f"degrees and answers; noise in a window; {_SMALL}")
    ),
    findings.exact(
        WHOLE,
        audit_estimates,
        WAYS,
        f"all rounds that are paid for, of {len(WAYS)} ways to estimate, and bills",
        VISITS,
    ),
)
_ALL_PRIVATE = (PRIVATE,) * 3
MUTANTS = (
    findings.exact(
        BITS,
        scope.audit_position,
        [bits_stage(_ALL_PRIVATE, 2, 3)],
        "",
        scope.asks_everybody,
        broken="two people are asked about each other",
    ),
    findings.exact(
        LISTS,
        audit_user,
        [lists_stage(_ALL_PRIVATE, 2, 3, client=PlacesToo)],
        "",
        broken="places report too, so that an edge pays twice",
    ),
)
