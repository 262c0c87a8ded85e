"""Answers of more positions than memory holds: client by client into a file of tiles."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from visibility_aware_edge_ldp.aggregator.tiled import TiledCollection
from visibility_aware_edge_ldp.client.position import Respondent
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.codec import decode, encode
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.population import coins_for, cut


def collect_tiles(
    world: VisibilityAwareGraph, survey: PositionSurvey, path: str | Path, seed: int | str | None = None
) -> TiledCollection:
    """Every position answers, in order, as in ``population.collect`` and with the same coins."""
    with TiledCollection(survey, world.public, path) as collection:
        for sent in _sent(world, survey, seed):
            collection.absorb(decode(sent))
    return collection


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
