"""Which positions decide the local sensitivity of the number of triangles, at every distance up to a horizon.

One search keeps the best value at each distance; a position that cannot beat it at any distance is never
looked at closer.  [SENS.3-6]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels.common_neighbours import Ints, RankedGraph, Rows, ranked
from visibility_aware_edge_ldp.public.policy import BoundPolicy
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PLENTY = 1 << 40
LOOKUPS = 1 << 21
STRIDE = 1 << 13
SEEDS = 16
LARGE = 1 << 11


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
    graph = ranked(n, edges)
    return _Search(graph, _Sides(graph, classes, w, horizon, constant), prune).run()


class _Sides:
    """For positions: their classes, and what it costs to make each other node a common neighbour."""

    def __init__(self, graph: RankedGraph, classes: BoundPolicy, w: int, horizon: int, constant: int | None) -> None:
        self.graph, self.classes, self.w, self.horizon, self.constant = graph, classes, w, horizon, constant
        # By class: what a change costs, which is also the divisor of a position's own effect; 0 cannot change.
        self.costs = np.array([0, w, 1], dtype=np.int64)

    def kinds(self, i: Ints, j: Ints) -> Ints:
        """The classes of positions given by ranks."""
        if self.constant is not None:
            return np.full(i.shape, self.constant, dtype=np.int64)
        return self.classes.of(self.graph.node[i], self.graph.node[j]).astype(np.int64)

    def one_missing(self, i: Ints, j: Ints, sums: Ints, shared: Ints) -> Ints:
        """Nodes joined to exactly one end whose missing side can be had: how many at cost 1 and at cost w > 1."""
        counts = np.zeros((2, len(i)), dtype=np.int64)
        if self.constant is not None:
            counts[int(self.costs[self.constant] > 1)] = sums - 2 * shared
            return counts
        for near, far in ((i, j), (j, i)):
            which, z = _lists(self.graph, near)
            end = far[which]
            other = (z != end) & ~self.graph.joined(z, end)
            which, cost = which[other], self.costs[self.kinds(end[other], z[other])]
            for row, wanted in enumerate((cost == 1, cost > 1)):
                counts[row] += np.bincount(which[wanted], minlength=len(i))
        return counts

    def point(self, i: int, j: int, shared: int, one: Sequence[int], kind: int) -> TrianglePoint:
        """A position's point; nodes that lack both sides are counted until the horizon cannot use more."""
        counts, divisor = np.zeros(2 * self.w + 1, dtype=np.int64), int(self.costs[kind])
        counts[1] += one[0]
        counts[self.w] += one[1]
        if self.constant is not None:
            counts[2 * divisor] += self.graph.n - 2 - shared - sum(one)
        else:
            taken = np.zeros(self.graph.n, dtype=np.bool_)
            taken[self.graph.of(i)] = taken[self.graph.of(j)] = taken[[i, j]] = True
            for begin in range(0, self.graph.n, STRIDE):
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

    def __init__(self, graph: RankedGraph, sides: _Sides, prune: bool) -> None:
        self.graph, self.sides, self.w, self.prune = graph, sides, sides.w, prune
        self.budgets = np.arange(sides.horizon + 1, dtype=np.int64)
        self.best = np.zeros(sides.horizon + 1, dtype=np.int64)
        self.points: list[tuple[Ints, TrianglePoint]] = []
        self.seen = False
        self._set_floors()

    def run(self) -> Found:
        """Visit all rows that can still matter."""
        if self.sides.constant is None and self.prune and self.graph.n > LARGE:
            self._seed()
        rows = Rows(self.graph)
        while not rows.done:
            self._absorb(*rows.batch(self.floors[Visibility.PRIVATE]))
        # With a horizon of 2 every position is visited until the first that is not public.
        return Found(_needed(self.best, self.points), not self.seen and self.sides.horizon >= 2)

    def _seed(self) -> None:
        """Weigh a few non-public edges first: hubs may be public, and would leave the floor low for many rows."""
        u, v = self.graph.edges()
        kinds = self.sides.kinds(u, v)
        for kind in NON_PUBLIC:
            some = np.flatnonzero(kinds == kind)
            if len(some) > SEEDS:
                # The later rank is the lower degree, which bounds what the ends share.
                some = some[np.argpartition(v[some], SEEDS)[:SEEDS]]
            self.seen |= bool(len(some))
            self._weigh(u[some], v[some], self._shared(u[some], v[some]), self._sums(u[some], v[some]), kinds[some])

    def _set_floors(self) -> None:
        top = 2 * int(self.graph.degree[0])
        cap = self.graph.n - 2
        self.floors = {
            kind: _floor(self.best * self.sides.costs[kind] // self.w, self.budgets, top, cap, self.prune)
            for kind in NON_PUBLIC
        }

    def _absorb(self, i: Ints, j: Ints, shared: Ints, sums: Ints) -> None:
        kinds = self.sides.kinds(i, j)
        kept = np.flatnonzero(kinds != Visibility.PUBLIC)
        self.seen |= bool(len(kept))
        i, j, shared, sums, kinds = i[kept], j[kept], shared[kept], sums[kept], kinds[kept]
        order = np.lexsort((j, i, -sums, -shared))
        size = 16
        while len(order := order[self._promising(shared[order], sums[order], kinds[order])]):
            now = order[: _affordable(sums[order[:size]])]
            self._weigh(i[now], j[now], shared[now], sums[now], kinds[now])
            order, size = order[len(now) :], min(2 * size, 1024)

    def _shared(self, i: Ints, j: Ints) -> Ints:
        near = self.graph.of
        pairs = zip(i.tolist(), j.tolist(), strict=True)
        return np.array([len(np.intersect1d(near(u), near(v))) for u, v in pairs], dtype=np.int64)

    def _sums(self, i: Ints, j: Ints) -> Ints:
        return self.graph.degree[i] + self.graph.degree[j] - 2 * self.graph.joined(i, j)

    def _promising(self, shared: Ints, sums: Ints, kinds: Ints) -> npt.NDArray[np.bool_]:
        floors = np.stack([self.floors[kind] for kind in NON_PUBLIC])
        return shared >= floors[kinds - Visibility.FRIEND_VISIBLE, sums]

    def _weigh(self, i: Ints, j: Ints, shared: Ints, sums: Ints, kinds: Ints) -> None:
        """Count the sides of these positions by cost, and look closer at those that can still improve something."""
        one = self.sides.one_missing(i, j, sums, shared)
        bounds = _most(self.budgets, shared[:, None], one[0][:, None], self.graph.n - 2)
        bounds *= (self.w // self.sides.costs[kinds])[:, None]
        for at in np.flatnonzero((bounds > self.best).any(axis=1) | (not self.prune)).tolist():
            if not self.prune or (bounds[at] > self.best).any():
                point = self.sides.point(int(i[at]), int(j[at]), int(shared[at]), one[:, at].tolist(), int(kinds[at]))
                self._keep(point)

    def _keep(self, point: TrianglePoint) -> None:
        values = point.changes(self.budgets) * (self.w // point.divisor)
        if (values > self.best).any():
            self.best = np.maximum(self.best, values)
            self.points.append((values, point))
            self._set_floors()


def _floor(best: Ints, budgets: Ints, top: int, cap: int, prune: bool) -> Ints:
    """For each degree sum s, the fewest common neighbours that may beat ``best`` at some distance.  [SENS.5]"""
    if not prune:
        return np.full(top + 1, -PLENTY, dtype=np.int64)
    beatable = best < cap
    best, budgets = best[beatable], budgets[beatable]
    sums = np.maximum(2 * best + 2 - budgets, 0)
    floor = np.full(top + 1, PLENTY, dtype=np.int64)
    within = sums <= top
    np.minimum.at(floor, sums[within], (best + 1 - budgets)[within])
    lowest: Ints = np.minimum.accumulate(floor)
    return lowest


def _affordable(sums: Ints) -> int:
    """How many positions to weigh at once: their neighbour lists are looked at side by side."""
    return max(1, int(np.searchsorted(np.cumsum(sums), LOOKUPS)))


def _most(budgets: Ints, shared: Ints, cheap: Ints, cap: int) -> Ints:
    """No position with these common neighbours and nodes at cost 1 can do better.  [SENS.5]"""
    at_one = np.minimum(budgets, cheap)
    most: Ints = np.minimum(shared + at_one + (budgets - at_one) // 2, cap)
    return most


def _lists(graph: RankedGraph, nodes: Ints) -> tuple[Ints, Ints]:
    """The neighbour lists of these nodes, end to end, and which of the nodes each entry belongs to."""
    lengths = graph.degree[nodes]
    which = np.repeat(np.arange(len(nodes)), lengths)
    steps = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths - graph.start[nodes], lengths)
    return which, graph.neighbour[steps].astype(np.int64)


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
