"""Engines: who runs tasks. Threads of this process, or workers of a Dask cluster, here or elsewhere.

A task is a pure function of its item: it loads what it needs by itself and draws no fresh coins, so that it may be run
anywhere, and again when a worker dies. Every engine gives the same integers.
"""

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TypeVar

from visibility_aware_edge_ldp.compute.engines.tasks import Task, count, work_of
from visibility_aware_edge_ldp.compute.tiles.layout import Ints, TileSource
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[float, float, float], None]
"""Hears after each task: the work done, all work, and the seconds that are left."""

# Tasks that wait for each core, so that none is idle while results travel.
WAITING = 2
WORKER_MEMORY = 1 << 30
NAMES = "threads, threads:N, dask, dask:N, dask://HOST:PORT or dask+tls://HOST:PORT"


class LostTask(VaEdgeLdpError):  # noqa: N818 - named for the fault, not for being an error
    """Ours: an engine gave no result, or two, for a task."""


class Workers(AbstractContextManager["Workers"], ABC):
    """An engine. ``with`` it, so that it is stopped in the end."""

    def __init__(self, progress: Progress | None = None, within: Path | None = None) -> None:
        self.progress, self._within = progress, within
        self._folder: TemporaryDirectory[str] | None = None

    @property
    @abstractmethod
    def cores(self) -> int:
        """How many tasks run at a time."""

    @abstractmethod
    def results(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        """For each item its place and what ``work`` makes of it, in any order, as they are done."""

    def folder(self) -> Path:
        """A folder that all workers can read, and that is removed with the engine."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="va-edge-ldp-", dir=self._within)
        return Path(self._folder.name)

    def shared(self, source: TileSource) -> TileSource:
        """The same tiles, where the workers can reach them."""
        return source

    def each(
        self, work: Callable[[Item], Result], items: Sequence[Item], costs: Sequence[float] | None = None
    ) -> Iterator[tuple[Item, Result]]:
        """Every item and its result, once each, in any order; ``costs`` say how much work each item is."""
        watch = _Watch(self.progress, [1.0] * len(items) if costs is None else costs)
        for place, result in once_each(len(items), self.results(work, items)):
            watch.done(place)
            yield items[place], result

    def __call__(self, source: TileSource, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ints]]:
        """The triangles of every task: an engine as ``triples`` knows it."""
        return self.each(partial(count, self.shared(source)), tasks, [work_of(task) for task in tasks])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()


class _Watch:
    """Tells how much is done and how long the rest will take, if it goes on like this."""

    def __init__(self, progress: Progress | None, costs: Sequence[float]) -> None:
        self._progress, self._costs = progress, costs
        self._done, self._total, self._begin = 0.0, sum(costs), time.perf_counter()

    def done(self, place: int) -> None:
        self._done += self._costs[place]
        if self._progress is not None:
            taken = time.perf_counter() - self._begin
            left = taken * (self._total - self._done) / self._done if self._done else 0.0
            self._progress(self._done, self._total, max(left, 0.0))


def once_each(number: int, results: Iterable[tuple[int, Result]]) -> Iterator[tuple[int, Result]]:
    """The same results; refuses at the end, or at once, if a task was left out or done twice."""
    missing = set(range(number))
    for place, result in results:
        if place not in missing:
            raise LostTask("An engine gave two results for one task. Nothing was estimated; please report this.")
        missing.remove(place)
        yield place, result
    if missing:
        raise LostTask(f"An engine gave no result for {len(missing)} of {number} tasks. Nothing was estimated.")


class Threads(Workers):
    """Threads of this process; compiled kernels let go of the interpreter's lock."""

    def __init__(self, number: int | None = None, progress: Progress | None = None, folder: Path | None = None) -> None:
        super().__init__(progress, folder)
        self._number = number or os.cpu_count() or 1

    @property
    def cores(self) -> int:
        return self._number

    def results(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        waiting, running = iter(enumerate(items)), set[Future[tuple[int, Result]]]()

        def one(place: int, item: Item) -> tuple[int, Result]:
            return place, work(item)

        with ThreadPoolExecutor(self._number) as pool:
            try:
                while running := running | {
                    pool.submit(one, *each) for each in islice(waiting, self._number * WAITING - len(running))
                }:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            finally:
                pool.shutdown(cancel_futures=True)


def open_engine(
    name: str = "threads", progress: Progress | None = None, memory: int = WORKER_MEMORY, folder: Path | None = None
) -> Workers:
    """The engine of that name, to be used in a ``with``.

    ``threads`` and ``threads:2`` are this process; ``dask`` and ``dask:2`` start workers on this machine, each with so
    much ``memory`` (in octets) and no more; ``dask://host:8786`` is a scheduler that runs already, whose workers all
    see ``folder`` under the same name.
    """
    asked = re.fullmatch(r"(threads|dask)(?::([1-9][0-9]{0,3}))?|(dask|dask\+tls)://(\S+:[0-9]+)", name)
    if asked is None:
        raise BadInput(f"{name!r} is not an engine. Use {NAMES}.")
    if asked[1] == "threads":
        return Threads(int(asked[2]) if asked[2] else None, progress, folder)
    from visibility_aware_edge_ldp.compute.engines.dask_workers import at_address, on_this_machine

    if asked[3]:
        return at_address(f"{'tcp' if asked[3] == 'dask' else 'tls'}://{asked[4]}", progress, folder)
    return on_this_machine(int(asked[2]) if asked[2] else None, memory, progress, folder)
