"""The thread between the event loop and the store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from visibility_aware_edge_ldp.campaign.server.store import Outcome, StoreUnavailable, Upload
from visibility_aware_edge_ldp.campaign.server.writer import Grouping, TooManyWaiting, Writer


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
        writer = Writer(store, Grouping(most=10, linger=0.02))  # type: ignore[arg-type]
        futures = [writer.put(upload) for upload in uploads(25)]
        await asyncio.sleep(0.1)
        assert not any(future.done() for future in futures)
        store.leave.set()
        assert await asyncio.gather(*futures) == [Outcome.STORED] * 25
        assert store.groups == [10, 10, 5]
        await writer.end()
        assert store.closed

    asyncio.run(main())


def test_everybody_hears_of_a_failure_and_the_next_group_is_tried() -> None:
    async def main() -> None:
        store = Recorded()
        store.leave.set()
        store.fails = True
        writer = Writer(store, Grouping(linger=0))  # type: ignore[arg-type]
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


def test_what_was_accepted_is_finished_when_it_ends() -> None:
    async def main() -> None:
        store = Recorded()
        writer = Writer(store, Grouping(linger=0))  # type: ignore[arg-type]
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
        writer = Writer(store, Grouping(most=1, linger=0, waiting=3))  # type: ignore[arg-type]
        futures = [writer.put(uploads(1)[0])]
        await asyncio.sleep(0.05)
        futures += [writer.put(upload) for upload in uploads(3)]
        with pytest.raises(TooManyWaiting):
            writer.put(uploads(1)[0])
        store.leave.set()
        await asyncio.gather(*futures)
        await writer.end()

    asyncio.run(main())
