"""Positions with their common neighbours, row by row from the highest degree down, and only the promising ones.

Nodes are *ranks*: 0 has the highest degree. Row i holds the positions {i, j} with j > i. A position is
promising when its common neighbours reach ``floor[s]``, where s is the sum of its ends' degrees, the edge
between them not counted.  [SENS.5]  Lists are made for a few ranks first, the *hubs*: mostly nobody else
matters, and then one look at each edge is all the work.
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
# Lists are made for this many nodes of highest degree, and then for this many times as many.
HUBS = 64
GROWTH = 8


@dataclass(frozen=True, eq=False)
class Ranking:
    """Who has which rank, and the degrees by rank; equal degrees stand in the user's order."""

    node: Int32s
    rank: Int32s = field(repr=False)
    degree: Ints

    def reach(self, floor: Ints) -> int:
        """No position with an end at or beyond this rank is promising, whatever its ends share.  [SENS.6]"""
        top, others = self.degree[0], self.degree[1:]
        # Promising ranks come first: degrees fall with the rank, and the floor rises.
        low, high = 0, len(others)
        while low < high:
            middle = (low + high) // 2
            if others[middle] >= floor[top + others[middle]]:
                low = middle + 1
            else:
                high = middle
        return low + 1


@dataclass(frozen=True, eq=False)
class RankedGraph:
    """Sorted neighbour lists by rank: whole for the first ``hubs`` ranks; the other lists hold hubs alone."""

    ranking: Ranking
    hubs: int
    start: Ints
    neighbour: Int32s = field(repr=False)

    @property
    def n(self) -> int:
        """How many nodes."""
        return len(self.ranking.node)

    @property
    def node(self) -> Int32s:
        """The user's nodes by rank."""
        return self.ranking.node

    @property
    def degree(self) -> Ints:
        """Whole degrees by rank, hubs or not."""
        return self.ranking.degree

    def of(self, rank: int) -> Int32s:
        """The neighbours of a hub, sorted."""
        return self.neighbour[self.start[rank] : self.start[rank + 1]]

    def hub_edges(self) -> tuple[Ints, Ints]:
        """Both ends of every edge between hubs, the lower rank first."""
        whole = self.neighbour[: self.start[self.hubs]]
        u = np.repeat(np.arange(self.hubs), self.degree[: self.hubs])
        kept = (whole > u) & (whole < self.hubs)
        return u[kept], whole[kept].astype(np.int64)

    def joined(self, u: Ints, v: Ints) -> npt.NDArray[np.bool_]:
        """Whether there is an edge at each position; v are hubs."""
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

    def one_sided(self, i: Ints, j: Ints) -> tuple[Ints, Int32s, Int32s]:
        """All nodes joined to exactly one end of positions between hubs: of which position, to which end *not*, who."""
        return loops().one_sided(self.start, self.neighbour, i, j)


def ranking(n: int, edges: npt.NDArray[np.int32]) -> Ranking:
    """The nodes numbered by falling degree."""
    return Ranking(*loops().rank_nodes(n, edges))


def ranked(order: Ranking, edges: npt.NDArray[np.int32], hubs: int) -> RankedGraph:
    """The lists of all edges that have a hub at an end."""
    room = int(order.degree[:hubs].sum())
    return RankedGraph(order, hubs, *loops().hub_lists(edges, order.rank, hubs, room))


class GrowingLists:
    """Whole neighbour lists by rank, made for a few hubs first, and for more when a later rank is asked for."""

    def __init__(self, n: int, edges: npt.NDArray[np.int32]) -> None:
        self.n, self._edges, self.ranking = n, edges, ranking(n, edges)
        self.node, self.degree = self.ranking.node, self.ranking.degree
        self._graph = ranked(self.ranking, edges, min(HUBS, n))

    def of(self, rank: int) -> Int32s:
        """The neighbours of a node, sorted."""
        if rank >= self._graph.hubs:
            hubs = min(self.n, max(GROWTH * self._graph.hubs, rank + 1))
            self._graph = ranked(self.ranking, self._edges, hubs)
        return self._graph.of(rank)


class Rows:
    """The rows of hubs that are still to be visited; each batch is cut by the floor of the moment.

    Positions between the first ``known`` ranks are left out.
    """

    def __init__(self, graph: RankedGraph, known: int = 0) -> None:
        self.graph, self._known, self._next, self._size = graph, known, 0, 1
        self._place = graph.start[:-1].copy()
        self._marks = np.zeros((2, graph.n), np.int32)
        self._out = np.empty((4, max(graph.hubs, min(ROOM, graph.hubs**2))), np.int32)

    @property
    def done(self) -> bool:
        """Whether no row is left."""
        return self._next >= self.graph.hubs - 1

    def batch(self, floor: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Promising positions of the next rows: their two ranks, their common neighbours and their degree sums."""
        graph, end = self.graph, min(self._next + self._size, self.graph.hubs - 1)
        span = np.array([self._next, end, self._known, graph.hubs])
        lists = graph.degree, graph.start, graph.neighbour
        self._next, found = loops().sweep(span, *lists, floor, self._place, self._marks, self._out)
        # Few rows first: they raise the floor for all that follow.
        self._size = min(4 * self._size, 4096)
        i, j, shared, sums = self._out[:, :found].astype(np.int64)
        return i, j, shared, sums


@dataclass(frozen=True)
class Loops:
    """The loops that are worth compiling."""

    rank_nodes: Callable[..., tuple[Int32s, Int32s, Ints]]
    hub_lists: Callable[..., tuple[Ints, Int32s]]
    one_sided: Callable[..., tuple[Ints, Int32s, Int32s]]
    floor_of: Callable[..., Ints]
    sweep: Callable[..., tuple[int, int]]


@cache
def loops() -> Loops:
    """The fastest loops this machine has. ``VA_EDGE_LDP_KERNEL=plain`` asks for the plain ones."""
    if os.environ.get("VA_EDGE_LDP_KERNEL") != "plain":
        try:
            from visibility_aware_edge_ldp.kernels import common_neighbours_compiled as compiled
        except ImportError:
            return PLAIN
        return Loops(compiled.rank_nodes, compiled.hub_lists, compiled.one_sided, compiled.floor_of, compiled.sweep)
    return PLAIN


def plain_rank_nodes(n: int, edges: npt.NDArray[np.int32]) -> tuple[Int32s, Int32s, Ints]:
    """Nodes by rank, ranks by node and degrees by rank."""
    degree = np.bincount(edges.ravel(), minlength=n).astype(np.int64)
    node = np.argsort(-degree, kind="stable").astype(np.int32)
    rank = np.empty(n, np.int32)
    rank[node] = np.arange(n, dtype=np.int32)
    return node, rank, degree[node]


def plain_hub_lists(edges: npt.NDArray[np.int32], rank: Int32s, hubs: int, room: int) -> tuple[Ints, Int32s]:
    """Where each list starts, and the lists end to end; ``room`` is the sum of the hubs' degrees."""
    n, ends = len(rank), rank[edges].astype(np.int64)
    u, v = ends[ends.min(axis=1, initial=n) < hubs].T
    codes = np.concatenate((u * n + v, v * n + u))
    codes.sort()
    rows, others = np.divmod(codes, max(n, 1))
    start = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
    return start.astype(np.int64), others.astype(np.int32)


def plain_one_sided(start: Ints, neighbour: Int32s, i: Ints, j: Ints) -> tuple[Ints, Int32s, Int32s]:
    """Position by position, the neighbours of i alone and then those of j alone."""
    found = []
    for p, pair in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        lists = [neighbour[start[end] : start[end + 1]] for end in pair]
        for (near, far), end in zip((lists, lists[::-1]), pair[::-1], strict=True):
            alone = np.setdiff1d(near, np.append(far, end), assume_unique=True)
            found.append((np.full(len(alone), p), np.full(len(alone), end, np.int32), alone.astype(np.int32)))
    none = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
    which, ends, nodes = (np.concatenate(parts) for parts in zip(none, *found, strict=True))
    return which, ends, nodes


def plain_floor_of(best: Ints, top: int, cap: int, plenty: int) -> Ints:
    """For each degree sum s up to ``top``, the fewest common neighbours that may beat ``best`` at some distance."""
    budgets = np.flatnonzero(best < cap)
    best = best[budgets]
    sums = np.maximum(2 * best + 2 - budgets, 0)
    floor = np.full(top + 1, plenty, dtype=np.int64)
    within = sums <= top
    np.minimum.at(floor, sums[within], (best + 1 - budgets)[within])
    lowest: Ints = np.minimum.accumulate(floor)
    return lowest


def plain_sweep(
    span: Ints,
    degree: Ints,
    start: Ints,
    neighbour: Int32s,
    floor: Ints,
    place: Ints,
    marks: Int32s,
    out: Int32s,
) -> tuple[int, int]:
    """Fill ``out`` with promising (i, j, a, s); return the next row and how many.

    ``span`` holds the first row and the end of rows, how many ranks know each other already, and how many hubs there
    are. ``place[v]`` is where the row stands in v's list: rows come in order, so each visit moves it by one.
    """
    first, end, known, hubs = span.tolist()
    found = 0
    for i in range(first, end):
        if degree[i] < floor[2 * degree[i]]:
            return hubs, found
        if found + hubs - i > out.shape[1]:
            return i, found
        sums = degree[i] + degree[i + 1 : hubs]
        width = int(np.count_nonzero(degree[i + 1 : hubs] >= floor[sums]))
        near = neighbour[start[i] : start[i + 1]]
        place[near] += 1
        a = np.bincount(_ranks_between(i, width, near, start, neighbour, place), minlength=width)
        s = sums[:width]
        beside = near[(near > i) & (near <= i + width)] - (i + 1)
        s[beside] -= 2
        kept = np.flatnonzero(a >= floor[s])
        kept = kept[kept >= known - (i + 1)]
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


PLAIN = Loops(plain_rank_nodes, plain_hub_lists, plain_one_sided, plain_floor_of, plain_sweep)
