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
