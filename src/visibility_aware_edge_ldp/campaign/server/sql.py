"""A store in tables: what to read and write, whatever the database is."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import count
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from visibility_aware_edge_ldp.campaign.server.stages import Arrived, Slot, Stage, State
from visibility_aware_edge_ldp.campaign.server.store import (
    IN_ORDER,
    META,
    Outcome,
    RootOf,
    StoreUnavailable,
    Upload,
    newest,
    steps_from,
)
from visibility_aware_edge_ldp.campaign.wire_format import Leaf
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError

PIECE = 1 << 20
# The place of a transcript's digest among its pieces.
_DIGEST = -1
# Where reports are, and what they can be made from again; when they came goes with them.
_BODIES = ("bodies", "pieces")
_FORGOTTEN = ("arrivals", *_BODIES)
_SAY = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
# Rows may be gone while a file still holds them: nothing but this says that the disk has let go of them.
_WHOLLY = ("erased", "wholly")
_COUNT = (
    "INSERT INTO arrivals VALUES (?, ?, ?, ?)"
    " ON CONFLICT (round, since) DO UPDATE SET reports = arrivals.reports + excluded.reports"
)
_TAKES_NONE = {
    State.WAITING: Outcome.EARLY,
    State.CLOSING: Outcome.LATE,
    State.CLOSED: Outcome.LATE,
    State.ESTIMATED: Outcome.LATE,
}
P = ParamSpec("P")
R = TypeVar("R")


class Database(Protocol):
    """The little that the two databases do differently."""

    words: dict[str, str]

    def transaction(self) -> AbstractContextManager[object]:
        """All or nothing; on disk when it ends."""

    def run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """One statement, with a ? for every value, and its rows."""

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
        """Many rows in few statements: each statement may cost the thread a wait."""

    def digests(self, number: int, participants: Sequence[int]) -> dict[int, bytes]:
        """What is known of these participants."""

    def erase(self, *tables: str) -> None:
        """Remove every row, so that the disk does not hold it either; StoreUnavailable while it still does."""

    def recover(self) -> None:
        """After a failure: be ready for the next transaction."""

    def close(self) -> None:
        """Let go of it."""


def _guarded(
    method: Callable[Concatenate[SqlStore, P], R],
) -> Callable[Concatenate[SqlStore, P], R]:
    """Any failure of the database, of whatever kind it is there, becomes one that the caller can name."""

    @functools.wraps(method)
    def guarded(store: SqlStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with store.database.transaction():
                return method(store, *args, **kwargs)
        except VaEdgeLdpError:
            raise
        except Exception as failure:
            store.database.recover()
            raise StoreUnavailable(f"The store failed ({type(failure).__name__}). Send the request again.") from failure

    return guarded


class SqlStore:
    """The store of one campaign."""

    def __init__(self, database: Database, campaign: str, rounds: int) -> None:
        self.database = database
        try:
            self._begin(campaign, rounds)
            self._go_on_erasing()
        except VaEdgeLdpError:
            database.close()
            raise

    @_guarded
    def _begin(self, campaign: str, rounds: int) -> None:
        run = self.database.run
        run(META)
        known = dict(run("SELECT name, value FROM meta"))
        if known.get("campaign", campaign) != campaign:
            raise BadInput("The store belongs to another campaign. Name a store of its own for each campaign.")
        for statement in steps_from(int(known.get("version", 0))):
            run(statement.format(**self.database.words))
        if "campaign" not in known:
            states = [State.OPEN] + [State.WAITING] * (rounds - 1)
            rows = [(number, str(state), 0, "") for number, state in enumerate(states, 1)]
            self.database.insert("rounds", ("round", "state", "included", "root"), rows)
        for name, value in (("campaign", campaign), ("version", str(newest()))):
            run(_SAY, name, value)

    def _go_on_erasing(self) -> None:
        """What was begun before a kill, or while somebody read."""
        begun = self.erased_at()
        if begun is not None and self.has_bodies():
            with suppress(StoreUnavailable):  # there are reports still, then, and they are asked to go again
                self.forget_bodies(begun)

    @_guarded
    def put(self, uploads: Sequence[Upload]) -> list[Outcome]:
        states = self._states()
        kept = self._kept(uploads)
        outcomes, fresh = [], []
        for upload in uploads:
            outcome = _outcome(upload, states, kept.get(upload.key))
            if outcome is Outcome.STORED:
                kept[upload.key] = upload.digest
                fresh.append(upload)
            outcomes.append(outcome)
        if fresh:
            self.database.insert(
                "uploads", ("round", "participant", "digest"), [(u.round, u.participant, u.digest) for u in fresh]
            )
            self.database.insert(
                "bodies", ("round", "participant", "body"), [(u.round, u.participant, u.body) for u in fresh]
            )
            self._count(fresh)
        return outcomes

    def _count(self, fresh: Iterable[Upload]) -> None:
        """One statement a slot, which is one for nearly every group."""
        for (number, slot), reports in Counter((each.round, each.slot) for each in fresh).items():
            if slot is not None:
                self.database.run(_COUNT, number, slot.since, slot.seconds, reports)

    def _kept(self, uploads: Iterable[Upload]) -> dict[tuple[int, int], bytes]:
        """The digests that these uploads have to be compared with."""
        asked: dict[int, list[int]] = {}
        for upload in uploads:
            asked.setdefault(upload.round, []).append(upload.participant)
        return {
            (number, participant): digest
            for number, participants in asked.items()
            for participant, digest in self.database.digests(number, participants).items()
        }

    def _states(self) -> dict[int, State]:
        return {number: State(state) for number, state in self.database.run("SELECT round, state FROM rounds")}

    @_guarded
    def digest(self, number: int, participant: int) -> bytes | None:
        return self.database.digests(number, [participant]).get(participant)

    @_guarded
    def stages(self) -> tuple[Stage, ...]:
        heard = dict(self.database.run("SELECT round, octets FROM pieces WHERE piece = ?", _DIGEST))
        rows = self.database.run("SELECT round, state, included, root FROM rounds ORDER BY round")
        return tuple(
            Stage(number, State(state), included, root, bytes(heard.get(number, b"")).decode())
            for number, state, included, root in rows
        )

    @_guarded
    def received(self) -> dict[int, int]:
        return dict(self.database.run("SELECT round, count(*) FROM uploads GROUP BY round"))

    @_guarded
    def arrivals(self) -> list[Arrived]:
        rows = self.database.run("SELECT round, since, seconds, reports FROM arrivals ORDER BY round, since")
        return [Arrived(number, Slot(since, seconds), reports) for number, since, seconds, reports in rows]

    @_guarded
    def freeze(self, number: int, root_of: RootOf) -> Stage:
        if self._states()[number] is not State.OPEN:
            raise BadInput(f"Round {number} is not open, so it cannot be closed.")
        leaves = self._leaves(number)
        stage = Stage(number, State.CLOSING, len(leaves), root_of(leaves))
        self.database.run(
            "UPDATE rounds SET state = ?, included = ?, root = ? WHERE round = ?",
            str(stage.state),
            stage.included,
            stage.root,
            number,
        )
        return stage

    @_guarded
    def settle(self, number: int, transcript: bytes, digest: str, opens_next: bool) -> None:
        if self._states()[number] is not State.CLOSING:
            raise BadInput(f"Round {number} is not closing.")
        pieces = zip(count(), range(0, len(transcript), PIECE))
        parts = [(piece, transcript[start : start + PIECE]) for piece, start in pieces]
        for piece, octets in [(_DIGEST, digest.encode()), *parts] if digest else ():
            self.database.insert("pieces", ("round", "piece", "octets"), [(number, piece, octets)])
        run = self.database.run
        run("UPDATE rounds SET state = ? WHERE round = ?", str(State.CLOSED), number)
        if opens_next:
            run(
                "UPDATE rounds SET state = ? WHERE round = ? AND state = ?",
                str(State.OPEN),
                number + 1,
                str(State.WAITING),
            )

    @_guarded
    def leaves(self, number: int) -> list[Leaf]:
        return self._leaves(number)

    def _leaves(self, number: int) -> list[Leaf]:
        rows = self.database.run("SELECT participant, digest FROM uploads WHERE round = ? ORDER BY participant", number)
        return [(participant, bytes(digest)) for participant, digest in rows]

    @_guarded
    def bodies(self, number: int) -> dict[int, bytes]:
        rows = self.database.run("SELECT participant, body FROM bodies WHERE round = ? ORDER BY participant", number)
        return {participant: bytes(body) for participant, body in rows}

    @_guarded
    def transcript(self, number: int) -> bytes:
        query = "SELECT octets FROM pieces WHERE round = ? AND piece > ? ORDER BY piece"
        rows = self.database.run(query, number, _DIGEST)
        return b"".join(bytes(octets) for (octets,) in rows)

    @_guarded
    def keep_estimate(self, estimate: bytes, made: int) -> None:
        if any(state not in (State.CLOSED, State.ESTIMATED) for state in self._states().values()):
            raise BadInput("A round is not closed yet, so there is nothing to estimate from.")
        self.database.run("INSERT INTO answers VALUES (1, ?, ?) ON CONFLICT (place) DO NOTHING", made, estimate)
        self.database.run("UPDATE rounds SET state = ?", str(State.ESTIMATED))

    @_guarded
    def estimate(self) -> bytes | None:
        rows = self.database.run("SELECT estimate FROM answers")
        return bytes(rows[0][0]) if rows else None

    @_guarded
    def estimated_at(self) -> int | None:
        rows = self.database.run("SELECT made FROM answers")
        return int(rows[0][0]) if rows else None

    @_guarded
    def has_bodies(self) -> bool:
        return self._has_rows() or (self._erased_at() is not None and not self._wholly_erased())

    def _has_rows(self) -> bool:
        return any(self.database.run(f"SELECT 1 FROM {table} LIMIT 1") for table in _BODIES)  # noqa: S608

    def _wholly_erased(self) -> bool:
        return bool(self.database.run("SELECT 1 FROM meta WHERE name = ? AND value = ?", *_WHOLLY))

    def forget_bodies(self, at: int) -> None:
        self._mark_erased(at)
        self._put_in_order()
        self._erase_bodies()
        self._mark_wholly_erased()

    @_guarded
    def _mark_erased(self, at: int) -> None:
        """First of all: whoever is killed between two tables must not find half of them and call it damage."""
        if {State.OPEN, State.CLOSING} & set(self._states().values()):
            raise BadInput("A round is not closed yet, so its reports are kept.")
        self.database.run("INSERT INTO erasures VALUES (1, ?) ON CONFLICT (place) DO NOTHING", at)

    @_guarded
    def _put_in_order(self) -> None:
        """Before reports go: while there are any, whoever was killed comes here again, and afterwards need not."""
        for statement in IN_ORDER if self._has_rows() else ():
            self.database.run(statement.format(**self.database.words))

    @_guarded
    def _mark_wholly_erased(self) -> None:
        self.database.run(_SAY, *_WHOLLY)

    @_guarded
    def erased_at(self) -> int | None:
        return self._erased_at()

    def _erased_at(self) -> int | None:
        rows = self.database.run("SELECT made FROM erasures")
        return int(rows[0][0]) if rows else None

    def _erase_bodies(self) -> None:
        try:
            self.database.erase(*_FORGOTTEN)
        except VaEdgeLdpError:
            raise
        except Exception as failure:
            self.database.recover()
            raise StoreUnavailable("The reports could not be erased. Ask again.") from failure

    def close(self) -> None:
        self.database.close()


def _outcome(upload: Upload, states: dict[int, State], kept: bytes | None) -> Outcome:
    """Whoever sent the same before hears so, at any time: its first receipt may have been lost on the way."""
    if kept is not None:
        return Outcome.SAME if kept == upload.digest else Outcome.OTHER
    return _TAKES_NONE.get(states[upload.round], Outcome.STORED)
