"""What PostgreSQL holds beside the tables, its log, and a server that goes away."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

import pytest

from support.campaign_postgres_here import Postgres, postgres_here
from support.campaign_sampled import end_with, sampled, seen_in_statistics, some_uploads
from support.campaign_stored import MANY, ended
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome, StoreUnavailable, Upload


def test_of_the_order_in_which_reports_came_nothing_is_left_in_a_table(postgres: Postgres) -> None:
    store = open_store(postgres.new_database(), "c", 1)
    ended(store)
    leaves, lie = store.leaves(1), "SELECT participant FROM uploads ORDER BY ctid"
    groups = "SELECT count(DISTINCT xmin::text) FROM uploads"  # rows that came in one transaction
    everybody = [(number,) for number in range(MANY)]
    assert store.database.run(lie) != everybody, "the search must find what is there"
    assert store.database.run(groups) == [(25,)]
    store.forget_bodies(9)
    assert store.database.run(lie) == everybody
    assert store.database.run(groups) == [(1,)]
    assert store.leaves(1) == leaves
    store.close()


def test_statistics_never_hold_reports_nor_times(postgres: Postgres) -> None:
    url, uploads = postgres.new_database(), some_uploads()
    store = open_store(url, "c", 1)
    end_with(store, uploads)
    sampled(url)
    columns = store.database.run("SELECT tablename::text, attname::text FROM pg_stats WHERE schemaname = 'public'")
    assert ("uploads", "digest") in columns, "the search must find what is there"
    assert {table for table, _ in columns}.isdisjoint({"bodies", "pieces", "arrivals"})
    assert not seen_in_statistics(url, uploads)
    store.forget_bodies(9)
    sampled(url)
    assert not seen_in_statistics(url, uploads)
    store.close()


def test_a_postgresql_that_logs_reports_is_warned_of(postgres: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    """Its own log is erased by nobody."""
    import psycopg

    for setting, said in (("none", False), ("all", True)):
        url = postgres.new_database()
        with psycopg.connect(url, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(f"ALTER DATABASE {name} SET log_statement = '{setting}'".encode())
        caplog.clear()
        open_store(url, "c", 1).close()
        assert ("postgresql logs reports" in caplog.text) is said
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} SET log_parameter_max_length = 0".encode())
        caplog.clear()
        open_store(url, "c", 1).close()
        assert "postgresql logs reports" not in caplog.text
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} SET log_parameter_max_length_on_error = -1".encode())
        open_store(url, "c", 1).close()
        assert "postgresql logs reports" in caplog.text, "of statements that failed"


@pytest.mark.long
def test_a_database_that_comes_back_is_used_again() -> None:
    """Nothing is acknowledged while it is away, and what was acknowledged before is there."""
    with postgres_here() as server:
        store = open_store(server.new_database(), "c", 1)
        assert store.put([Upload.of(1, 1, b"a")]) == [Outcome.STORED]
        server.kill()
        with pytest.raises(StoreUnavailable):
            store.put([Upload.of(1, 2, b"b")])
        server.start()
        with pytest.raises(StoreUnavailable):  # the first use finds out that the connection is gone
            store.put([Upload.of(1, 2, b"b")])
        assert store.put([Upload.of(1, 2, b"b"), Upload.of(1, 1, b"a")]) == [Outcome.STORED, Outcome.SAME]
        store.close()


def test_a_server_process_that_hangs_is_given_up(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Uploads are refused rather than kept waiting for ever; once it is gone, they are taken again."""
    from visibility_aware_edge_ldp.campaign.server.stores import postgres as module

    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    store = Store(database := module.PostgresDatabase(postgres.new_database()), "c", 1)
    [(process,)] = store.database.run("SELECT pg_backend_pid()")
    assert store.put([Upload.of(1, 3, b"first")]) == [Outcome.STORED]
    os.kill(process, signal.SIGSTOP)
    monkeypatch.setattr(database._watchdog, "_patience", 0.5)
    try:
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                store.put([Upload.of(1, 4, b"second")])
    finally:
        os.kill(process, signal.SIGCONT)
    assert "postgresql is silent" in caplog.text
    # A busy machine has time from here on.
    monkeypatch.setattr(database._watchdog, "_patience", 60.0)
    monkeypatch.setattr(module, "_PATIENCE", 60.0)
    with contextlib.suppress(StoreUnavailable):  # which connects again
        store.put([Upload.of(1, 4, b"second")])
    assert store.put([Upload.of(1, 3, b"first"), Upload.of(1, 5, b"third")]) == [Outcome.SAME, Outcome.STORED]
    store.close()


def test_a_server_that_hangs_while_it_is_connected_to_is_given_up(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is stopped between its greeting and its first answer held uploads, and the end, for ever."""
    from visibility_aware_edge_ldp.campaign.server.stores import postgres as module

    def hangs(database: object, connection: Any) -> None:
        connection.execute("SELECT pg_sleep(60)")

    monkeypatch.setattr(module.PostgresDatabase, "_admit", hangs)
    begun = time.monotonic()
    with pytest.raises(module.psycopg.OperationalError):
        module.PostgresDatabase(postgres.new_database(), 0.5)
    assert time.monotonic() - begun < 30
