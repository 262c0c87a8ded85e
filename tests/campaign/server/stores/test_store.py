"""The thread that writes uploads in groups, and a store that an older version wrote."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from campaign.server.conftest import Opener
from visibility_aware_edge_ldp.campaign.server.stages import Stage, State
from visibility_aware_edge_ldp.campaign.server.stores import store as module
from visibility_aware_edge_ldp.campaign.server.stores.store import (
    Grouping,
    Outcome,
    StoreUnavailable,
    TooManyWaiting,
    Upload,
    Writer,
)
from visibility_aware_edge_ldp.errors import BadInput

LATER = (
    ("CREATE TABLE later (number INTEGER PRIMARY KEY, octets {octets} NOT NULL)",),
    ("INSERT INTO later SELECT participant, digest FROM uploads", "ALTER TABLE rounds ADD COLUMN words TEXT"),
)
NOW = module.STEPS
COLUMNS = 7  # of a round


class Recorded:
    """A store that remembers its groups, and waits for leave to commit."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.leave = threading.Event()
        self.fails = False
        self.closed = False

    def put(self, uploads: Sequence[Upload]) -> list[Outcome]:
        self.leave.wait(10)
        if self.fails:
            raise StoreUnavailable("away")
        self.groups.append(len(uploads))
        return [Outcome.STORED] * len(uploads)

    def close(self) -> None:
        self.closed = True


def uploads(count: int) -> list[Upload]:
    return [Upload.of(1, number, b"x") for number in range(count)]


def test_nobody_is_told_before_the_commit_and_groups_are_committed_at_once() -> None:
    async def main() -> None:
        store = Recorded()
        writer = Writer(store, Grouping(most=10, pause=0.02))  # type: ignore[arg-type]
        futures = [writer.put(upload) for upload in uploads(25)]
        await asyncio.sleep(0.1)
        assert not any(future.done() for future in futures)
        store.leave.set()
        assert await asyncio.gather(*futures) == [Outcome.STORED] * 25
        assert store.groups == [10, 10, 5]
        await writer.end()
        assert store.closed

    asyncio.run(main())


def test_what_comes_in_the_pause_is_in_the_group_and_a_full_group_waits_for_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        store, pauses, more = Recorded(), list[float](), [8, 15, 0]

        def sleep(pause: float) -> None:
            pauses.append(pause)
            for upload in uploads(more.pop(0)):
                writer.hand(upload, lambda outcome: None)

        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=sleep))
        store.leave.set()
        writer = Writer(store, Grouping(most=9, pause=1.0))  # type: ignore[arg-type]
        await writer.put(uploads(1)[0])
        await writer.put(uploads(1)[0])
        await writer.end()
        assert (pauses[:2], store.groups[:2]) == ([1.0, 1.0], [9, 9])
        assert sum(store.groups) == 1 + 8 + 1 + 15

    asyncio.run(main())


def test_everybody_hears_of_a_failure_and_the_next_group_is_tried() -> None:
    async def main() -> None:
        store = Recorded()
        store.leave.set()
        store.fails = True
        writer = Writer(store, Grouping(pause=0))  # type: ignore[arg-type]
        with pytest.raises(StoreUnavailable):
            await writer.put(uploads(1)[0])
        store.fails = False
        assert await writer.put(uploads(1)[0]) is Outcome.STORED
        with pytest.raises(ZeroDivisionError):
            await writer.do(lambda store: 1 // 0)
        assert await writer.do(lambda store: 7) == 7
        await writer.end()
        with pytest.raises(StoreUnavailable):
            await writer.do(lambda store: 7)

    asyncio.run(main())


def test_who_fails_when_told_keeps_nobody_else_from_being_told() -> None:
    async def main() -> None:
        store = Recorded()
        writer = Writer(store, Grouping(pause=0.02))  # type: ignore[arg-type]
        writer.hand(uploads(1)[0], lambda outcome: 1 // 0)
        after = writer.put(uploads(1)[0])
        store.leave.set()
        assert await after is Outcome.STORED
        assert store.groups == [2]
        await writer.end()

    asyncio.run(main())


def test_what_was_accepted_is_finished_when_it_ends() -> None:
    async def main() -> None:
        store = Recorded()
        writer = Writer(store, Grouping(pause=0))  # type: ignore[arg-type]
        futures = [writer.put(upload) for upload in uploads(5)]
        store.leave.set()
        await writer.end()
        assert await asyncio.gather(*futures) == [Outcome.STORED] * 5
        with pytest.raises(TooManyWaiting):
            writer.put(uploads(1)[0])

    asyncio.run(main())


def test_more_than_can_wait_are_turned_away() -> None:
    async def main() -> None:
        store = Recorded()
        writer = Writer(store, Grouping(most=1, pause=0, waiting=3))  # type: ignore[arg-type]
        futures = [writer.put(uploads(1)[0])]
        await asyncio.sleep(0.05)
        futures += [writer.put(upload) for upload in uploads(3)]
        with pytest.raises(TooManyWaiting):
            writer.put(uploads(1)[0])
        store.leave.set()
        await asyncio.gather(*futures)
        await writer.end()

    asyncio.run(main())


def version_of(store: object) -> str:
    rows = store.database.run("SELECT value FROM meta WHERE name = 'version'")  # type: ignore[attr-defined]
    return str(rows[0][0])


def columns_of(store: object) -> int:
    return len(store.database.run("SELECT * FROM rounds WHERE round = 1")[0])  # type: ignore[attr-defined]


def test_an_older_store_is_brought_up_to_date(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store, upload = opener(), Upload.of(1, 3, b"kept")
    assert (version_of(store), columns_of(store)) == (str(module.TABLES_VERSION + len(NOW)), COLUMNS)
    store.put([upload])
    store.freeze(1, lambda leaves: "ab")
    for steps in range(1, len(LATER) + 1):
        monkeypatch.setattr(module, "STEPS", NOW + LATER[:steps])
        store = opener()
        assert version_of(store) == str(module.TABLES_VERSION + len(NOW) + steps)
    assert store.database.run("SELECT * FROM later") == [(3, upload.digest)]  # type: ignore[attr-defined]
    assert columns_of(store) == COLUMNS + 1
    assert store.put([upload]) == [Outcome.SAME]
    assert store.bodies(1) == {3: b"kept"}
    assert store.stages()[0] == Stage(1, State.CLOSING, 1, "ab")
    assert version_of(opener()) == str(module.newest()), "and once only"


def test_a_store_of_before_statements_goes_on(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """When its rounds were opened, nobody knows; when they close, everybody does."""
    upload = Upload.of(1, 3, b"kept")
    with monkeypatch.context() as patch:
        patch.setattr(module, "STEPS", ())
        assert opener().put([upload]) == [Outcome.STORED]
    store = opener()
    store.begin(1_000)
    assert store.put([upload]) == [Outcome.SAME]
    assert store.freeze(1, lambda leaves: "ab", 2_000) == Stage(1, State.CLOSING, 1, "ab", opened=0, closed=2_000)


def test_a_new_store_knows_when_its_rounds_opened_and_closed(opener: Opener) -> None:
    store = opener()
    for at in (1_000, 1_500):  # a server that starts again has not opened the round again
        store.begin(at)
    store.freeze(1, lambda leaves: "ab", 2_000)
    store.settle(1, b"heard", "cd", True, 2_001, ("ef", b"salt"))
    first, second = opener().stages()
    assert first == Stage(1, State.CLOSED, 0, "ab", "cd", 1_000, 2_000, "ef", b"salt")
    assert second == Stage(2, State.OPEN, opened=2_001)
    assert opener().transcript(1) == b"heard"


def test_a_new_store_has_all_steps_too(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", NOW + LATER)
    store = opener()
    assert (version_of(store), columns_of(store)) == (str(module.newest()), COLUMNS + 1)


def test_a_step_that_fails_changes_nothing(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = Upload.of(1, 3, b"kept")
    opener().put([upload])
    with monkeypatch.context() as patch:
        patch.setattr(module, "STEPS", (*NOW, *LATER, ("SELECT * FROM nowhere",)))
        with pytest.raises(StoreUnavailable):
            opener()
    store = opener()
    assert (version_of(store), columns_of(store)) == (str(module.TABLES_VERSION + len(NOW)), COLUMNS)
    assert store.put([upload]) == [Outcome.SAME]


@pytest.mark.parametrize(
    ("version", "said"), [(str(module.newest() + 1), "newer program"), ("5", "until its reports are erased")]
)
def test_what_is_not_read_is_left_alone(opener: Opener, version: str, said: str) -> None:
    store = opener()
    store.database.run("UPDATE meta SET value = ? WHERE name = 'version'", version)  # type: ignore[attr-defined]
    with pytest.raises(BadInput, match=said):
        opener()
