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


def test_a_node_is_not_paired_with_itself() -> None:
    """One pair more or less changes the sums: the first of them is of score times two-paths."""
    rows, words = np.array([2]), np.zeros((1, 8), np.uint64)
    words[0, 0] = 0b11011
    counts = np.arange(5, dtype=np.int32).reshape(1, 1, 5) + 1
    zeros, bit, shared = np.zeros((3, 1)), np.zeros(3), np.ones((3, 1))
    own, ends = np.array([[0.0, 1.0], [0.0, 0.0]]), np.zeros(5)
    for each in (group_sums, compiled):
        found = each.group_sums(
            counts,
            words,
            rows,
            0,
            zeros,
            np.zeros((3, 5)),
            bit,
            shared,
            own,
            ends[:1],
            ends,
            np.array([0]),
            np.zeros(5),
        )
        assert found[0, 0] == 1 + 2 + 4 + 5
