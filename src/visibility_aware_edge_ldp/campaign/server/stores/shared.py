"""The store of a campaign in a PostgreSQL database that several processes and campaigns use at the same time.

Each campaign has a schema of its own. Two locks say who does what in it: transactions that take uploads share the
first, and any other change has it alone, until it is committed; the second is the turn, held on a connection that
PostgreSQL ends once it has been silent. The turn's number is kept in the store, and compared in every transaction.
"""

import contextlib
import threading
from typing import Any

import psycopg

from visibility_aware_edge_ldp.campaign.server.stores.postgres import (
    PostgresDatabase,
    campaign_key,
    connected,
    held_by_servers,
    move_into,
)
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable
from visibility_aware_edge_ldp.campaign.server.stores.turns import Entry, OutdatedProcess, OutOfTurn
from visibility_aware_edge_ldp.errors import BadInput

_CHANGES, _TURN_NUMBER = "changes", "epoch"
# The kinds of locks, each with the campaign's key; for so many seconds their holder may be silent.
_ROWS, _TURN = 0x7661_6501, 0x7661_6502
_SILENCE = 4
_COUNT_ON = (
    "INSERT INTO meta VALUES (%s, '1') ON CONFLICT (name) DO UPDATE SET value = (meta.value::bigint + 1)::text"
    " RETURNING value::bigint"
)
# Who has the rows' lock, began long ago, and waits for a process that does not read or say anything.
_END_SILENT = (
    "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'"
    " AND granted AND classid = %s AND objid = %s AND pid <> pg_backend_pid() AND wait_event_type = 'Client'"
    " AND datname = current_database() AND xact_start < clock_timestamp() - %s * interval '1 second'"
)
_Connection = psycopg.Connection[tuple[Any, ...]]


def _limit_silence(connection: _Connection, setting: str) -> None:
    """The database ends this connection, and what it holds, when its process is silent; older ones cannot."""
    connection.execute("SELECT set_config(name, %s, false) FROM pg_settings WHERE name = %s", (f"{_SILENCE}s", setting))


class SharedPostgres(PostgresDatabase):
    """One of several connections to a campaign's store; ``seen`` is what its process knows of the changes."""

    is_shared = True

    def __init__(self, url: str, campaign: str) -> None:
        self._key = campaign_key(campaign)
        self.seen, self.turn_number = -1, -1
        super().__init__(url, campaign=campaign)

    def _admit(self, connection: _Connection) -> None:
        """Beside others that share the store, and not beside a server that wants it for itself."""
        held_by_servers(connection, "pg_try_advisory_lock_shared")
        _limit_silence(connection, "idle_in_transaction_session_timeout")
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_ROWS, self._key))
            move_into(connection, self._campaign, make=True)

    def enter(self, entry: Entry) -> None:
        kind = "_shared" if entry is Entry.UPLOAD else ""
        self._connection.execute(f"SELECT pg_advisory_xact_lock{kind}(%s, %s)".encode(), (_ROWS, self._key))
        if entry is Entry.UPLOAD and self.changes() != self.seen:
            raise OutdatedProcess("Another process has changed the campaign. Send the request again.")
        if entry is Entry.TURN:
            if self._counted(_TURN_NUMBER) != self.turn_number:
                raise OutOfTurn("Another process has the turn. Send the request again.")
            self._connection.execute(_COUNT_ON.encode(), (_CHANGES,))

    def changes(self) -> int:
        return self._counted(_CHANGES)

    def _counted(self, name: str) -> int:
        rows = self._connection.execute("SELECT value FROM meta WHERE name = %s", (name,)).fetchall()
        return int(rows[0][0]) if rows else 0

    def erase(self, *tables: str) -> None:
        if tables:
            with self.transaction():
                self.enter(Entry.TURN)
                super().erase(*tables)

    def turn_lock(self) -> "PostgresTurn":
        return PostgresTurn(self._url, self._campaign)


class PostgresTurn:
    """The turn of one campaign, on a connection of its own for as long as it lasts."""

    def __init__(self, url: str, campaign: str) -> None:
        self._url, self._campaign, self._key = url, campaign, campaign_key(campaign)
        self._connection: _Connection | None = None
        self._ended, self._beating = threading.Event(), threading.Thread()

    def take(self) -> int | None:
        try:
            self._connection = connection = connected(self._url)
            number = self._taken(connection)
        except (psycopg.Error, BadInput) as failure:
            self.release()
            raise StoreUnavailable("The store does not answer. Send the request again.") from failure
        if number is None:
            self.release()
            return None
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._beat, args=(connection, self._ended), daemon=True)
        self._beating.start()
        return number

    def _taken(self, connection: _Connection) -> int | None:
        _limit_silence(connection, "idle_session_timeout")
        move_into(connection, self._campaign)
        row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (_TURN, self._key)).fetchone()
        if not row or not row[0]:
            return None
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_ROWS, self._key))
                return int(connection.execute(_COUNT_ON.encode(), (_TURN_NUMBER,)).fetchall()[0][0])
        except psycopg.errors.LockNotAvailable:
            connection.execute(_END_SILENT.encode(), (_ROWS, self._key % 2**32, _SILENCE))
            return None

    @staticmethod
    def _beat(connection: _Connection, ended: threading.Event) -> None:
        """Be heard, from a thread of its own: whatever else this process computes, it is not silent."""
        with contextlib.suppress(psycopg.Error):
            while not ended.wait(_SILENCE / 4):
                connection.execute("SELECT 1")

    def release(self) -> None:
        self._ended.set()
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


def shared_store(url: str, campaign: str, rounds: int) -> Store:
    """The campaign's store in this database, beside other processes that use it too."""
    return Store(SharedPostgres(url, campaign), campaign, rounds)
