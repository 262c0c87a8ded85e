"""The embedded store: SQLite with a write-ahead log that is on disk before anybody is told; and copies of it.

A copy is made while the server runs. It is the store at one time, whole, checked, and on disk when it has its name. It
holds reports, like the store, so it goes when they go; and so does what a copying that was killed has left.
"""

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreDamaged, StoreUnavailable, failure_text
from visibility_aware_edge_ldp.campaign.server.stores.turns import SingleProcess
from visibility_aware_edge_ldp.campaign.signed_documents import sync
from visibility_aware_edge_ldp.errors import BadInput, MissingPart
from visibility_aware_edge_ldp.file_lock import lock

try:
    import apsw
except ImportError as missing:
    raise MissingPart("apsw", "serve", "Keeping reports in SQLite") from missing

T = TypeVar("T")
# Rows of one statement; a few sizes only, so that every statement is compiled once. Each statement lets other threads
# have the interpreter and waits to have it back.
_SIZES = (128, 64, 32, 16, 8, 4, 2, 1)
# Pages of the log before they are moved into the tables: 16 MiB.
_CHECKPOINT = 4_096
# For so many milliseconds a statement waits for others who use the file. Emptying the log waits for readers, who may
# stay for long, and it is tried again: meanwhile the server has others to answer.
_PATIENCE, _PATIENCE_WITH_READERS = 10_000, 500
# Of a copy: pages at a time, the time in its name, and what is asked of its tables.
_PAGES_AT_A_TIME = 4096
_MOMENT = r"-\d{8}T\d{6}\.\d{9}Z"
_WHOSE = "SELECT value FROM meta WHERE name = 'campaign'"
_HOLDS_REPORTS = "SELECT EXISTS (SELECT 1 FROM bodies) OR EXISTS (SELECT 1 FROM pieces)"
_ERASES = "SELECT EXISTS (SELECT 1 FROM erasures)"


class SqliteDatabase(SingleProcess):
    """One connection for everything; nobody else writes."""

    words = {"octets": "BLOB", "counter": "INTEGER PRIMARY KEY", "compact": " WITHOUT ROWID", "if_sampled": "-- "}  # noqa: RUF012

    def __init__(
        self,
        path: str | os.PathLike[str],
        synchronous: str = "FULL",
        vfs: str | None = None,
        checkpoint: int = _CHECKPOINT,
    ) -> None:
        self._lock = _only_server(Path(path))
        if vfs is None:
            _for_nobody_else(Path(path))
        self._connection = apsw.Connection(os.fspath(path), vfs=vfs, statementcachesize=200)
        self._connection.set_busy_timeout(_PATIENCE)
        for pragma in (
            "journal_mode = WAL",
            f"synchronous = {synchronous}",
            f"wal_autocheckpoint = {checkpoint}",
            "secure_delete = ON",
            "trusted_schema = OFF",
        ):
            self.run(f"PRAGMA {pragma}")

    def transaction(self) -> AbstractContextManager[object]:
        return _Transaction(self._connection)

    def run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(statement, values or None))

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
        place = f"({', '.join('?' * len(columns))})"
        for some in _statements(rows):
            values = [value for row in some for value in row]
            many = ", ".join([place] * len(some))
            self.run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES {many}", *values)  # noqa: S608

    def digests(self, number: int, participants: Sequence[int]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for some in _statements(participants):
            places = ", ".join("?" * len(some))
            query = f"SELECT participant, digest FROM uploads WHERE round = ? AND participant IN ({places})"  # noqa: S608
            found.update(self.run(query, number, *some))
        return found

    def erase(self, *tables: str) -> None:
        """Deleted rows are overwritten (``secure_delete``), and the log that still holds them is emptied."""
        with self.transaction():
            for table in tables:
                if self.run(f"SELECT 1 FROM {table} LIMIT 1"):  # noqa: S608 - whoever comes again writes nothing
                    self.run(f"DELETE FROM {table}")  # noqa: S608
        self._connection.set_busy_timeout(_PATIENCE_WITH_READERS)
        try:
            [(busy, *_)] = self.run("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._connection.set_busy_timeout(_PATIENCE)
        if busy:
            raise StoreUnavailable("Somebody reads the store, so its file still holds erased reports. End that first.")

    def recover(self) -> None:
        """A transaction that failed has been rolled back already."""

    def close(self) -> None:
        self._connection.close()
        self._lock.close()


def _statements(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """The rows of each statement: as many as the largest size has, then as the next."""
    done = 0
    while done < len(rows):
        size = next(size for size in _SIZES if size <= len(rows) - done)
        yield rows[done : done + size]
        done += size


class _Transaction:
    """BEGIN IMMEDIATE … COMMIT. The connection's own context would be a savepoint: two statements more."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, failure: object, trace: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
        if not self._connection.get_autocommit():
            self._connection.execute("ROLLBACK")


def _for_nobody_else(path: Path) -> None:
    """Nobody else on this machine reads reports, whatever the umask is or was; a new log gets the file's rights."""
    path.touch(0o600)
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with contextlib.suppress(FileNotFoundError, PermissionError):  # another's file is for that one to care about
            each.chmod(0o600)


def _only_server(path: Path) -> IO[str]:
    """The lock of the one server of this store, by whatever name; the system lets go of it when the server dies."""
    real = path.resolve()
    if real.exists() and real.stat().st_nlink > 1:
        raise BadInput(f"The store {path.name} has several names (hard links); another server may use it. Keep one.")
    held = Path(f"{real}.lock").open("a")  # noqa: SIM115 - for as long as the store is
    try:
        lock(held.fileno(), wait=False)
    except OSError as taken:
        held.close()
        raise BadInput(f"Another server uses the store {path.name}. Stop it first.") from taken
    return held


def sqlite_store(path: str | os.PathLike[str], campaign: str, rounds: int, synchronous: str = "FULL") -> Store:
    """The campaign's store in this file, made if there is none."""
    try:
        database = SqliteDatabase(path, synchronous)
    except (OSError, apsw.Error) as failure:
        raise StoreUnavailable(
            f"The store {Path(path).name} cannot be opened ({failure_text(failure)}). Look at its place and its rights."
        ) from failure
    return Store(database, campaign, rounds)


@dataclass(frozen=True)
class Backup:
    """What became of a copying: the new copy, the older ones that went, and files that could not be judged.

    There is no new copy where the store is just erasing its reports.
    """

    copy: Path | None
    removed: tuple[Path, ...] = ()
    unread: tuple[Path, ...] = ()


def back_up(store: Path, folder: Path, campaign: str, keep: int = 0) -> Backup:
    """One more copy of this campaign's store in the folder.

    Of its older copies there, all but the newest so many go (0: none for this reason), and once the store erases its
    reports, or has erased them, all that hold any. Other campaigns' copies are left alone.
    """
    if not store.is_file():
        raise BadInput(f"There is no store at {store}; serve the campaign first, or name its store.")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone_in(folder):
            return _back_up(store, folder, campaign, keep)
    except (OSError, apsw.Error) as error:
        raise BadInput(f"{store} was not copied to {folder}: {error}. Look at the place and its rights.") from error


def _back_up(store: Path, folder: Path, campaign: str, keep: int) -> Backup:
    if _said(store, _WHOSE) != [(campaign,)]:
        raise BadInput(f"{store} is not the store of this campaign.")
    for draft in folder.iterdir():
        if re.search(rf"{_MOMENT}\.part", draft.name):  # of somebody who was killed: whoever lives holds the lock
            draft.unlink()
    newest = _copied(store, folder)
    older, unread = _copies_of(campaign, store.stem, folder, newest)
    erases = _said(newest, _ERASES) == [(1,)]
    gone = set(older[: max(len(older) + 1 - keep, 0)] if keep else [])
    gone |= {path for path in (*older, newest) if erases and _said(path, _HOLDS_REPORTS) == [(1,)]}
    for path in gone:
        path.unlink()
    sync(folder)
    return Backup(None if newest in gone else newest, tuple(sorted(gone - {newest})), tuple(unread))


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Only one process copies into a folder at a time; the system lets go of the lock when it dies."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        lock(handle, wait=True)
        yield
    finally:
        os.close(handle)


def _copied(store: Path, folder: Path) -> Path:
    moment = time.time_ns()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(moment // 10**9))
    target = folder / f"{store.stem}-{stamp}.{moment % 10**9:09}Z.db"
    draft = target.with_suffix(".part")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        _copy(store, draft)
        draft.rename(target)
    except BaseException:
        for left in folder.glob(f"{draft.name}*"):
            left.unlink()
        raise
    sync(folder)
    return target


def _copy(store: Path, draft: Path) -> None:
    """All pages of one moment; the copy needs no log beside it."""
    with _opened(store) as source, _opened(draft, apsw.SQLITE_OPEN_READWRITE) as target:
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_PAGES_AT_A_TIME)
        target.execute("PRAGMA journal_mode = DELETE")
        said = target.execute("PRAGMA integrity_check").fetchall()
        if said != [("ok",)]:
            raise StoreDamaged(f"The copy is damaged, and so may be the store: {said[0][0]}")
    sync(draft)


@contextmanager
def _opened(path: Path, flags: int = apsw.SQLITE_OPEN_READONLY) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(path), flags=flags)
    try:
        yield connection
    finally:
        connection.close()


def _copies_of(campaign: str, stem: str, folder: Path, newest: Path) -> tuple[list[Path], list[Path]]:
    """This campaign's older copies, the oldest first; and files that are called so and cannot be read."""
    found, unread = list[Path](), list[Path]()
    for path in sorted(folder.iterdir()):
        if path == newest or not re.fullmatch(rf"{re.escape(stem)}{_MOMENT}\.db", path.name):
            continue
        try:
            if _said(path, _WHOSE) == [(campaign,)]:
                found.append(path)
        except apsw.Error:
            unread.append(path)
    return found, unread


def _said(path: Path, question: str) -> list[tuple[Any, ...]]:
    with _opened(path) as copy:
        return copy.execute(question).fetchall()
