"""Several processes on one PostgreSQL: nobody writes out of turn, or by what it no longer knows."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import psycopg
import pytest

from support.campaign_amending import Issuer
from support.campaign_inside import Inside, inside
from support.campaign_lab import FAR, Lab, new_lab
from support.campaign_postgres_here import Postgres
from visibility_aware_edge_ldp.campaign.amendments import SignedAmendment
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.operations import log_of, note
from visibility_aware_edge_ldp.campaign.server.stores import postgres as alone
from visibility_aware_edge_ldp.campaign.server.stores import shared
from visibility_aware_edge_ldp.campaign.server.stores.shared import PostgresTurn, SharedPostgres, shared_store
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome, StoreUnavailable, Upload
from visibility_aware_edge_ldp.campaign.server.stores.turns import Entry, OutOfTurn
from visibility_aware_edge_ldp.campaign.signed_documents import new_token, token_hash
from visibility_aware_edge_ldp.campaign.wire_format import round_root
from visibility_aware_edge_ldp.errors import BadInput


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.new_database()


@pytest.fixture
def two(url: str) -> Iterator[tuple[Store, Store]]:
    """The store as two processes have it, both of which know everything."""
    with ExitStack() as stack:
        found = [stack.enter_context(closing(shared_store(url, "c", 1))) for _ in range(2)]
        for store in found:
            store.database.seen = store.changes()
        yield found[0], found[1]


def has_turn(store: Store, url: str) -> PostgresTurn:
    turn = PostgresTurn(url, "c")
    number = turn.take()
    assert number is not None
    store.database.turn_number = number
    return turn


def test_uploads_go_side_by_side_and_each_counts_once(two: tuple[Store, Store]) -> None:
    one, other = two
    assert one.put([Upload.of(1, 1, b"a"), Upload.of(1, 2, b"b")]) == [Outcome.STORED] * 2
    assert other.put([Upload.of(1, 1, b"a"), Upload.of(1, 2, b"x")]) == [Outcome.SAME, Outcome.OTHER]
    assert other.put([Upload.of(1, 3, b"c")]) == [Outcome.STORED]
    assert one.received() == other.received() == {1: 3}


def test_the_same_upload_at_two_processes_at_a_time_is_stored_once(two: tuple[Store, Store]) -> None:
    """Where both find nothing stored, the table's key lets one of them in, and the other is asked again."""
    barrier, found = threading.Barrier(2), list[object]()

    def put(store: Store) -> None:
        for number in range(60):
            barrier.wait()
            uploads = [Upload.of(1, number, bytes([number]))]
            try:
                found.append(store.put(uploads)[0])
            except StoreUnavailable:
                found.append(store.put(uploads)[0])

    threads = [threading.Thread(target=put, args=(store,)) for store in two]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert (found.count(Outcome.STORED), found.count(Outcome.SAME)) == (60, 60)
    assert two[0].received() == {1: 60}


def test_who_has_not_the_turn_changes_nothing(two: tuple[Store, Store], url: str) -> None:
    one, other = two
    one.put([Upload.of(1, 1, b"a")])
    with pytest.raises(OutOfTurn):
        one.freeze(1, round_root)
    turn = has_turn(one, url)
    assert PostgresTurn(url, "c").take() is None, "one process has the turn"
    frozen = one.freeze(1, round_root, 7)
    with pytest.raises(OutOfTurn):
        other.settle(1, b"", "", False)
    assert other.stages() == one.stages() == (frozen,)
    turn.release()
    has_turn(other, url).release()
    with pytest.raises(OutOfTurn):  # its turn is over, though nobody told it
        one.settle(1, b"", "", False)


def test_a_paused_process_that_comes_back_changes_nothing(
    two: tuple[Store, Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL takes the turn from whoever is silent; the twin without the comparison writes all the same."""
    monkeypatch.setattr(shared, "_SILENCE", 1)
    monkeypatch.setattr(PostgresTurn, "_beat", staticmethod(lambda connection, ended: None))
    one, other = two
    has_turn(one, url)
    begun, taken = time.monotonic(), None
    while taken is None:
        taken = PostgresTurn(url, "c").take()
        assert time.monotonic() < begun + 10
        time.sleep(0.1)
    other.database.turn_number = taken
    with pytest.raises(OutOfTurn):
        one.freeze(1, round_root)
    one.database.turn_number = taken
    assert one.freeze(1, round_root).root, "the search must find what the comparison prevents"


def test_a_process_paused_in_the_middle_of_a_change_is_ended(
    two: tuple[Store, Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "_SILENCE", 1)
    with psycopg.connect(url) as paused:  # as if within a transaction: it holds the rows' lock and says no more
        key = alone.campaign_key("c")
        paused.execute("SELECT pg_advisory_xact_lock(%s, %s)", (shared._ROWS, key))
        with pytest.raises(StoreUnavailable):
            two[0].put([Upload.of(1, 1, b"a")])
        begun, taken = time.monotonic(), None
        while taken is None:
            taken = PostgresTurn(url, "c").take()
            assert time.monotonic() < begun + 10
        with pytest.raises(psycopg.OperationalError):
            paused.execute("SELECT 1")
    assert two[0].put([Upload.of(1, 1, b"a")]) == [Outcome.STORED]


def test_closing_waits_for_uploads_that_have_begun(two: tuple[Store, Store], url: str) -> None:
    """What is acknowledged after the root was made would be lost from it."""
    one, other = two
    turn, found = has_turn(one, url), list[object]()
    with other.database.transaction():
        other.database.enter(Entry.UPLOAD)
        closing_thread = threading.Thread(target=lambda: found.append(one.freeze(1, round_root)))
        closing_thread.start()
        time.sleep(0.2)
        other.database.insert("uploads", ("round", "participant", "digest"), [(1, 5, b"d" * 32)])
        assert not found
    closing_thread.join(10)
    turn.release()
    assert found[0].included == 1  # type: ignore[attr-defined]
    other.database.seen = other.changes()
    assert other.put([Upload.of(1, 6, b"e")]) == [Outcome.LATE]


def test_lines_of_the_log_follow_each_other_whoever_writes_them(two: tuple[Store, Store]) -> None:
    for number in range(4):
        note(two[number % 2], number, f"line {number}")
    assert [line["number"] for line in log_of(two[0])] == [1, 2, 3, 4]


def test_a_server_that_wants_the_database_for_itself_waits_and_is_refused(
    two: tuple[Store, Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "_PATIENCE", 0.2)
    with pytest.raises(BadInput, match="Another server uses this store"):
        open_store(url, "c", 1)
    for store in two:
        store.close()
    with closing(open_store(url, "c", 1)) as store:  # the campaign is found where it is
        assert store.database.run("SELECT current_schema()") == [(alone.schema_of("c"),)]
        with pytest.raises(BadInput, match="Another server uses this store"):
            shared_store(url, "c", 1)


def test_campaigns_are_apart_and_old_stores_go_on_where_they_are(url: str) -> None:
    with closing(open_store(url, "old", 1)) as store:
        store.put([Upload.of(1, 1, b"a")])
    with closing(shared_store(url, "old", 1)) as old, closing(shared_store(url, "new", 1)) as new:
        for store in (old, new):
            store.database.seen = store.changes()
        assert (old.received(), new.received()) == ({1: 1}, {})
        assert new.put([Upload.of(1, 1, b"b")]) == [Outcome.STORED]
        turn = PostgresTurn(url, "new")
        new.database.turn_number = turn.take() or 0
        new.freeze(1, round_root)
        new.settle(1, b"", "", False)
        new.forget_bodies(9)
        turn.release()
        assert (old.bodies(1), new.bodies(1)) == ({1: b"a"}, {})


# ── the same with all of a server around it ──


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return new_lab(tmp_path_factory.mktemp("shared") / "lab", 8, "degrees", (FAR,), fewest=1)


@pytest.fixture
def both(lab: Lab, url: str) -> Iterator[tuple[Inside, Inside]]:
    opened = partial(open_store, shared=True)
    with inside(lab, url, opened=opened) as one, inside(lab, url, opened=opened) as other:
        yield one, other


def amend(lab: Lab, server: Inside, kind: str, participant: int, **says: object) -> None:
    issuer = Issuer.of(lab.served.charter, lab.directory)
    amendment, person = issuer.drafted(kind, participant, **says)
    signed = SignedAmendment.of(amendment, issuer.key, person)
    assert server.ask("POST", "/v1/amendments", lab.operator, signed.data).status == 201


def test_who_withdraws_at_one_process_is_not_taken_by_another(lab: Lab, both: tuple[Inside, Inside]) -> None:
    amend(lab, both[0], "withdrawal", 3)
    assert both[1].put(3).problem == "withdrawn"


def test_a_process_that_does_not_look_is_caught(
    lab: Lab, both: tuple[Inside, Inside], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: it stores what its own memory allows."""
    monkeypatch.setattr(SharedPostgres, "changes", lambda self: self.seen)
    amend(lab, both[0], "withdrawal", 3)
    assert both[1].put(3).status == 201


def test_a_token_replaced_at_one_process_holds_at_another(lab: Lab, both: tuple[Inside, Inside]) -> None:
    token = new_token()
    amend(lab, both[0], "token", 2, token=token_hash(token))
    body = lab.report(2)
    assert both[1].ask("PUT", lab.path(2), lab.tokens[2], body).problem == "unauthorized"
    assert both[1].ask("PUT", lab.path(2), token, body).status == 201


def test_what_one_process_closes_and_answers_the_other_says_too(lab: Lab, both: tuple[Inside, Inside]) -> None:
    one, other = both
    assert one.put(1).status == other.put(2).status == 201
    assert one.operator("/v1/rounds/1/close").content["received"] == 2
    assert other.ask("GET", "/v1/rounds/1").content["state"] == "closed"
    assert other.put(4).problem == "late"
    answers = other.operator("/v1/estimate").body
    assert one.ask("GET", "/v1/estimates").body == answers
    assert one.put(1).status == 200, "receipts stand"


def test_a_round_that_a_killed_process_was_closing_is_closed_by_another(lab: Lab, url: str, tmp_path: Path) -> None:
    opened = partial(open_store, shared=True)
    with inside(lab, url, opened=opened) as one:
        one.put(1)
        turn = PostgresTurn(url, lab.served.charter.identity)
        number = turn.take()
        one.runner.run(one.app.writer.do(lambda store: setattr(store.database, "turn_number", number)))
        one.runner.run(one.app.writer.do(lambda store: store.freeze(1, round_root)))
        turn.release()
        with inside(lab, url, opened=opened) as other:
            other.runner.run(other.app.rounds.check_deadlines())
            assert other.ask("GET", "/v1/rounds/1").content["state"] == "closed"
