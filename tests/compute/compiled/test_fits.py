"""Compiled steps of a fit: the plain ones to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain import fits
from visibility_aware_edge_ldp.compute.reproducible_math import Rows

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.fits", reason="numba is not installed")


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (31, 2), (73, 131), (131, 37), (400, 300)])
@pytest.mark.parametrize("spread", [1e-300, 1e-9, 1.0, 30.0, 900.0])
def test_the_twins_agree_to_the_last_digit(rows: int, columns: int, spread: float) -> None:
    draws = np.random.default_rng(rows)
    matrix, vector, offsets = draws.normal(size=(rows, columns)), draws.normal(size=columns), draws.normal(size=rows)
    plain, fast = (each.exponentials(Rows(matrix), spread * vector, offsets) for each in (fits, compiled))
    assert fast.tobytes() == plain.tobytes()
    positive, weights = np.exp(spread * np.minimum(matrix, 0.0)), np.abs(vector)
    weights[::2] = 0.0  # and where there is a single one, all
    for each in (weights, -weights):
        both = [kernel.logarithms(Rows(positive), each) for kernel in (fits, compiled)]
        for ours, known in zip(both[1], both[0], strict=True):
            assert np.nan_to_num(ours, nan=7.0).tobytes() == np.nan_to_num(known, nan=7.0).tobytes()
