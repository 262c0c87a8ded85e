"""The store in a PostgreSQL server that the operator names."""

import contextlib
import hashlib
import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable
from visibility_aware_edge_ldp.campaign.server.stores.turns import SingleProcess
from visibility_aware_edge_ldp.campaign.server.telemetry import event
from visibility_aware_edge_ldp.errors import BadInput, MissingPart

try:
    import psycopg
except ImportError as missing:
    raise MissingPart("psycopg", "postgres", "Keeping reports in PostgreSQL") from missing

_TYPES = {"state": "text", "root": "text"} | dict.fromkeys(("digest", "body", "octets"), "bytea")  # others are integers
_LOCK = 0x7661_656C  # "vael"
_PATIENCE = 10.0
# For so many seconds one transaction may take before its server is thought to hang.
_LONGEST = 60.0
# For so long a statement waits for others who use a table, such as one who copies it: the server has others to answer,
# and whoever keeps its deadlines asks again. It is longer than PostgreSQL's own deadlock_timeout, after which a waiter
# pushes an automatic vacuum aside.
_PATIENCE_WITH_READERS = "1500ms"
# Settings by which PostgreSQL may write statements into its own log, and the values with which it does not.
_QUIET = {
    "log_statement": ("none", "ddl"),
    "log_min_duration_statement": ("-1",),
    "log_min_duration_sample": ("-1",),
    "log_transaction_sample_rate": ("0",),
}
# How much of a statement's values it writes there: with a statement, and with one that failed.
_LENGTHS = ("log_parameter_max_length", "log_parameter_max_length_on_error")


class Watchdog:
    """Cuts a connection whose server has been silent for too long: a process that hangs answers no cancellation."""

    def __init__(self, patience: float) -> None:
        self._patience, self._due, self._file = patience, math.inf, -1
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name="postgresql watchdog", daemon=True).start()

    def expect(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        """From now on, an answer of this connection is waited for."""
        self._file, self._due = connection.fileno(), time.monotonic() + self._patience

    def rest(self) -> None:
        """Nothing is waited for."""
        self._due = math.inf

    def end(self) -> None:
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(min(self._patience / 4, 1.0)):
            if time.monotonic() > self._due:
                self.rest()
                event("postgresql is silent", logging.WARNING, seconds=self._patience)
                with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._file)) as line:
                    line.shutdown(socket.SHUT_RDWR)


class PostgresDatabase(SingleProcess):
    """One connection for everything; an advisory lock keeps other servers out."""

    words = {"octets": "BYTEA", "counter": "BIGSERIAL PRIMARY KEY", "compact": "", "if_sampled": ""}  # noqa: RUF012

    def __init__(self, url: str, longest: float = _LONGEST, campaign: str = "") -> None:
        self._url, self._campaign = url, campaign
        self._watchdog = Watchdog(longest)
        try:
            self._connection = self._connect()
        except BaseException:
            self._watchdog.end()
            raise
        _warn_of_logs(self._connection)

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        try:
            connection = connected(self._url, self._watchdog.expect)
            self._admit(connection)
        finally:
            self._watchdog.rest()
        return connection

    def _admit(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        """Alone in this database, and where the campaign's tables are."""
        held_by_servers(connection, "pg_try_advisory_lock")
        move_into(connection, self._campaign)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self._watchdog.expect(self._connection)
        try:
            with self._connection.transaction():
                yield
        finally:
            self._watchdog.rest()

    def run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement.replace("?", "%s").encode(), values or None, binary=True)
        return cursor.fetchall() if cursor.description else []

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
        arrays = ", ".join(f"%b::{_TYPES.get(name, 'int')}[]" for name in columns)
        statement = f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM unnest({arrays})"  # noqa: S608
        self._connection.execute(statement.encode(), [list(column) for column in zip(*rows, strict=True)])

    def digests(self, number: int, participants: Sequence[int]) -> dict[int, bytes]:
        statement = "SELECT participant, digest FROM uploads WHERE round = %s AND participant = ANY(%b::int[])"
        return dict(self._connection.execute(statement, (number, list(participants)), binary=True).fetchall())

    def erase(self, *tables: str) -> None:
        """Their files are removed as a whole; that nothing is in the statistics, their columns see to.

        A row that was removed by itself stays in its file until PostgreSQL needs the room, or the file goes.
        """
        if not tables:
            return
        self._watchdog.expect(self._connection)
        try:
            self._connection.execute(f"TRUNCATE {', '.join(tables)}".encode())
        except psycopg.errors.LockNotAvailable as busy:
            raise StoreUnavailable("Somebody reads the store, so it still holds the reports. End that first.") from busy
        finally:
            self._watchdog.rest()

    def recover(self) -> None:
        """Roll back, or connect again when the connection is gone; if that fails too, the next use says so."""
        if not self._connection.closed and not self._connection.broken:
            return
        with contextlib.suppress(Exception):
            self._connection.close()
        with contextlib.suppress(BadInput, psycopg.Error):  # the second of one that was cut while it was set up
            self._connection = self._connect()

    def close(self) -> None:
        self._watchdog.end()
        self._connection.close()


def _warn_of_logs(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """What PostgreSQL writes into its log, reports among it, is erased by nobody."""
    names = [*_QUIET, *_LENGTHS]
    said = dict(connection.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", (names,)).fetchall())
    loud = [name for name, quiet in _QUIET.items() if said.get(name, quiet[0]) not in quiet]
    with_all, with_failed = (said.get(name, "0") != "0" for name in _LENGTHS)
    because = [*(loud if with_all else ()), *([_LENGTHS[1]] if with_failed else ())]
    if because:
        event("postgresql logs reports", logging.WARNING, because=because, remedy=f"{' and '.join(_LENGTHS)} = 0")


def connected(
    url: str, watch: Callable[[psycopg.Connection[tuple[Any, ...]]], None] = lambda connection: None
) -> psycopg.Connection[tuple[Any, ...]]:
    """A new connection that commits to the disk, and waits for nobody for long; ``watch`` is told of it first."""
    try:
        connection = psycopg.connect(url, autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as failure:
        # The address may hold a password: it is not repeated.
        raise BadInput("The PostgreSQL server does not answer. Look at the address after --store.") from failure
    watch(connection)
    # A server that loses power, or its client, must not have said "committed" before.
    connection.execute("SET synchronous_commit = on")
    connection.execute("SET client_min_messages = warning")
    connection.execute("SELECT set_config('lock_timeout', %s, false)", (_PATIENCE_WITH_READERS,))
    return connection


def schema_of(campaign: str) -> str:
    """Where a campaign's tables are in a database of several campaigns."""
    return f"campaign_{campaign[:40]}"


def campaign_key(campaign: str) -> int:
    """The campaign in the names of locks; if two have the same they wait for each other, and no more."""
    return int.from_bytes(hashlib.sha256(campaign.encode()).digest()[:4], signed=True)


def move_into(connection: psycopg.Connection[tuple[Any, ...]], campaign: str, make: bool = False) -> None:
    """From now on, names of tables are those of this campaign.

    In a database of one campaign they need no schema, and stay where they are; in one that several share, each has its
    own, which is used wherever it is there.
    """
    whose = "SELECT 1 FROM meta WHERE name = 'campaign' AND value = %s"
    has_tables = connection.execute("SELECT to_regclass('meta')").fetchall() != [(None,)]
    if has_tables and connection.execute(whose.encode(), (campaign,)).fetchall():
        return
    schema = schema_of(campaign)
    if make:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchall():
        connection.execute("SELECT set_config('search_path', %s, false)", (schema,))


def held_by_servers(connection: psycopg.Connection[tuple[Any, ...]], take: str) -> None:
    """Take the servers' lock, for one alone or shared by many; the connection is closed where it is not to be had.

    Wait a little: the lock of a server that died is held until PostgreSQL has noticed.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        row = connection.execute(f"SELECT {take}(%s)".encode(), (_LOCK,)).fetchone()
        if row and row[0]:
            return
        if time.monotonic() > until:
            connection.close()
            raise BadInput("Another server uses this store. Stop it first.")
        time.sleep(0.05)


def postgres_store(url: str, campaign: str, rounds: int) -> Store:
    """The campaign's store in this database, made if there is none."""
    return Store(PostgresDatabase(url, campaign=campaign), campaign, rounds)
