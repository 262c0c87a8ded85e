"""The embedded store: SQLite with a write-ahead log that is on disk before anybody is told."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from visibility_aware_edge_ldp.campaign.server.sql_store import SqlStore
from visibility_aware_edge_ldp.campaign.server.store import StoreUnavailable
from visibility_aware_edge_ldp.errors import BadInput, MissingPart

try:
    import apsw
except ImportError as missing:
    raise MissingPart("apsw", "serve", "Keeping reports in SQLite") from missing

# Rows of one statement; a few sizes only, so that every statement is compiled once.
_SIZES = (64, 8, 1)
# Pages of the log before they are moved into the tables: 16 MiB.
_CHECKPOINT = 4_096
# For so many milliseconds a statement waits for others who use the file. Emptying the log waits for readers, who may
# stay for long, and it is tried again: meanwhile the server has others to answer.
_PATIENCE, _PATIENCE_WITH_READERS = 10_000, 500


class SqliteDatabase:
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
        place = "(" + ", ".join("?" * len(columns)) + ")"
        done = 0
        while done < len(rows):
            size = next(size for size in _SIZES if size <= len(rows) - done)
            many = ", ".join([place] * size)
            values = [value for row in rows[done : done + size] for value in row]
            self.run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES {many}", *values)  # noqa: S608
            done += size

    def digests(self, number: int, participants: Sequence[int]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        done = 0
        while done < len(participants):
            size = next(size for size in _SIZES if size <= len(participants) - done)
            places = ", ".join("?" * size)
            found.update(
                self.run(
                    f"SELECT participant, digest FROM uploads WHERE round = ? AND participant IN ({places})",  # noqa: S608
                    number,
                    *participants[done : done + size],
                )
            )
            done += size
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
    """The lock of the one server of this store; the system lets go of it when the server dies."""
    import fcntl

    lock = Path(f"{path}.lock").open("a")  # noqa: SIM115 - held for as long as the store is
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as held:
        lock.close()
        raise BadInput(f"Another server uses the store {path.name}. Stop it first.") from held
    return lock


def sqlite_store(path: str | os.PathLike[str], campaign: str, rounds: int, synchronous: str = "FULL") -> SqlStore:
    """The campaign's store in this file, made if there is none."""
    return SqlStore(SqliteDatabase(path, synchronous), campaign, rounds)
