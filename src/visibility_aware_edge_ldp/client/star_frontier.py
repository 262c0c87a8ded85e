"""Which positions decide the local sensitivity of the number of k-stars, at every distance up to a horizon.

A position {u, v} changes the count by C(d_u, k−1) + C(d_v, k−1), the edge between them not counted in the
degrees; a node's degree grows by its non-public empty positions.  [SENS.7-9]

For each node, what it adds at every budget is one row of an array, a *curve*. The best of all positions of a node is
its curve joined with the highest of its partners' curves, so that no pair is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.ranked_graph import GrowingLists, Ints
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy

# Python's integers: stars of many edges do not fit into 64 bits.
Exact = npt.NDArray[np.object_]
# 64-bit integers where all values fit, else Python's.
Curves = npt.NDArray[Any]
# So many nodes of highest degree are looked at first, and then so many times as many.
FIRST, GROWTH = 8, 4
# Classes that are asked for at once.
LOOKUPS = 1 << 20
# Less than any sum of two curves: the node has no position of this kind.
NOTHING = -(1 << 55)


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


class Group(NamedTuple):
    """Positions of one class that are edges, or that are not.

    To leave such a position out of a node's degree and room changes both in the same way at every node.
    """

    kind: Visibility
    joined: bool


GROUPS = tuple(Group(kind, joined) for kind in reversed(NON_PUBLIC) for joined in (False, True))


def star_frontier(
    n: int, edges: npt.NDArray[np.int32], classes: BoundPolicy, k: int, w: int, horizon: int
) -> FoundStars:
    """The positions that decide the local sensitivity at distances 0 … horizon.  [SENS.9]"""
    if n < 2 or classes.present == {Visibility.PUBLIC}:
        return FoundStars((), ())
    graph = GrowingLists(n, edges)
    search = _StarSearch(graph, _Room(graph, classes), k, w, horizon)
    search.run()
    return FoundStars(search.points(), () if search.all_public else tuple(_free_points(graph, k)))


class _Room:
    """For nodes by rank: how many of their positions have each class, those that are edges and those that are not."""

    def __init__(self, graph: GrowingLists, classes: BoundPolicy) -> None:
        self.graph, self.classes = graph, classes
        self.counts = np.zeros((0, 2, 3), dtype=np.int64)

    def of(self, u: Ints, v: Ints) -> Ints:
        """The classes of positions given by ranks."""
        return self.classes.of(self.graph.node[u], self.graph.node[v]).astype(np.int64)

    def extend(self, end: int) -> None:
        """Count for all ranks below ``end``: (rank, edge or not, class)."""
        ranks = np.arange(len(self.counts), end)
        lists = [self.graph.of(rank) for rank in ranks.tolist()]
        u = np.repeat(np.arange(len(ranks)), [len(each) for each in lists])
        kinds = self.of(u + len(self.counts), np.concatenate(lists)) if len(u) else u
        edges = np.bincount(3 * u + kinds, minlength=3 * len(ranks)).reshape(-1, 3)
        counts = np.stack([self._all(ranks) - edges, edges], axis=1)
        self.counts = np.concatenate([self.counts, counts])

    def _all(self, ranks: Ints) -> Ints:
        """How many positions of each class these ranks have, edges or not."""
        known, n = self.classes.by_kinds, self.graph.n
        if known is not None:
            table = known.table[known.kinds[self.graph.node[ranks]]]
            sizes = np.bincount(known.kinds, minlength=len(known.table))
            own = known.table.diagonal()[known.kinds[self.graph.node[ranks]]]
            whole = np.stack([(table == kind) @ sizes for kind in Visibility], axis=1)
            whole[np.arange(len(ranks)), own] -= 1  # a node has no position with itself
            return whole
        step, parts = max(1, LOOKUPS // n), [np.zeros((0, 3), dtype=np.int64)]
        for some in (ranks[at : at + step] for at in range(0, len(ranks), step)):
            kinds = self.of(np.repeat(some, n), np.tile(np.arange(n), len(some))).reshape(-1, n)
            kinds[np.arange(len(some)), some] = 3
            parts.append(np.stack([(kinds == kind).sum(axis=1) for kind in Visibility], axis=1))
        return np.concatenate(parts)


class _StarSearch:
    """The best value at each distance so far, in units of 1/w, and which position gave it.  [SENS.9]"""

    def __init__(self, graph: GrowingLists, room: _Room, k: int, w: int, horizon: int) -> None:
        self.graph, self.room, self.k, self.w, self.horizon = graph, room, k, w, horizon
        self.costs = {Visibility.FRIEND_VISIBLE: w, Visibility.PRIVATE: 1}
        self.cheapest = min(self.costs[kind] for kind in NON_PUBLIC if kind in room.classes.present)
        most = int(min(graph.n - 1, graph.degree[0] + horizon))
        stars = [comb(degree, k - 1) for degree in range(most + 1)]
        kind = np.int64 if 2 * w * stars[-1] < -NOTHING else np.object_
        self.stars: Curves = np.array(stars, dtype=kind)
        self.best: Curves = np.zeros(horizon + 1, dtype=kind)
        self.given: dict[int, tuple[int, int, Group]] = {}
        self.budgets = np.arange(horizon + 1, dtype=np.int64)
        self.curves = {group: self.stars[:0, None].repeat(horizon + 1, axis=1) for group in GROUPS}
        self.all_public = horizon >= k - 1
        """Whether no position has been seen that can change; from k − 1 on the search goes on until it sees one."""

    def run(self) -> None:
        """Look at more and more nodes by falling degree, until none of the others can beat the best anywhere."""
        n, known = self.graph.n, 0
        while known < n and (self.all_public or self._others_promise(known)):
            end = min(n, max(FIRST, GROWTH * known))
            self.room.extend(end)
            for group in GROUPS:
                self._extend(group, known)
                self._visit(group, known)
            known = end

    def _others_promise(self, known: int) -> bool:
        """Whether a position with an end beyond the known ranks could do better, if that end could grow freely."""
        degree, room = int(self.graph.degree[known]), self.graph.n - 2
        other = self.stars[np.maximum(np.minimum(degree + self.budgets // self.cheapest, room), degree)]
        highest = np.maximum.reduce([other, *(each.max(axis=0) for each in self.curves.values() if len(each))])
        bound = joined_curves(highest, other) * (self.w // self.cheapest)
        return bool((bound > self.best).any())

    def _extend(self, group: Group, known: int) -> None:
        """The curves of more ranks, each without one position of this group.  [SENS.8]"""
        (degrees, at_one, at_w), counts = self._ends(slice(known, None), group), self.room.counts[known:]
        cheap = np.minimum(self.budgets, np.maximum(at_one, 0)[:, None])
        grown = degrees[:, None] + cheap + np.minimum((self.budgets - cheap) // self.w, np.maximum(at_w, 0)[:, None])
        there = counts[:, int(group.joined), group.kind] > 0
        self.all_public &= not there.any()
        curves = np.where(there[:, None], self.stars[np.where(there[:, None], grown, 0)], NOTHING)
        self.curves[group] = np.concatenate([self.curves[group], curves])

    def _visit(self, group: Group, known: int) -> None:
        """All positions of this group with an end at a new rank, row by row."""
        curves, factor = self.curves[group], self.w // self.costs[group.kind]
        first = np.maximum(np.arange(len(curves)) + 1, known)[:-1]
        if not len(first) or not (curves[known:, 0] >= 0).any():
            return
        # The highest of all later curves bounds what any partner can add.
        highest = np.maximum.accumulate(curves[::-1], axis=0)[::-1][first]
        bounds = joined_curves(curves[:-1], highest) * factor
        for u in np.flatnonzero((bounds > self.best).any(axis=1)).tolist():
            if (bounds[u] > self.best).any():
                self._row(group, u, int(first[u]), factor)

    def _row(self, group: Group, u: int, first: int, factor: int) -> None:
        """All positions of one node in this group, with partners from ``first`` on."""
        curves = self.curves[group]
        others = np.arange(first, len(curves))
        right = self.room.of(np.full_like(others, u), others) == group.kind
        partners = others[right & (np.isin(others, self.graph.of(u), assume_unique=True) == group.joined)]
        if not len(partners):
            return
        highest = curves[partners].max(axis=0)
        values = joined_curves(curves[u], highest) * factor
        for budget in np.flatnonzero(values > self.best).tolist():
            spent = int(np.argmax(curves[u, : budget + 1] + highest[budget::-1] == values[budget] // factor))
            v = int(partners[np.argmax(curves[partners, budget - spent] == highest[budget - spent])])
            self.given[budget] = (u, v, group)
        self.best = np.maximum(self.best, values)

    def points(self) -> tuple[StarPoint, ...]:
        """The positions that gave the best values."""
        chosen = dict.fromkeys(self.given[budget] for budget in sorted(self.given))
        return tuple(
            StarPoint(self.k, self._end(u, group), self._end(v, group), self.costs[group.kind])
            for u, v, group in chosen
        )

    def _end(self, u: int, group: Group) -> StarEnd:
        degree, at_one, at_w = (int(each[0]) for each in self._ends(slice(u, u + 1), group))
        return StarEnd(degree, at_one, at_w, self.w)

    def _ends(self, ranks: slice, group: Group) -> tuple[Ints, Ints, Ints]:
        """Degrees of known ranks, and their room at cost 1 and at cost w, without one position of this group."""
        counts = self.room.counts[ranks]
        at_one, at_w = (counts[:, 0, kind].copy() for kind in (Visibility.PRIVATE, Visibility.FRIEND_VISIBLE))
        if self.w == 1:
            at_one, at_w = at_one + at_w, np.zeros_like(at_w)
        if not group.joined:
            (at_one if self.costs[group.kind] == 1 else at_w)[:] -= 1
        return self.graph.degree[: len(self.room.counts)][ranks] - group.joined, at_one, at_w


def joined_curves(one: Curves, other: Curves) -> Curves:
    """At each budget the most that two ends add, over all ways to share it: max over s of one[s] + other[t − s]."""
    size = one.shape[-1]
    found = one + other[..., :1]
    for spent in range(1, size):
        np.maximum(found[..., spent:], one[..., : size - spent] + other[..., spent : spent + 1], out=found[..., spent:])
    return found


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
