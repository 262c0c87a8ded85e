"""The search for the stars' frontier that looks at pairs one by one: quadratic, and the tests' oracle.  [SENS.9]"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.star_frontier import Exact, StarEnd, StarPoint
from visibility_aware_edge_ldp.compute.ranked_graph import GrowingLists, Ints
from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Bits = npt.NDArray[np.bool_]


def slow_star_frontier(
    n: int, edges: npt.NDArray[np.int32], classes: BoundPolicy, k: int, w: int, horizon: int, prune: bool = True
) -> tuple[list[StarPoint], bool]:
    """Points that decide within the horizon, and whether a position was seen that is not PUBLIC."""
    constant = int(classes.of([0], [1])[0]) if classes.is_constant and n > 1 else None
    if n < 2 or constant == Visibility.PUBLIC:
        return [], False
    graph = GrowingLists(n, edges)
    search = _StarSearch(graph, _Room(graph, classes, w, constant), k, w, horizon, prune)
    search.run()
    return search.points, search.seen


class _Room:
    """For a node: the classes of all its positions, and how far its degree can grow at each cost."""

    def __init__(self, graph: GrowingLists, classes: BoundPolicy, w: int, constant: int | None) -> None:
        self.graph, self.classes, self.w, self.constant = graph, classes, w, constant
        self.costs = {Visibility.FRIEND_VISIBLE: w, Visibility.PRIVATE: 1}
        self._ends: dict[int, StarEnd] = {}

    def kinds(self, u: int) -> npt.NDArray[np.uint8]:
        """The classes of the positions of u by the other end's rank; u itself counts as PUBLIC."""
        if self.constant is not None:
            kinds = np.full(self.graph.n, self.constant, dtype=np.uint8)
        else:
            kinds = self.classes.of(np.full(self.graph.n, self.graph.node[u]), self.graph.node)
        kinds[u] = Visibility.PUBLIC
        return kinds

    def edges(self, u: int) -> Bits:
        """Which ranks are joined to u."""
        joined = np.zeros(self.graph.n, dtype=np.bool_)
        joined[self.graph.of(u)] = True
        return joined

    def end(self, u: int) -> StarEnd:
        """The node's degree and room, none of its positions left out."""
        if u not in self._ends:
            empty = self.kinds(u)[~self.edges(u)]
            room = {1: 0, self.w: 0}
            for kind in NON_PUBLIC:
                room[self.costs[kind]] += int(np.count_nonzero(empty == kind))
            at_w = room[self.w] if self.w > 1 else 0
            self._ends[u] = StarEnd(int(self.graph.degree[u]), room[1], at_w, self.w)
        return self._ends[u]

    def without(self, u: int, kind: Visibility, joined: bool) -> StarEnd:
        """The same when one of its positions, of this class, is left out."""
        end = self.end(u)
        if joined:
            return replace(end, degree=end.degree - 1)
        if self.costs[kind] == 1:
            return replace(end, at_one=end.at_one - 1)
        return replace(end, at_w=end.at_w - 1)


class _StarSearch:
    """The best value at each distance so far, in units of 1/w, and the points that gave it."""

    def __init__(self, graph: GrowingLists, room: _Room, k: int, w: int, horizon: int, prune: bool) -> None:
        self.graph, self.room, self.k, self.w, self.prune = graph, room, k, w, prune
        self.budgets = np.arange(horizon + 1, dtype=np.int64)
        self.best: Exact = np.zeros(horizon + 1, dtype=np.object_)
        self.points: list[StarPoint] = []
        self.seen = False

    def run(self) -> None:
        """Visit nodes by falling degree until two nodes of this degree cannot beat the best anywhere."""
        for u in range(self.graph.n - 1):
            top = self._unbounded(int(self.graph.degree[u]))
            if not self._promising(StarPoint(self.k, top, top, 1)):
                break
            for kind, joined, others in self._groups(u):
                self.seen = True
                self._visit(u, kind, joined, others)

    def _groups(self, u: int) -> Iterator[tuple[Visibility, bool, Ints]]:
        """The other ends of u's positions by class and bit, by falling degree."""
        kinds = self.room.kinds(u)[u + 1 :]
        if not kinds.any():  # all of them are PUBLIC, as a public hub's are
            return
        edges = self.room.edges(u)[u + 1 :]
        for kind in reversed(NON_PUBLIC):
            for joined in (False, True):
                others = np.flatnonzero((kinds == kind) & (edges == joined)) + u + 1
                if len(others):
                    yield kind, joined, others

    def _visit(self, u: int, kind: Visibility, joined: bool, others: Ints) -> None:
        """Others come by falling degree: the first that cannot do better ends the group."""
        first, divisor = self.room.without(u, kind, joined), self.room.costs[kind]
        for v in others.tolist():
            most = self._unbounded(int(self.graph.degree[v]) - joined)
            if not self._promising(StarPoint(self.k, first, most, divisor)):
                return
            self._keep(StarPoint(self.k, first, self.room.without(v, kind, joined), divisor))

    def _unbounded(self, degree: int) -> StarEnd:
        """An end that can grow to all but itself and the other end at cost 1."""
        return StarEnd(degree, self.graph.n - 2 - degree if degree < self.graph.n - 2 else 0)

    def _promising(self, point: StarPoint) -> bool:
        return not self.prune or bool((self._values(point) > self.best).any())

    def _keep(self, point: StarPoint) -> None:
        values = self._values(point)
        if (values > self.best).any():
            self.best = np.maximum(self.best, values)
            self.points.append(point)

    def _values(self, point: StarPoint) -> Exact:
        values: Exact = point.changes(self.budgets) * (self.w // point.divisor)
        return values
