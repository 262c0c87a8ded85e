"""Which positions decide the local sensitivity of the number of k-stars, at every distance up to a horizon.

A position {u, v} changes the count by C(d_u, k−1) + C(d_v, k−1), the edge between them not counted in the
degrees; a node's degree grows by its non-public empty positions.  [SENS.7-9]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.ranked_graph import GrowingLists, Ints
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy

Bits = npt.NDArray[np.bool_]
# Python's integers: stars of many edges do not fit into 64 bits.
Exact = npt.NDArray[np.object_]


@dataclass(frozen=True)
class StarEnd:
    """One end of a position: its degree, and how far it can grow at cost 1 and then at cost w an edge.

    Neither the degree nor the room counts the position itself.
    """

    degree: int
    at_one: int
    at_w: int = 0
    w: int = 2

    def grown(self, budgets: Ints) -> Ints:
        """The highest degrees that these budgets buy."""
        cheap = np.minimum(budgets, self.at_one)
        return self.degree + cheap + np.minimum((budgets - cheap) // self.w, self.at_w)

    @property
    def steps(self) -> tuple[int, int, int]:
        """The budgets at which the price of growing changes."""
        return 0, self.at_one, self.at_one + self.w * self.at_w

    def wasted(self, budgets: Ints) -> Ints:
        """What is left of these budgets when the end pays w an edge."""
        return (budgets - self.at_one) % self.w


@dataclass(frozen=True)
class StarPoint:
    """One position with its two ends; ``divisor`` is the position's own cost."""

    k: int
    first: StarEnd
    second: StarEnd
    divisor: int

    def changes(self, budgets: Ints) -> Exact:
        """The most k-stars that can stand on the position when changes of these total costs are made.  [SENS.8]"""
        parts = self._parts(budgets)
        stars = _stars(self.first.grown(parts), self.k) + _stars(self.second.grown(budgets - parts), self.k)
        most: Exact = stars.max(axis=0)
        return most

    def _parts(self, budgets: Ints) -> Ints:
        """Where an end's price changes, or the nearest splits beside it at which an end wastes nothing."""
        here = [np.full_like(budgets, step) for step in self.first.steps]
        there = [budgets - step for step in self.second.steps]
        turns = np.array([*here, *there])
        if self.first.at_w or self.second.at_w:
            first, second = self.first.wasted(turns), self.second.wasted(budgets - turns)
            nearby = (turns - first, turns - first + self.first.w, turns + second, turns + second - self.second.w)
            turns = np.concatenate([turns, *nearby])
        parts: Ints = np.minimum(np.maximum(turns, 0), budgets)
        return parts


@dataclass(frozen=True, eq=False)
class FoundStars:
    """Points that decide within the horizon; points of the graph with nothing public, for all distances."""

    points: tuple[StarPoint, ...]
    free: tuple[StarPoint, ...]


def star_frontier(
    n: int, edges: npt.NDArray[np.int32], classes: BoundPolicy, k: int, w: int, horizon: int, prune: bool = True
) -> FoundStars:
    """The positions that decide the local sensitivity at distances 0 … horizon.  [SENS.9]"""
    constant = int(classes.of([0], [1])[0]) if classes.is_constant and n > 1 else None
    if n < 2 or constant == Visibility.PUBLIC:
        return FoundStars((), ())
    graph = GrowingLists(n, edges)
    search = _StarSearch(graph, _Room(graph, classes, w, constant), k, w, horizon, prune)
    search.run()
    # Two nodes of degree 0 promise something from k − 1 on: then all positions have been visited, or one seen.
    all_public = not search.seen and horizon >= k - 1
    return FoundStars(tuple(search.points), () if all_public else tuple(_free_points(graph, k)))


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


def _free_points(graph: GrowingLists, k: int) -> Iterator[StarPoint]:
    """The positions that decide when everything is private, for all distances: pairs of highest degrees.  [SENS.9]"""
    lowest = -1
    for u in range(graph.n - 1):
        if graph.degree[u] <= lowest:
            return
        later = graph.of(u)
        later = later[later > u]
        apart = np.flatnonzero(later != np.arange(u + 1, u + 1 + len(later)))
        stranger = u + 1 + int(apart[0]) if len(apart) else u + 1 + len(later)
        partners = [(int(later[0]), 1)] if len(later) else []
        if stranger < graph.n:
            partners.append((stranger, 0))
        for v, joined in partners:
            ends = [int(graph.degree[node]) - joined for node in (u, v)]
            lowest = max(lowest, min(ends))
            first, second = (StarEnd(degree, graph.n - 2 - degree) for degree in ends)
            yield StarPoint(k, first, second, divisor=1)


def _stars(degrees: Ints, k: int) -> Exact:
    """C(d, k − 1), exactly."""
    low, high = int(degrees.min()), int(degrees.max())
    if high - low > degrees.size:
        exact: Exact = np.frompyfunc(lambda degree: comb(int(degree), k - 1), 1, 1)(degrees)
        return exact
    table = np.array([comb(degree, k - 1) for degree in range(low, high + 1)], dtype=np.object_)
    return table[degrees - low]
