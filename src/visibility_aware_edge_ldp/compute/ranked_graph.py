"""Positions with their common neighbours, row by row from the highest degree down, and only the promising ones.

Nodes are *ranks*: 0 has the highest degree. Row i holds the positions {i, j} with j > i. A position is
promising when its common neighbours reach ``floor[s]``, where s is the sum of its ends' degrees, the edge
between them not counted.  [SENS.5]  Lists are made for a few ranks first, the *hubs*: mostly nobody else
matters, and then one look at each edge is all the work.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend

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
        found: tuple[Ints, Int32s, Int32s] = loops().one_sided(self.start, self.neighbour, i, j)
        return found


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


def loops() -> Any:
    """The loops over neighbour lists, compiled or plain."""
    return backend.kernels("common_neighbours")
