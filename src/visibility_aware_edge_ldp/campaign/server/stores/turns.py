"""Several processes on one store: what each does beside the others, what alone, and whose turn it is.

Uploads go side by side. Whatever changes the rounds is done by one process at a time: it has the turn, a lock that the
database takes from a process which is killed or silent, and with it a number that grows. Every transaction that changes
the rounds compares that number with the store's, so that whoever was paused and comes back changes nothing.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable
from typing import Protocol

from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable

# Seconds between two attempts to have the turn.
_PAUSE = 0.3


class Entry(enum.Enum):
    """Beside whom a transaction is done."""

    UPLOAD = "beside other uploads, if this process knows what the others have changed"
    ALONE = "alone"
    TURN = "alone, and only by the process whose turn it is"


class OutdatedProcess(StoreUnavailable):
    """Refuses an upload: another process has changed something that this one does not know yet; nothing was stored."""


class OutOfTurn(StoreUnavailable):
    """Refuses a change: another process has the turn now; nothing was changed."""


class TurnLock(Protocol):
    """What only one process holds at a time."""

    def take(self) -> int | None:
        """The number of this turn, larger than all before; None while somebody else has it."""

    def release(self) -> None:
        """Let others have it."""


class SingleProcess:
    """A database that one process uses: it waits for nobody, and its turn depends on nothing else."""

    is_shared = False
    seen = turn_number = 0

    def enter(self, entry: Entry) -> None:
        """At the beginning of a transaction: wait for others, and refuse what is not to be done now."""

    def changes(self) -> int:
        """How often the rounds, or what was amended, have been changed by any process."""
        return 0

    def turn_lock(self) -> TurnLock | None:
        """What the turn depends on besides this process."""
        return None


class Turn:
    """The right to change the rounds, for one task of one process at a time (``async with``)."""

    def __init__(self, lock: TurnLock | None, entered: Callable[[int], Awaitable[None]]) -> None:
        self._here, self._lock, self._entered = asyncio.Lock(), lock, entered

    def locked(self) -> bool:
        """Whether a task of this process has it, or waits for it to be this process's turn."""
        return self._here.locked()

    async def __aenter__(self) -> None:
        await self._here.acquire()
        try:
            if self._lock is not None:
                await self._entered(await self._taken(self._lock))
        except BaseException:
            await self._let_go()
            raise

    async def _taken(self, lock: TurnLock) -> int:
        while (number := await asyncio.to_thread(lock.take)) is None:
            await asyncio.sleep(_PAUSE)
        return number

    async def __aexit__(self, *failure: object) -> None:
        await self._let_go()

    async def _let_go(self) -> None:
        try:
            if self._lock is not None:
                await asyncio.to_thread(self._lock.release)
        finally:
            self._here.release()
