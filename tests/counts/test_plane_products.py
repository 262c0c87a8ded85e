"""Ways through planes of scores, and products with their matrix, against matrices of bits."""

from __future__ import annotations

import numpy as np
import pytest

from support.score_planes import planes_of
from visibility_aware_edge_ldp.counts.plane_products import PlaneMatrix, joined
from visibility_aware_edge_ldp.counts.scores import Scores, complete_among


def scores_of_planes(n: int, density: float, complete: bool) -> tuple[Scores, list[np.ndarray]]:
    """Two planes, the second inside the first, and the same as matrices."""
    random = np.random.default_rng(n)
    held = np.zeros((n, n), bool)
    held[: n // 2, : n // 2] = True
    first = np.triu(held if complete else random.random((n, n)) < density, 1)
    second = first & (random.random((n, n)) < 0.4)
    planes = planes_of(first, second)
    scores = Scores(n, planes, np.array([-0.25, 1.25]), np.tri(2, dtype=bool), complete_among(planes))
    return scores, [(each | each.T).astype(np.int64) for each in (first, second)]


@pytest.mark.parametrize("complete", [True, False], ids=["a complete plane", "planes of anything"])
@pytest.mark.parametrize(("n", "density"), [(70, 0.7), (600, 0.5), (600, 0.01)])
def test_ways_from_one_plane_to_another_are_a_matrix_product(n: int, density: float, complete: bool) -> None:
    scores, planes = scores_of_planes(n, density, complete)
    assert (0 in scores.complete) == complete
    for a in range(2):
        for b in range(2):
            whole = planes[a] @ planes[b]
            np.fill_diagonal(whole, 0)
            for rows, first, last in ((slice(0, n), 0, None), (slice(n // 3, n), n // 3, n), (np.array([n - 1]), 1, n)):
                found = joined(scores, a, b, rows, first, last)
                expected = whole[rows, first:last]
                own = np.arange(n)[rows][:, None] == np.arange(first, n if last is None else last)
                assert (np.where(own, 0, found) == expected).all()


@pytest.mark.parametrize("complete", [True, False], ids=["a complete plane", "planes of anything"])
@pytest.mark.parametrize(("n", "density"), [(70, 0.7), (600, 0.5), (600, 0.01)])
def test_products_with_the_matrix_of_scores(n: int, density: float, complete: bool) -> None:
    scores, (first, second) = scores_of_planes(n, density, complete)
    matrix, left = -0.25 * (first - second) + 1.25 * second, np.random.default_rng(1).normal(size=(3, n))
    found = PlaneMatrix(scores).times(left.astype(np.float32))
    assert found == pytest.approx(left @ matrix, rel=1e-4, abs=1e-3)
    chosen = np.array([0, n - 1])
    paths = PlaneMatrix(scores).two_paths(chosen, PlaneMatrix(scores).rows(chosen))
    others = np.arange(n) != chosen[:, None]
    assert paths[others] == pytest.approx((matrix @ matrix)[chosen][others], rel=1e-5, abs=1e-5)
