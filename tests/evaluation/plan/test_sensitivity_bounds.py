"""The law of a maximum of noisy pulls."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation.plan.sensitivity_bounds import (
    BINS,
    Noise,
    Pulls,
    largest_of_many,
    law_of_reach,
    squared_bounds,
)


def test_the_law_of_a_maximum() -> None:
    pulls = Pulls.empty(2)
    pulls.counts[0, 0], pulls.counts[1, 0], pulls.counts[1, 12], pulls.sums[1, 12] = 1000, 1000, 1, 7
    noise = Noise(np.ones(2), np.zeros(2), np.full(2, np.inf))
    grid, chances = law_of_reach(pulls, noise, 1.0)
    assert pulls.counts.shape == (2, BINS)
    # The largest of 1,000 |normal| values is below 3.39 half of the time.
    assert float(np.interp(0.5, chances[0], grid[0])) == pytest.approx(3.39, abs=0.12)
    assert float(np.interp(0.5, chances[1], grid[1])) == pytest.approx(7.0, abs=0.2)
    far = squared_bounds(pulls, noise, 1.0, 10.0, 0.0)
    assert far[1] > 40 > far[0] > 9
    assert largest_of_many(np.array([1000.0]), np.zeros(1), np.ones(1), np.ones(1)) == pytest.approx(3.39, abs=0.02)


def test_a_user_who_is_not_asked_adds_nothing() -> None:
    noise = Noise(np.ones(1), np.zeros(1), np.ones(1))
    assert squared_bounds(Pulls.empty(1), noise, 1.0, 0.1, 0.5).tolist() == [0.0]
