"""Let the clients of a survey answer on a graph we hold, through the bytes of their reports, and collect these.

Every protocol's clients are cut from the graph, answer every round and are collected by the code that campaigns use.
Where there is a seed, each client's random bytes follow from it, so that runs repeat whatever the order of the clients.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from visibility_aware_edge_ldp.aggregator.collection import COLLECTIONS, estimate
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.hubs import HubCollection
from visibility_aware_edge_ldp.aggregator.neighbourhood import NeighbourhoodCollection, bought_plan, capped_plan
from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
from visibility_aware_edge_ldp.aggregator.tiled import TiledCollection
from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import TwoHop, two_hop
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon, parse_share
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import endpoints, position_count
from visibility_aware_edge_ldp.public.private_hub_selection import NoisyHubs, hub_policy
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.surveys.base import Survey
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.hubs import HubSurvey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import FIRST_SHARE, neighbourhood_survey
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation import worlds

# Runs of positions that may be answered before they are needed: a few megabytes.
RUNS_AT_ONCE = 16
# How many positions of the answers take as long as one of a strip.
STRIP = 0.1


@dataclass(frozen=True)
class Simulated:
    """How the clients of a protocol are simulated in which everybody answers one survey on its own.

    Parameters
    ----------
    views
        From a graph and a survey to what each client holds, one after the other.
    purpose
        From a round to what names its random bytes.
    asked
        From a survey and a view to how many answer there; None where clients are users of the roster, for all of whom
        it is drawn at once who takes part.
    """

    views: Callable[[Any, Any], Iterator[Any]]
    purpose: Callable[[int], str]
    asked: Callable[[Any, Any], int] | None = None


SIMULATED = {
    "position": Simulated(
        lambda graph, survey: worlds.cut(graph), "round {}".format, asked=lambda survey, view: int(view.count)
    ),
    "sample": Simulated(
        worlds.cut_sample,
        "round {}".format,
        asked=lambda survey, view: int(survey.drawn.between(view.start, view.count).size),
    ),
    "degrees": Simulated(lambda graph, survey: worlds.cut_lists(graph), lambda number: "degrees"),
    "groups": Simulated(lambda graph, survey: worlds.cut_lists(graph), lambda number: "groups"),
    "histogram": Simulated(lambda graph, survey: worlds.cut_lists(graph), lambda number: "histogram"),
}
"""By the protocol's name. The protocols whose rounds hang together follow below, each with a function of its own."""


def exact_purse(survey: Survey) -> Purse:
    """Enough for one client's reports of all rounds of this survey, and nothing more."""
    return Purse(*_whole_price(survey))


def _whole_price(survey: Survey) -> tuple[dict[Visibility, Fraction], Fraction]:
    """What one client's reports of all rounds cost: per edge of each class, and the sum of all deltas."""
    prices = [survey.payment(number) for number in range(1, survey.rounds + 1)]
    epsilons = {kind: sum((each[kind].epsilon for each in prices), Fraction(0)) for kind in prices[0]}
    deltas = (max((price.delta for price in each.values()), default=Fraction(0)) for each in prices)
    return epsilons, sum(deltas, Fraction(0))


def through_bytes(name: str, report: Any, round_number: int = 1) -> Any:
    """The report as the aggregator reads it, from the bytes that leave the client."""
    layout = PROTOCOLS[name].layout(round_number)
    return layout.decode(layout.encode(report))


def reports(
    world: VisibilityAwareGraph,
    survey: Any,
    seed: int | str | None = None,
    dropout: float = 0.0,
    progress: worlds.Progress | None = None,
    by_rows: bool = False,
) -> Iterator[Any]:
    """What all clients of a survey send in every round, in order, through its bytes; ``progress`` counts positions.

    ``dropout`` is the chance that a position, or a user, never takes part, whatever its bits; ``by_rows``, that a user
    does with all positions of its row. Some clients answer while the reports of those before them are taken in.
    """
    steps, how = worlds.Steps(progress, world.public.positions), SIMULATED[survey.protocol]
    for sent in _ahead(answering(world, survey, seed, dropout, by_rows), how.views(world.whole, survey)):
        yield from sent
        steps(sent[0].count)


def answering(
    world: VisibilityAwareGraph,
    survey: Any,
    seed: int | str | None = None,
    dropout: float = 0.0,
    by_rows: bool = False,
) -> Callable[[Any], list[Any]]:
    """From a view to what its clients send in every round, as ``reports`` has it; with a seed the same each time."""
    name, random_bytes, price = survey.protocol, worlds.random_bytes_for(seed), _whole_price(survey)
    how = SIMULATED[name]
    users = (
        None if how.asked and not by_rows else worlds.who_is_present(world.graph.n, dropout, random_bytes("dropout", 0))
    )
    if world.whole.sample is not None:
        users = world.whole.sample.drawn

    def answers(view: Any) -> list[Any]:
        client = CLIENTS[name](view, world.public, Purse(*price))
        present = None if users is None else users[view.start : view.start + view.count]
        if by_rows:
            present = None if users is None else users[endpoints(world.graph.n, view.start, view.count)[0]]
        elif how.asked is not None:
            # Random bytes that nobody draws from take as long as some thousand answers.
            drawn = dropout and random_bytes("dropout", view.start)
            present = worlds.who_is_present(how.asked(survey, view), dropout, drawn) if drawn else None
        sent = []
        for number in range(1, survey.rounds + 1):
            report = client.answer(survey, number, random_bytes(how.purpose(number), view.start), present)
            sent.append(through_bytes(name, report, number))
            _ = sent[-1].digest  # kept with the report, and worked out here on all cores
        return sent

    return answers


def answers_in_order(
    client_of: Callable[[Any], Any], views: Iterator[Any], survey: Survey, random_bytes: worlds.RandomBytesFor
) -> Iterator[list[Any]]:
    """What each view's users send in every round, through its bytes, in order; everybody takes part."""

    def answers(view: Any) -> list[Any]:
        client, name, sent = client_of(view), survey.protocol, list[Any]()
        for number in range(1, survey.rounds + 1):
            report = client.answer(survey, number, random_bytes(SIMULATED[name].purpose(number), view.start))
            sent.append(through_bytes(name, report, number))
            _ = sent[-1].digest
        return sent

    return _ahead(answers, views)


def _ahead(answers: Callable[[Any], list[Any]], views: Iterator[Any]) -> Iterator[list[Any]]:
    """What each view answers, in order; some are being answered while those before them are taken in."""
    before: Iterable[list[Any]] = ()
    while batch := list(islice(views, RUNS_AT_ONCE)):
        following = on_cores(answers, batch)
        yield from before
        before = following
    yield from before


def buy_hubs(world: VisibilityAwareGraph, seed: int | str | None = None) -> VisibilityAwareGraph:
    """The world with its hubs chosen by everybody's noisy degree, paid for; a world that has its policy stays.

    Everybody reports its degree once, before anything is public; the policy keeps what that cost.  [HUBS.1-2, HUBS.4]
    """
    asked = world.policy.rule
    if world.policy.people is not None and isinstance(getattr(asked, "rule", None), NoisyHubs):
        raise BadPolicy("Places report no degree, so noisy degrees choose no hubs there; name them in a policy.toml.")
    if not isinstance(asked, NoisyHubs):
        return world
    nobody, guard = VisibilityPolicy.nothing(), world.policy.multipliers
    before = VisibilityAwareGraph(world.whole, nobody.guarded(guard.friend_visible, guard.private))
    label = None if seed is None else f"{seed} choice of hubs"
    reports = collect(before, degree_survey(before.public, asked.epsilon), label)
    chosen = hub_policy(before.public, reports.reported, asked.count, reports.releases, asked.rule)
    return VisibilityAwareGraph(world.whole, chosen)


def collect(
    world: VisibilityAwareGraph,
    survey: Any,
    seed: int | str | None = None,
    dropout: float = 0.0,
    progress: worlds.Progress | None = None,
    into: Callable[..., Any] | None = None,
    by_rows: bool = False,
) -> Any:
    """What all clients of a survey send, in the collection of its protocol, or in another one."""
    collection = (into or COLLECTIONS[survey.protocol])(survey, world.public)
    for report in reports(world, survey, seed, dropout, progress, by_rows):
        collection.absorb(report)
    return collection


def collect_tiles(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    path: str | Path,
    seed: int | str | None = None,
    steps: worlds.Steps | None = None,
) -> TiledCollection:
    """Every position answers, in order, with the same random bytes as in memory; ``steps`` counts positions."""
    with TiledCollection(survey, world.public, path) as collection:
        for report in reports(world, survey, seed):
            collection.absorb(report)
            if steps is not None:
                steps(report.count)
    return collection


def by_file(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    statistics: Sequence[str],
    effort: WorkBudget,
    folder: Path,
    *,
    keep_tiles: bool = False,
    seed: int | str | None = None,
    progress: worlds.Progress | None = None,
) -> tuple[TiledCollection, dict[str, Estimate]]:
    """What a collection in memory would find, from files in this folder; ``keep_tiles`` where workers read them.

    ``progress`` is told of answers, and then of the strips of the plane.
    """
    positions, sides = position_count(world.graph.n), -(-world.graph.n // SIDE)
    # A strip is written in about the time in which so many positions answer.
    strip = STRIP * SIDE * world.graph.n
    steps = worlds.Steps(progress, positions + strip * sides * 2)
    collection = collect_tiles(world, survey, folder / f"{uuid4().hex}.tiles", seed, steps)
    each = 2 * strip * sides / collection.strips
    scores = collection.group_scores(keep_tiles, lambda: steps(each))
    return collection, estimate(collection, statistics, effort, scores)


def collect_assigned_triangles(
    world: VisibilityAwareGraph,
    epsilon: Number,
    delta: Number = 0,
    cap: int | None = None,
    first_share: Number = FIRST_SHARE,
    seed: int | str | None = None,
    dropout: float = 0.0,
    leaving: float = 0.0,
) -> NeighbourhoodCollection:
    """Everybody reports its degree, the plan is made, and everybody counts; all goes through its bytes.

    ``epsilon`` is for both rounds together. ``cap`` asks for document 004's hard cap; the degrees then only tell how
    much it loses. ``dropout`` is the chance that a user never takes part, ``leaving`` that it leaves after the first
    round.
    """
    total, share = parse_epsilon(epsilon), parse_share(first_share, "the first round's share of epsilon")
    asked, rest = degree_survey(world.public, total * share), total * (1 - share)
    first = collect(world, asked, seed, dropout, into=DegreeCollection)
    plan = bought_plan(first, rest, delta) if cap is None else capped_plan(first, cap)
    survey = neighbourhood_survey(world.public, rest, plan)
    everybody, random_bytes = TwoHop(0, world.whole.edges, world.whole.n), worlds.random_bytes_for(seed)
    users = NeighbourhoodClient(everybody, world.public, exact_purse(survey), (first.survey, first.reported))
    staying = worlds.who_is_present(world.graph.n, leaving, random_bytes("leaving", 0))
    present = plan.reported & first.took_part & (True if staying is None else staying)
    report = users.answer(survey, 1, random_bytes("owned triangles", 0), present)
    collection = NeighbourhoodCollection(survey, world.public, first)
    collection.absorb(through_bytes(collection.protocol, report))
    return collection


def collect_hubs(
    world: VisibilityAwareGraph, survey: HubSurvey, seed: int | str | None = None, absent: Iterable[int] = ()
) -> HubCollection:
    """Every hub of the survey's plan answers, but for the nodes in ``absent``; all goes through its bytes."""
    random_bytes, graph, gone = worlds.random_bytes_for(seed), world.whole, set(absent)
    collection = HubCollection(survey, world.public)
    for place, node in enumerate(survey.plan.hubs):
        if node not in gone:
            hub = HubClient(two_hop(graph.n, graph.edges, node), world.public, exact_purse(survey))
            collection.absorb(through_bytes("hubs", hub.answer(survey, 1, random_bytes("hub", place))))
    return collection
