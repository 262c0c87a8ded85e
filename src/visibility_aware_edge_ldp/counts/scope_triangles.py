"""Triangles where the answered positions of each class go by groups of nodes, as inside a scope.  [SCOPE.5-6]

Every sum of products of three scores is a weighted sum of the numbers of triangles with a side in each of three planes.
Where one of the planes goes by groups, such a number follows from everybody's neighbours by group. What is left to
count are triangles of ones and public edges, and, for the variance, the two-paths between the asked pairs of some rows.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, permutations

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.engines import Engine, on_threads, plan_tasks
from visibility_aware_edge_ldp.compute.plain.bitset import Words, in_strips, unpack_rows
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, WORDS, rows_of
from visibility_aware_edge_ldp.compute.reproducible_math import weighted
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.compute.tile_layout import TilesOfPlane
from visibility_aware_edge_ldp.counts.group_planes import GroupPlane
from visibility_aware_edge_ldp.counts.scores import Counts, Floats, Ints, ScoreFunction, Scores, score, spread, square
from visibility_aware_edge_ldp.counts.triangles import NAMES

# Edges of a sparse plane that are looked at in one go, and rows.
EDGES, ROWS = 1 << 14, 128
Sums = dict[str, float]


def scope_triangle_sums(scores: Scores, nodes: Ints, weights: Floats, engine: Engine = on_threads) -> Sums:
    """The sums of ``triangles.NAMES``; what goes by pairs is taken from the rows of some nodes, with their weights.

    Every noisy position lies in a plane of ``by_groups``.  [SCOPE.6]
    """
    work = _OrderedPlanes(scores, engine)
    form = work.form
    squared, with_stars = weighted(weights, work.rows(np.argsort(work.order)[nodes]) / 2).tolist()
    found = (
        form(score, score, score),
        squared + form(spread, score, score) - form(spread, square, square),
        form(score, spread, spread),
        form(spread, spread, spread),
        with_stars,
    )
    return dict(zip(NAMES, found, strict=True))


@dataclass(frozen=True, eq=False)
class _OrderedPlanes:
    """The planes with nodes in the order of their groups; those that go by groups are tables."""

    scores: Scores
    engine: Engine

    @cached_property
    def order(self) -> Ints:
        """The nodes, group after group."""
        return next(iter(self.scores.by_groups.values())).order()

    @cached_property
    def by_groups(self) -> dict[int, GroupPlane]:
        """The planes by groups, which are numbered as they stand."""
        first = next(iter(self.scores.by_groups.values()))
        _, places, groups = np.unique(first.groups[self.order], return_index=True, return_inverse=True)
        placed = np.argsort(places)
        ranks = np.argsort(placed)
        numbers = first.groups[self.order][np.sort(places)]
        return {
            plane: GroupPlane(ranks[groups.ravel()], each.table[np.ix_(numbers, numbers)])
            for plane, each in self.scores.by_groups.items()
        }

    @cached_property
    def groups(self) -> Ints:
        return next(iter(self.by_groups.values())).groups

    @cached_property
    def bounds(self) -> Ints:
        """Where each group begins, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.groups))])

    @cached_property
    def counted(self) -> list[int]:
        """The planes that do not go by groups and hold something."""
        held = np.flatnonzero(self.scores.plane_degrees.any(axis=1)).tolist()
        return [plane for plane in held if plane not in self.by_groups]

    @cached_property
    def words(self) -> Words:
        """Whole rows of the counted planes, filled up to whole sides."""
        slots, nodes, sides = np.argsort(self.order), np.arange(self.scores.n), -(-self.scores.n // SIDE)
        found = np.empty((len(self.counted), self.scores.n, sides * WORDS), np.uint64)
        for rows, plane in zip(found, self.counted, strict=True):
            rows[:] = rows_of(backend.kernels("tiles").arranged(self.scores.planes[plane], slots, sides), nodes)
        return found

    def _rows_of(self, plane: int) -> Words:
        rows: Words = self.words[self.counted.index(plane)]
        return rows

    @cached_property
    def degrees(self) -> dict[int, Counts]:
        """For every plane (groups, n): how many neighbours each node has in each group."""
        found = {plane: each.own_degrees for plane, each in self.by_groups.items()}
        return found | {plane: self._degrees_in(rows) for plane, rows in zip(self.counted, self.words, strict=True)}

    def _degrees_in(self, rows: Words) -> Counts:
        """Ones before each bound: those of whole words, and those of a part of one."""
        before = np.zeros((len(rows), rows.shape[1] + 1), np.int32)
        np.cumsum(np.bitwise_count(rows), axis=1, dtype=np.int32, out=before[:, 1:])
        words, bits = self.bounds >> 6, (self.bounds & 63).astype(np.uint64)
        parts = rows[:, np.minimum(words, rows.shape[1] - 1)] & ((np.uint64(1) << bits) - np.uint64(1))
        ones = before[:, words] + np.bitwise_count(parts).astype(np.int32)
        return np.ascontiguousarray(np.diff(ones, axis=1).T)

    @cached_property
    def joined(self) -> dict[tuple[int, int], Counts]:
        """``GroupPlane.joined_degrees`` for each plane by groups and every plane."""
        return {
            (a, b): plane.joined_degrees(degrees)
            for a, plane in self.by_groups.items()
            for b, degrees in self.degrees.items()
        }

    def form(self, f: ScoreFunction, g: ScoreFunction, h: ScoreFunction) -> float:
        """Σ over pairs {u, v} of f(ê_uv)·F[g, h](u, v), a weighted sum of ``triangles``."""
        weights = [self.scores.weights(each).tolist() for each in (f, g, h)]
        total = 0.0
        for planes, count in self.triangles.items():
            total += count * sum(
                weights[0][a] * weights[1][b] * weights[2][c] for a, b, c in sorted(set(permutations(planes)))
            )
        return total / 2

    @cached_property
    def triangles(self) -> dict[tuple[int, int, int], float]:
        """For planes a ≤ b ≤ c: ordered nodes x, y, z with x–y in a, y–z in b and z–x in c; whole numbers."""
        known = sorted(self.degrees)
        return {(a, b, c): self._triangles(a, b, c) for a, b, c in combinations_with_replacement(known, 3)}

    def _triangles(self, *planes: int) -> float:
        if whole := [plane for plane in planes if plane in self.by_groups]:
            rest = list(planes)
            rest.remove(whole[0])
            return self._through_groups(whole[0], *rest)
        if len(set(planes)) == 1 and self.degrees[planes[0]].sum() > EDGES:
            rows = self._rows_of(planes[0])
            tiles = TilesOfPlane(in_strips(rows[None], rows.shape[1] // WORDS)[0])
            return 6.0 * sum(int(found.sum()) for _, found in self.engine(tiles, plan_tasks(tiles.sides)))
        few, *others = sorted(planes, key=lambda plane: float(self.degrees[plane].sum()))
        return self._by_edges(few, *others)

    def _through_groups(self, a: int, b: int, c: int) -> float:
        """A neighbour in b and one in c, of groups that plane a joins; the same neighbour is none of its own."""
        every = float(np.multiply(self.degrees[b], self.joined[a, c], dtype=np.float64).sum())
        return every - float(self.by_groups[a].closed @ self._both(b, c))

    def _both(self, b: int, c: int) -> Floats:
        """For each group, the positions of its nodes that are in two planes."""
        if b == c:
            return np.asarray(self.degrees[b].sum(axis=1, dtype=np.float64))
        if b in self.by_groups or c in self.by_groups:
            whole, other = (b, c) if b in self.by_groups else (c, b)
            return np.asarray(
                (self.degrees[other] * self.by_groups[whole].table[:, self.groups]).sum(axis=1, dtype=np.float64)
            )
        ones = np.bitwise_count(self._rows_of(b) & self._rows_of(c)).sum(axis=1, dtype=np.int64)
        return np.add.reduceat(ones, self.bounds[:-1]).astype(np.float64)

    def _by_edges(self, few: int, b: int, c: int) -> float:
        """Σ over the edges of a plane, from both ends, of how many nodes join their ends."""
        u, v = self._edges(few)
        total = 0
        for start in range(0, u.size, EDGES):
            near, far = u[start : start + EDGES], v[start : start + EDGES]
            for one, other in ((b, c), (c, b))[: 1 + (b != c)]:
                shared = self._rows_of(one)[near]
                shared &= self._rows_of(other)[far]
                total += int(np.bitwise_count(shared).sum(dtype=np.int64)) * (1 + (b == c))
        return float(total)

    def _edges(self, plane: int) -> tuple[Ints, Ints]:
        """The pairs u < v of a plane."""
        if plane not in self._listed:
            held = self._rows_of(plane)
            rows, words = np.nonzero(held)
            which, bits = np.nonzero(unpack_rows(held[rows, words, None], 64))
            u, v = rows[which], 64 * words[which] + bits
            self._listed[plane] = u[u < v], v[u < v]
        return self._listed[plane]

    @cached_property
    def _listed(self) -> dict[int, tuple[Ints, Ints]]:
        return {}

    def rows(self, slots: Ints) -> Floats:
        """(rows, 2): for nodes in these places, Σ over v of s·F² and of s·F·(ê_u + ê_v − 2ê), F being F[ê, ê](u, v).

        s is the spread of u and v, and ê_u the sum of u's scores; these are the terms of [COUNTS.4] and [COUNTS.5] that
        are no sums over triangles.
        """
        _ = self._through, self._asked, self._others, self._ends
        order = np.argsort(slots, kind="stable")
        runs = np.split(slots[order], np.flatnonzero(np.diff(self.groups[slots[order]])) + 1)
        blocks = [run[first : first + ROWS] for run in runs for first in range(0, len(run), ROWS)]
        found = np.empty((len(slots), 2))
        found[order] = np.concatenate(list(on_cores(self._block, blocks)))
        return found

    @cached_property
    def _asked(self) -> list[Ints]:
        """For each group, everybody whose positions with it are in a plane by groups."""
        tables = np.logical_or.reduce([each.table for each in self.by_groups.values()])
        return [np.flatnonzero(row[self.groups]) for row in tables]

    @cached_property
    def _through(self) -> tuple[Floats, Floats, Floats]:
        """The parts of F that need no counting: (groups, n) of a node's own, of two groups, and what a bit takes away.

        [SCOPE.5]
        """
        weights, first = self.scores.weights(score), self.bounds[:-1]
        by_node, between = np.zeros((first.size, self.scores.n)), np.zeros((first.size, first.size))
        closed = np.zeros(first.size)
        for a, plane in self.by_groups.items():
            closed += weights[a] * plane.closed
            for b in self.counted:
                by_node += weights[a] * weights[b] * self.joined[a, b]
            for b, other in self.by_groups.items():
                between += weights[a] * weights[b] * (self.joined[a, b][:, first] - plane.closed[:, None] * other.table)
        return by_node, between, closed

    def _block(self, rows: Ints) -> Floats:
        """The two sums of nodes of one group."""
        group = int(self.groups[rows[0]])
        columns = self._asked[group]
        if not columns.size:
            return np.zeros((len(rows), 2))
        others, (by_node, between, closed) = self.groups[columns], self._through
        scored, spreads = (self.scores.weights(each)[self.counted] for each in (score, spread))
        own, noise = (self._table_of(each)[group, others] for each in (score, spread))
        counts, weights = self._shared(rows, columns)
        found: Floats = backend.kernels("pair_sums").path_sums(
            counts,
            weights,
            self.words,
            rows,
            columns,
            np.ascontiguousarray(by_node[:, rows].T),
            others,
            np.stack([by_node[group, columns] + between[group, others], own, noise, self._ends[columns]]),
            scored[:, None] * (closed[group] + closed[others]),
            np.stack([scored, spreads]),
            self._ends[rows],
        )
        return found

    def _table_of(self, function: ScoreFunction) -> Floats:
        """What the planes by groups add to a function of the score, for each two groups."""
        weights = self.scores.weights(function)
        return np.asarray(sum(weights[plane] * each.table for plane, each in self.by_groups.items()))

    def _shared(self, rows: Ints, columns: Ints) -> tuple[Counts, Floats]:
        """How many nodes join rows and columns through two counted planes, for all two that may, and their weights."""
        scored, own = self.scores.weights(score)[self.counted], self.groups[rows[0]]
        others = self._others[own]
        pairs = [
            (a, b, np.flatnonzero(self._held[a, own] & others[b])) for a, b in np.ndindex(others.shape[0], len(others))
        ]
        pairs = [pair for pair in pairs if pair[2].size]
        counts = np.empty((len(pairs), len(rows), columns.size), np.int32)
        for count, (a, b, held) in zip(counts, pairs, strict=True):
            count[:] = backend.shared_counts(self.words[a][rows][:, held], self.words[b][columns][:, held])
        return counts, np.array([scored[a] * scored[b] for a, b, _ in pairs])

    @cached_property
    def _others(self) -> list[Words]:
        """For each group (planes, words): all ones of everybody who is asked with it."""
        asked = np.logical_or.reduce([each.table for each in self.by_groups.values()])
        return [np.bitwise_or.reduce(self._held[:, row], axis=1) for row in asked]

    @cached_property
    def _held(self) -> Words:
        """(planes, groups, words): all ones that the nodes of each group have in each counted plane."""
        return np.bitwise_or.reduceat(self.words, self.bounds[:-1], axis=1)

    @cached_property
    def _ends(self) -> Floats:
        return self.scores.node_sums(score)[self.order]
