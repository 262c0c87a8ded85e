"""A population: cut a graph into views, and let each reporter answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.client.position import Respondent
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.mechanisms.entropy import Coins, keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.codec import decode, encode
from visibility_aware_edge_ldp.public.positions import TILE, numbers, position_count
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.truth.graph import Graph

CoinsFor = Callable[[str, int], Coins]


def cut(graph: Graph) -> Iterator[PositionBits]:
    """The views of all positions, a run of positions at a time."""
    total = position_count(graph.n)
    edges = numbers(graph.n, graph.edges[:, 0], graph.edges[:, 1])
    for start in range(0, total, TILE):
        bits = np.zeros(min(TILE, total - start), dtype=np.bool_)
        first, last = np.searchsorted(edges, [start, start + bits.size])
        bits[edges[first:last] - start] = True
        yield PositionBits(start, bits)


def coins_for(seed: int | str | None) -> CoinsFor:
    """Coins for each (purpose, run of positions): secret without a seed, repeatable with one."""
    if seed is None:
        return lambda purpose, start: secure_coins()
    return lambda purpose, start: keyed_coins(seeded_key(seed, purpose, start))


def collect(
    world: VisibilityAwareGraph, survey: PositionSurvey, seed: int | str | None = None, dropout: float = 0.0
) -> PositionCollection:
    """Every position answers every round; what is sent goes through the wire format.

    ``dropout`` is the chance that a position never takes part, whatever its bit.
    """
    coins = coins_for(seed)
    collection = PositionCollection(survey, world.public)
    for view in cut(world.graph):
        respondent = Respondent(view, world.public, _exact_purse(survey))
        present = who_is_present(view.bits.size, dropout, coins("dropout", view.start))
        for number in range(1, survey.rounds + 1):
            report = respondent.answer(survey, number, coins(f"round {number}", view.start), present)
            collection.absorb(decode(encode(report)))
    return collection


def _exact_purse(survey: PositionSurvey) -> Purse:
    """Enough for this survey and nothing more."""
    return Purse({kind: survey.multipliers.of(kind) * survey.epsilon for kind in NON_PUBLIC})


def who_is_present(count: int, dropout: float, coins: Coins) -> npt.NDArray[np.bool_] | None:
    """Who takes part, each by a coin of its own; None for everybody."""
    if not dropout:
        return None
    drawn = np.frombuffer(coins(4 * count), dtype="<u4")
    return drawn >= int(dropout * 2**32)
