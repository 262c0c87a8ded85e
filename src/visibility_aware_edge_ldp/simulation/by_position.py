"""POSITION in a simulation: every position answers, and everything is estimated from the same answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from visibility_aware_edge_ldp.aggregator import streamed
from visibility_aware_edge_ldp.aggregator.answers import Answers, Certificate
from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.effort import AUTOMATIC, Effort
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.ipw import estimate_ipw_capped
from visibility_aware_edge_ldp.aggregator.position import estimate as estimate_position
from visibility_aware_edge_ldp.aggregator.streamed import StreamedCollection
from visibility_aware_edge_ldp.aggregator.tiled import TiledCollection
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.public.survey import position_survey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.population import reports
from visibility_aware_edge_ldp.simulation.progress import Progress
from visibility_aware_edge_ldp.simulation.streamed import collect_streamed
from visibility_aware_edge_ldp.simulation.tiled import by_file
from visibility_aware_edge_ldp.simulation.worlds import assumptions_of

TRUST_WORDS = "one reporter holds one bit and randomizes it before it is sent; the aggregator is not trusted."
ESTIMATORS = ("unbiased", "ipw_capped")


def by_position(
    world: VisibilityAwareGraph,
    epsilon: Number,
    statistics: Sequence[str],
    *,
    rounds: int = 1,
    dropout: float = 0.0,
    estimator: str = "unbiased",
    seed: int | str | None = None,
    effort: Effort = AUTOMATIC,
    progress: Progress | None = None,
    folder: Path | None = None,
    keep_tiles: bool = False,
) -> Answers:
    """Every non-public position answers by randomized response in each round.

    Where counts for each node suffice, answers are counted as they come and not kept; with a ``folder`` they are kept
    in files there, for which see ``tiled.by_file``. ``progress`` hears of answers.
    """
    if estimator not in ESTIMATORS:
        raise BadInput(f"{estimator!r} is not an estimator; use {' or '.join(ESTIMATORS)}.")
    survey = position_survey(world.public, epsilon, rounds)
    if estimator == "unbiased" and set(statistics) <= set(streamed.STATISTICS):
        counted = collect_streamed(world, survey, seed, dropout, progress)
        return _answers(world, counted, counted.class_sizes, streamed.estimate(counted, statistics), seed)
    if folder is not None:
        filed, found = by_file(
            world, survey, statistics, effort, folder, keep_tiles=keep_tiles, seed=seed, progress=progress
        )
        return _answers(world, filed, filed.class_sizes, found, seed)
    collection = PositionCollection(survey, world.public)
    for report in reports(world, survey, seed, dropout, progress):
        collection.absorb(report)
    found = (
        estimate_position(collection, statistics, effort)
        if estimator == "unbiased"
        else estimate_ipw_capped(collection, statistics)
    )
    return _answers(world, collection, world.public.class_sizes, found, seed)


def _answers(
    world: VisibilityAwareGraph,
    collection: PositionCollection | StreamedCollection | TiledCollection,
    sizes: Mapping[Visibility, int],
    found: dict[str, Estimate],
    seed: int | str | None,
) -> Answers:
    certificate = Certificate(
        trust="POSITION",
        trust_words=TRUST_WORDS,
        bill=Bill((*world.policy.paid, *collection.survey.releases)),
        paid=world.policy.paid,
        policy=str(world.policy),
        classes={str(kind): size for kind, size in sizes.items() if size},
        response={str(kind): rate for kind, rate in collection.response_rates().items()},
        assumptions=assumptions_of(world),
        simulated=seed is not None,
    )
    return Answers(found, certificate)
