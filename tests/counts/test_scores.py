"""Scores as planes: which planes need no counting, and what the planes and their matrix say of each position."""

from __future__ import annotations

import numpy as np
import pytest

from support.score_planes import planes_of
from visibility_aware_edge_ldp.counts.plane_products import PlaneMatrix, joined
from visibility_aware_edge_ldp.counts.scores import Scores, complete_among, spread, square


def test_only_complete_planes_are_taken_for_complete() -> None:
    n = 9
    among = np.zeros((n, n), bool)
    among[:5, :5] = True
    lacking, beyond = among.copy(), among.copy()
    lacking[1, 3] = lacking[3, 1] = False
    beyond[2, 7] = beyond[7, 2] = True
    found = complete_among(planes_of(among, lacking, beyond, np.zeros((n, n), bool), np.ones((n, n), bool)))
    assert {plane: nodes.sum() for plane, nodes in found.items()} == {0: 5, 4: 9}


def test_rows_paths_and_sums_of_functions_are_those_of_the_matrix() -> None:
    n, random = 70, np.random.default_rng(11)
    held = np.triu(random.random((n, n)) < 0.7, 1)
    planes = planes_of(held, held & (random.random((n, n)) < 0.4))
    scores = Scores(n, planes, np.array([-0.25, 1.25]), np.tri(2, dtype=bool), complete_among(planes))
    matrix = scores.rows(slice(None)).astype(np.float64)
    assert set(np.unique(matrix)) == {-0.25, 0.0, 1.25}
    for function in (square, spread):
        assert scores.node_sums(function) == pytest.approx(function(matrix).sum(axis=1))
    chosen = np.array([3, 0, 69])
    found = PlaneMatrix(scores).two_paths(chosen, PlaneMatrix(scores).rows(chosen))
    assert found == pytest.approx((matrix @ matrix)[chosen], rel=1e-5)
    ones = (matrix == 1.25).astype(int)
    assert (joined(scores, 1, 1, chosen, 5) == (ones @ ones)[chosen, 5:]).all()


def test_counts_between_groups_are_those_of_the_matrix() -> None:
    n, random = 70, np.random.default_rng(5)
    held = np.triu(random.random((n, n)) < 0.7, 1)
    scores = Scores(n, planes_of(held, held & (random.random((n, n)) < 0.4)), np.array([-0.25, 1.25]), np.tri(2) > 0)
    matrix, members = scores.rows(slice(None)), random.integers(0, 4, n)
    inside = (members == np.arange(4)[:, None]).astype(np.float64)
    for value, found in zip(scores.values, scores.counts_between(members, 4), strict=True):
        assert (found == inside @ (matrix == value) @ inside.T).all()
