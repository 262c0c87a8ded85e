"""Both stores keep the same promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.server.conftest import Opener
from support.campaign_inside import inside
from support.campaign_lab import Lab
from support.campaign_stored import ended, kept, reader_at, root_of
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.stages import Stage, State
from visibility_aware_edge_ldp.campaign.server.stores import postgres as postgres_store
from visibility_aware_edge_ldp.campaign.server.stores import sql
from visibility_aware_edge_ldp.campaign.server.stores import sqlite as sqlite_store
from visibility_aware_edge_ldp.campaign.server.stores.store import IN_ORDER, Outcome, StoreUnavailable, Upload
from visibility_aware_edge_ldp.errors import BadInput


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
        monkeypatch.setattr("visibility_aware_edge_ldp.campaign.server.stores.postgres._PATIENCE", 0.2)
    store = opener("one")
    with pytest.raises(BadInput, match="Another server"):
        open_store(store_url, "one", 2)
    store.close()
    with pytest.raises(BadInput, match="another campaign"):
        open_store(store_url, "two", 2)
    assert opener("one").stages()[0].state is State.OPEN


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
