"""Sums over pairs of nodes of two groups: the definition, and the same numbers compiled and plain."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from support.tile_planes import in_strips, random_matrix
from visibility_aware_edge_ldp.compute.plain import group_sums, tiles

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.group_sums", reason="numba is not installed")
BOTH = pytest.mark.parametrize("kernels", [group_sums, compiled], ids=["plain", "compiled"])


@BOTH
def test_a_form_over_later_pairs_is_a_double_sum(kernels: ModuleType) -> None:
    n, sides = 900, 2
    matrix = random_matrix(n, 0.3, 4)
    plane = in_strips(matrix, np.arange(n), sides)
    vector = np.zeros(sides * tiles.SIDE)
    vector[:n] = np.random.default_rng(5).normal(size=n)
    for rows, columns in (((0, 1024), (0, 2)), ((0, 512), (1, 2)), ((512, 1024), (1, 2)), ((512, 1024), (0, 1))):
        wide = np.zeros((1024, 1024))
        wide[:n, :n] = np.triu(matrix)
        part = wide[rows[0] : rows[1], columns[0] * 512 : columns[1] * 512]
        expected = vector[rows[0] : rows[1]] @ part @ vector[columns[0] * 512 : columns[1] * 512]
        found = vector[rows[0] : rows[1]] @ kernels.later_sums(plane, rows, columns, vector)
        assert found == pytest.approx(expected, abs=1e-9)


@BOTH
def test_a_node_is_not_paired_with_itself(kernels: ModuleType) -> None:
    """One pair more or less changes the sums: the first of them is of score times two-paths."""
    matrix, slots, n = random_matrix(40, 0.3, 2), np.array([2, 17]), 40
    plane = in_strips(matrix, np.arange(n), 1)
    zeros, own, ends = np.zeros((3, 2)), np.array([[1.0, 1.0], [0.0, 0.0]]), np.zeros(n)
    terms = zeros, np.zeros((3, n)), np.zeros(3), np.ones((3, 1)), own, ends[:2], ends, np.array([0, 10]), ends.copy()
    (found,) = kernels.block_sums(plane, slots, np.array([[0, 1]]), [(0, *terms)])
    paths = matrix.astype(np.int64) @ matrix
    for slot, begin, sums in zip(slots, (0, 10), found, strict=True):
        others = [v for v in range(begin, n) if v != slot]
        assert sums[0] == sum((1 + matrix[slot, v]) * paths[slot, v] for v in others)
