"""The matrix of all scores, a few rows at a time; single precision is enough for a variance.

Scores are kept as planes, or by node groups: then columns are slots, those of one group lie side by side, and what
nobody stands in is 0.  [KINDS.1]
"""

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import Bits, Words, unpack_rows
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, rows_of
from visibility_aware_edge_ldp.compute.threads import on_cores, pieces_of
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.scores import Floats, Scores, score, square
from visibility_aware_edge_ldp.counts.triangles import joined

Matrix = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class ScoreMatrix(Protocol):
    """E, the matrix of all scores, a few rows at a time."""

    def places(self, chosen: Ints) -> Ints:
        """The columns of these nodes."""

    def by_column(self, by_node: Floats) -> Matrix:
        """A number for each node as one for each column."""

    def rows(self, chosen: Ints) -> Matrix:
        """Rows of E."""

    def two_paths(self, chosen: Ints, rows: Matrix) -> Matrix:
        """Rows of E², from the same rows of E."""

    def times(self, left: Matrix) -> Matrix:
        """left @ E."""


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
        for a, b in product(range(len(weights)), repeat=2):
            total += weights[a] * weights[b] * joined(self.scores, a, b, chosen)
        return total.astype(np.float32)

    def times(self, left: Matrix) -> Matrix:
        scores, total = self.scores, np.zeros_like(left)
        for plane, weight in enumerate(scores.weights(score).astype(np.float32)):
            if plane in scores.complete:
                total += weight * _times_complete(scores.complete[plane], left)
            elif plane in scores.lists:
                total += weight * _times_lists(*scores.lists[plane], left)
            else:
                total += weight * _times_dense(scores.strips[plane], left)
        return total


def _times_complete(nodes: Bits, left: Matrix) -> Matrix:
    return np.where(nodes, left[:, nodes].sum(axis=1)[:, None] - left, np.float32(0))


def _times_lists(offsets: npt.NDArray[np.int64], members: npt.NDArray[np.int32], left: Matrix) -> Matrix:
    """The plane is symmetric: column v of the product adds up the columns of v's neighbours."""
    return backend.list_sums(np.ascontiguousarray(left.T), offsets, members).T.astype(np.float32)


def _times_dense(strips: Words, left: Matrix) -> Matrix:
    """The plane is symmetric, and comes in strips; each sum is of one row after the other."""
    numbers = np.zeros((strips.shape[1], len(left)), np.float32)
    numbers[: left.shape[1]] = left.T
    kernel = backend.kernels("tiles").times
    parts = on_cores(lambda piece: kernel(strips, numbers, *piece), pieces_of(0, left.shape[1]))
    return np.concatenate(list(parts)).T


@dataclass(frozen=True, eq=False)
class GroupMatrix:
    """E, all scores of all positions; its diagonal is empty."""

    scores: GroupScores

    def places(self, chosen: Ints) -> Ints:
        """The columns of these nodes."""
        return self.scores.places.slots[chosen]

    def by_column(self, by_node: Floats) -> Matrix:
        """A number for each node as one for each column."""
        found = np.zeros(self._width, np.float32)
        found[self.scores.places.slots] = by_node
        return found

    def rows(self, chosen: Ints) -> Matrix:
        """Rows of E."""
        own, slots = self.scores.places.groups[chosen], self.places(chosen)
        bits = unpack_rows(rows_of(self.scores.plane, slots), self._width)
        found = np.zeros(bits.shape, np.float32)
        for group, columns in enumerate(self._columns):
            np.multiply(bits[:, columns], self._more[own, group, None], out=found[:, columns])
            found[:, columns] += self._low[own, group, None]
        found[np.arange(len(chosen)), slots] = 0
        return found

    def two_paths(self, chosen: Ints, rows: Matrix) -> Matrix:
        """Rows of E², from the same rows of E."""
        scores, low, more = self.scores, self._low, self._more
        own, degrees = scores.places.groups[chosen], scores.degrees[chosen].astype(np.float32)
        ends = _by_terms((low[own] * scores.places.sizes + more[own] * degrees).astype(np.float32), low)
        total = np.zeros_like(rows)
        for group, columns in enumerate(self._columns):
            total[:, columns] = _by_terms(low[own], (more[group] * self._degrees[columns]).T)
            # A path may not go from u to u or from v to v.
            total[:, columns] += ends[:, group, None] - rows[:, columns] * (low[own, own] + low[group, group])[:, None]
        for through, sides in enumerate(scores.sides_of):
            shared = self._shared(self.places(chosen), sides)
            for group, columns in enumerate(self._columns):
                total[:, columns] += shared[:, columns] * (more[own, through] * more[through, group])[:, None]
        total[np.arange(len(chosen)), self.places(chosen)] = scores.node_sums(square)[chosen]
        return total

    def times(self, left: Matrix) -> Matrix:
        """left @ E."""
        sums = _by_terms(np.stack([left[:, columns].sum(axis=1) for columns in self._columns], axis=1), self._low)
        result = np.zeros_like(left)
        for group, columns in enumerate(self._columns):
            weighted = np.zeros(left.shape[::-1], np.float32)
            for other, rows in enumerate(self._columns):
                np.multiply(left[:, rows].T, self._more[group, other], out=weighted[rows])
            parts = on_cores(partial(self._times, weighted), pieces_of(columns.start, columns.stop))
            result[:, columns] = np.concatenate(list(parts)).T
            result[:, columns] += sums[:, group, None] - left[:, columns] * self._low[group, group]
        return result

    def _times(self, numbers: Matrix, piece: tuple[int, int]) -> Matrix:
        found: Matrix = backend.kernels("tiles").times(self.scores.plane, numbers, *piece)
        return found

    def _shared(self, slots: Ints, through: tuple[int, int]) -> npt.NDArray[np.int32]:
        """How many slots of some sides have ones with both of two slots, one of these and any other."""
        kernel, plane = backend.kernels("tiles").add_shared, self.scores.plane
        counts = np.zeros((len(slots), self._width), np.int32)
        parts = [(first // SIDE, counts[:, first:last]) for first, last in pieces_of(0, self._width, SIDE)]
        list(on_cores(lambda part: kernel(plane, plane, slots, part[0], through, part[1]), parts))
        return counts

    @property
    def _width(self) -> int:
        return int(self.scores.plane.shape[1])

    @cached_property
    def _columns(self) -> list[slice]:
        """Where the nodes of each group stand."""
        firsts = [first * SIDE for first, _ in self.scores.sides_of]
        return [
            slice(first, first + size) for first, size in zip(firsts, self.scores.places.sizes.tolist(), strict=True)
        ]

    @cached_property
    def _degrees(self) -> Matrix:
        found = np.zeros((self._width, len(self._low)), np.float32)
        found[self.scores.places.slots] = self.scores.degrees
        return found

    @cached_property
    def _low(self) -> Matrix:
        return self.scores.affine(score)[0].astype(np.float32)

    @cached_property
    def _more(self) -> Matrix:
        return self.scores.affine(score)[1].astype(np.float32)


def _by_terms(left: Matrix, right: Matrix) -> Matrix:
    """left @ right with a few terms each, which are added one after the other."""
    found: Matrix = left[:, :1] * right[:1]
    for term in range(1, len(right)):
        found += left[:, term, None] * right[term]
    return found
