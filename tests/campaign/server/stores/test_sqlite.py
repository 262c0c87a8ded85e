"""What the file of a SQLite store holds, who reads it, and what is left when reports are erased."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from support.campaign_stored import copy_as_after_a_kill, ended, ended_in, on_disk, reader_of, root_of
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.operations import note
from visibility_aware_edge_ldp.campaign.server.stages import Slot
from visibility_aware_edge_ldp.campaign.server.stores import sqlite as sqlite_store
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable, Upload
from visibility_aware_edge_ldp.errors import BadInput


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
    """Digests with who sent them, rounds with their roots, answers, two times, and what was amended and done."""
    store = open_store(f"sqlite:///{tmp_path / 's.db'}", "c", 1)
    store.put([Upload.of(1, 3, b"body", Slot(600, 60))])
    store.freeze(1, root_of)
    store.settle(1, b"heard", "d", opens_next=False)
    store.keep_estimate(b"e", 7)
    run = store.database.run
    note(store, 5, "close round 1")
    tables = [name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert {name for name in tables if not run(f"SELECT * FROM {name}")} == {"erasures", "amendments"}
    store.forget_bodies(9)
    kept = {name: run(f"SELECT * FROM {name}") for name in tables if run(f"SELECT * FROM {name}")}
    assert kept.keys() == {"meta", "rounds", "uploads", "answers", "erasures", "operations"}
    assert kept["uploads"] == [(1, 3, Upload.of(1, 3, b"body").digest)]
    assert (kept["answers"], kept["erasures"]) == ([(1, 7, b"e")], [(1, 9)])
    store.close()


def test_a_store_by_another_name_is_the_same_store(tmp_path: Path) -> None:
    """A server that came by a symbolic link would write beside the first one."""
    path = tmp_path / "store.db"
    store = sqlite_store.sqlite_store(path, "c", 1)
    (tmp_path / "also.db").symlink_to(path)
    with pytest.raises(BadInput, match="Another server"):
        sqlite_store.sqlite_store(tmp_path / "also.db", "c", 1)
    store.close()
    sqlite_store.sqlite_store(tmp_path / "also.db", "c", 1).close()
    (tmp_path / "third.db").hardlink_to(path)
    with pytest.raises(BadInput, match="several names"):
        sqlite_store.sqlite_store(path, "c", 1)


def test_why_a_store_cannot_be_opened_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_place(*anything: object) -> object:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(sqlite_store, "_only_server", no_place)
        with pytest.raises(StoreUnavailable, match="OSError: Read-only file system"):
            sqlite_store.sqlite_store(tmp_path / "store.db", "c", 1)

    def may_only_be_read(*anything: object) -> object:
        raise sqlite_store.apsw.ReadOnlyError("attempt to write a readonly database")

    monkeypatch.setattr(sqlite_store.SqliteDatabase, "run", may_only_be_read)
    with pytest.raises(StoreUnavailable, match=r"ReadOnlyError: it may only be read\). Look at its place"):
        sqlite_store.sqlite_store(tmp_path / "store.db", "c", 1)
