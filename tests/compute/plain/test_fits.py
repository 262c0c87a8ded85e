"""Steps of a fit: what they calculate, written out."""

from __future__ import annotations

import numpy as np

from visibility_aware_edge_ldp.compute.plain import fits
from visibility_aware_edge_ldp.compute.reproducible_math import Rows


def test_exponentials_and_logarithms_of_products() -> None:
    draws = np.random.default_rng(1)
    matrix, vector, offsets = draws.normal(size=(70, 9)), draws.normal(size=9), draws.normal(size=70)
    logs = matrix @ vector + offsets
    np.testing.assert_allclose(fits.exponentials(Rows(matrix), vector, offsets), np.exp(logs - logs.max()), rtol=1e-13)
    products, found = fits.logarithms(Rows(np.abs(matrix)), np.abs(vector))
    np.testing.assert_allclose(products, np.abs(matrix) @ np.abs(vector), rtol=1e-13)
    np.testing.assert_allclose(found, np.log(products), rtol=1e-13, atol=1e-14)
    assert fits.logarithms(Rows(matrix), np.zeros(9))[1].tolist() == [-np.inf] * 70
