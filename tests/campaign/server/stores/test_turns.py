"""Whose turn it is: one task at a time, by a lock that others may hold."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from visibility_aware_edge_ldp.campaign.server.stores import turns
from visibility_aware_edge_ldp.campaign.server.stores.turns import Entry, OutOfTurn, SingleProcess, Turn


class Lock:
    """Somebody else has it for the first attempts."""

    def __init__(self, busy: int = 0) -> None:
        self.busy, self.number, self.held = busy, 0, 0

    def take(self) -> int | None:
        if self.busy:
            self.busy -= 1
            return None
        self.number += 1
        self.held += 1
        return self.number

    def release(self) -> None:
        self.held -= 1


def entering(found: list[int], failure: Exception | None = None) -> Callable[[int], Awaitable[None]]:
    async def entered(number: int) -> None:
        found.append(number)
        if failure:
            raise failure

    return entered


def test_one_task_at_a_time_has_the_turn() -> None:
    async def run() -> None:
        lock, numbers, inside = Lock(), list[int](), 0
        turn = Turn(lock, entering(numbers))

        async def task() -> None:
            nonlocal inside
            async with turn:
                inside += 1
                assert (inside, lock.held) == (1, 1)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(task() for _ in range(5)))
        assert numbers == [1, 2, 3, 4, 5]
        assert lock.held == 0

    asyncio.run(run())


def test_a_turn_of_somebody_else_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PAUSE", 0.001)

    async def run() -> None:
        lock = Lock(busy=3)
        async with Turn(lock, entering([])):
            assert (lock.busy, lock.held) == (0, 1)

    asyncio.run(run())


def test_who_cannot_begin_its_turn_lets_go_of_it() -> None:
    async def run() -> None:
        lock = Lock()
        with pytest.raises(OutOfTurn):
            async with Turn(lock, entering([], OutOfTurn("no"))):
                raise AssertionError("the turn has not begun")
        assert lock.held == 0
        async with Turn(None, entering([])):
            pass

    asyncio.run(run())


def test_where_nobody_else_is_nothing_is_asked() -> None:
    database = SingleProcess()
    for entry in Entry:
        database.enter(entry)
    assert (database.changes(), database.seen, database.is_shared, database.turn_lock()) == (0, 0, False, None)
