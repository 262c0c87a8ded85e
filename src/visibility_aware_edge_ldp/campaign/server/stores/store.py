"""What a server stores, and in what tables of what database; and the thread that writes uploads in groups."""

from __future__ import annotations

import asyncio
import enum
import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from visibility_aware_edge_ldp.campaign.server.stages import Slot
from visibility_aware_edge_ldp.campaign.server.telemetry import failed
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
    from visibility_aware_edge_ldp.campaign.server.stores.turns import Entry, TurnLock

R = TypeVar("R")
META = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
_UPLOADS = (
    "CREATE TABLE uploads (round INTEGER NOT NULL, participant INTEGER NOT NULL, digest {octets} NOT NULL,"
    " PRIMARY KEY (round, participant)){compact}"
)


class StoreUnavailable(VaEdgeLdpError):  # noqa: N818
    """The store cannot be reached or written; nothing that was sent meanwhile has been acknowledged."""


# What databases call what an operator can mend: SQLite's words, then PostgreSQL's.
_CAUSES = {
    "FullError": "the disk is full",
    "DiskFull": "the disk is full",
    "ReadOnlyError": "it may only be read",
    "ReadOnlySqlTransaction": "it may only be read",
    "IOError": "the disk fails",
    "CorruptError": "its file is damaged",
    "OperationalError": "the database does not answer",
}


def failure_text(failure: Exception) -> str:
    """From a database's failure to its kind, with the cause where it is known."""
    kind = type(failure).__name__
    if isinstance(failure, OSError) and failure.strerror:
        return f"{kind}: {failure.strerror}"
    return f"{kind}: {_CAUSES[kind]}" if kind in _CAUSES else kind


class StoreDamaged(VaEdgeLdpError):  # noqa: N818
    """What the store holds is not what was frozen."""


class Outcome(enum.Enum):
    """What became of an upload. STORED and SAME are said only after the commit is on disk."""

    STORED = "stored"
    SAME = "the same bytes were stored before"
    OTHER = "other bytes were stored before; the first stand"
    LATE = "the round takes no more reports"
    EARLY = "the round is not open yet"
    WITHDRAWN = "the person has withdrawn"


@dataclass(frozen=True)
class Upload:
    """One report of one participant for one round; of the slot that it came in, the store keeps the count alone."""

    round: int
    participant: int
    body: bytes = field(repr=False)
    digest: bytes
    slot: Slot | None = field(default=None, repr=False)

    @classmethod
    def of(cls, number: int, participant: int, body: bytes, slot: Slot | None = None) -> Upload:
        return cls(number, participant, body, hashlib.sha256(body).digest(), slot)

    @property
    def key(self) -> tuple[int, int]:
        return self.round, self.participant


class Database(Protocol):
    """The little that the two databases do differently."""

    words: dict[str, str]
    is_shared: bool  # by several processes; then what this one has seen of changes, and the number of its last turn
    seen: int
    turn_number: int

    def transaction(self) -> AbstractContextManager[object]:
        """All or nothing; on disk when it ends."""

    def run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """One statement, with a ? for every value, and its rows."""

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
        """Many rows in few statements: each statement may cost the thread a wait."""

    def digests(self, number: int, participants: Sequence[int]) -> dict[int, bytes]:
        """What is known of these participants."""

    def erase(self, *tables: str) -> None:
        """Remove every row, so that the disk does not hold it either; StoreUnavailable while it still does.
        Without tables: what is left of rows that were removed before, as far as the database can."""

    def enter(self, entry: Entry) -> None:
        """At the beginning of a transaction: wait for other processes, and refuse what is not to be done now."""

    def changes(self) -> int:
        """How often the rounds, or what was amended, have been changed by any process."""

    def turn_lock(self) -> TurnLock | None:
        """What the turn depends on besides this process."""

    def recover(self) -> None:
        """After a failure: be ready for the next transaction."""

    def close(self) -> None:
        """Let go of it."""


Told = Callable[[Any], None]  # is called on the event loop with a result, or with the failure in its place
_Item = tuple[Any, Told]  # an upload, or something else to do with the store, and who is told what became of it


@dataclass(frozen=True)
class Grouping:
    """How many uploads one commit takes at most, how many seconds the first waits for more, and how many may wait."""

    most: int = 256
    pause: float = 0.004
    waiting: int = 8_192


class TooManyWaiting(StoreUnavailable):
    """More uploads wait for the disk than should."""


class Writer:
    """Hands uploads from the event loop to the store's thread and their outcomes back, a group at a time."""

    def __init__(self, store: Store, grouping: Grouping = Grouping()) -> None:
        self._store, self._grouping = store, grouping
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store")
        self._ended = False
        self.commits = 0
        self._thread.start()

    @property
    def database(self) -> Database:
        """What is kept in what; its store's thread uses it."""
        return self._store.database

    @property
    def waiting(self) -> int:
        """How many uploads have not been begun with."""
        return self._queue.qsize()

    def hand(self, upload: Upload, told: Told) -> None:
        """Tell what became of the upload, or its failure, when its group is on disk."""
        if self._ended or self.waiting >= self._grouping.waiting:
            raise TooManyWaiting("Too many reports wait to be stored. Send it again in a few seconds.")
        self._queue.put((upload, told))

    def put(self, upload: Upload) -> asyncio.Future[Outcome]:
        """The same, to wait for."""
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self.hand(upload, partial(resolve, future))
        return future

    async def do(self, function: Callable[[Store], R]) -> R:
        """Use the store, between two groups."""
        if self._ended:
            raise StoreUnavailable("The server is shutting down. Ask again later.")
        future: asyncio.Future[R] = self._loop.create_future()
        self._queue.put((function, partial(resolve, future)))
        return await future

    def ask(self, function: Callable[[Store], R], seconds: float = 5.0) -> R:
        """The same, for other threads than the event loop's; TimeoutError when the store takes longer."""
        return asyncio.run_coroutine_threadsafe(self.do(function), self._loop).result(seconds)

    async def end(self) -> None:
        """Finish what waits, then let go of the store."""
        if not self._ended:
            self._ended = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        after: list[_Item | None] = []  # what was taken from the queue with a group, and is not part of it
        while (item := after.pop() if after else self._queue.get()) is not None:
            if isinstance(item[0], Upload):
                group, after = self._group(item)
                self._commit(group)
            else:
                self._work(*item)
        self._store.close()

    def _group(self, first: _Item) -> tuple[list[_Item], list[_Item | None]]:
        """What comes within a moment of the first, up to a number.

        The moment is slept through: a thread that waited for each upload would be woken by each, and every time it
        would take the interpreter from the event loop. A commit takes it some ten times, whatever its group's size.
        """
        if self._queue.qsize() + 1 < self._grouping.most:
            time.sleep(self._grouping.pause)
        group = [first]
        while len(group) < self._grouping.most:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None or not isinstance(item[0], Upload):
                return group, [item]
            group.append(item)
        return group, []

    def _commit(self, group: list[_Item]) -> None:
        try:
            results: list[Any] = self._store.put([upload for upload, _ in group])
        except Exception as failure:
            results = [failure] * len(group)
        self.commits += 1
        self._tell([(told, result) for (_, told), result in zip(group, results, strict=True)])

    def _work(self, function: Callable[[Store], Any], told: Told) -> None:
        try:
            result = function(self._store)
        except Exception as failure:
            result = failure
        self._tell([(told, result)])

    def _tell(self, results: list[tuple[Told, Any]]) -> None:
        """Wake the event loop once for the whole group."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(tell_all, results)


def tell_all(results: Iterable[tuple[Told, Any]]) -> None:
    """Call each with its result."""
    for told, result in results:
        try:
            told(result)
        except Exception as failure:  # of one: the others of its group are told all the same
            failed("told", failure)


def resolve(future: asyncio.Future[Any], result: Any) -> None:
    """Whoever waits for the future has the result, or the failure in its place."""
    if future.done():  # whoever asked has gone
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


def _unsampled(table: str, *columns: str) -> str:
    """PostgreSQL copies values of columns into its statistics, which outlive the rows; these are not copied."""
    return f"{{if_sampled}}ALTER TABLE {table} {', '.join(f'ALTER {name} SET STATISTICS 0' for name in columns)}"


# Bodies stand apart from their digests: they are appended, so that a commit writes few pages, and they go first.
# A transcript is read while the second round lasts, also after a restart of the server; it may be larger than one
# value can be, so it stands in pieces. From it the first reports can be made again, and of few people from its digest
# too, by trying: so the digest stands before the first piece, and all go when the reports go.
# Of arrivals only counts are kept. An erasure says since when what is missing is not damage.
# Of reports, and of when they came, no statistics; a database without such ones takes these lines for comments.
TABLES = (
    "CREATE TABLE rounds (round INTEGER PRIMARY KEY, state TEXT NOT NULL, included INTEGER NOT NULL,"
    " root TEXT NOT NULL)",
    _UPLOADS,
    "CREATE TABLE bodies (place {counter}, round INTEGER NOT NULL, participant INTEGER NOT NULL,"
    " body {octets} NOT NULL)",
    "CREATE TABLE pieces (round INTEGER NOT NULL, piece INTEGER NOT NULL, octets {octets} NOT NULL,"
    " PRIMARY KEY (round, piece))",
    "CREATE TABLE arrivals (round INTEGER NOT NULL, since BIGINT NOT NULL, seconds BIGINT NOT NULL,"
    " reports INTEGER NOT NULL, PRIMARY KEY (round, since))",
    "CREATE TABLE answers (place INTEGER PRIMARY KEY, made BIGINT NOT NULL, estimate {octets} NOT NULL)",
    "CREATE TABLE erasures (place INTEGER PRIMARY KEY, made BIGINT NOT NULL)",
    _unsampled("bodies", "place", "round", "participant", "body"),
    _unsampled("pieces", "round", "piece", "octets"),
    _unsampled("arrivals", "round", "since", "seconds", "reports"),
)
# The version of these tables: those before belonged to charters that are not read any more. What is changed from now
# on is one more step here, a tuple of statements; all that a store lacks are run in one transaction.
TABLES_VERSION = 6
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE amendments (number INTEGER PRIMARY KEY, octets {octets} NOT NULL)",
        "CREATE TABLE operations (number INTEGER PRIMARY KEY, made BIGINT, what TEXT, octets {octets} NOT NULL)",
    ),
    (
        *(f"ALTER TABLE rounds ADD COLUMN {column}" for column in ("opened BIGINT", "closed BIGINT", "sealed TEXT")),
        "UPDATE rounds SET opened = 0, closed = 0",  # those that were there before: nobody knows when
    ),
    (
        "CREATE TABLE consents (participant INTEGER PRIMARY KEY, consents INTEGER NOT NULL)",
        "CREATE TABLE consent_list (place INTEGER PRIMARY KEY, octets {octets} NOT NULL)",
    ),
)
# A table's rows, and the rows on a page of it, lie in the order in which they came. This writes them anew, in order of
# participants, so that the order of coming does not outlive the reports.
IN_ORDER = (
    "ALTER TABLE uploads RENAME TO as_they_came",
    _UPLOADS,
    "INSERT INTO uploads SELECT round, participant, digest FROM as_they_came ORDER BY round, participant",
    "DROP TABLE as_they_came",
)


def newest() -> int:
    """The version that this program writes."""
    return TABLES_VERSION + len(STEPS)


def steps_from(version: int) -> tuple[str, ...]:
    """The statements that bring a store of this version to the present one; 0 is one without tables."""
    if version > newest():
        raise BadInput(
            f"The store has version {version}, and this program knows versions up to {newest()}. "
            "Serve it with the newer program that wrote it."
        )
    if 0 < version < TABLES_VERSION:
        raise BadInput(
            f"The store has version {version}, and this program reads versions from {TABLES_VERSION} on. "
            "Serve it with the program that wrote it, until its reports are erased."
        )
    lacking = STEPS[version - TABLES_VERSION :] if version else (TABLES, *STEPS)
    return tuple(statement for step in lacking for statement in step)
