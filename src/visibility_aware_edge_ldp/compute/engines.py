"""Triangles of a large plane as tasks, and the engines that run tasks: threads, or workers of a Dask cluster.

A ``Task`` counts the triangles whose first, middle and last slots are in three ranges of sides (512 slots each). A task
is a pure function of its item: it loads what it needs by itself, knows nothing of the others and draws no fresh coins,
so that any engine may run tasks anywhere, in any order, and again when a worker dies. All give the same integers.
"""

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TypeVar

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.compute.tile_layout import Ints, TileSource
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError

# What one tile takes: as it is, and as the lists of its ones, which in the worst case are all there.
TILE_OCTETS, LIST_OCTETS = 1 << 15, 1 << 19
# Tile triples in a task at most: some ten seconds, which is what the death of a worker may cost.
LONGEST = 1 << 17
# Tile triples that take a second or two.
SHORT = 1 << 14
# Lists of a tile take as long as counting with them so often.
LISTING = 1.7
# Tile triples that are counted to see how fast this machine is.
_TRIAL = 256
Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[float, float, float], None]
"""Hears after each task: the work done, all work, and the seconds that are left."""

# Tasks that wait for each core, so that none is idle while results travel.
WAITING = 2
WORKER_MEMORY = 1 << 30
NAMES = "threads, threads:N, dask, dask:N, dask://HOST:PORT or dask+tls://HOST:PORT"


@dataclass(frozen=True)
class Task:
    """Triangles whose first slot is in sides ``first`` … ``last`` − 1, the others in two more ranges of sides."""

    first: int
    last: int
    middle: tuple[int, int]
    end: tuple[int, int]


def count(source: TileSource, task: Task) -> Ints:
    """The triangles of a task, for each side of the first slot."""
    kernels = backend.kernels_for("tiles", int(work_of(task) * TILE_OCTETS))
    totals = np.zeros(task.last - task.first, np.int64)
    for j in range(*task.middle):
        stop = min(task.last, j + 1)
        if stop <= task.first:
            continue
        lists = kernels.listed(source.column(task.first, stop, j))
        for k in range(max(j, task.end[0]), task.end[1]):
            found = kernels.triangle_counts(lists, source.column(task.first, stop, k), source.column(j, j + 1, k)[0])
            totals[: stop - task.first] += found
    return totals


Engine = Callable[[TileSource, Sequence[Task]], Iterable[tuple[Task, Ints]]]


def on_threads(source: TileSource, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ints]]:
    """On all cores of this machine; the compiled kernels let go of the interpreter's lock."""
    yield from zip(tasks, on_cores(lambda task: count(source, task), tasks), strict=True)


def plan_tasks(
    sides: int, block: int | None = None, cuts: Sequence[int] = (), memory: int = 256 << 20, longest: int = LONGEST
) -> list[Task]:
    """Tasks that count every tile triple once, the largest first.

    A task's middle slots are in ``block`` sides, and its last slots in all sides that follow; neither crosses one of
    the ``cuts``, where a group of nodes begins. First slots are cut into bands where the lists of a whole column would
    exceed ``memory`` (in octets), and ends where a task would be too long.
    """
    tasks, block = [], block or _some_fifty(sides)
    bounds = sorted({0, *cuts, sides})
    band = max(memory // (LIST_OCTETS + 2 * TILE_OCTETS), 1)
    for middle in (part for a, b in pairwise(bounds) for part in _parts(a, b, block)):
        for first in _parts(0, middle[1], band):
            step = max(longest // ((first[1] - first[0]) * (middle[1] - middle[0])), 1)
            ends = [(max(a, middle[0]), b) for a, b in pairwise(bounds) if b > middle[0]]
            tasks += [Task(*first, middle, end) for a, b in ends for end in _parts(a, b, step)]
    return sorted(tasks, key=work_of, reverse=True)


def _some_fifty(sides: int) -> int:
    """So many middle sides that there are some fifty tasks, or more where they would take more than a second or two."""
    return max(min(sides // 48, 4 * SHORT // max(sides, 1) ** 2), 1)


def _parts(first: int, last: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, last)) for start in range(first, last, size)]


def work_of(task: Task) -> float:
    """How much a task is, in tile triples; making lists counts as so many."""
    middles = np.arange(*task.middle)
    firsts = np.maximum(np.minimum(task.last, middles + 1) - task.first, 0)
    ends = task.end[1] - np.maximum(middles, task.end[0])
    return float((firsts * (np.maximum(ends, 0) + LISTING)).sum())


def seconds_for(source: TileSource, work: float, workers: int) -> float:
    """How long so much work will take on so many cores like this machine's, by a trial on tiles of this source."""
    return work * seconds_a_triple(source, workers) / workers


def seconds_a_triple(source: TileSource, workers: int) -> float:
    """By a trial on every core at once, because cores that share a chip slow each other down."""
    trial = _trial_task(source.sides)
    count(source, trial)  # loads the kernels

    def taken(_: int) -> float:
        begin = time.perf_counter()
        count(source, trial)
        return time.perf_counter() - begin

    with ThreadPoolExecutor(workers) as pool:
        times = sorted(time for _ in range(3) for time in pool.map(taken, range(workers)))
    return times[len(times) // 2] / work_of(trial)


def _trial_task(sides: int) -> Task:
    """Like the tasks of a plan, and short: some first sides, one middle, the last sides."""
    firsts = min(max(sides // 2, 1), 32)
    middle = max(sides // 2, firsts - 1)
    return Task(0, firsts, (middle, middle + 1), (max(sides - _TRIAL // firsts, middle), sides))


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

    def share_value(self, value: Item) -> Callable[[], Item]:
        """What gives this value to a task, wherever it runs; sent as little as a name."""
        return lambda: value

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
    from visibility_aware_edge_ldp.compute.dask_workers import at_address, on_this_machine

    if asked[3]:
        return at_address(f"{'tcp' if asked[3] == 'dask' else 'tls'}://{asked[4]}", progress, folder)
    return on_this_machine(int(asked[2]) if asked[2] else None, memory, progress, folder)
