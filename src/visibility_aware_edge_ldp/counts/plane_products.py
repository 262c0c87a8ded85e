"""In how many ways two nodes are joined through planes of scores, and products with the matrix of all scores."""

from dataclasses import dataclass
from itertools import product as pairs_of

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import Bits, Words, unpack_rows
from visibility_aware_edge_ldp.compute.plain.symbols import VALUES
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, rows_of
from visibility_aware_edge_ldp.compute.threads import on_cores, pieces_of
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.scores import Counts, Floats, Ints, Matrix, Scores, score

# Rows whose counts in all planes are held at a time.
ROWS_AT_ONCE = 48


def joined(scores: Scores, a: int, b: int, rows: slice | Ints, first: int = 0, last: int | None = None) -> Counts:
    """N_ab for the users of these rows and those from ``first`` to ``last``; planes by groups need no counting.

    Where plane a joins everybody of a set, u of it reaches v through each of the set's nodes that v is joined to,
    but not through u itself.
    """
    stop = scores.n if last is None else last
    ends = slice(first, stop)

    def bits(plane: int) -> Counts:
        return unpack_rows(scores.planes[plane][rows], stop, first).astype(np.int32)

    if a in scores.complete:
        reached = scores.degrees_among[a][b, None, ends] - bits(b)
        return np.where(scores.complete[a][rows, None], reached, np.int32(0))
    if b in scores.complete:
        reached = scores.degrees_among[b][a][rows, None] - bits(a)
        return np.where(scores.complete[b][None, ends], reached, np.int32(0))
    if a in scores.by_groups:
        own, plane = scores.by_groups[a].groups[rows], scores.by_groups[a]
        return scores.group_degrees[a, b][own, ends] - plane.closed[own, None] * bits(b)
    if b in scores.by_groups:
        others, plane = scores.by_groups[b].groups[ends], scores.by_groups[b]
        return scores.group_degrees[b, a][:, rows].T[:, others] - plane.closed[others] * bits(a)
    return _counted(scores, a, b, rows, first, stop)


def _counted(scores: Scores, a: int, b: int, rows: slice | Ints, first: int, stop: int) -> Counts:
    """N_ab of planes that hold anything: through lists where one is sparse, else word by word."""
    strips, slots, side = scores.strips, np.arange(scores.n)[rows], first // SIDE
    if a == b and a in scores.lists:
        found: Counts = backend.kernels("common_neighbours").shared_in_lists(*scores.lists[a], slots, first)
        return found[:, : stop - first]
    if b in scores.lists:
        offsets, members = scores.lists[b]
        wide = np.ascontiguousarray(unpack_rows(scores.planes[a][rows], scores.n).T, np.float32)
        ends = offsets[first : stop + 1]
        return backend.list_sums(wide, ends - ends[0], members[ends[0] : ends[-1]]).T.astype(np.int32)
    counts = np.zeros((slots.size, (-(-stop // SIDE) - side) * SIDE), np.int32)
    backend.kernels("tiles").add_shared(strips[a], strips[b], slots, side, (0, strips.shape[1]), counts)
    return counts[:, first - side * SIDE : stop - side * SIDE]


@dataclass(frozen=True)
class PlaneMatrix:
    """The matrix of scores that are kept as planes."""

    scores: Scores

    def places(self, chosen: Ints) -> Ints:
        return chosen

    def by_column(self, by_node: Floats) -> Matrix:
        return by_node.astype(np.float32)

    def rows(self, chosen: Ints) -> Matrix:
        return self.scores.rows(chosen)

    def two_paths(self, chosen: Ints, rows: Matrix) -> Matrix:
        weights, total = self.scores.weights(score), np.zeros((len(chosen), self.scores.n))
        if self.scores.is_counted:
            parts = pieces_of(0, len(chosen), 1, -(-len(chosen) // ROWS_AT_ONCE))
            list(on_cores(lambda part: self._add_two_paths(chosen[slice(*part)], total[slice(*part)]), parts))
            return total.astype(np.float32)
        for a, b in pairs_of(range(len(weights)), repeat=2):
            total += weights[a] * weights[b] * joined(self.scores, a, b, chosen)
        return total.astype(np.float32)

    def _add_two_paths(self, chosen: Ints, total: Floats) -> None:
        weights, counts = self.scores.weights(score), self.scores.shared_among(chosen, 0, self.scores.n)
        for a, b in pairs_of(range(len(weights)), repeat=2):
            total += weights[a] * weights[b] * counts[a, b]

    def times(self, left: Matrix) -> Matrix:
        scores, total = self.scores, np.zeros_like(left)
        if scores.is_counted and self._is_dense:
            return self._times_symbols(left)
        for plane, weight in enumerate(scores.weights(score).astype(np.float32)):
            if plane in scores.complete:
                total += weight * _times_complete(scores.complete[plane], left)
            elif plane in scores.by_groups:
                total += weight * scores.by_groups[plane].times(left)
            elif plane in scores.lists:
                total += weight * _times_lists(*scores.lists[plane], left)
            else:
                total += weight * _times_dense(scores.strips[plane], left)
        return total

    @property
    def _is_dense(self) -> bool:
        """Whether looking up two columns at a time takes less than adding one number for each one of a plane."""
        scores = self.scores
        return len(scores.values) < VALUES and 2 * int(scores.plane_degrees.sum()) >= scores.n**2

    def _times_symbols(self, left: Matrix) -> Matrix:
        """Symbol s is number s + 1 and lies in plane s last; each of its planes adds what it is more than the last."""
        scores = self.scores
        numbers = np.zeros((scores.planes.shape[2] * 64, len(left)), np.float32)
        numbers[: left.shape[1]] = left.T
        names = np.arange(1, len(scores.values) + 1)
        steps = np.rint(np.linalg.solve(scores.member.astype(np.float64), names)).astype(np.uint8)
        values = np.concatenate([[0.0], scores.values]).astype(np.float32)
        kernel = backend.kernels("symbols").times
        parts = on_cores(lambda piece: kernel(scores.planes, steps, values, numbers, *piece), pieces_of(0, scores.n))
        return np.ascontiguousarray(np.concatenate(list(parts)).T)


def _times_complete(nodes: Bits, left: Matrix) -> Matrix:
    return np.where(nodes, left[:, nodes].sum(axis=1)[:, None] - left, np.float32(0))


def _times_lists(offsets: Ints, members: Counts, left: Matrix) -> Matrix:
    """The plane is symmetric: column v of the product adds up the columns of v's neighbours."""
    return backend.list_sums(np.ascontiguousarray(left.T), offsets, members).T.astype(np.float32)


def _times_dense(strips: Words, left: Matrix) -> Matrix:
    """The plane is symmetric, and comes in strips; each sum is of one row after the other."""
    numbers = np.zeros((strips.shape[1], len(left)), np.float32)
    numbers[: left.shape[1]] = left.T
    kernel = backend.kernels("tiles").times
    parts = on_cores(lambda piece: kernel(strips, numbers, *piece), pieces_of(0, left.shape[1]))
    return np.concatenate(list(parts)).T


def dense(scores: Scores | GroupScores) -> Floats:
    """All scores as a matrix, in double precision."""
    if isinstance(scores, GroupScores):
        places, own = scores.places.slots, scores.places.groups
        bits = unpack_rows(rows_of(scores.plane, places), scores.plane.shape[1])[:, places]
        found = np.where(bits > 0, scores.high[own][:, own], scores.low[own][:, own])
    else:
        weights = scores.weights(score)
        found = sum(
            (weight * unpack_rows(plane, scores.n) for weight, plane in zip(weights, scores.planes, strict=True)),
            np.zeros((scores.n, scores.n)),
        )
    np.fill_diagonal(found, 0.0)
    return found
