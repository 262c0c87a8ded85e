"""POSITION in a simulation, with a sample of positions that a public coin draws.  [SAMPLE.1-5]"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from visibility_aware_edge_ldp.aggregator import position, sampled
from visibility_aware_edge_ldp.aggregator.answers import Answers, Certificate
from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.sampled import MOST_POSITIONS, SampledCollection, bytes_needed
from visibility_aware_edge_ldp.client.sampled import PositionEdges, SampledRespondent
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.entropy import seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.public.codec import decode_sampled, encode_sampled
from visibility_aware_edge_ldp.public.positions import numbers
from visibility_aware_edge_ldp.public.report import SampledReport
from visibility_aware_edge_ldp.public.survey import PositionSurvey, position_survey
from visibility_aware_edge_ldp.simulation import memory
from visibility_aware_edge_ldp.simulation.by_position import TRUST_WORDS
from visibility_aware_edge_ldp.simulation.population import coins_for, exact_purse, who_is_present
from visibility_aware_edge_ldp.simulation.progress import Progress, Steps
from visibility_aware_edge_ldp.simulation.worlds import assumptions_of
from visibility_aware_edge_ldp.subgraphs.statistic import check_statistics
from visibility_aware_edge_ldp.truth.graph import Graph

# Below this share lists are faster than a bit for every position.
LISTED_BELOW = 1 / 8
COIN_ASSUMPTION = "the coin of the sample was public before anybody answered, and hangs on no bit"


def by_sample(
    world: VisibilityAwareGraph,
    epsilon: Number,
    statistics: Sequence[str],
    sample_positions: Number,
    *,
    rounds: int = 1,
    dropout: float = 0.0,
    seed: int | str | None = None,
    progress: Progress | None = None,
) -> Answers:
    """Every non-public position that a public coin draws answers by randomized response in each round.

    The coin is new for each run, and follows from the seed where there is one. ``progress`` hears of answers.
    """
    coin = os.urandom(16).hex() if seed is None else seeded_key(seed, "coin of a sample").hex()
    survey = position_survey(world.public, epsilon, rounds, sample=sample_positions, coin=coin)
    if survey.sample is None:
        raise BadInput("With a share of 1 every position is asked; leave the sample out.")
    wanted = check_statistics(statistics, world.graph.n)
    lists = by_lists(survey, wanted)
    _refuse_too_large(world, survey, lists)
    if lists:
        listed = collect_lists(world, survey, seed, dropout, progress)
        found = sampled.estimate(listed, wanted)
        return Answers(found, _certificate(world, listed, seed is not None))
    whole = collect_planes(world, survey, seed, dropout, progress)
    return Answers(position.estimate(whole, wanted), _certificate(world, whole, seed is not None))


def by_lists(survey: PositionSurvey, statistics: Sequence[str]) -> bool:
    """Whether lists of the drawn positions are better than a bit for every position; 4-cycles need the bits."""
    positions = survey.nodes * (survey.nodes - 1) // 2
    return positions > MOST_POSITIONS or (survey.rate <= LISTED_BELOW and "four_cycles" not in statistics)


def _refuse_too_large(world: VisibilityAwareGraph, survey: PositionSurvey, lists: bool) -> None:
    """Say before the work starts that it does not fit, and what would."""
    n, m, rounds = world.graph.n, world.graph.m, survey.rounds
    if lists:
        octets = bytes_needed(n, survey.rate, len(world.public.edges), rounds)
        fits = float(survey.rate) * memory.available_bytes() / octets / 2
        need = memory.graph_need(n, m).plus("lists of the sample", octets)
        memory.refuse(n, need, f"Sample fewer of them, about --sample-positions {fits:.1g}.")
    else:
        need = memory.by_planes(n, m, 1 + 2 * (rounds + 1), rounds, pairs=True)
        memory.refuse(n, need, f"Sample fewer positions, --sample-positions {float(LISTED_BELOW):g}, without 4-cycles.")


def collect_lists(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    seed: int | str | None = None,
    dropout: float = 0.0,
    progress: Progress | None = None,
) -> SampledCollection:
    """Every drawn position answers every round, into lists."""
    collection = SampledCollection(survey, world.public)
    for report in reports(world, survey, seed, dropout, progress):
        collection.absorb(report)
    return collection


def collect_planes(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    seed: int | str | None = None,
    dropout: float = 0.0,
    progress: Progress | None = None,
) -> PositionCollection:
    """The same answers, with a bit for every position."""
    collection = PositionCollection(survey, world.public)
    for report in reports(world, survey, seed, dropout, progress):
        collection.absorb(report)
    return collection


def reports(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    seed: int | str | None = None,
    dropout: float = 0.0,
    progress: Progress | None = None,
) -> Iterator[SampledReport]:
    """Of every tile of the coin, round after round, through the wire format."""
    coins, steps = coins_for(seed), Steps(progress, survey.drawn.positions)
    for view in runs(world.graph, survey):
        respondent = SampledRespondent(view, world.public, exact_purse(survey))
        drawn = survey.drawn.between(view.start, view.count).size
        present = who_is_present(drawn, dropout, coins("dropout", view.start))
        for number in range(1, survey.rounds + 1):
            report = respondent.answer(survey, number, coins(f"round {number}", view.start), present)
            yield decode_sampled(encode_sampled(report))
        steps(view.count)


def runs(graph: Graph, survey: PositionSurvey) -> Iterator[PositionEdges]:
    """The views of all positions, a tile of the coin at a time."""
    edges, tile = np.sort(numbers(graph.n, graph.edges[:, 0], graph.edges[:, 1])), survey.drawn.tile
    for start in range(0, survey.drawn.positions, tile):
        count = min(tile, survey.drawn.positions - start)
        inside = slice(*np.searchsorted(edges, [start, start + count]))
        yield PositionEdges(start, count, edges[inside])


def _certificate(
    world: VisibilityAwareGraph, collection: PositionCollection | SampledCollection, simulated: bool
) -> Certificate:
    survey = collection.survey
    return Certificate(
        trust="POSITION",
        trust_words=TRUST_WORDS,
        bill=Bill((*world.policy.paid, *survey.releases)),
        paid=world.policy.paid,
        policy=str(world.public.policy),
        classes={str(kind): size for kind, size in collection.asked_sizes.items() if size},
        response={str(kind): rate for kind, rate in collection.response_rates().items()},
        assumptions=(*assumptions_of(world), COIN_ASSUMPTION),
        simulated=simulated,
        notes=(
            f"A public coin drew {float(survey.rate):.3g} of the positions; those counted above were asked, and the "
            "others lost nothing. An edge that was asked loses no less for the sample",
        ),
    )
