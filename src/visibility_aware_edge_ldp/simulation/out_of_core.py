"""Runs that are larger than one process: answers in a file of tiles, and two-round users on an engine's workers.

Answers of more positions than memory holds go client by client into a file of tiles.

Of two-round users an engine's task is a block, and what comes back is their reports' bytes. The first round is held
here. Then every worker reads one file with the broadcast transcript and the users' lists: in a simulation the workers
*are* the clients, and see the truth. A block's random bytes are keyed by the run's key, the round and the block, so
that a task that is run again after a worker's death repeats its answer, and never draws fresh noise.
"""

import os
import pickle
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from uuid import uuid4

from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
from visibility_aware_edge_ldp.aggregator.streamed import TiledCollection
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.compute.engines.workers import Workers
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.positions import position_count
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey, decode, encode
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, decode_rows, encode_rows
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.simulation.execution import ANSWERS, NOBODY_LISTENS, ROWS, Phases, Progress, Steps
from visibility_aware_edge_ldp.simulation.simulate import USERS_AT_ONCE, reports, row_purse
from visibility_aware_edge_ldp.simulation.worlds import CoinsFor, coins_for, cut_lists, who_is_present

# How many positions of the answers take as long as one of a strip.
STRIP = 0.1


def collect_tiles(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    path: str | Path,
    seed: int | str | None = None,
    steps: Steps | None = None,
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
    progress: Progress | None = None,
) -> tuple[TiledCollection, dict[str, Estimate]]:
    """What a collection in memory would find, from files in this folder; ``keep_tiles`` where workers read them.

    ``progress`` is told of answers, and then of the strips of the plane.
    """
    positions, sides = position_count(world.graph.n), -(-world.graph.n // SIDE)
    # A strip is written in about the time in which so many positions answer.
    strip = STRIP * SIDE * world.graph.n
    steps = Steps(progress, positions + strip * sides * 2)
    collection = collect_tiles(world, survey, folder / f"{uuid4().hex}.tiles", seed, steps)
    each = 2 * strip * sides / collection.strips
    scores = collection.group_scores(keep_tiles, lambda: steps(each))
    return collection, estimate(collection, statistics, effort, scores)


def collect_rows_on(
    engine: Workers,
    world: VisibilityAwareGraph,
    surveys: Mapping[str, RowSurvey],
    seed: int | str | None = None,
    dropout: float = 0.0,
    phases: Phases = NOBODY_LISTENS,
) -> dict[str, RowCollection]:
    """As ``simulate.collect_rows``, with the second round on an engine; the same seed gives the same reports.

    Without a seed the run's key comes from the operating system, once, and leaves this process only in the file that
    the workers read.
    """
    if len({survey.first.identity for survey in surveys.values()}) != 1:
        raise ProtocolViolation("Surveys that are asked together share their first round; ask these one by one.")
    key = secrets.token_hex(32) if seed is None else seed
    clients = _Clients(world, dict(surveys), key, dropout)
    collections = {name: RowCollection(survey, world.public) for name, survey in surveys.items()}
    answered = Steps(phases.of(ANSWERS), len(clients.lists))
    for block in range(len(clients.lists)):
        for name, collection in collections.items():
            collection.absorb_answers(decode(encode(clients.answer(name, block)[1])))
        answered()
    clients.transcripts.update({name: each.close_first_round() for name, each in collections.items()})
    path = engine.folder() / f"{secrets.token_hex(8)}.clients"
    blocks = [(name, block) for name in surveys for block in range(len(clients.lists))]
    summed = Steps(phases.of(ROWS), len(blocks))
    try:
        # The lists and the key of the coins: for nobody else's eyes.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            pickle.dump(clients, file)
        for (name, _), sent in engine.each(partial(_second_report, path), blocks):
            collections[name].absorb(decode_rows(sent))
            summed()
    finally:
        path.unlink(missing_ok=True)
        _clients_in.cache_clear()
    return collections


@dataclass(frozen=True, eq=False)
class _Clients:
    """All users, as every worker has them: what they hold, what they heard, and the key of their coins."""

    world: VisibilityAwareGraph = field(repr=False)
    surveys: dict[str, RowSurvey]
    key: int | str = field(repr=False)
    dropout: float
    transcripts: dict[str, Transcript] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        """Without what can be worked out again; the graph and the policy make a world."""
        return _received, (self.world.graph, self.world.policy, self.surveys, self.key, self.dropout, self.transcripts)

    @cached_property
    def lists(self) -> list[FriendLists]:
        """The users' friend lists, block by block."""
        return list(cut_lists(self.world.graph, USERS_AT_ONCE))

    @cached_property
    def coins(self) -> CoinsFor:
        return coins_for(self.key)

    @cached_property
    def first_rounds(self) -> dict[str, FirstRound]:
        """What everybody makes of the transcripts."""
        heard = self.transcripts.items()
        return {name: FirstRound(self.surveys[name], self.world.public, transcript) for name, transcript in heard}

    def answer(self, name: str, block: int) -> tuple[TwoRoundClient, PositionReport]:
        """A block's users, who have answered the first round of a survey."""
        view, public = self.lists[block], self.world.public
        present = who_is_present(public.n, self.dropout, self.coins("dropout", 0))
        here = None if present is None else present[view.start : view.start + view.count]
        users = TwoRoundClient(view, public, row_purse(self.surveys))
        return users, users.answer(self.surveys[name], 1, self.coins("row answers", view.start), here)

    def total(self, name: str, block: int) -> bytes:
        """The second report of a block's users: the same however often it is asked for."""
        users, _ = self.answer(name, block)
        coins = self.coins(f"{name} sums", self.lists[block].start)
        return encode_rows(users.total(self.surveys[name], self.first_rounds[name], coins))


def _received(graph: object, policy: object, *rest: object) -> _Clients:
    return _Clients(VisibilityAwareGraph(graph, policy), *rest)  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def _clients_in(path: Path) -> _Clients:
    """Read once by each worker: the file is written by the run itself, in a folder that only its user may enter."""
    clients: _Clients = pickle.loads(path.read_bytes())  # noqa: S301
    return clients


def _second_report(path: Path, task: tuple[str, int]) -> bytes:
    """What a worker does."""
    return _clients_in(path).total(*task)
