"""Which positions decide the local sensitivity of the number of triangles, at every distance up to a horizon.

One search keeps the best value at each distance; a position that cannot beat it at any distance is never
looked at closer.  [SENS.3-6]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import ranked_graph
from visibility_aware_edge_ldp.compute.ranked_graph import (
    Int32s,
    Ints,
    RankedGraph,
    Ranking,
    Rows,
    ranked,
    ranking,
)
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy

Ranks = Ints | Int32s
PLENTY = 1 << 40
LOOKUPS = 1 << 21
STRIDE = 1 << 13
SEEDS = 16


@dataclass(frozen=True)
class TrianglePoint:
    """One position: ``shared`` triangles on it now, and how many more nodes can be had: (cost, count), cheapest first.

    ``divisor`` is the position's own cost. Counts that no budget within the horizon can use up may be cut.
    """

    shared: int
    by_cost: tuple[tuple[int, int], ...]
    divisor: int

    def changes(self, budgets: Ints) -> Ints:
        """The most triangles that can stand on the position when changes of these total costs are made.  [SENS.3]"""
        total, left = np.full(len(budgets), self.shared, dtype=np.int64), budgets.copy()
        for cost, count in self.by_cost:
            taken = np.minimum(count, left // cost)
            total += taken
            left -= taken * cost
        return total


@dataclass(frozen=True, eq=False)
class Found:
    """The points on the frontier, and whether the search has seen that every position is PUBLIC."""

    points: tuple[TrianglePoint, ...]
    all_public: bool


def triangle_frontier(
    n: int, edges: npt.NDArray[np.int32], classes: BoundPolicy, w: int, horizon: int, prune: bool = True
) -> Found:
    """The positions that decide the local sensitivity at distances 0 … horizon.  [SENS.6]"""
    constant = int(classes.of([0], [1])[0]) if classes.is_constant and n > 1 else None
    if n < 2 or constant == Visibility.PUBLIC:
        return Found((), True)
    order = ranking(n, edges)
    return _Search(order, edges, _Sides(order, classes, w, horizon, constant), prune).run()


class _Sides:
    """For positions: their classes, and what it costs to make each other node a common neighbour."""

    def __init__(self, order: Ranking, classes: BoundPolicy, w: int, horizon: int, constant: int | None) -> None:
        self.order, self.classes, self.w, self.horizon, self.constant = order, classes, w, horizon, constant
        # By class: what a change costs, which is also the divisor of a position's own effect; 0 cannot change.
        self.costs = np.array([0, w, 1], dtype=np.int64)

    def kinds(self, i: Ranks, j: Ranks) -> Ints:
        """The classes of positions given by ranks."""
        if self.constant is not None:
            return np.full(i.shape, self.constant, dtype=np.int64)
        return self.classes.of(self.order.node[i], self.order.node[j]).astype(np.int64)

    def one_missing(self, graph: RankedGraph, i: Ints, j: Ints, sums: Ints, shared: Ints) -> Ints:
        """Nodes joined to exactly one end whose missing side can be had: how many at cost 1 and at cost w > 1."""
        if self.constant is not None:
            counts = np.zeros((2, len(i)), dtype=np.int64)
            counts[int(self.costs[self.constant] > 1)] = sums - 2 * shared
            return counts
        which, end, z = graph.one_sided(i, j)
        by_kind = np.bincount(3 * which + self.kinds(end, z), minlength=3 * len(i)).reshape(-1, 3).T
        return np.stack([by_kind[self.costs == 1].sum(axis=0), by_kind[self.costs > 1].sum(axis=0)])

    def point(self, graph: RankedGraph, i: int, j: int, shared: int, one: Sequence[int], kind: int) -> TrianglePoint:
        """A position's point; nodes that lack both sides are counted until the horizon cannot use more."""
        counts, divisor = np.zeros(2 * self.w + 1, dtype=np.int64), int(self.costs[kind])
        counts[1] += one[0]
        counts[self.w] += one[1]
        if self.constant is not None:
            counts[2 * divisor] += graph.n - 2 - shared - sum(one)
        else:
            taken = np.zeros(graph.n, dtype=np.bool_)
            taken[graph.of(i)] = taken[graph.of(j)] = taken[[i, j]] = True
            for begin in range(0, graph.n, STRIDE):
                if counts[1] + 2 * counts[2] >= self.horizon:
                    break
                z = np.flatnonzero(~taken[begin : begin + STRIDE]) + begin
                counts += self._both_missing(i, j, z)
        return TrianglePoint(shared, tuple((int(cost), int(counts[cost])) for cost in np.flatnonzero(counts)), divisor)

    def _both_missing(self, i: int, j: int, z: Ints) -> Ints:
        first = self.costs[self.kinds(np.full_like(z, i), z)]
        second = self.costs[self.kinds(np.full_like(z, j), z)]
        reachable = (first > 0) & (second > 0)
        return np.bincount((first + second)[reachable], minlength=2 * self.w + 1)


class _Search:
    """The best value at each distance so far, in units of 1/w, and the points that gave it."""

    def __init__(self, order: Ranking, edges: npt.NDArray[np.int32], sides: _Sides, prune: bool) -> None:
        self.order, self.edges, self.sides, self.w, self.prune = order, edges, sides, sides.w, prune
        self.budgets = np.arange(sides.horizon + 1, dtype=np.int64)
        self.best = np.zeros(sides.horizon + 1, dtype=np.int64)
        self.points: list[tuple[Ints, TrianglePoint]] = []
        self.seen = False
        self._set_floors()

    def run(self) -> Found:
        """Visit positions among ever more nodes of highest degree, until no other node can matter."""
        known, hubs = 0, min(ranked_graph.HUBS, self.n)
        while known < hubs:
            self.graph = ranked(self.order, self.edges, hubs)
            if self._is_worth_a_visit(known):
                self._visit(known)
                known = hubs
            hubs = max(known, min(ranked_graph.GROWTH * hubs, self._reach()))
        # With a horizon of 2 every position is visited until the first that is not public.
        return Found(_needed(self.best, self.points), not self.seen and self.sides.horizon >= 2)

    @property
    def n(self) -> int:
        """How many nodes there are."""
        return len(self.order.node)

    def _visit(self, known: int) -> None:
        """All positions between hubs, but not those between the known ones."""
        rows = Rows(self.graph, known)
        while not rows.done:
            self._absorb(*rows.batch(self.floor))

    def _reach(self) -> int:
        """Only positions between ranks below this one can matter yet."""
        return self.order.reach(self.floor)

    def _is_worth_a_visit(self, known: int) -> bool:
        """Not while all hubs' edges are public and others can matter: the floor would stay low for many positions."""
        if not known or self.sides.constant is not None or not self.prune:
            return True
        return self._seed(known) or self.graph.hubs >= self._reach()

    def _seed(self, known: int) -> bool:
        """Weigh a few non-public edges of new hubs, which raises the floor; whether there are any."""
        u, v = self.graph.hub_edges()
        new = v >= known
        u, v = u[new], v[new]
        kinds = self.sides.kinds(u, v)
        for kind in NON_PUBLIC:
            some = np.flatnonzero(kinds == kind)
            if len(some) > SEEDS:
                # The later rank is the lower degree, which bounds what the ends share.
                some = some[np.argpartition(v[some], SEEDS)[:SEEDS]]
            sums = self._sums(u[some], v[some])
            self._weigh(u[some], v[some], self._shared(u[some], v[some], sums), sums, kinds[some])
        found = bool((kinds != Visibility.PUBLIC).any())
        self.seen |= found
        return found

    def _set_floors(self) -> None:
        """One row for FRIEND_VISIBLE and one for PRIVATE, which is the lower."""
        top, cap = 2 * int(self.order.degree[0]), self.n - 2
        units = (self.best * self.sides.costs[kind] // self.w for kind in NON_PUBLIC)
        self.floors = np.stack([_floor(best, top, cap, self.prune) for best in units])

    @property
    def floor(self) -> Ints:
        """What no class is promising below."""
        private: Ints = self.floors[Visibility.PRIVATE - Visibility.FRIEND_VISIBLE]
        return private

    def _absorb(self, i: Ints, j: Ints, shared: Ints, sums: Ints) -> None:
        if not len(i):
            return
        kinds = self.sides.kinds(i, j)
        if self.sides.constant is None:
            kept = np.flatnonzero(kinds != Visibility.PUBLIC)
            i, j, shared, sums, kinds = i[kept], j[kept], shared[kept], sums[kept], kinds[kept]
        self.seen |= bool(len(i))
        order = np.lexsort((j, i, -sums, -shared))
        size = 16
        while len(order := order[self._promising(shared[order], sums[order], kinds[order])]):
            now = order[: _affordable(sums[order[:size]])]
            self._weigh(i[now], j[now], shared[now], sums[now], kinds[now])
            order, size = order[len(now) :], min(2 * size, 1024)

    def _shared(self, i: Ints, j: Ints, sums: Ints) -> Ints:
        """Of the degrees' sum, each common neighbour takes two and every other node one."""
        which, _, _ = self.graph.one_sided(i, j)
        return (sums - np.bincount(which, minlength=len(i))) // 2

    def _sums(self, i: Ints, j: Ints) -> Ints:
        return self.order.degree[i] + self.order.degree[j] - 2 * self.graph.joined(i, j)

    def _promising(self, shared: Ints, sums: Ints, kinds: Ints) -> npt.NDArray[np.bool_]:
        return shared >= self.floors[kinds - Visibility.FRIEND_VISIBLE, sums]

    def _weigh(self, i: Ints, j: Ints, shared: Ints, sums: Ints, kinds: Ints) -> None:
        """Count the sides of these positions by cost, and look closer at those that can still improve something."""
        one = self.sides.one_missing(self.graph, i, j, sums, shared)
        bounds = _most(self.budgets, shared[:, None], one[0][:, None], self.n - 2)
        bounds *= (self.w // self.sides.costs[kinds])[:, None]
        for at in np.flatnonzero((bounds > self.best).any(axis=1) | (not self.prune)).tolist():
            if not self.prune or (bounds[at] > self.best).any():
                ends, cheap = (int(i[at]), int(j[at])), one[:, at].tolist()
                self._keep(self.sides.point(self.graph, *ends, int(shared[at]), cheap, int(kinds[at])))

    def _keep(self, point: TrianglePoint) -> None:
        values = point.changes(self.budgets) * (self.w // point.divisor)
        if (values > self.best).any():
            self.best = np.maximum(self.best, values)
            self.points.append((values, point))
            self._set_floors()


def _floor(best: Ints, top: int, cap: int, prune: bool) -> Ints:
    """For each degree sum s, the fewest common neighbours that may beat ``best`` at some distance.  [SENS.5]"""
    if not prune:
        return np.full(top + 1, -PLENTY, dtype=np.int64)
    floor: Ints = ranked_graph.loops().floor_of(best, top, cap, PLENTY)
    return floor


def _affordable(sums: Ints) -> int:
    """How many positions to weigh at once: their neighbour lists are looked at side by side."""
    return max(1, int(np.searchsorted(np.cumsum(sums), LOOKUPS)))


def _most(budgets: Ints, shared: Ints, cheap: Ints, cap: int) -> Ints:
    """No position with these common neighbours and nodes at cost 1 can do better.  [SENS.5]"""
    at_one = np.minimum(budgets, cheap)
    most: Ints = np.minimum(shared + at_one + (budgets - at_one) // 2, cap)
    return most


def _needed(best: Ints, points: list[tuple[Ints, TrianglePoint]]) -> tuple[TrianglePoint, ...]:
    """A few points that give the best value at every distance."""
    covered = np.zeros(len(best), dtype=np.bool_)
    needed = []
    for values, point in reversed(points):
        new = (values == best) & ~covered
        if new.any():
            covered |= new
            needed.append(point)
    return tuple(reversed(needed))
