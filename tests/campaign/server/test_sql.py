"""Both stores keep the same promises."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import apsw
import pytest

from campaign.server.conftest import Opener
from support.campaign_inside import Inside, inside
from support.campaign_lab import Lab
from support.campaign_postgres_here import Postgres, postgres_here
from support.campaign_sampled import end_with, sampled, seen_in_statistics, some_uploads
from visibility_aware_edge_ldp.campaign.server import postgres as postgres_store
from visibility_aware_edge_ldp.campaign.server import sql
from visibility_aware_edge_ldp.campaign.server import sqlite as sqlite_store
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.sql import Store
from visibility_aware_edge_ldp.campaign.server.stages import Slot, Stage, State
from visibility_aware_edge_ldp.campaign.server.store import IN_ORDER, Outcome, StoreUnavailable, Upload
from visibility_aware_edge_ldp.errors import BadInput


def root_of(leaves: list[tuple[int, bytes]]) -> str:
    return hashlib.sha256(repr(leaves).encode()).hexdigest()


def test_the_first_upload_stands(opener: Opener) -> None:
    store = opener()
    first, again, other = Upload.of(1, 5, b"a"), Upload.of(1, 5, b"a"), Upload.of(1, 5, b"b")
    assert store.put([first]) == [Outcome.STORED]
    assert store.put([again, other]) == [Outcome.SAME, Outcome.OTHER]
    assert store.bodies(1) == {5: b"a"}
    assert store.digest(1, 5) == first.digest
    assert store.digest(1, 6) is None


def test_the_first_of_one_batch_stands(opener: Opener) -> None:
    store = opener()
    batch = [Upload.of(1, 3, b"x"), Upload.of(1, 3, b"y"), Upload.of(1, 3, b"x"), Upload.of(1, 4, b"z")]
    assert store.put(batch) == [Outcome.STORED, Outcome.OTHER, Outcome.SAME, Outcome.STORED]
    assert store.received() == {1: 2}


def test_large_batches_are_kept_whole(opener: Opener) -> None:
    store = opener()
    batch = [Upload.of(1, number, bytes([number % 256]) * 700) for number in range(217)]
    assert store.put(batch) == [Outcome.STORED] * 217
    assert store.put(batch) == [Outcome.SAME] * 217
    assert store.bodies(1) == {upload.participant: upload.body for upload in batch}
    assert store.leaves(1) == [(upload.participant, upload.digest) for upload in batch]


def test_rounds_pass_through_their_states(opener: Opener) -> None:
    store = opener()
    assert [stage.state for stage in store.stages()] == [State.OPEN, State.WAITING]
    assert store.put([Upload.of(2, 0, b"early")]) == [Outcome.EARLY]
    store.put([Upload.of(1, 7, b"a"), Upload.of(1, 2, b"b")])
    frozen = store.freeze(1, root_of)
    assert frozen == Stage(1, State.CLOSING, 2, root_of(store.leaves(1)))
    late = [Upload.of(1, 8, b"late"), Upload.of(1, 7, b"a"), Upload.of(1, 7, b"c")]
    assert store.put(late) == [Outcome.LATE, Outcome.SAME, Outcome.OTHER]
    store.settle(1, b"heard" * 500_000, "d" * 64, opens_next=True)
    assert store.transcript(1) == b"heard" * 500_000
    assert [stage.state for stage in store.stages()] == [State.CLOSED, State.OPEN]
    assert store.put([Upload.of(2, 7, b"second")]) == [Outcome.STORED]


def test_a_round_is_frozen_once(opener: Opener) -> None:
    store = opener()
    store.freeze(1, root_of)
    with pytest.raises(BadInput, match="not open"):
        store.freeze(1, root_of)
    store.settle(1, b"", "", opens_next=False)
    with pytest.raises(BadInput, match="not closing"):
        store.settle(1, b"", "", opens_next=False)
    assert [stage.state for stage in store.stages()] == [State.CLOSED, State.WAITING]


def test_a_root_that_fails_freezes_nothing(opener: Opener) -> None:
    store = opener()
    with pytest.raises(StoreUnavailable):
        store.freeze(1, lambda leaves: str(1 // 0))
    assert store.stages()[0].state is State.OPEN
    assert store.put([Upload.of(1, 1, b"a")]) == [Outcome.STORED]


def test_everything_is_there_after_opening_again(opener: Opener) -> None:
    store = opener()
    store.put([Upload.of(1, 1, b"a")])
    store.freeze(1, root_of)
    store = opener()
    assert store.stages()[0] == Stage(1, State.CLOSING, 1, root_of(store.leaves(1)))
    store.settle(1, b"t", "d", opens_next=False)
    assert opener().transcript(1) == b"t"


def test_the_first_estimate_stands(opener: Opener) -> None:
    store = opener(rounds=1)
    with pytest.raises(BadInput, match="not closed"):
        store.keep_estimate(b"too soon", 7)
    store.freeze(1, root_of)
    store.settle(1, b"", "", opens_next=False)
    store.keep_estimate(b"one", 7)
    store.keep_estimate(b"two", 7)
    assert store.estimate() == b"one"
    assert store.stages()[0].state is State.ESTIMATED


def test_bodies_go_and_digests_stay(opener: Opener) -> None:
    store = opener(rounds=1)
    upload = Upload.of(1, 1, b"body")
    store.put([upload])
    with pytest.raises(BadInput, match="kept"):
        store.forget_bodies(9)
    assert store.erased_at() is None
    store.freeze(1, root_of)
    store.settle(1, b"heard", "d", opens_next=False)
    store.keep_estimate(b"e", 7)
    before = store.stages(), store.leaves(1), store.received()
    assert store.has_bodies()
    assert store.stages()[0].transcript == "d"
    store.forget_bodies(9)
    store.forget_bodies(11)
    assert (store.bodies(1), store.transcript(1), store.has_bodies(), store.erased_at()) == ({}, b"", False, 9)
    assert ((replace(store.stages()[0], transcript="d"),), store.leaves(1), store.received()) == before
    assert store.stages()[0].transcript == ""
    assert store.put([upload]) == [Outcome.SAME]
    assert store.estimate() == b"e"


def test_a_store_serves_one_campaign_and_one_server(
    opener: Opener, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if store_url.startswith("postgresql"):
        monkeypatch.setattr("visibility_aware_edge_ldp.campaign.server.postgres._PATIENCE", 0.2)
    store = opener("one")
    with pytest.raises(BadInput, match="Another server"):
        open_store(store_url, "one", 2)
    store.close()
    with pytest.raises(BadInput, match="another campaign"):
        open_store(store_url, "two", 2)
    assert opener("one").stages()[0].state is State.OPEN


def test_forgotten_bodies_are_not_on_disk(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}", "c", 1)
    body = b"a report that must not be found again" * 40
    store.put([Upload.of(1, number, body + bytes([number])) for number in range(50)])
    store.freeze(1, root_of)
    heard = b"a transcript that reports can be made from" * 40_000
    store.settle(1, heard, "d", opens_next=False)
    store.keep_estimate(b"e", 7)
    files = [tmp_path / "s.db", tmp_path / "s.db-wal"]
    for secret in (body[:37], heard[:42]):
        assert any(secret in file.read_bytes() for file in files), "the search must find what is there"
    store.forget_bodies(9)
    for secret in (body[:37], heard[:42]):
        assert not any(secret in file.read_bytes() for file in files)
    store.close()


MANY = 500


def ended(store: Store, stride: int = 7) -> None:
    """A round to which everybody came, each so many numbers after the one before, and which is over."""
    came = [Upload.of(1, stride * turn % MANY, b"body %d" % (stride * turn % MANY)) for turn in range(MANY)]
    for first in range(0, MANY, 20):
        store.put(came[first : first + 20])
    store.freeze(1, root_of)
    store.settle(1, b"", "", opens_next=False)
    store.keep_estimate(b"e", 7)


def as_they_lie(store: Store, file: Path) -> list[list[int]]:
    """Participants as their digests lie on each page of a SQLite file."""
    store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    octets, digests = file.read_bytes(), dict(store.leaves(1))
    assert {octets.count(digest) for digest in digests.values()} == {1}
    places = {number: octets.find(digest) for number, digest in digests.items()}
    found = sorted(places, key=lambda number: places[number])
    return sorted(list(page) for _, page in groupby(found, key=lambda number: places[number] // 4_096))


def test_of_the_order_in_which_reports_came_nothing_is_left_in_a_file(tmp_path: Path) -> None:
    """Pages are what they would be had people come in any other order."""
    seen: dict[bool, list[list[list[int]]]] = {False: [], True: []}
    for stride in (1, 7, 499):
        file = tmp_path / f"{stride}.db"
        store = open_store(f"sqlite:///{file}", "c", 1)
        ended(store, stride)
        seen[False].append(as_they_lie(store, file))
        store.forget_bodies(9)
        seen[True].append(as_they_lie(store, file))
        store.close()
    one, other, third = seen[False]
    assert one != other != third != one, "the search must find what is there"
    assert seen[True][0] == seen[True][1] == seen[True][2]


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


SECRET = b"a report that must not be found again"


@contextmanager
def reader_of(file: Path) -> Iterator[None]:
    """Somebody who looks at the store, as a copying program does, and holds on to what it sees."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM uploads").fetchall()
    try:
        yield
    finally:
        connection.close()


def on_disk(file: Path) -> bool:
    files = [file, file.with_name(f"{file.name}-wal")]
    return any(SECRET in each.read_bytes() for each in files if each.exists())


def ended_in(file: Path) -> Store:
    store = open_store(f"sqlite:///{file}", "c", 1)
    store.put([Upload.of(1, number, SECRET + bytes([number])) for number in range(50)])
    store.freeze(1, root_of)
    store.settle(1, b"", "", opens_next=False)
    store.keep_estimate(b"e", 7)
    return store


def test_while_somebody_reads_nothing_is_called_erased(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "_PATIENCE_WITH_READERS", 20)
    file = tmp_path / "s.db"
    store = ended_in(file)
    with reader_of(file):
        for at in (9, 10):
            with pytest.raises(StoreUnavailable, match="Somebody reads the store"):
                store.forget_bodies(at)
            assert (store.has_bodies(), store.bodies(1), on_disk(file)) == (True, {}, True)
        size = file.with_name("s.db-wal").stat().st_size
        with pytest.raises(StoreUnavailable):
            store.forget_bodies(11)
        assert file.with_name("s.db-wal").stat().st_size == size, "coming again must not fill the disk"
    store.forget_bodies(12)
    assert (store.has_bodies(), store.erased_at(), on_disk(file)) == (False, 9, False)
    store.close()


def copy_as_after_a_kill(file: Path, place: Path) -> Path:
    """The files as a process that was killed leaves them: nobody closed anything."""
    place.mkdir()
    for name in (file.name, f"{file.name}-wal"):
        shutil.copy(file.with_name(name), place / name)
    return place / file.name


def test_who_opens_a_store_finishes_erasing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "_PATIENCE_WITH_READERS", 20)
    file = tmp_path / "s.db"
    store = ended_in(file)
    with reader_of(file), pytest.raises(StoreUnavailable):
        store.forget_bodies(9)
    left = copy_as_after_a_kill(file, tmp_path / "killed")
    store.close()
    assert on_disk(left), "the search must find what is there"
    with reader_of(left):
        store = open_store(f"sqlite:///{left}", "c", 1)
        assert store.has_bodies(), "it is opened all the same, and whoever keeps deadlines comes again"
        left_again = copy_as_after_a_kill(left, tmp_path / "killed again")
        store.close()
    store = open_store(f"sqlite:///{left_again}", "c", 1)
    assert (store.has_bodies(), store.erased_at(), on_disk(left_again)) == (False, 9, False)
    store.close()


@contextmanager
def reader_at(url: str) -> Iterator[None]:
    """As above, of either store; pg_dump holds as much for as long as it runs."""
    if url.startswith("sqlite"):
        with reader_of(Path(url.removeprefix("sqlite:///"))):
            yield
        return
    import psycopg

    with psycopg.connect(url) as connection:
        for table in ("uploads", "bodies"):
            connection.execute(f"SELECT count(*) FROM {table}".encode())
        yield


def test_a_server_erases_when_the_last_reader_has_gone(
    labs: dict[str, Lab], store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for the reader: whoever asked for the answers has them, and the page says that reports are there."""
    monkeypatch.setattr(sqlite_store, "_PATIENCE_WITH_READERS", 20)
    monkeypatch.setattr(postgres_store, "_PATIENCE_WITH_READERS", "20ms")
    with inside(labs["degrees"], store_url) as server:
        for participant in range(12):
            server.put(participant)
        server.operator("/v1/rounds/1/close")
        with reader_at(store_url):
            assert server.operator("/v1/estimate").status == 200
            assert server.runner.run(kept(server)), "rows are gone, files hold them"
            with pytest.raises(StoreUnavailable):
                server.runner.run(server.app.rounds.check_deadlines())
            assert server.put(3).status == 200, "receipts are given meanwhile"
        server.runner.run(server.app.rounds.check_deadlines())
        assert not server.runner.run(kept(server))


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


async def kept(server: Inside) -> bool:
    return bool(await server.app.writer.do(lambda store: store.has_bodies()))


def test_a_store_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    store = ended_in(file)
    for name in (file.name, "s.db-wal", "s.db-shm"):
        file.with_name(name).chmod(0o644)
    left = copy_as_after_a_kill(file, tmp_path / "killed")
    store.close()
    assert {each.stat().st_mode & 0o777 for each in left.parent.iterdir()} == {0o644}
    store = open_store(f"sqlite:///{left}", "c", 1)
    files = {each.name: each.stat().st_mode & 0o777 for each in left.parent.iterdir() if each.suffix != ".lock"}
    assert files == dict.fromkeys(("s.db", "s.db-wal", "s.db-shm"), 0o600)
    store.close()


def test_what_stays_is_what_the_page_says(tmp_path: Path) -> None:
    """Digests with who sent them, rounds with their roots, answers, and two times; nothing else has a row."""
    store = open_store(f"sqlite:///{tmp_path / 's.db'}", "c", 1)
    store.put([Upload.of(1, 3, b"body", Slot(600, 60))])
    store.freeze(1, root_of)
    store.settle(1, b"heard", "d", opens_next=False)
    store.keep_estimate(b"e", 7)
    run = store.database.run
    tables = [name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert {name for name in tables if not run(f"SELECT * FROM {name}")} == {"erasures"}
    store.forget_bodies(9)
    kept = {name: run(f"SELECT * FROM {name}") for name in tables if run(f"SELECT * FROM {name}")}
    assert kept.keys() == {"meta", "rounds", "uploads", "answers", "erasures"}
    assert kept["uploads"] == [(1, 3, Upload.of(1, 3, b"body").digest)]
    assert (kept["answers"], kept["erasures"]) == ([(1, 7, b"e")], [(1, 9)])
    store.close()


def test_whoever_is_killed_while_erasing_begins_again(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opener(rounds=1)
    ended(store)
    leaves = store.leaves(1)
    with monkeypatch.context() as patch:
        patch.setattr(sql, "IN_ORDER", (*IN_ORDER[:3], "SELECT * FROM nowhere"))
        with pytest.raises(StoreUnavailable):
            store.forget_bodies(9)
    assert (store.leaves(1), store.has_bodies()) == (leaves, True), "nothing has gone, and it is done again"
    store.forget_bodies(11)
    store.forget_bodies(12)
    assert (store.leaves(1), store.has_bodies(), store.erased_at()) == (leaves, False, 9)


def test_an_unknown_address_is_refused() -> None:
    with pytest.raises(BadInput, match="sqlite:///"):
        open_store("mysql://x", "c", 1)


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
