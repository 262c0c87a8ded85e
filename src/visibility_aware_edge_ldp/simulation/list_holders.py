"""Holders of friend lists in a simulation: cut a graph into lists, and let each user report its degree."""

from __future__ import annotations

from collections.abc import Iterator

from visibility_aware_edge_ldp.aggregator.user_degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.user_histogram import HistogramCollection
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_degrees import ListHolders
from visibility_aware_edge_ldp.client.user_histogram import DegreeHolders
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public import histogram_report
from visibility_aware_edge_ldp.public.degree_report import decode, encode
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey
from visibility_aware_edge_ldp.public.histogram_survey import HistogramSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.population import coins_for, who_is_present
from visibility_aware_edge_ldp.truth.graph import Graph

USERS_PER_VIEW = 1 << 16


def cut_lists(graph: Graph, users_per_view: int = USERS_PER_VIEW) -> Iterator[FriendLists]:
    """The friend lists of all users, so many users at a time."""
    starts, friends = choice.row_kernels().lists_of(graph.edges, graph.degrees)
    for first in range(0, graph.n, users_per_view):
        offsets = starts[first : min(first + users_per_view, graph.n) + 1]
        yield FriendLists(first, offsets - offsets[0], friends[offsets[0] : offsets[-1]])


def collect_degrees(
    world: VisibilityAwareGraph, survey: DegreeSurvey, seed: int | str | None = None, dropout: float = 0.0
) -> DegreeCollection:
    """Every user reports its degree; what is sent goes through the wire format.

    ``dropout`` is the chance that a user never takes part, whatever its list.
    """
    coins = coins_for(seed)
    here = who_is_present(world.graph.n, dropout, coins("dropout", 0))
    collection = DegreeCollection(survey, world.public)
    for view in cut_lists(world.graph):
        holders = ListHolders(view, world.public, exact_purse(survey))
        present = None if here is None else here[view.start : view.start + view.count]
        report = holders.degrees(survey, coins("degrees", view.start), present)
        collection.absorb(decode(encode(report)))
    return collection


def collect_histogram(
    world: VisibilityAwareGraph, survey: HistogramSurvey, seed: int | str | None = None, dropout: float = 0.0
) -> HistogramCollection:
    """Every user tells the bin of its degree and hides the whole of it; through the wire format, as above."""
    coins = coins_for(seed)
    here = who_is_present(world.graph.n, dropout, coins("dropout", 0))
    collection = HistogramCollection(survey, world.public)
    for view in cut_lists(world.graph):
        holders = DegreeHolders(view, world.public, Purse(dict.fromkeys(NON_PUBLIC, survey.list_price.epsilon)))
        present = None if here is None else here[view.start : view.start + view.count]
        report = holders.bins(survey, coins("histogram", view.start), present)
        collection.absorb(histogram_report.decode(histogram_report.encode(report)))
    return collection


def exact_purse(survey: DegreeSurvey) -> Purse:
    """What one holder's report costs and nothing more: half of what an edge loses."""
    return Purse({kind: survey.list_price(kind).epsilon for kind in survey.classes})
