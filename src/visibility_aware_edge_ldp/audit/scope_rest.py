"""A scope, and a sample of the rest: both collections as `estimate` asks them, and all their reports together.

A position that is asked, inside or because it was drawn, loses what its class may, once; any other nothing.  [SCOPE.7]
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import product
from typing import Any

from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law
from visibility_aware_edge_ldp.audit.engine.small_worlds import Pattern, World, positions
from visibility_aware_edge_ldp.audit.protocols import position
from visibility_aware_edge_ldp.audit.protocols.scope import Inside, Lost, Walk, finding_of, scopes
from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.scope import named_scope
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.execution import Request
from visibility_aware_edge_ldp.simulation.options import PositionOptions
from visibility_aware_edge_ldp.simulation.scope_rest import with_rest
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.graph import Graph

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
HIDDEN = (PRIVATE,) * 3
MIXED = (FRIEND_VISIBLE, PRIVATE, PRIVATE)


@dataclass(frozen=True)
class Collection(position.Stage):
    """One collection as the program asks it: what everybody knows there, and the survey."""

    public: PublicView = field(kw_only=True)
    asks: PositionSurvey = field(kw_only=True)

    @property
    def view(self) -> PublicView:
        return self.public

    @property
    def survey(self) -> PositionSurvey:
        return self.asks

    @property
    def places(self) -> Inside:
        """The positions that answer: those with a class that are drawn."""
        return frozenset(place for place, kind in enumerate(self.pattern) if kind and place in self.drawn)


@dataclass(frozen=True)
class RestCase:
    """A policy's classes, a scope of them, and how the rest is asked: its share, the seed of its coin, rounds."""

    whole: Pattern
    n: int
    inside: Inside
    share: str = "1/2"
    seed: int = 1
    rounds: int = 1
    guard: small_worlds.Guard = ("2", "1")

    @cached_property
    def billed(self) -> dict[Visibility, Fraction]:
        """What each class may lose, or what the certificate bills if that is less."""
        found = with_rest(self.request(tuple(int(not kind) for kind in self.whole)), collect).certificate.bill
        agreed = small_worlds.view_of(self.whole, self.n, self.guard).policy.multipliers
        bill = {kind: found[kind].epsilon if kind in found else Fraction(0) for kind in NON_PUBLIC}
        return {kind: min(agreed.of(kind), paid) for kind, paid in bill.items()}

    def request(self, world: World) -> Request:
        """What `estimate --rest sample:S` is asked in this world."""
        pairs, policy = positions(self.n), small_worlds.view_of(self.whole, self.n, self.guard).policy
        scope = named_scope(range(self.n), [pairs[place] for place in sorted(self.inside)])
        graph = Graph(tuple(range(self.n)), small_worlds.edges_of(world, self.n))
        options = PositionOptions(rounds=self.rounds, rest=f"sample:{self.share}")
        return Request(VisibilityAwareGraph(graph, policy.within(scope)), 1, ("edges",), options, seed=self.seed)

    def collection(self, public: PublicView, survey: PositionSurvey) -> Collection:
        """The stage on which the clients of one survey answer."""
        kinds = tuple(Visibility(int(kind)) for kind in public.classes.range(0, len(self.whole)))
        encode, rounds = PROTOCOLS[survey.protocol].layout(1).encode, tuple(range(1, self.rounds + 1))
        client: Any = CLIENTS[survey.protocol]
        return Collection(kinds, self.n, asked=rounds, client=client, encode=encode, public=public, asks=survey)


Asks = Callable[[RestCase, World], list[Collection]]
"""What is asked of everybody in a world."""


def both_collections(case: RestCase, world: World) -> list[Collection]:
    """Inside and outside, as `estimate` asks them in this world."""
    heard = list[Collection]()

    def collected(each: VisibilityAwareGraph, survey: Any, *given: Any, **more: Any) -> Any:
        heard.append(case.collection(each.public, survey))
        return collect(each, survey, *given, **more)

    with_rest(case.request(world), collected)
    return heard


def law_of_both(collections: Iterable[Collection], world: World) -> Law:
    """Of all reports of all collections together, whose clients are others and throw coins of their own."""
    both: Law = {b"": Fraction(1)}
    for law in (position.conversation(each, world) for each in collections):
        both = {before + said: first * chance for (before, first), (said, chance) in product(both.items(), law.items())}
    return both


def rest_losses(case: RestCase, asks: Asks) -> Iterator[Lost]:
    """For every two worlds that differ at one position: whether that is asked, its class, and what it lost."""
    asked = cache(partial(asks, case))
    spoken = cache(lambda world: findings.Spoken(law_of_both(asked(world), world)))
    for world, other, place in small_worlds.neighbours(case.whole):
        gap = findings.gap_between(spoken(world), spoken(other))
        answers = any(place in each.places for each in asked(world))
        yield answers, case.whole[place], math.inf if gap.delta else gap.epsilon


def audit_rest(name: str, cases: Iterable[RestCase], about: str, asks: Asks = both_collections) -> findings.Finding:
    """All reports of both collections, beside what a class may lose once; where nobody is asked, nothing is lost."""

    def walks() -> Iterator[Walk]:
        for case in cases:
            yield rest_losses(case, asks), case.billed.__getitem__

    return finding_of(name, about, walks())


def _rest_cases() -> Iterator[RestCase]:
    for whole, inside in product(small_worlds.patterns_up_to_names(3), scopes(3)):
        yield RestCase(whole, 3, inside)
    for inside, seed in product(map(frozenset, ({0}, {0, 1})), range(4)):
        yield RestCase(MIXED, 3, inside, "2/3", seed, 2, ("3", "1/2"))
    yield RestCase((PRIVATE,) * 6, 4, frozenset({0, 1, 3}))


def asks_inside_too(case: RestCase, world: World) -> list[Collection]:
    """A mutant: the sample is drawn from all positions, those inside the scope among them."""
    inner, _ = both_collections(case, world)
    view = VisibilityAwareGraph(case.request(world).world.whole, inner.view.policy.without_scope).public
    return [inner, case.collection(view, position_survey(view, 1, case.rounds, sample="3/4", coin="heads"))]


def coin_of_edges(case: RestCase, world: World) -> list[Collection]:
    """A mutant: the coin that draws the sample is made of the graph's edges."""
    inner, outer = both_collections(case, world)
    survey = position_survey(outer.view, 1, case.rounds, sample=case.share, coin=f"{world}")
    return [inner, case.collection(outer.view, survey)]


# ── what is run ──

REST = "scope, position with a sample of the rest"
AUDITS = (
    findings.exact(
        REST,
        lambda name, about: audit_rest(name, _rest_cases(), about),
        "all reports of both collections as estimate asks them: every scope and graph of 3 nodes, one round and two",
    ),
)
_BOTH = RestCase(HIDDEN, 3, frozenset({0, 1}))
MUTANTS = (
    findings.exact(REST, audit_rest, [_BOTH], "", asks_inside_too, broken="the sample is drawn inside the scope too"),
    findings.exact(REST, audit_rest, [_BOTH], "", coin_of_edges, broken="the sample's coin is made of the edges"),
)
