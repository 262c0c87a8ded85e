"""Answers of more positions than memory holds: client by client into a file of tiles."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from uuid import uuid4

from visibility_aware_edge_ldp.aggregator.effort import Effort
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.position import estimate
from visibility_aware_edge_ldp.aggregator.tiled import TiledCollection
from visibility_aware_edge_ldp.client.position import Respondent
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.kernels.tiles import SIDE
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.codec import decode, encode
from visibility_aware_edge_ldp.public.positions import position_count
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.population import coins_for, cut
from visibility_aware_edge_ldp.simulation.progress import Progress, Steps

# How many positions of the answers take as long as one of a strip.
STRIP = 0.1


def collect_tiles(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    path: str | Path,
    seed: int | str | None = None,
    steps: Steps | None = None,
) -> TiledCollection:
    """Every position answers, in order, as in ``population.collect`` and with the same coins.

    ``steps`` hears of positions.
    """
    with TiledCollection(survey, world.public, path) as collection:
        for sent in _sent(world, survey, seed):
            report = decode(sent)
            collection.absorb(report)
            if steps is not None:
                steps(report.count)
    return collection


def by_file(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    statistics: Sequence[str],
    effort: Effort,
    folder: Path,
    *,
    keep_tiles: bool = False,
    seed: int | str | None = None,
    progress: Progress | None = None,
) -> tuple[TiledCollection, dict[str, Estimate]]:
    """What a collection in memory would find, from files in this folder; ``keep_tiles`` where workers read them.

    ``progress`` hears of answers, and then of the strips of the plane.
    """
    positions, sides = position_count(world.graph.n), -(-world.graph.n // SIDE)
    # A strip is written in about the time in which so many positions answer.
    strip = STRIP * SIDE * world.graph.n
    steps = Steps(progress, positions + strip * sides * 2)
    collection = collect_tiles(world, survey, folder / f"{uuid4().hex}.tiles", seed, steps)
    each = 2 * strip * sides / collection.strips
    scores = collection.kind_scores(keep_tiles, lambda: steps(each))
    return collection, estimate(collection, statistics, effort, scores)


def _sent(world: VisibilityAwareGraph, survey: PositionSurvey, seed: int | str | None) -> Iterator[bytes]:
    """All reports in the order of their positions; each core makes the next ones while these are taken in."""
    coins, cores = coins_for(seed), os.cpu_count() or 1
    _ = world.public.classes, survey.identity  # worked out once, before the threads start

    def one(view: PositionBits) -> bytes:
        purse = Purse({kind: survey.multipliers.of(kind) * survey.epsilon for kind in NON_PUBLIC})
        return encode(Respondent(view, world.public, purse).answer(survey, 1, coins("round 1", view.start)))

    with ThreadPoolExecutor(cores) as pool:
        views = cut(world.graph)
        waiting: deque[Future[bytes]] = deque(pool.submit(one, view) for view in islice(views, 4 * cores))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(one, view) for view in islice(views, 1))
