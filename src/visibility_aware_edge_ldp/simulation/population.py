"""A population: cut a graph into views, and let each reporter answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.client.position import Respondent
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.kernels.cores import on_cores
from visibility_aware_edge_ldp.mechanisms.entropy import Coins, keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.codec import decode, encode
from visibility_aware_edge_ldp.public.positions import TILE, Ints, numbers, position_count
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.progress import Progress, Steps
from visibility_aware_edge_ldp.truth.graph import Graph

CoinsFor = Callable[[str, int], Coins]
# Runs of positions that may be answered before they are needed: a few megabytes.
RUNS_AT_ONCE = 16


def cut(graph: Graph) -> Iterator[PositionBits]:
    """The views of all positions, a run of positions at a time."""
    total = position_count(graph.n)
    octets, ones = _packed_edges(numbers(graph.n, graph.edges[:, 0], graph.edges[:, 1]))
    for start in range(0, total, TILE):
        count = min(TILE, total - start)
        packed = np.zeros((count + 7) // 8, np.uint8)
        first, last = np.searchsorted(octets, [start // 8, start // 8 + packed.size])
        packed[octets[first:last] - start // 8] = ones[first:last]
        yield PositionBits.of_packed(start, count, packed)


def _packed_edges(edges: Ints) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """From the sorted numbers of edges: which octets of packed bits hold ones, and what these octets are."""
    octets = edges >> 3
    lasts = np.flatnonzero(np.append(octets[1:] != octets[:-1], octets.size > 0))
    # Different bits of one octet add up; what all edges up to each octet's last add up to is quickly had.
    sums = np.cumsum(1 << (edges & 7))[lasts]
    return octets[lasts], np.diff(sums, prepend=0).astype(np.uint8)


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
    collection = PositionCollection(survey, world.public)
    for report in reports(world, survey, seed, dropout):
        collection.absorb(report)
    return collection


def reports(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    seed: int | str | None = None,
    dropout: float = 0.0,
    progress: Progress | None = None,
) -> Iterator[PositionReport]:
    """What every position sends in every round, in order, through the wire format; ``progress`` hears of positions."""
    coins, steps = coins_for(seed), Steps(progress, position_count(world.graph.n))

    def answers(view: PositionBits) -> list[PositionReport]:
        respondent = Respondent(view, world.public, exact_purse(survey))
        present = who_is_present(view.count, dropout, coins("dropout", view.start))
        sent = [
            decode(encode(respondent.answer(survey, number, coins(f"round {number}", view.start), present)))
            for number in range(1, survey.rounds + 1)
        ]
        for report in sent:
            _ = report.digest  # kept with the report, and worked out here on all cores
        return sent

    for sent in _ahead(answers, cut(world.graph)):
        yield from sent
        steps(sent[0].count)


def _ahead(
    answers: Callable[[PositionBits], list[PositionReport]], views: Iterator[PositionBits]
) -> Iterator[list[PositionReport]]:
    """What each view answers, in order; some are being answered while those before them are taken in."""
    before: Iterable[list[PositionReport]] = ()
    while batch := list(islice(views, RUNS_AT_ONCE)):
        following = on_cores(answers, batch)
        yield from before
        before = following
    yield from before


def exact_purse(survey: PositionSurvey) -> Purse:
    """Enough for this survey and nothing more."""
    return Purse({kind: survey.multipliers.of(kind) * survey.epsilon for kind in NON_PUBLIC})


def who_is_present(count: int, dropout: float, coins: Coins) -> npt.NDArray[np.bool_] | None:
    """Who takes part, each by a coin of its own; None for everybody."""
    if not dropout:
        return None
    drawn = np.frombuffer(coins(4 * count), dtype="<u4")
    return drawn >= int(dropout * 2**32)
