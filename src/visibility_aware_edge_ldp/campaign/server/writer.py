"""The one thread that uses the store: it commits uploads in groups, and nobody is told before the commit is on disk."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from visibility_aware_edge_ldp.campaign.server.store import Outcome, Store, StoreUnavailable, Upload

R = TypeVar("R")
Waiting = tuple[Upload, "asyncio.Future[Outcome]"]


@dataclass(frozen=True)
class Grouping:
    """How many uploads one commit takes at most, how long the first of them waits, and how many may wait in all."""

    most: int = 256
    linger: float = 0.002
    waiting: int = 8_192


class TooManyWaiting(StoreUnavailable):
    """More uploads wait for the disk than should."""


class _Work:
    """Something that is not an upload, done between two groups."""

    def __init__(self, function: Callable[[Store], Any], future: asyncio.Future[Any]) -> None:
        self.function, self.future = function, future


class Writer:
    """Hands uploads from the event loop to the store's thread and their outcomes back, a group at a time."""

    def __init__(self, store: Store, grouping: Grouping = Grouping()) -> None:  # noqa: B008 - a frozen value
        self._store, self._grouping = store, grouping
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Waiting | _Work | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store")
        self._ended = False
        self.commits = 0
        self.slowest = 0.0
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many uploads have not been begun with."""
        return self._queue.qsize()

    def put(self, upload: Upload) -> asyncio.Future[Outcome]:
        """What becomes of the upload, known when its group is on disk."""
        if self._ended or self.waiting >= self._grouping.waiting:
            raise TooManyWaiting("Too many reports wait to be stored. Send it again in a few seconds.")
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._queue.put((upload, future))
        return future

    async def do(self, function: Callable[[Store], R]) -> R:
        """Use the store, between two groups."""
        if self._ended:
            raise StoreUnavailable("The server is shutting down. Ask again later.")
        future: asyncio.Future[R] = self._loop.create_future()
        self._queue.put(_Work(function, future))
        return await future

    def ask(self, function: Callable[[Store], R], seconds: float = 5.0) -> R:
        """The same, for other threads than the event loop's; TimeoutError when the store takes longer."""
        return asyncio.run_coroutine_threadsafe(self.do(function), self._loop).result(seconds)

    async def end(self) -> None:
        """Finish what waits, then let go of the store."""
        if not self._ended:
            self._ended = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while True:
            item = self._queue.get()
            while isinstance(item, tuple):
                item = self._commit(item)
            if item is None:
                break
            if item is not _NOTHING:
                self._work(item)
        self._store.close()

    def _commit(self, first: Waiting) -> Waiting | _Work | None:
        """Store one group; what was taken from the queue and is not part of it is handed back."""
        group, rest = self._group(first)
        begun = time.perf_counter()
        try:
            results: list[Any] = self._store.put([upload for upload, _ in group])
        except Exception as failure:
            results = [failure] * len(group)
        self.commits, self.slowest = self.commits + 1, max(self.slowest, time.perf_counter() - begun)
        self._tell([(future, result) for (_, future), result in zip(group, results, strict=True)])
        return rest

    def _group(self, first: Waiting) -> tuple[list[Waiting], Waiting | _Work | None]:
        """What comes within a moment of the first, up to a number.

        The moment is slept through: a thread that waited for each upload would be woken by each, and every time it
        would take the interpreter from the event loop.
        """
        if self._queue.qsize() + 1 < self._grouping.most:
            time.sleep(self._grouping.linger)
        group = [first]
        while len(group) < self._grouping.most:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return group, _NOTHING
            if not isinstance(item, tuple):
                return group, item
            group.append(item)
        return group, _NOTHING

    def _work(self, work: _Work) -> None:
        try:
            result = work.function(self._store)
        except Exception as failure:
            result = failure
        self._tell([(work.future, result)])

    def _tell(self, results: list[tuple[asyncio.Future[Any], Any]]) -> None:
        """Wake the event loop once for the whole group."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_resolve, results)


_NOTHING = _Work(lambda store: None, None)  # type: ignore[arg-type]


def _resolve(results: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in results:
        if future.done():  # whoever asked has gone
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
