"""Triangles of a large plane, tile triple by tile triple: the same integers from memory, from a file, from anywhere.

A ``Task`` counts the triangles whose first, middle and last slots are in three ranges of sides (512 slots each). Tasks
know nothing of each other, so that any engine may run them in any order, and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import Words
from visibility_aware_edge_ldp.kernels.cores import on_cores
from visibility_aware_edge_ldp.kernels.tiles import ABOVE, SIDE, WORDS, strip_start

Ints = npt.NDArray[np.int64]


class TileSource(Protocol):
    """Where tiles come from."""

    @property
    def sides(self) -> int:
        """How many sides of 512 slots there are."""

    def column(self, first: int, last: int, k: int) -> Words:
        """The tiles (first, k) … (last − 1, k), of 512 rows of eight words."""


@dataclass(frozen=True, eq=False)
class TilesInMemory:
    """All tiles of a plane, strip after strip."""

    tiles: Words
    sides: int

    def column(self, first: int, last: int, k: int) -> Words:
        start = strip_start(k)
        return self.tiles[start + first : start + last]


@dataclass(frozen=True)
class Task:
    """Triangles whose first slot is in sides ``first`` … ``last`` − 1, the others in two more ranges of sides."""

    first: int
    last: int
    middle: tuple[int, int]
    end: tuple[int, int]


def count(source: TileSource, task: Task) -> Ints:
    """The triangles of a task, for each side of the first slot."""
    kernels, totals = choice.tile_kernels(), np.zeros(task.last - task.first, np.int64)
    for j in range(*task.middle):
        stop = min(task.last, j + 1)
        if stop <= task.first:
            continue
        lists = kernels.listed(source.column(task.first, stop, j))
        for k in range(max(j, task.end[0]), task.end[1]):
            found = kernels.triangle_counts(lists, source.column(task.first, stop, k), source.column(j, j + 1, k)[0])
            totals[: stop - task.first] += found
    return totals


@dataclass(frozen=True, eq=False)
class TilesOfPlane:
    """The upper tiles of a plane in strips, cut out when asked for."""

    plane: Words

    @property
    def sides(self) -> int:
        return len(self.plane)

    def column(self, first: int, last: int, k: int) -> Words:
        tiles = self.plane[k, first * SIDE : last * SIDE].reshape(-1, SIDE, WORDS)
        if last <= k:
            return tiles
        tiles = tiles.copy()
        tiles[-1] &= ABOVE
        return tiles


Engine = Callable[[TileSource, Sequence[Task]], Iterable[tuple[Task, Ints]]]


def on_threads(source: TileSource, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ints]]:
    """On all cores of this machine; the compiled kernels let go of the interpreter's lock."""
    choice.tile_kernels()  # chosen once, before the threads start
    yield from zip(tasks, on_cores(lambda task: count(source, task), tasks), strict=True)
