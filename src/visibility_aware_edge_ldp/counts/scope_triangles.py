"""Triangles where the answered positions of each class go by groups of nodes, as inside a scope.  [SCOPE.5-6]

Every sum of products of three scores is a weighted sum of the numbers of triangles with a side in each of three planes.
Where one of the planes goes by groups, such a number follows from everybody's neighbours by group. What is left to
count are triangles of ones and public edges, and, for the variance, the two-paths between the asked pairs of some rows.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, pairwise, permutations

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.engines import Engine, on_threads, plan_tasks
from visibility_aware_edge_ldp.compute.plain.bitset import unpack_rows
from visibility_aware_edge_ldp.compute.plain.tile_table import rows_in_order
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE
from visibility_aware_edge_ldp.compute.reproducible_math import weighted
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.compute.tile_layout import TilesOfTable
from visibility_aware_edge_ldp.counts.group_planes import Bits, Counts, Floats, GroupPlane, Ints, ScopeScores
from visibility_aware_edge_ldp.counts.scores import Octets, ScoreFunction, score, spread, square
from visibility_aware_edge_ldp.counts.triangles import NAMES

# Ones of a plane above which its triangles are counted tile by tile, and rows at a time.
MANY, ROWS = 1 << 14, 32
Sums = dict[str, float]


def scope_triangle_sums(scores: ScopeScores, nodes: Ints, weights: Floats, engine: Engine = on_threads) -> Sums:
    """The sums of ``triangles.NAMES``; what goes by pairs is taken from the rows of some nodes, with their weights."""
    work = _ScopeWork(scores, engine)
    form = work.form
    squared, with_stars = weighted(weights, work.rows(scores.slots[nodes]) / 2).tolist()
    found = (
        form(score, score, score),
        squared + form(spread, score, score) - form(spread, square, square),
        form(score, spread, spread),
        form(spread, spread, spread),
        with_stars,
    )
    return dict(zip(NAMES, found, strict=True))


@dataclass(frozen=True, eq=False)
class _ScopeWork:
    """What is counted in the planes of some scores, in which groups stand one after the other."""

    scores: ScopeScores
    engine: Engine

    @cached_property
    def tables(self) -> dict[int, GroupPlane]:
        """The planes by groups."""
        return self.scores.planes_in_order

    @cached_property
    def between(self) -> dict[int, Ints]:
        """For every plane (groups, groups): how many ones the slots of the second have with those of the first."""
        sizes = np.diff(self.scores.bounds)
        found = {plane: each.group_degrees * sizes for plane, each in self.tables.items()}
        for plane, degrees in self.scores.degrees.items():
            found[plane] = np.add.reduceat(degrees, self.scores.bounds[:-1], axis=1, dtype=np.int64)
        return found

    @cached_property
    def joined(self) -> dict[tuple[int, int], Counts]:
        """``GroupPlane.joined_degrees`` for each plane by groups and every counted plane."""
        return {
            (a, b): plane.joined_degrees(degrees)
            for a, plane in self.tables.items()
            for b, degrees in self.scores.degrees.items()
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
        known = sorted(self.between)
        return {(a, b, c): float(self._triangles(a, b, c)) for a, b, c in combinations_with_replacement(known, 3)}

    def _triangles(self, *planes: int) -> int:
        whole = sorted(planes, key=lambda plane: plane not in self.tables)
        if whole[0] in self.tables:
            return self._through_groups(*whole)
        few, near, far = sorted(planes, key=lambda plane: int(self.between[plane].sum()))
        tables, tiles = self.scores.tables, self.scores.tiles
        if few == near == far and self.between[few].sum() > MANY:
            source = TilesOfTable(tables[few], tiles)
            # Kernels are chosen for all tasks together: each of them is small.
            backend.kernels_for("tiles", tiles.nbytes * source.sides)
            return 6 * sum(int(found.sum()) for _, found in self.engine(source, plan_tasks(source.sides)))
        ways = [(near, far), (far, near)] if near != far else [(near, far)]
        count = backend.kernels("tile_table").closed_paths
        return 2 // len(ways) * sum(int(count(tables[few], tables[a], tables[b], tiles)) for a, b in ways)

    def _through_groups(self, a: int, b: int, c: int) -> int:
        """A neighbour in b and one in c, of groups that plane a joins; the same neighbour is none of its own.

        Plane b goes by groups too, if c does. Where b does, its part depends on the groups alone.
        """
        own = self.tables[a]
        if b in self.tables:
            every = (self.tables[b].group_degrees * (own.table.astype(np.int64) @ self.between[c])).sum()
        else:
            every = np.einsum("gz,gz->", self.scores.degrees[b], self.joined[a, c], dtype=np.int64)
        return int(every - own.closed @ self._both(b, c))

    def _both(self, b: int, c: int) -> Ints:
        """For each group, the positions of its nodes that are in two planes."""
        if b == c:
            return np.asarray(self.between[b].sum(axis=1))
        if b in self.tables:
            return np.asarray((self.between[c] * self.tables[b].table).sum(axis=1))
        one, other = self.scores.tables[b], self.scores.tables[c]
        ones, tiles = np.zeros(one.shape[0] * SIDE, np.int64), self.scores.tiles
        for i, k in np.argwhere(one * other).tolist():
            shared = tiles[one[i, k]] & tiles[other[i, k]]
            ones[i * SIDE : (i + 1) * SIDE] += np.bitwise_count(shared).sum(axis=1, dtype=np.int64)
        return np.add.reduceat(ones[: self.scores.n], self.scores.bounds[:-1])

    def rows(self, slots: Ints) -> Floats:
        """(rows, 2): for these slots, Σ over v of s·F² and of s·F·(ê_u + ê_v − 2ê), F being F[ê, ê](u, v).

        s is the spread of u and v, and ê_u the sum of u's scores; these are the terms of [COUNTS.4] and [COUNTS.5] that
        are no sums over triangles.
        """
        _ = self._through, self._sides, self._ends, self.joined, self.between, self._scored, self._of_tables
        order = np.argsort(slots, kind="stable")
        blocks = np.split(slots[order], range(ROWS, len(slots), ROWS))
        found = np.empty((len(slots), 2))
        found[order] = np.concatenate(list(on_cores(self._block, blocks)))
        return found

    @cached_property
    def _asked(self) -> Bits:
        """(groups, groups): between which two groups positions are asked."""
        return np.asarray(np.logical_or.reduce([each.table for each in self.tables.values()]))

    @cached_property
    def _through(self) -> tuple[Floats, Floats]:
        """The parts of F that need no counting: of two groups, and what a bit takes away.  [SCOPE.5]"""
        weights = self.scores.weights(score)
        between, closed = np.zeros(self._asked.shape), np.zeros(len(self._asked))
        for a, plane in self.tables.items():
            closed += weights[a] * plane.closed
            for b, other in self.tables.items():
                among = plane.table.astype(np.int64) @ other.group_degrees - plane.closed[:, None] * other.table
                between += weights[a] * weights[b] * among
        return between, closed

    def _by_slot(self, groups: slice | int, slots: Ints) -> Floats:
        """The part of F that a slot's neighbours by group tell, for a slot of each group.  [SCOPE.5]"""
        total: Floats = np.zeros((len(self._asked), slots.size)[isinstance(groups, int) :])
        for (a, b), joined in self.joined.items():
            total += self._scored[a] * self._scored[b] * joined[groups, slots]
        return total

    def _block(self, rows: Ints) -> Floats:
        """The two sums of some slots, which stand in order: two-paths are counted for all their groups at once."""
        scores, groups = self.scores, self.scores.groups[rows]
        asked = np.asarray(self._asked[groups].any(axis=0))
        sides = np.flatnonzero(self._sides[:, asked].any(axis=1))
        counts, weights = self._shared(rows, asked, sides)
        planes = [plane for plane in scores.tables if self.between[plane][np.ix_(groups, asked)].any()]
        bits = np.empty((len(planes), len(rows), sides.size * SIDE), np.uint8)
        for held, plane in zip(bits, planes, strict=True):
            held[:] = unpack_rows(rows_in_order(scores.tables[plane], scores.tiles, rows, sides), held.shape[1])
        bounds = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(rows)]
        runs = [slice(first, last) for first, last in pairwise(bounds)]
        return np.concatenate(
            [self._group(rows[run], counts[:, run], weights, planes, bits[:, run], sides) for run in runs]
        )

    def _group(
        self, rows: Ints, counts: Counts, weights: Floats, planes: list[int], bits: Octets, sides: Ints
    ) -> Floats:
        """The two sums of slots of one group, from the two-paths and the bits of all slots of some sides."""
        group, ends = int(self.scores.groups[rows[0]]), self._ends
        columns = np.flatnonzero(self._asked[group][self.scores.groups])
        if not columns.size:
            return np.zeros((len(rows), 2))
        others, (between, closed) = self.scores.groups[columns], self._through
        own, noise = (table[group, others] for table in self._of_tables)
        found: Floats = backend.kernels("pair_sums").path_sums(
            counts,
            weights,
            bits,
            np.where(self._asked[group, group], np.searchsorted(columns, rows), -1),
            np.searchsorted(sides, columns // SIDE) * SIDE + columns % SIDE,
            np.ascontiguousarray(self._by_slot(slice(None), rows).T),
            others,
            np.stack([self._by_slot(group, columns) + between[group, others], own, noise, ends[columns]]),
            self._scored[planes][:, None] * (closed[group] + closed[others]),
            np.stack([self._scored[planes], self.scores.weights(spread)[planes]]),
            ends[rows],
        )
        return found

    @cached_property
    def _scored(self) -> Floats:
        """Every plane's part of the score."""
        return self.scores.weights(score)

    @cached_property
    def _of_tables(self) -> tuple[Floats, Floats]:
        """What the planes by groups add to the score and to its spread, for each two groups."""
        weights = (self.scores.weights(score), self.scores.weights(spread))
        own, noise = (np.asarray(sum(each[p] * plane.table for p, plane in self.tables.items())) for each in weights)
        return own, noise

    def _shared(self, rows: Ints, asked: Bits, sides: Ints) -> tuple[Counts, Floats]:
        """How many slots join rows and the slots of some sides, through all two planes that may; and their weights.

        ``asked`` are the groups that some rows are asked with, which stand in the sides.
        """
        own, tables, tiles = np.unique(self.scores.groups[rows]), self.scores.tables, self.scores.tiles
        near, far = ({p: self.between[p][:, each].any(axis=1) for p in tables} for each in (own, asked))
        pairs = [(a, b, self._sides[:, near[a] & far[b]].any(axis=1)) for a in tables for b in tables]
        pairs = [pair for pair in pairs if pair[2].any()]
        counts = np.zeros((len(pairs), len(rows), sides.size * SIDE), np.int32)
        for count, (a, b, middles) in zip(counts, pairs, strict=True):
            kernel = backend.kernels("tile_table").add_shared
            kernel(tables[a], tables[b], tiles, rows, np.flatnonzero(middles), sides, count)
        return counts, np.array([self._scored[a] * self._scored[b] for a, b, _ in pairs])

    @cached_property
    def _sides(self) -> Bits:
        """(sides, groups): which groups have slots in which sides."""
        first, last = self.scores.bounds[:-1] // SIDE, (self.scores.bounds[1:] - 1) // SIDE
        sides = np.arange(int(last[-1]) + 1)[:, None]
        return np.asarray((sides >= first) & (sides <= last))

    @cached_property
    def _ends(self) -> Floats:
        return self.scores.node_sums(score)[self.scores.order]
