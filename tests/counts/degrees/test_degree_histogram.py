"""Histograms of degrees: bins and the projection; estimates are tried with those of other sums.  [DEGREESUM.6]"""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.counts.degrees.degree_histogram import DegreeHistogram, bin_edges, projected


@pytest.mark.parametrize(
    ("counts", "nearest"),
    [
        ([3.0, 4.0, 3.0], [3, 4, 3]),
        ([-1.0, 6.0, 5.0], [0, 5.5, 4.5]),
        ([20.0, -5.0, -5.0], [10, 0, 0]),
        ([0.0, 0.0, 0.0], [10 / 3] * 3),
        ([-7.0], [10]),
    ],
)
def test_the_projection_is_the_nearest(counts: list[float], nearest: list[float]) -> None:
    found = projected(np.array(counts), 10)
    assert found == pytest.approx(nearest)
    assert found.sum() == pytest.approx(10)


def test_the_projection_is_nearer_than_a_thousand_others() -> None:
    rng = np.random.default_rng(2)
    counts = rng.normal(1, 4, 10)
    found = projected(counts, 10)
    others = rng.dirichlet(np.ones(10), 1000) * 10
    assert ((others - counts) ** 2).sum(axis=1).min() > ((found - counts) ** 2).sum()


def test_bins_are_two_deviations_wide_and_end_with_the_nodes() -> None:
    assert bin_edges(10, np.zeros(10)).tolist() == list(range(11))
    assert bin_edges(10, np.full(10, 4.0)).tolist() == [0, 4, 8, 10]


def test_limits_are_whole_numbers_of_nodes_between_none_and_all() -> None:
    found = DegreeHistogram(np.array([0, 2, 4]), np.array([1.5, 8.5]), np.array([1.0, 0.0]))
    below, above = found.interval(0.95)
    assert (below.tolist(), above.tolist()) == ([0.0, 8.0], [4.0, 9.0])
