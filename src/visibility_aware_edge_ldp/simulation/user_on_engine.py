"""USER triangles of a simulation on an engine: a task is a block of users, and what comes back is their reports' bytes.

The first round is held here. Then every worker reads one file with the broadcast transcript and the users' lists: in a
simulation the workers *are* the clients, and see the truth. A block's coins are keyed by the run's key, the round and
the block, so that a task that is run again after a worker's death repeats its answer, and never draws fresh noise.
"""

from __future__ import annotations

import os
import pickle
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path

from visibility_aware_edge_ldp.aggregator.user_triangles import TriangleCollection
from visibility_aware_edge_ldp.client.user_triangles import FirstRound, RowHolders
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.codec import decode, encode
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.row_report import decode_rows, encode_rows
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.simulation.list_holders import cut_lists
from visibility_aware_edge_ldp.simulation.population import CoinsFor, coins_for, who_is_present
from visibility_aware_edge_ldp.simulation.progress import ANSWERS, NOBODY_LISTENS, ROWS, Phases, Steps
from visibility_aware_edge_ldp.simulation.row_holders import USERS_AT_ONCE, exact_purse
from visibility_aware_edge_ldp.subgraphs.engines import Workers


def collect_rows_on(
    engine: Workers,
    world: VisibilityAwareGraph,
    surveys: Mapping[str, TriangleSurvey],
    seed: int | str | None = None,
    dropout: float = 0.0,
    phases: Phases = NOBODY_LISTENS,
) -> dict[str, TriangleCollection]:
    """As ``row_holders.collect_rows``, with the second round on an engine; the same seed gives the same reports.

    Without a seed the run's key comes from the operating system, once, and leaves this process only in the file that
    the workers read.
    """
    if len({survey.first.identity for survey in surveys.values()}) != 1:
        raise ProtocolViolation("Surveys that are asked together share their first round; ask these one by one.")
    key = secrets.token_hex(32) if seed is None else seed
    clients = _Clients(world, dict(surveys), key, dropout)
    collections = {name: TriangleCollection(survey, world.public) for name, survey in surveys.items()}
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
    surveys: dict[str, TriangleSurvey]
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

    def answer(self, name: str, block: int) -> tuple[RowHolders, PositionReport]:
        """A block's users, who have answered the first round of a survey."""
        view, public = self.lists[block], self.world.public
        present = who_is_present(public.n, self.dropout, self.coins("dropout", 0))
        here = None if present is None else present[view.start : view.start + view.count]
        users = RowHolders(view, public, exact_purse(self.surveys))
        return users, users.answer(self.surveys[name], self.coins("row answers", view.start), here)

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
