"""The compiled kernel is what runs where numba is installed, and gives the twin's integers."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.kernels import bitset, choice


def test_compiled_kernel_is_chosen_and_identical() -> None:
    compiled = pytest.importorskip("visibility_aware_edge_ldp.kernels.compiled", reason="numba is not installed")
    choice.kernels.cache_clear()
    assert choice.shared_counts() is compiled.shared_counts
    words = np.random.default_rng(5).integers(0, 2**64, size=(37, 9), dtype=np.uint64)
    assert (compiled.shared_counts(words, words[5:]) == bitset.shared_counts(words, words[5:])).all()
