"""Both stores keep the same promises."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from campaign.server.conftest import Opener
from campaign.server.postgres_here import postgres_here
from visibility_aware_edge_ldp.campaign.server.opening import open_store
from visibility_aware_edge_ldp.campaign.server.store import Outcome, Stage, State, StoreUnavailable, Upload
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
    store.forget_bodies(9)
    store.forget_bodies(11)
    assert (store.bodies(1), store.transcript(1), store.has_bodies(), store.erased_at()) == ({}, b"", False, 9)
    assert (store.stages(), store.leaves(1), store.received()) == before
    assert store.stages()[0].transcript == "d"
    assert store.put([upload]) == [Outcome.SAME]
    assert store.estimate() == b"e"


def test_a_store_serves_one_campaign_and_one_server(
    opener: Opener, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if store_url.startswith("postgresql"):
        monkeypatch.setattr("visibility_aware_edge_ldp.campaign.server.postgres_store._PATIENCE", 0.2)
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


def test_an_unknown_address_is_refused() -> None:
    with pytest.raises(BadInput, match="sqlite:///"):
        open_store("mysql://x", "c", 1)


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
