"""The store of a campaign, in tables: what to read and write, whatever the database is."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Concatenate, ParamSpec, TypeVar

from visibility_aware_edge_ldp.campaign.server.stages import Arrived, Slot, Stage, State
from visibility_aware_edge_ldp.campaign.server.stores.store import (
    IN_ORDER,
    META,
    Database,
    Outcome,
    StoreUnavailable,
    Upload,
    failure_text,
    newest,
    steps_from,
)
from visibility_aware_edge_ldp.campaign.server.stores.turns import Entry
from visibility_aware_edge_ldp.campaign.wire_format import Leaf
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError

PIECE = 1 << 20
# The places of a transcript's digest, and of the salt that a statement seals it with, among its pieces.
_DIGEST, _SALT = -1, -2
# Where reports are, and what they can be made from again; when they came goes with them.
_BODIES = ("bodies", "pieces")
_SAY = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
# Rows may be gone while a file still holds them: nothing but this says that the disk has let go of them.
_WHOLLY = ("erased", "wholly")
_COUNT = (
    "INSERT INTO arrivals VALUES (?, ?, ?, ?)"
    " ON CONFLICT (round, since) DO UPDATE SET reports = arrivals.reports + excluded.reports"
)
_FREEZE = "UPDATE rounds SET state = ?, included = ?, root = ?, closed = ? WHERE round = ?"
_STAGES = "SELECT round, state, included, root, opened, closed, sealed FROM rounds ORDER BY round"
_AFTERWARDS = dict.fromkeys((State.CLOSING, State.CLOSED, State.ESTIMATED), Outcome.LATE)
_TAKES_NONE = {State.WAITING: Outcome.EARLY, **_AFTERWARDS}
RootOf = Callable[[Sequence[Leaf]], str]
Seal = tuple[str, bytes]  # a transcript's digest as the round's statement names it, and the salt of that
P = ParamSpec("P")
R = TypeVar("R")


def transaction(method: Callable[Concatenate[Store, P], R]) -> Callable[Concatenate[Store, P], R]:
    """The method as one transaction, or as a part of the one that another method has begun."""

    @functools.wraps(method)
    def transacted(store: Store, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if store.in_transaction:
            return method(store, *args, **kwargs)
        with store.guarded("The store failed ({kind}). Send the request again."), store.database.transaction():
            store.in_transaction = True
            try:
                return method(store, *args, **kwargs)
            finally:
                store.in_transaction = False

    return transacted


def change(method: Callable[Concatenate[Store, P], R]) -> Callable[Concatenate[Store, P], R]:
    """The same, of what all processes must know: alone, and only by the one whose turn it is."""

    @functools.wraps(method)
    def changed(store: Store, /, *args: P.args, **kwargs: P.kwargs) -> R:
        store.database.enter(Entry.TURN)
        return method(store, *args, **kwargs)

    return transaction(changed)


class Store:
    """Used by one thread alone. Every method is one transaction, and is on disk when it returns."""

    def __init__(self, database: Database, campaign: str, rounds: int) -> None:
        self.database, self.in_transaction, self.withdrawn = database, False, frozenset[int]()
        try:
            self._begin(campaign, rounds)
            if not database.is_shared:
                self._go_on_erasing()
        except VaEdgeLdpError:
            database.close()
            raise

    @contextmanager
    def guarded(self, words: str) -> Iterator[None]:
        """Any failure of the database, of whatever kind it is there, becomes one that the caller can name."""
        try:
            yield
        except Exception as failure:
            if isinstance(failure, VaEdgeLdpError):
                raise
            self.database.recover()
            raise StoreUnavailable(words.format(kind=failure_text(failure))) from failure

    @transaction
    def _begin(self, campaign: str, rounds: int) -> None:
        self.database.enter(Entry.ALONE)
        (run := self.database.run)(META)
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
        if (begun := self.erased_at()) is not None and self.has_bodies():
            with suppress(StoreUnavailable):  # there are reports still, then, and they are asked to go again
                self.forget_bodies(begun)

    @transaction
    def put(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """Keep the first upload of each participant in each round, and count those that are new in their slots."""
        self.database.enter(Entry.UPLOAD)
        states, kept = self._states(), self._kept(uploads)
        outcomes, fresh = [], []
        for upload in uploads:
            outcome = _outcome(upload, states, kept.get(upload.key), upload.participant in self.withdrawn)
            if outcome is Outcome.STORED:
                kept[upload.key] = upload.digest
                fresh.append(upload)
            outcomes.append(outcome)
        if fresh:
            insert = self.database.insert
            insert("uploads", ("round", "participant", "digest"), [(*each.key, each.digest) for each in fresh])
            insert("bodies", ("round", "participant", "body"), [(*each.key, each.body) for each in fresh])
            # One statement a slot, which is one for nearly every group.
            slots = Counter((each.round, each.slot.since, each.slot.seconds) for each in fresh if each.slot is not None)
            for slot, reports in slots.items():
                self.database.run(_COUNT, *slot, reports)
        return outcomes

    @transaction
    def probe(self, mark: str) -> None:
        """Write something, as an upload would."""
        self.database.run(_SAY, "probed", mark)

    def _kept(self, uploads: Iterable[Upload]) -> dict[tuple[int, int], bytes]:
        """The digests that these uploads have to be compared with."""
        asked = dict[int, list[int]]()
        for upload in uploads:
            asked.setdefault(upload.round, []).append(upload.participant)
        return {
            (number, participant): digest
            for number, participants in asked.items()
            for participant, digest in self.database.digests(number, participants).items()
        }

    def _states(self) -> dict[int, State]:
        return {number: State(state) for number, state in self.database.run("SELECT round, state FROM rounds")}

    @transaction
    def _one(self, query: str) -> Any:
        """The first value of the first row; None where there is no row."""
        rows = self.database.run(query)
        return rows[0][0] if rows else None

    @transaction
    def digest(self, number: int, participant: int) -> bytes | None:
        """The digest of what a participant sent."""
        return self.database.digests(number, [participant]).get(participant)

    @transaction
    def stages(self) -> tuple[Stage, ...]:
        """Every round as it is now."""
        query = "SELECT round, octets FROM pieces WHERE piece = ?"
        digests, salts = (dict(self.database.run(query, piece)) for piece in (_DIGEST, _SALT))
        return tuple(Stage.of(row, digests, salts) for row in self.database.run(_STAGES))

    @transaction
    def changes(self) -> int:
        """How often any process has changed what all must know."""
        return self.database.changes()

    @transaction
    def begin(self, at: int) -> None:
        """From this second on the first round is open, if nobody has said so before."""
        self.database.run("UPDATE rounds SET opened = ? WHERE round = 1 AND opened IS NULL", at)

    @transaction
    def received(self) -> dict[int, int]:
        """How many reports each round has."""
        return dict(self.database.run("SELECT round, count(*) FROM uploads GROUP BY round"))

    @transaction
    def arrivals(self) -> list[Arrived]:
        """How many reports came in each slot of each round."""
        rows = self.database.run("SELECT round, since, seconds, reports FROM arrivals ORDER BY round, since")
        return [Arrived(number, Slot(since, seconds), reports) for number, since, seconds, reports in rows]

    @change
    def freeze(self, number: int, root_of: RootOf, at: int = 0) -> Stage:
        """From open to closing at this second: no report comes in after this, and the root says which are in."""
        if self._states()[number] is not State.OPEN:
            raise BadInput(f"Round {number} is not open, so it cannot be closed.")
        leaves = self.leaves(number)
        self.database.run(_FREEZE, str(State.CLOSING), len(leaves), root_of(leaves), at, number)
        return self.stages()[number - 1]

    @change
    def settle(
        self, number: int, transcript: bytes, digest: str, opens_next: bool, at: int = 0, seal: Seal = ("", b"")
    ) -> None:
        """From closing to closed, with what everybody may read of the round; the next one is open from now on."""
        if self._states()[number] is not State.CLOSING:
            raise BadInput(f"Round {number} is not closing.")
        (sealed, salt), run = seal, self.database.run
        parts = [transcript[start : start + PIECE] for start in range(0, len(transcript), PIECE)]
        for piece, octets in enumerate([salt, digest.encode(), *parts] if digest else [], _SALT):
            self.database.insert("pieces", ("round", "piece", "octets"), [(number, piece, octets)])
        run("UPDATE rounds SET state = ?, sealed = ? WHERE round = ?", str(State.CLOSED), sealed, number)
        if opens_next:
            run("UPDATE rounds SET state = ?, opened = ? WHERE round = ?", str(State.OPEN), at, number + 1)

    @transaction
    def leaves(self, number: int) -> list[Leaf]:
        """Every participant that sent a report, in order, and the report's digest."""
        rows = self.database.run("SELECT participant, digest FROM uploads WHERE round = ? ORDER BY participant", number)
        return [(participant, bytes(digest)) for participant, digest in rows]

    @transaction
    def bodies(self, number: int) -> dict[int, bytes]:
        """The reports of a round, in order; empty once they are erased."""
        rows = self.database.run("SELECT participant, body FROM bodies WHERE round = ? ORDER BY participant", number)
        return {participant: bytes(body) for participant, body in rows}

    @transaction
    def transcript(self, number: int) -> bytes:
        """What everybody may read of a round; empty where there is nothing to read, and once reports are erased."""
        query = "SELECT octets FROM pieces WHERE round = ? AND piece > ? ORDER BY piece"
        return b"".join(bytes(octets) for (octets,) in self.database.run(query, number, _DIGEST))

    @change
    def keep_estimate(self, estimate: bytes, made: int) -> bytes:
        """From closed to estimated, at this second; the first estimate stands, and is returned."""
        if any(state not in (State.CLOSED, State.ESTIMATED) for state in self._states().values()):
            raise BadInput("A round is not closed yet, so there is nothing to estimate from.")
        self.database.run("INSERT INTO answers VALUES (1, ?, ?) ON CONFLICT (place) DO NOTHING", made, estimate)
        self.database.run("UPDATE rounds SET state = ?", str(State.ESTIMATED))
        return bytes(self._one("SELECT estimate FROM answers"))

    def estimate(self) -> bytes | None:
        """The answers, once there are any."""
        found = self._one("SELECT estimate FROM answers")
        return None if found is None else bytes(found)

    def estimated_at(self) -> int | None:
        """When they were made, in seconds of Unix time."""
        found: int | None = self._one("SELECT made FROM answers")
        return found

    @transaction
    def has_bodies(self) -> bool:
        """Whether any report is more than its digest, or the transcript that holds the first ones is there."""
        wholly = self.database.run("SELECT 1 FROM meta WHERE name = ? AND value = ?", *_WHOLLY)
        return self._has_rows() or (self.erased_at() is not None and not wholly)

    def _has_rows(self) -> bool:
        return any(self.database.run(f"SELECT 1 FROM {table} LIMIT 1") for table in _BODIES)  # noqa: S608

    @transaction
    def retained(self) -> tuple[int | None, bool]:
        """When the answers were made, and whether reports are still there."""
        return self.estimated_at(), self.has_bodies()

    def forget_bodies(self, at: int) -> None:
        """Leave of every report the digest only, and nothing of the transcript; from this second on they are erased.

        These are several transactions. Whoever is killed between two of them comes here again.
        """
        self._mark_erased(at)
        self._put_in_order()
        with self.guarded("The reports could not be erased. Ask again."):
            self.database.erase("arrivals", *_BODIES)
        self._mark_wholly_erased()

    @change
    def _mark_erased(self, at: int) -> None:
        """First of all: whoever is killed between two tables must not find half of them and call it damage."""
        if {State.OPEN, State.CLOSING} & set(self._states().values()):
            raise BadInput("A round is not closed yet, so its reports are kept.")
        self.database.run("INSERT INTO erasures VALUES (1, ?) ON CONFLICT (place) DO NOTHING", at)

    @change
    def _put_in_order(self) -> None:
        """Before reports go: while there are any, whoever was killed comes here again, and afterwards need not."""
        for statement in IN_ORDER if self._has_rows() else ():
            self.database.run(statement.format(**self.database.words))

    @change
    def _mark_wholly_erased(self) -> None:
        self.database.run(_SAY, *_WHOLLY)

    def erased_at(self) -> int | None:
        """When reports were erased, in seconds of Unix time."""
        found: int | None = self._one("SELECT made FROM erasures")
        return found

    def close(self) -> None:
        """Let go of it."""
        self.database.close()


def _outcome(upload: Upload, states: dict[int, State], kept: bytes | None, withdrawn: bool) -> Outcome:
    """Whoever sent the same before is told so, at any time: its first receipt may have been lost on the way."""
    if kept is not None:
        return Outcome.SAME if kept == upload.digest else Outcome.OTHER
    return _TAKES_NONE.get(states[upload.round], Outcome.WITHDRAWN if withdrawn else Outcome.STORED)
