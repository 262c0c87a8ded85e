"""Triangles of a large plane as tasks: what each counts, how much work it is, and how long all of them will take.

A ``Task`` counts the triangles whose first, middle and last slots are in three ranges of sides (512 slots each). Tasks
know nothing of each other, so that any engine may run them in any order, and again: they give the same integers.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.tiles import Ints
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.compute.tiles.layout import TileSource

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
    from concurrent.futures import ThreadPoolExecutor

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
