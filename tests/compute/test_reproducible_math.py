"""Products and solutions: right to the precision that is promised, and the same in whatever order they are added up."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute import reproducible_math as exact

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize(("rows", "terms", "columns"), [(1, 1, 1), (5, 3, 2), (70, 40, 37)])
def test_products_of_matrices(rows: int, terms: int, columns: int) -> None:
    left, right = RANDOM.normal(size=(rows, terms)), RANDOM.normal(size=(terms, columns))
    np.testing.assert_allclose(exact.product(left, right), left @ right, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(exact.Rows(left).times(right), left @ right, rtol=1e-13, atol=1e-13)
    weights = RANDOM.random(rows)
    np.testing.assert_allclose(exact.inner(left, weights), (left.T * weights) @ left, rtol=1e-9, atol=1e-9)


def test_a_matrix_times_many_is_rounded_as_a_whole() -> None:
    """Rows of the matrix are cut up once; the order of rows and columns changes no digit."""
    left, right, order = RANDOM.normal(size=(50, 30)), RANDOM.normal(size=(30, 4)), RANDOM.permutation(30)
    assert exact.Rows(left).times(right).tobytes() == exact.Rows(left[:, order]).times(right[order]).tobytes()


def test_sums_on_a_grid_are_exact_in_any_order() -> None:
    vector = exact.on_grid(RANDOM.normal(size=1000), 1000)
    assert len({float(vector[RANDOM.permutation(1000)].sum()) for _ in range(20)}) == 1
    assert exact.norm([3.0, 4.0]) == 5.0
    assert exact.dot(np.array([1, 2]), np.array([3.0, 4.0])) == 11.0
    assert exact.weighted(np.array([1.0, 2.0]), np.eye(2)).tolist() == [1.0, 2.0]
