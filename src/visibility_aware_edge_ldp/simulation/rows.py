"""USER rows in a simulation: both rounds of all users, in this process or on an engine's workers.

On an engine a task is a block of users, and what comes back is their reports' bytes. The first round is held here. Then
every worker reads one file with the broadcast transcript and the users' lists: in a simulation the workers *are* the
clients, and see the truth. A block's random bytes are keyed by the run's key, the round and the block, so that a task
that is run again after a worker's death repeats its answer, and never draws fresh noise.
"""

import os
import pickle
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from pathlib import Path

from visibility_aware_edge_ldp.aggregator.node_statistics.cycle_parts import CyclePartCollection
from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.compute.engines import Workers
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, decode, encode
from visibility_aware_edge_ldp.public.surveys.row_parts import CyclePartSurvey
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, decode_rows, encode_rows
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation import worlds

# Users of two-round surveys who answer together.
USERS_AT_ONCE = 1024


def collect_rows(
    world: VisibilityAwareGraph,
    surveys: Mapping[str, RowSurvey],
    seed: int | str | None = None,
    dropout: float = 0.0,
    phases: worlds.Phases = worlds.NOBODY_LISTENS,
) -> dict[str, RowCollection]:
    """Every user answers for its row once and then every survey's sum; what is sent goes through its bytes.

    Where 4-cycles are summed by parts all users sum together, so that each part is read once. The surveys share their
    first round. ``dropout`` is the chance that a user never takes part, whatever its list.
    """
    random_bytes = worlds.random_bytes_for(seed)
    by_parts = any(isinstance(survey, CyclePartSurvey) for survey in surveys.values())
    collections = {
        name: (CyclePartCollection if isinstance(survey, CyclePartSurvey) else RowCollection)(survey, world.public)
        for name, survey in surveys.items()
    }
    together, steps = (
        world.graph.n if by_parts else USERS_AT_ONCE,
        worlds.Steps(phases.of(worlds.ANSWERS), world.graph.n),
    )
    clients = _first_round(world, surveys, collections, random_bytes, dropout, steps, together)
    steps = worlds.Steps(phases.of(worlds.ROWS), len(surveys) * len(clients))
    for name, survey in surveys.items():
        first = FirstRound(survey, world.public, collections[name].close_first_round())
        # What all read of the transcript is worked out on one core, and its two names on another.
        reading: tuple[Callable[[], object], ...] = (first.prepared, partial(_name_answers, collections[name]))
        list(on_cores(lambda read: read(), reading))

        answer = partial(_second_answer, survey, first, random_bytes, f"{name} sums")
        for octets in on_cores(answer, clients):
            collections[name].absorb(decode_rows(octets))
            steps()
        if isinstance(given := collections[name], CyclePartCollection):
            given.most = first.parts.most  # clients and aggregator work out the same public numbers, here once
    return collections


def _name_answers(collection: RowCollection) -> None:
    """Hash the first answers: for what they cost, and for the second reports that name them."""
    _ = collection.releases, collection.close_first_round().digest


def _second_answer(
    survey: RowSurvey,
    first: FirstRound,
    random_bytes: worlds.RandomBytesFor,
    purpose: str,
    client: tuple[int, TwoRoundClient],
) -> bytes:
    """The bytes of a client's second report, drawn for the first of its users."""
    start, users = client
    return encode_rows(users.total(survey, first, random_bytes(purpose, start)))


def _first_round(
    world: VisibilityAwareGraph,
    surveys: Mapping[str, RowSurvey],
    collections: Mapping[str, RowCollection],
    random_bytes: worlds.RandomBytesFor,
    dropout: float,
    steps: worlds.Steps,
    together: int = USERS_AT_ONCE,
) -> list[tuple[int, TwoRoundClient]]:
    """The first user of each client with the client, once all of them have answered for their rows."""
    present = worlds.who_is_present(world.graph.n, dropout, random_bytes("dropout", 0)) if dropout else None
    cap = row_cap(surveys)

    def answer(view: FriendLists) -> tuple[TwoRoundClient, list[PositionReport]]:
        users = TwoRoundClient(view, world.public, Purse(*cap))
        here = None if present is None else present[view.start : view.start + view.count]
        each = (users.answer(survey, 1, random_bytes("row answers", view.start), here) for survey in surveys.values())
        sent = [decode(encode(report)) for report in each]
        for report in sent:
            _ = report.digest  # kept with the report, and worked out here on all cores
        return users, sent

    clients, views = [], list(worlds.cut_lists(world.whole, together))
    for view, (users, sent) in zip(views, on_cores(answer, views), strict=True):
        for name, report in zip(surveys, sent, strict=True):
            collections[name].absorb_answers(report)
        clients.append((view.start, users))
        steps(view.count)
    return clients


def row_purse(surveys: Mapping[str, RowSurvey]) -> Purse:
    """Enough for these surveys, which share their first round, and nothing more."""
    return Purse(*row_cap(surveys))


def row_cap(surveys: Mapping[str, RowSurvey]) -> tuple[dict[Visibility, Fraction], Fraction]:
    """What such a purse holds, for an edge of each class and in δ."""
    one = next(iter(surveys.values()))
    whole = one.first.epsilon + sum((survey.reach + survey.total for survey in surveys.values()), Fraction(0))
    delta = sum((survey.price(NON_PUBLIC[0], 2).delta for survey in surveys.values()), Fraction(0))
    return {kind: one.multipliers.of(kind) * whole for kind in NON_PUBLIC}, delta


def collect_rows_on(
    engine: Workers,
    world: VisibilityAwareGraph,
    surveys: Mapping[str, RowSurvey],
    seed: int | str | None = None,
    dropout: float = 0.0,
    phases: worlds.Phases = worlds.NOBODY_LISTENS,
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
    _first_round(
        world,
        surveys,
        collections,
        clients.random_bytes,
        dropout,
        worlds.Steps(phases.of(worlds.ANSWERS), world.graph.n),
    )
    clients.transcripts.update({name: each.close_first_round() for name, each in collections.items()})
    path = engine.folder() / f"{secrets.token_hex(8)}.clients"
    blocks = [(name, block) for name in surveys for block in range(len(clients.lists))]
    summed = worlds.Steps(phases.of(worlds.ROWS), len(blocks))
    try:
        # The lists and the key of the random bytes: for nobody else's eyes.
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
    """All users, as every worker has them: their lists, the broadcast, and the key of their random bytes."""

    world: VisibilityAwareGraph = field(repr=False)
    surveys: dict[str, RowSurvey]
    key: int | str = field(repr=False)
    dropout: float
    transcripts: dict[str, Transcript] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        """Without what can be worked out again; the graph and the policy make a world."""
        return _received, (self.world.whole, self.world.policy, self.surveys, self.key, self.dropout, self.transcripts)

    @cached_property
    def lists(self) -> list[FriendLists]:
        """The users' friend lists, block by block."""
        return list(worlds.cut_lists(self.world.whole, USERS_AT_ONCE))

    @cached_property
    def random_bytes(self) -> worlds.RandomBytesFor:
        return worlds.random_bytes_for(self.key)

    @cached_property
    def first_rounds(self) -> dict[str, FirstRound]:
        """What everybody makes of the transcripts."""
        broadcast = self.transcripts.items()
        return {name: FirstRound(self.surveys[name], self.world.public, transcript) for name, transcript in broadcast}

    def answer(self, name: str, block: int) -> tuple[TwoRoundClient, PositionReport]:
        """A block's users, who have answered the first round of a survey."""
        view, public = self.lists[block], self.world.public
        present = worlds.who_is_present(public.n, self.dropout, self.random_bytes("dropout", 0))
        here = None if present is None else present[view.start : view.start + view.count]
        users = TwoRoundClient(view, public, row_purse(self.surveys))
        return users, users.answer(self.surveys[name], 1, self.random_bytes("row answers", view.start), here)

    def total(self, name: str, block: int) -> bytes:
        """The second report of a block's users: the same however often it is asked for."""
        client = self.lists[block].start, self.answer(name, block)[0]
        return _second_answer(self.surveys[name], self.first_rounds[name], self.random_bytes, f"{name} sums", client)


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
