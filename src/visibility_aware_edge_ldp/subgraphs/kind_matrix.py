"""The matrix of all scores by kind, a few rows at a time; single precision is enough for a variance.  [KINDS.1]

Columns are slots: those of one kind lie side by side, and what nobody stands in is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import unpack_rows
from visibility_aware_edge_ldp.kernels.cores import on_cores, pieces_of
from visibility_aware_edge_ldp.kernels.tiles import SIDE, rows_of
from visibility_aware_edge_ldp.subgraphs.kinds import Ints, KindScores
from visibility_aware_edge_ldp.subgraphs.scores import Floats, score, square

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class KindMatrix:
    """E, all scores of all positions; its diagonal is empty."""

    scores: KindScores

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
        own, slots = self.scores.places.kinds[chosen], self.places(chosen)
        bits = unpack_rows(rows_of(self.scores.plane, slots), self._width)
        found = np.zeros(bits.shape, np.float32)
        for kind, columns in enumerate(self._columns):
            np.multiply(bits[:, columns], self._more[own, kind, None], out=found[:, columns])
            found[:, columns] += self._low[own, kind, None]
        found[np.arange(len(chosen)), slots] = 0
        return found

    def two_paths(self, chosen: Ints, rows: Matrix) -> Matrix:
        """Rows of E², from the same rows of E."""
        scores, low, more = self.scores, self._low, self._more
        own, degrees = scores.places.kinds[chosen], scores.degrees[chosen].astype(np.float32)
        ends = (low[own] * scores.places.sizes + more[own] * degrees).astype(np.float32) @ low
        total = np.zeros_like(rows)
        for kind, columns in enumerate(self._columns):
            np.matmul(low[own], (more[kind] * self._degrees[columns]).T, out=total[:, columns])
            # A path may not go from u to u or from v to v.
            total[:, columns] += ends[:, kind, None] - rows[:, columns] * (low[own, own] + low[kind, kind])[:, None]
        for through, sides in enumerate(scores.sides_of):
            shared = self._shared(self.places(chosen), sides)
            for kind, columns in enumerate(self._columns):
                total[:, columns] += shared[:, columns] * (more[own, through] * more[through, kind])[:, None]
        total[np.arange(len(chosen)), self.places(chosen)] = scores.node_sums(square)[chosen]
        return total

    def times(self, left: Matrix) -> Matrix:
        """left @ E."""
        sums = np.stack([left[:, columns].sum(axis=1) for columns in self._columns], axis=1) @ self._low
        result = np.zeros_like(left)
        for kind, columns in enumerate(self._columns):
            weighted = np.zeros(left.shape[::-1], np.float32)
            for other, rows in enumerate(self._columns):
                np.multiply(left[:, rows].T, self._more[kind, other], out=weighted[rows])
            parts = on_cores(partial(self._times, weighted), pieces_of(columns.start, columns.stop))
            result[:, columns] = np.concatenate(list(parts)).T
            result[:, columns] += sums[:, kind, None] - left[:, columns] * self._low[kind, kind]
        return result

    def _times(self, numbers: Matrix, piece: tuple[int, int]) -> Matrix:
        found: Matrix = choice.shared_kernels().times(self.scores.plane, numbers, *piece)
        return found

    def _shared(self, slots: Ints, through: tuple[int, int]) -> npt.NDArray[np.int32]:
        """How many slots of some sides have ones with both of two slots, one of these and any other."""
        kernel, plane = choice.shared_kernels().add_shared, self.scores.plane
        counts = np.zeros((len(slots), self._width), np.int32)
        parts = [(first // SIDE, counts[:, first:last]) for first, last in pieces_of(0, self._width, SIDE)]
        list(on_cores(lambda part: kernel(plane, plane, slots, part[0], through, part[1]), parts))
        return counts

    @property
    def _width(self) -> int:
        return int(self.scores.plane.shape[1])

    @cached_property
    def _columns(self) -> list[slice]:
        """Where the nodes of each kind stand."""
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
