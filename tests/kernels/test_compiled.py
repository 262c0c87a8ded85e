"""The compiled kernel is what runs where numba is installed, and gives the twin's integers."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.kernels import bitset, choice, pair_sums


def test_compiled_kernel_is_chosen_and_identical() -> None:
    compiled = pytest.importorskip("visibility_aware_edge_ldp.kernels.compiled", reason="numba is not installed")
    choice.kernels.cache_clear()
    assert choice.shared_counts() is compiled.shared_counts
    words = np.random.default_rng(5).integers(0, 2**64, size=(37, 9), dtype=np.uint64)
    assert (compiled.shared_counts(words, words[5:]) == bitset.shared_counts(words, words[5:])).all()


def test_empty_rows_share_nothing_with_anybody() -> None:
    compiled = pytest.importorskip("visibility_aware_edge_ldp.kernels.compiled", reason="numba is not installed")
    random = np.random.default_rng(6)
    words = random.integers(0, 2**64, size=(50, 3), dtype=np.uint64)
    words[random.random(50) < 0.6] = 0
    assert (compiled.shared_counts(words, words) == bitset.shared_counts(words, words)).all()


@pytest.mark.parametrize("columns", [1, 7, 256, 257, 600])
def test_pair_sums_agree_with_their_twins(columns: int) -> None:
    compiled = pytest.importorskip("visibility_aware_edge_ldp.kernels.compiled", reason="numba is not installed")
    random, rows = np.random.default_rng(columns), min(columns, 5)
    counts = random.integers(0, 90, (3, rows, columns), dtype=np.int32)
    odd = random.integers(-9, 9, (1, rows, columns), dtype=np.int32)
    bits, ends = random.random((2, rows, columns)) < 0.5, random.normal(size=columns)
    forms, own, skew = random.normal(size=(8, 3)), random.normal(size=(2, 2)), random.normal(size=1)
    forms[2, 1] = 0
    for name, arguments in {
        "triangle_sums": (counts, forms[:3], bits, own, ends),
        "cycle_sums": (counts, odd, forms, skew),
    }.items():
        expected = getattr(pair_sums, name)(*arguments)
        assert getattr(compiled, name)(*arguments) == pytest.approx(expected, rel=1e-9, abs=1e-6)
        assert columns == 1 or abs(expected).min() > 0
