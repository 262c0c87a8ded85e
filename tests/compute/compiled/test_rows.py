"""What only the compiled kernels on rows have: numbers of several widths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain import rows
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.rows", reason="numba is not installed")


@pytest.mark.long
def test_more_rows_than_16_bits_count() -> None:
    """The compiled kernel counts in wider numbers then: a list that names few users very often."""
    n, often = 70, 70_000
    plane = ~np.eye(n, dtype=bool)
    members = np.full(often, 1, np.int32)
    masks = rows.panels_of(pack_rows(np.ones((1, n), bool), n))[None, :, :-1].copy()
    given = (
        rows.panels_of(pack_rows(plane, n))[None],
        np.zeros(1, bool),
        np.array([1.0]),
        masks,
        0,
        np.array([0, often]),
        members,
    )
    inside, largest = compiled.list_pulls(*given)
    counts = plane[members].sum(axis=0)
    assert largest.tolist() == [[counts[1:].max()]]
    assert inside.tolist() == [[counts[members].sum()]]
    assert counts.max() == often > 1 << 16


def test_products_of_every_width_are_the_same() -> None:
    """Up to 2^13 users in 32 bits, up to 2^15 in halves, and beyond one by one."""
    from numba import njit

    @njit  # type: ignore[untyped-decorator]
    def narrow(shared: np.ndarray, early: np.ndarray, bits: np.ndarray, sums: np.ndarray) -> None:
        compiled._add_products(shared, early, bits, sums)

    @njit  # type: ignore[untyped-decorator]
    def wide(shared: np.ndarray, early: np.ndarray, bits: np.ndarray, sums: np.ndarray) -> None:
        compiled._add_wide_products(shared, early, bits, sums)

    def added(add: Any, *columns: np.ndarray) -> list[list[int]]:
        sums = np.zeros((2, 5), np.int64)
        add(*columns, sums)
        found: list[list[int]] = sums.tolist()
        return found

    random = np.random.default_rng(1)
    for most, same in ((4, True), (1 << 13, True), (1 << 15, False)):
        for largest in (40, 512):
            shared, early = random.integers(0, most, (2, 512)).astype(np.uint16)
            shared[:largest] = early[:largest] = most - 1
            bits = (random.random(512) < 0.7).astype(np.uint16)
            sides = ([each[side].astype(np.int64) for each in (shared, early)] for side in (bits < 2, bits > 0))
            expected = [[s.sum(), t.sum(), (s * s).sum(), (s * t).sum(), (t * t).sum()] for s, t in sides]
            assert added(wide, shared, early, bits) == added(compiled._add_long_products, shared, early, bits)
            assert added(wide, shared, early, bits) == expected
            # Beyond its limit the narrow one does overflow.
            assert (added(narrow, shared, early, bits) == expected) is same
