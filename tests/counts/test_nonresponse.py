"""Who stayed away: every sample of a few users is tried.  [ABSENT.1-2]"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing

VALUES = np.array([0.0, 1.0, 1.0, 4.0, 9.0, 30.0, 2.0, 2.0, 5.0, 0.0, 3.0, 8.0])


@pytest.mark.parametrize("answers", [2, 5, 9, 11])
def test_the_variance_is_unbiased_over_all_samples(answers: int) -> None:
    samples = [VALUES[list(chosen)] for chosen in combinations(range(VALUES.size), answers)]
    sums = np.array([VALUES.size / answers * each.sum() for each in samples])
    found = np.array([missing(each, 0.0, VALUES.size) for each in samples])
    assert sums.mean() == pytest.approx(VALUES.sum())
    assert found[:, 0].mean() == pytest.approx(sums.var())


def test_doubt_and_third_are_about_what_a_large_sample_has() -> None:
    random = np.random.default_rng(1)
    values, answers = random.exponential(size=2000), 1000
    samples = [random.choice(values, answers, replace=False) for _ in range(4000)]
    sums = np.array([2 * each.sum() for each in samples])
    found = np.array([missing(each, 0.0, values.size) for each in samples])
    covariance = np.cov(sums, found[:, 0])[0, 1]
    assert found[:, 2].mean() == pytest.approx(covariance, rel=0.1)
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.1)


def test_noise_is_taken_out_and_never_below_nothing() -> None:
    assert missing(VALUES[:6], 5.0, 12).variance < missing(VALUES[:6], 0.0, 12).variance
    assert missing(VALUES[:6], 1e9, 12).variance == 0


def test_everybody_and_hardly_anybody() -> None:
    assert missing(VALUES, 1.0, VALUES.size) == Spread(0.0)
    assert missing(VALUES[:1], 0.0, 12).variance == math.inf


def test_spreads_add_and_scale() -> None:
    one, other = Spread(4.0, 3.0, 1.0), Spread(5.0, 4.0)
    assert one.plus(other) == Spread(9.0, 5.0, 1.0)
    assert one.times(2.0) == Spread(16.0, 12.0, 8.0)
