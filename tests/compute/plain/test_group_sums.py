"""Sums over pairs of nodes of two groups: the definition, and the same numbers compiled and plain."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest

from visibility_aware_edge_ldp.compute.plain import bitset, group_sums, tiles

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.group_sums", reason="numba is not installed")
BOTH = pytest.mark.parametrize("kernels", [group_sums, compiled], ids=["plain", "compiled"])


def in_strips(n: int, sides: int, seed: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
    """A random symmetric matrix, and its plane in strips."""
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < 0.3, 1)
    return upper | upper.T, tiles.arranged(bitset.pack_rows(upper | upper.T, n), np.arange(n), sides)


@BOTH
def test_a_form_over_later_pairs_is_a_double_sum(kernels: ModuleType) -> None:
    n, sides = 900, 2
    matrix, plane = in_strips(n, sides, 4)
    vector = np.zeros(sides * tiles.SIDE)
    vector[:n] = np.random.default_rng(5).normal(size=n)
    for rows, columns in (((0, 1024), (0, 2)), ((0, 512), (1, 2)), ((512, 1024), (1, 2)), ((512, 1024), (0, 1))):
        wide = np.zeros((1024, 1024))
        wide[:n, :n] = np.triu(matrix)
        part = wide[rows[0] : rows[1], columns[0] * 512 : columns[1] * 512]
        expected = vector[rows[0] : rows[1]] @ part @ vector[columns[0] * 512 : columns[1] * 512]
        found = vector[rows[0] : rows[1]] @ kernels.later_sums(plane, rows, columns, vector)
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kinds", [1, 2, 4])
@pytest.mark.parametrize("size", [1, 7, 8, 9, 88, 300])
@pytest.mark.parametrize("forms", [3, 9])
def test_sums_by_group_are_the_twins_to_the_last_digit(forms: int, size: int, kinds: int) -> None:
    draws = np.random.default_rng(forms + size)
    n, sides, rows = 600, 2, np.array([3, 5, 70, 599])
    words = tiles.rows_of(in_strips(n, sides, 1)[1], rows)
    counts = draws.integers(0, 90, (kinds, 4, size + 5)).astype(np.int32)[:, :, 2 : size + 2]  # a part of larger rows
    terms = (draws.normal(size=(forms, 4)), draws.normal(size=(forms, size)), draws.normal(size=forms))
    shared, own, ends, others = (draws.normal(size=shape) for shape in ((forms, kinds), (2, 2), 4, size))
    for begins in (np.zeros(4, np.int64), np.minimum([0, 2, 80, 88], size)):
        for first_slot in (0, 64, 512):
            across = np.zeros((2, size))
            plain, fast = (
                each.group_sums(counts, words, rows, first_slot, *terms, shared, own, ends, others, begins, total)
                for each, total in zip((group_sums, compiled), across, strict=True)
            )
            assert fast.tobytes() == plain.tobytes()
            assert across[1].tobytes() == across[0].tobytes()


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
