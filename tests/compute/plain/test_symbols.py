"""Products with a matrix of few values, against the matrix itself."""

from __future__ import annotations

import numpy as np
import pytest

from support.score_planes import planes_of
from visibility_aware_edge_ldp.compute.plain import symbols


@pytest.mark.parametrize("n", [2, 64, 131])
def test_products_are_those_of_the_matrix(n: int) -> None:
    """Two classes, the second outcome of each within the first, and what is in neither is 0."""
    draw = np.random.default_rng(n)
    classes, ones = draw.random((n, n)), draw.random((n, n)) < 0.3
    layers = (classes < 0.4, (classes < 0.4) & ones, classes > 0.6, (classes > 0.6) & ones)
    planes, values = planes_of(*layers), np.array([0, -0.5, 1.5, -0.25, 1.25], np.float32)
    above = np.triu(np.select([layers[1], layers[0], layers[3], layers[2]], [1.5, -0.5, 1.25, -0.25], 0.0), 1)
    numbers = np.zeros((planes.shape[2] * 64, 3), np.float32)
    numbers[:n] = draw.normal(size=(n, 3))
    found = symbols.times(planes, np.array([1, 1, 3, 1], np.uint8), values, numbers, n // 3, n)
    assert found == pytest.approx(((above + above.T) @ numbers[:n])[n // 3 :], rel=1e-4, abs=1e-4)
    assert found.dtype == np.float32
