"""The matrix of all scores, plane by plane; single precision is enough for a variance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import TILE, Bits, Words, unpack_rows
from visibility_aware_edge_ldp.subgraphs.pairs import joined
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores, score

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
                total += weight * _times_dense(scores.planes[plane], left)
        return total


def _times_complete(nodes: Bits, left: Matrix) -> Matrix:
    return np.where(nodes, left[:, nodes].sum(axis=1)[:, None] - left, np.float32(0))


def _times_lists(offsets: npt.NDArray[np.int64], members: npt.NDArray[np.int32], left: Matrix) -> Matrix:
    """The plane is symmetric: column v of the product adds up the columns of v's neighbours."""
    return choice.list_sums()(np.ascontiguousarray(left.T), offsets, members).T.astype(np.float32)


def _times_dense(plane: Words, left: Matrix) -> Matrix:
    n, total = left.shape[1], np.zeros_like(left)
    for start in range(0, n, TILE):
        total += left[:, start : start + TILE] @ unpack_rows(plane[start : start + TILE], n).astype(np.float32)
    return total
