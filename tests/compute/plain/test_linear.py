"""Small systems of equations, by plain and by compiled steps: the same digits."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain import linear

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("size", [1, 2, 20, 33])
def test_systems_of_equations(size: int) -> None:
    half = RANDOM.normal(size=(size + 2, size))
    product = half.T @ half
    matrix, vector = np.tril(product) + np.tril(product, -1).T, RANDOM.normal(size=size)
    root = linear.cholesky(matrix)
    np.testing.assert_allclose(root @ root.T, matrix, rtol=1e-9, atol=1e-9)
    assert (np.triu(root, 1) == 0).all()
    several = np.column_stack([vector, np.eye(size)])
    found, columns = linear.solved(root, vector), linear.solved(root, several)
    np.testing.assert_allclose(matrix @ found, vector, rtol=1e-6, atol=1e-6)
    assert columns[:, 0].tobytes() == found.tobytes(), "a vector is solved by the steps of a column"
    twin = backend.kernels("linear")
    assert twin.cholesky(matrix).tobytes() == root.tobytes()
    assert twin.solved(root, vector).tobytes() == found.tobytes()
    assert twin.solved(root, several).tobytes() == columns.tobytes()
