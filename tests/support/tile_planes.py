"""Random symmetric matrices, and their planes in strips of tiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain import bitset, tiles

Matrix = npt.NDArray[np.bool_]


def random_matrix(n: int, density: float, seed: int) -> Matrix:
    """A symmetric matrix with an empty diagonal."""
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    return upper | upper.T


def in_strips(matrix: Matrix, slots: npt.NDArray[np.int64], sides: int) -> npt.NDArray[np.uint64]:
    """The matrix as a plane in strips, its nodes in these slots."""
    return tiles.arranged(bitset.pack_rows(matrix, len(matrix)), slots, sides)
