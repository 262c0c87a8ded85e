"""4-cycles: a sample of rows stands for all of them."""

from __future__ import annotations

import numpy as np
import pytest

from support.score_planes import planes_of
from visibility_aware_edge_ldp.counts import cycles
from visibility_aware_edge_ldp.counts.scores import Scores, complete_among
from visibility_aware_edge_ldp.counts.triangles import sum_over_pairs


def test_sampled_rows_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variance of 4-cycles from a sample of rows is near the one from all rows; the count is the same."""
    n = 700
    rng = np.random.default_rng(3)
    upper = np.triu(np.ones((n, n), bool), 1)
    weight = np.sqrt(np.arange(1, n + 1) / n)
    planes = planes_of(upper, upper & (rng.random((n, n)) < 0.3 * np.outer(weight, weight)))
    scores = Scores(n, planes, np.array([-0.2, 1.2]), np.array([[1, 0], [1, 1]], bool), complete_among(planes))
    sums = sum_over_pairs(scores, cycles.cycle_sums)
    sampled = cycles.cycles(scores, sums)
    monkeypatch.setattr(cycles, "CERTAIN_ROWS", n)
    whole = cycles.cycles(scores, sums)
    assert sampled[0] == whole[0]
    assert sampled[1] == pytest.approx(whole[1], rel=0.1)
    assert sampled[1] != whole[1]


def test_sums_that_need_no_pairs_and_squares_of_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classes by hash, counted in one pass: the sums made pair by pair, and Σ over others of squared two-paths."""
    n, draw = 300, np.random.default_rng(5)
    classes, ones = draw.random((n, n)), draw.random((n, n)) < 0.3
    layers = (classes < 0.4, (classes < 0.4) & ones, classes > 0.6, (classes > 0.6) & ones)
    values, within = np.array([-0.15, 1.15, -0.58, 1.58]), np.kron(np.eye(2), np.tri(2)).astype(bool)
    scores, squares = Scores(n, planes_of(*layers), values, within), np.zeros(n)
    assert scores.is_counted
    quick = sum_over_pairs(scores, cycles.cycle_sums, squares=squares)
    sampled = cycles.cycles(scores, quick, cycles.Rows(np.arange(n), np.ones(n), squares))
    monkeypatch.setattr(cycles, "CERTAIN_ROWS", n)
    whole = cycles.cycles(scores, quick)
    assert sampled[0] == whole[0]
    assert sampled[1] == pytest.approx(whole[1], rel=0.1)
    assert sampled[1] != whole[1]
    monkeypatch.setattr(Scores, "is_counted", False)
    assert quick == pytest.approx(sum_over_pairs(scores, cycles.cycle_sums), rel=1e-10)
    matrix = scores.rows(slice(0, n)).astype(np.float64)
    paths = matrix @ matrix
    np.fill_diagonal(paths, 0)
    assert squares == pytest.approx((paths**2).sum(axis=1), rel=1e-5)
