"""Stars: the identity behind their variance, and what is left of a polynomial without one score."""

from __future__ import annotations

from itertools import combinations
from math import comb, prod

import numpy as np
import pytest

from support.score_planes import planes_of
from visibility_aware_edge_ldp.counts import stars
from visibility_aware_edge_ldp.counts.scores import Scores


def test_square_of_a_binomial() -> None:
    """C(d, k)² as a sum of C(d, j), the identity behind the stars' variance.  [COUNTS.3]"""
    symmetric = np.array([[comb(d, j) for d in range(12)] for j in range(9)], dtype=float)
    for k in (1, 2, 3, 4):
        assert stars._centre_variance(symmetric, k) == pytest.approx(np.zeros(12))


def test_elementary_polynomials_are_sums_of_products_of_a_nodes_scores() -> None:
    bits = np.triu(np.random.default_rng(5).random((6, 6)) < 0.6, 1)
    scores = Scores(6, planes_of(np.ones((6, 6), bool), bits), np.array([-0.5, 1.5]), np.tri(2, dtype=bool))
    values = np.where(bits | bits.T, 1.5, -0.5)
    for node in range(6):
        own = np.delete(values[node], node)
        for order in range(4):
            expected = sum(prod(chosen) for chosen in combinations(own.tolist(), order))
            assert stars.elementary(scores, 3)[order, node] == pytest.approx(expected)
        rest = own[1:].tolist()
        without = stars._without(stars.elementary(scores, 3), float(own[0]), 2)[node]
        assert without == pytest.approx(sum(prod(chosen) for chosen in combinations(rest, 2)))
