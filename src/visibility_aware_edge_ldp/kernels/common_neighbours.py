"""Positions with their common neighbours, row by row from the highest degree down, and only the promising ones.

Nodes are *ranks*: 0 has the highest degree. Row i holds the positions {i, j} with j > i. A position is
promising when its common neighbours reach ``floor[s]``, where s is the sum of its ends' degrees, the edge
between them not counted.  [SENS.5]
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
ROOM = 1 << 20


@dataclass(frozen=True, eq=False)
class RankedGraph:
    """Neighbour lists by rank; node r is the user's node ``node[r]``."""

    node: Ints
    degree: Ints
    start: Ints
    neighbour: Int32s = field(repr=False)

    @property
    def n(self) -> int:
        """How many nodes."""
        return len(self.node)

    def of(self, rank: int) -> Int32s:
        """The neighbours of a node, sorted."""
        return self.neighbour[self.start[rank] : self.start[rank + 1]]

    def edges(self) -> tuple[Ints, Ints]:
        """Both ends of every edge, the lower rank first."""
        u = np.repeat(np.arange(self.n), self.degree)
        kept = self.neighbour > u
        return u[kept], self.neighbour[kept].astype(np.int64)

    def joined(self, u: Ints, v: Ints) -> npt.NDArray[np.bool_]:
        """Whether there is an edge at each position."""
        if not len(self.neighbour):
            return np.zeros(u.shape, np.bool_)
        low, high = self.start[v], self.start[v + 1]
        while True:  # all binary searches in step, in the list of v
            open_ = low < high
            if not open_.any():
                break
            middle = (low + high) >> 1
            less = open_ & (self.neighbour[np.minimum(middle, len(self.neighbour) - 1)] < u)
            low = np.where(less, middle + 1, low)
            high = np.where(open_ & ~less, middle, high)
        inside = low < self.start[v + 1]
        found: npt.NDArray[np.bool_] = inside & (self.neighbour[np.where(inside, low, 0)] == u)
        return found


def ranked(n: int, edges: npt.NDArray[np.int32]) -> RankedGraph:
    """The graph with its nodes numbered by falling degree, equal degrees in the user's order."""
    degree = np.bincount(edges.ravel(), minlength=n).astype(np.int64)
    node = np.argsort(-degree, kind="stable").astype(np.int64)
    rank = np.empty(n, np.int64)
    rank[node] = np.arange(n)
    start = np.concatenate(([0], np.cumsum(degree[node])))
    return RankedGraph(node, degree[node], start, loops().rank_lists(edges, node, rank, start))


class Rows:
    """The rows that are still to be visited; each batch is cut by the floor of the moment."""

    def __init__(self, graph: RankedGraph) -> None:
        self.graph, self._next, self._size = graph, 0, 1
        self._place = graph.start[:-1].copy()
        self._marks = np.zeros((2, graph.n), np.int32)
        self._out = np.empty((4, max(ROOM, graph.n)), np.int32)

    @property
    def done(self) -> bool:
        """Whether no row is left."""
        return self._next >= self.graph.n - 1

    def batch(self, floor: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Promising positions of the next rows: their two ranks, their common neighbours and their degree sums."""
        graph, end = self.graph, min(self._next + self._size, self.graph.n - 1)
        self._next, found = loops().sweep(
            self._next, end, graph.degree, graph.start, graph.neighbour, floor, self._place, self._marks, self._out
        )
        # Few rows first: they raise the floor for all that follow.
        self._size = min(4 * self._size, 4096)
        i, j, shared, sums = self._out[:, :found].astype(np.int64)
        return i, j, shared, sums


@dataclass(frozen=True)
class Loops:
    """The two loops that are worth compiling."""

    rank_lists: Callable[..., Int32s]
    sweep: Callable[..., tuple[int, int]]


@cache
def loops() -> Loops:
    """The fastest loops this machine has. ``VA_EDGE_LDP_KERNEL=plain`` asks for the plain ones."""
    if os.environ.get("VA_EDGE_LDP_KERNEL") != "plain":
        try:
            from visibility_aware_edge_ldp.kernels import common_neighbours_compiled as compiled
        except ImportError:
            return PLAIN
        return Loops(compiled.rank_lists, compiled.sweep)
    return PLAIN


def plain_rank_lists(edges: npt.NDArray[np.int32], node: Ints, rank: Ints, start: Ints) -> Int32s:
    """The neighbour lists by rank, each sorted, end to end."""
    n = len(node)
    u, v = rank[edges[:, 0]], rank[edges[:, 1]]
    codes = np.concatenate((u * n + v, v * n + u))
    codes.sort()
    return (codes % max(n, 1)).astype(np.int32)


def plain_sweep(
    first: int,
    end: int,
    degree: Ints,
    start: Ints,
    neighbour: Int32s,
    floor: Ints,
    place: Ints,
    marks: Int32s,
    out: Int32s,
) -> tuple[int, int]:
    """Fill ``out`` with promising (i, j, a, s) of the rows first … end − 1; return the next row and how many.

    ``place[v]`` is where the row stands in v's list: rows come in order, so each visit moves it by one.
    """
    found, n = 0, len(degree)
    for i in range(first, end):
        if degree[i] < floor[2 * degree[i]]:
            return n, found
        if found + n - i > out.shape[1]:
            return i, found
        sums = degree[i] + degree[i + 1 :]
        width = int(np.count_nonzero(degree[i + 1 :] >= floor[sums]))
        near = neighbour[start[i] : start[i + 1]]
        place[near] += 1
        a = np.bincount(_ranks_between(i, width, near, start, neighbour, place), minlength=width)
        s = sums[:width]
        beside = near[(near > i) & (near <= i + width)] - (i + 1)
        s[beside] -= 2
        kept = np.flatnonzero(a >= floor[s])
        out[0, found : found + len(kept)] = i
        out[1, found : found + len(kept)] = kept + i + 1
        out[2, found : found + len(kept)] = a[kept]
        out[3, found : found + len(kept)] = s[kept]
        found += len(kept)
    return end, found


def _ranks_between(i: int, width: int, near: Int32s, start: Ints, neighbour: Int32s, place: Ints) -> Any:
    """For each path i – v – j with i < j <= i + width, the number j − i − 1."""
    begins, lengths = place[near], start[near + 1] - place[near]
    offsets = np.cumsum(lengths) - lengths
    steps = np.arange(lengths.sum()) - np.repeat(offsets - begins, lengths)
    ends = neighbour[steps] - (i + 1)
    return ends[ends < width]


PLAIN = Loops(plain_rank_lists, plain_sweep)
