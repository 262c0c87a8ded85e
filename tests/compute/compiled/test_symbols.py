"""Compiled products with a matrix of few values: the plain ones to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from support.score_planes import planes_of
from visibility_aware_edge_ldp.compute.plain import symbols

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.symbols", reason="numba is not installed")


@pytest.mark.parametrize("columns", [1, 16, 37])
@pytest.mark.parametrize(("n", "values"), [(5, 2), (70, 6), (600, symbols.VALUES)])
def test_products_are_the_twins_to_the_last_digit(n: int, values: int, columns: int) -> None:
    """Disjoint planes, as many as there are values but for 0; rows beyond a band and not from the first one on."""
    draw = np.random.default_rng(n)
    which = draw.integers(0, values, (n, n))
    planes, steps = planes_of(*(which == s for s in range(1, values))), np.arange(1, values, dtype=np.uint8)
    numbers = np.zeros((planes.shape[2] * 64, columns), np.float32)
    numbers[:n] = draw.normal(size=(n, columns))
    each = np.concatenate([[0.0], draw.normal(size=values - 1)]).astype(np.float32)
    for first, last in ((0, n), (1, n - 1), (n - 1, n)):
        plain, fast = (kernel.times(planes, steps, each, numbers, first, last) for kernel in (symbols, compiled))
        assert plain.tobytes() == fast.tobytes()
        assert np.abs(fast).max() > 0
