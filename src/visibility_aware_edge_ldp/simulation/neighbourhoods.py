"""NEIGHBOURHOOD in a simulation: users, or public hubs, are given what they see, and answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.hub import HubCollection
from visibility_aware_edge_ldp.aggregator.neighbourhood import (
    NeighbourhoodCollection,
    bought_plan,
    capped_plan,
)
from visibility_aware_edge_ldp.aggregator.neighbourhood import estimate as estimate_owned
from visibility_aware_edge_ldp.aggregator.user_degrees import DegreeCollection
from visibility_aware_edge_ldp.client.hub import Hub
from visibility_aware_edge_ldp.client.neighbourhood import Neighbourhoods
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.two_hop import TwoHop, two_hop
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_epsilon, exact_share
from visibility_aware_edge_ldp.public.degree_survey import degree_survey
from visibility_aware_edge_ldp.public.hub_report import decode_hub, encode_hub
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey
from visibility_aware_edge_ldp.public.neighbourhood_report import decode_owned, encode_owned
from visibility_aware_edge_ldp.public.neighbourhood_survey import NeighbourhoodSurvey, neighbourhood_survey
from visibility_aware_edge_ldp.simulation.list_holders import collect_degrees
from visibility_aware_edge_ldp.simulation.population import coins_for, who_is_present

# What of epsilon buys the degrees that bound everybody's noise.
FIRST_SHARE = Fraction(1, 4)


@dataclass(frozen=True, eq=False)
class OwnedTriangles:
    """Both rounds of NEIGHBOURHOOD (a): the degrees that were bought, and the counts."""

    degrees: DegreeCollection
    collection: NeighbourhoodCollection

    @property
    def estimate(self) -> Estimate:
        """The number of triangles, with what both rounds cost."""
        return estimate_owned(self.collection, self.degrees)


def collect_owned_triangles(
    world: VisibilityAwareGraph,
    epsilon: Number,
    delta: Number = 0,
    cap: int | None = None,
    first_share: Number = FIRST_SHARE,
    seed: int | str | None = None,
    dropout: float = 0.0,
    leaving: float = 0.0,
) -> OwnedTriangles:
    """Everybody reports its degree, the plan is made, and everybody counts; all goes through the wire format.

    ``epsilon`` is for both rounds together. ``cap`` asks for document 004's hard cap; the degrees then only tell how
    much it loses. ``dropout`` is the chance that a user never takes part, ``leaving`` that it leaves after the first
    round.
    """
    total, share = exact_epsilon(epsilon), exact_share(first_share, "the first round's share of epsilon")
    degrees = collect_degrees(world, degree_survey(world.public, total * share), seed, dropout)
    rest = total * (1 - share)
    plan = bought_plan(degrees, rest, delta) if cap is None else capped_plan(degrees, cap)
    survey = neighbourhood_survey(world.public, rest, plan)
    return OwnedTriangles(degrees, _collect(world, survey, degrees, seed, leaving))


def _collect(
    world: VisibilityAwareGraph,
    survey: NeighbourhoodSurvey,
    degrees: DegreeCollection,
    seed: int | str | None,
    leaving: float,
) -> NeighbourhoodCollection:
    coins, n = coins_for(seed), world.graph.n
    everybody, first = TwoHop(0, world.graph.edges, n), (degrees.survey, degrees.reported)
    users = Neighbourhoods(everybody, world.public, exact_purse(survey), first)
    staying = who_is_present(n, leaving, coins("leaving", 0))
    present = survey.plan.heard & degrees.took_part
    present = present if staying is None else present & staying
    collection = NeighbourhoodCollection(survey, world.public)
    collection.absorb(decode_owned(encode_owned(users.owned(survey, coins("owned triangles", 0), present))))
    return collection


def collect_hubs(
    world: VisibilityAwareGraph, survey: HubSurvey, seed: int | str | None = None, absent: Collection[int] = ()
) -> HubCollection:
    """Every hub of the survey's plan answers, but for the nodes in ``absent``; all goes through the wire format."""
    coins, graph = coins_for(seed), world.graph
    collection = HubCollection(survey, world.public)
    for place, node in enumerate(survey.plan.hubs):
        if node not in absent:
            hub = Hub(two_hop(graph.n, graph.edges, node), world.public, exact_purse(survey))
            collection.absorb(decode_hub(encode_hub(hub.answer(survey, coins("hub", place)))))
    return collection


def exact_purse(survey: NeighbourhoodSurvey | HubSurvey) -> Purse:
    """Enough for this survey and nothing more."""
    prices = survey.price
    return Purse({kind: price.epsilon for kind, price in prices.items()}, max(p.delta for p in prices.values()))
