"""Packed bit matrices against plain ones, and the compiled kernel against its twin."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain import bitset


def random_plane(n: int, density: float, seed: int) -> np.ndarray:
    return np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)


@pytest.mark.parametrize("n", [2, 3, 63, 64, 65, 127, 200, 1030])
def test_packing_mirroring_and_unpacking(n: int) -> None:
    upper = random_plane(n, 0.3, n)
    packed = bitset.symmetrise(bitset.pack_rows(upper, n), n)
    whole = upper | upper.T
    assert packed.shape == (n, bitset.word_count(n))
    assert (bitset.unpack_rows(packed, n) == whole).all()
    for first in {0, 1, n // 2, n - 1}:
        assert (bitset.unpack_rows(packed, n, first) == whole[:, first:]).all()
    assert (bitset.row_sums(packed) == whole.sum(axis=1)).all()


@pytest.mark.parametrize("rows", [1, 3, 4, 7])
def test_shared_counts_are_a_matrix_product(rows: int) -> None:
    n = 150
    first, second = (random_plane(n, 0.4, seed) for seed in (1, 2))
    first, second = first | first.T, second | second.T
    expected = first[:rows].astype(int) @ second.astype(int).T
    packed = bitset.pack_rows(first, n)[:rows], bitset.pack_rows(second, n)
    assert (bitset.shared_counts(*packed) == expected).all()
    assert (backend.shared_counts(*packed) == expected).all()


def test_the_plain_kernel_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", "plain")
    backend.name.cache_clear()
    try:
        assert backend.kernels("bitset") is bitset
    finally:
        backend.name.cache_clear()


def test_sums_within_masks_and_by_group_are_those_of_the_matrix() -> None:
    n, members = 1100, np.arange(1100) % 5 - 1  # the first of five are in no group
    upper = random_plane(n, 0.3, 1)
    whole = upper | upper.T
    ones = bitset.sums_within(bitset.pack_rows(whole, n), bitset.group_masks(members, 4))
    inside = (members == np.arange(4)[:, None]).astype(np.int64)
    assert (ones == whole.astype(np.int64) @ inside.T).all()
    assert (bitset.sums_by_group(ones, members, 4) == inside @ whole @ inside.T).all()
