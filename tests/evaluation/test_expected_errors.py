"""Expected errors from standard errors: right, sharper than means of errors, and left where they would be wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation import expected_errors
from visibility_aware_edge_ldp.evaluation.expected_errors import (
    STANDARD_ERROR,
    TRIALS,
    TRIALS_AND_LAW,
    Measured,
    chi_square,
    expected_error,
    steadied_mean,
)

TRUTH = 100.0
RANDOM = np.random.default_rng(1)


def measured(value: float, variance: float, unbiased: float = 1.0, normal: float = 1.0) -> Measured:
    return Measured(value, abs(value - TRUTH) / TRUTH, 1.0, variance, normal=normal, unbiased=unbiased)


def normal_trials(count: int, deviation: float = 10.0) -> list[Measured]:
    """The variance of each grows with its value, as that of a count does."""
    values = RANDOM.normal(TRUTH, deviation, count)
    return [measured(value, deviation**2 * value / TRUTH) for value in values]


def test_a_normal_error_is_found_from_few_standard_errors() -> None:
    exact = math.sqrt(2 / math.pi) * 10 / TRUTH
    for _ in range(20):
        found = expected_error(normal_trials(6), TRUTH)
        assert found.basis == STANDARD_ERROR
        assert found.error == pytest.approx(exact, rel=1e-9)  # the scatter of the variances is that of the values
    means = [np.mean([one.error for one in normal_trials(6)]) for _ in range(200)]
    assert np.std(means) > 0.2 * exact


def test_the_uncertainty_of_a_mean_variance_is_right() -> None:
    found = []
    for _ in range(400):
        errors = RANDOM.normal(0, 1, 12)
        found.append(steadied_mean(5 + 2 * errors + RANDOM.normal(0, 0.5, 12), errors))
    values, doubts = np.array(found).T
    assert values.mean() == pytest.approx(5, abs=4 * values.std() / 20)
    assert np.std((values - 5) / doubts) == pytest.approx(1.0, abs=0.25)


def test_few_trials_are_not_followed() -> None:
    errors, variances = np.array([0.0, 1.0]), np.array([4.0, 6.0])
    assert steadied_mean(variances, errors) == pytest.approx((5.0, 1.0))
    assert math.isnan(steadied_mean(variances[:1], errors[:1])[1])


def test_what_is_not_normal_is_left_to_the_trials() -> None:
    good = normal_trials(8)
    assert expected_error([replace(one, normal=0.0) for one in good], TRUTH).basis == TRIALS
    assert expected_error([replace(one, variance=math.nan) for one in good], TRUTH).basis == TRIALS
    assert expected_error([replace(one, variance=-1.0) for one in good], TRUTH).basis == TRIALS
    assert expected_error([Measured(1.0, math.inf, 1.0)], 0.0).error == math.inf


def test_a_bias_that_shows_is_left_to_the_trials() -> None:
    slight = [replace(one, unbiased=0.0) for one in normal_trials(8)]
    assert expected_error(slight, TRUTH).basis == STANDARD_ERROR
    biased = [measured(one.value + 60, one.variance, unbiased=0.0) for one in slight]
    found = expected_error(biased, TRUTH)
    assert found.basis == TRIALS
    assert found.error == pytest.approx(np.mean([one.error for one in biased]))


def test_what_has_no_error_and_no_variance_is_exact() -> None:
    assert expected_error([measured(TRUTH, 0.0)] * 2, TRUTH) == expected_errors.Expected(0.0, 0.0, STANDARD_ERROR)
    assert math.isnan(chi_square([measured(TRUTH, 0.0)] * 2, TRUTH))


def test_trials_without_an_error_are_exact_only_where_the_law_says_so() -> None:
    """Eight trials show no error that happens once in a hundred."""
    lucky = [Measured(TRUTH, 0.0, 1.0, size_excess=-0.003, side_excess=0.1)] * 8
    assert expected_error(lucky, TRUTH) == expected_errors.Expected(0.003, 0.003, TRIALS_AND_LAW)
    sure = [replace(one, size_excess=-1e-9) for one in lucky]
    assert expected_error(sure, TRUTH) == expected_errors.Expected(0.0, 0.0, TRIALS_AND_LAW)


def test_errors_that_are_rare_are_known_from_the_law() -> None:
    """One trial in ten errs, by as much as another number that is known on average: few trials tell the mean."""
    found = []
    for _ in range(200):
        off = RANDOM.exponential(0.1, 100) * (RANDOM.random(100) < 0.1)
        trials = [
            Measured(TRUTH, 0.8 * each, 1.0, size_excess=each - 0.01, side_excess=(each > 0) - 0.1) for each in off
        ]
        found.append(expected_error(trials, TRUTH).error)
    assert np.mean(found) == pytest.approx(0.008, rel=0.01)
    assert np.std(found) < 0.02 * 0.008


def test_errors_are_checked_against_standard_errors() -> None:
    deviates = [expected_errors.deviate(chi_square(normal_trials(20), TRUTH), 20) for _ in range(300)]
    assert np.mean(deviates) == pytest.approx(0, abs=0.3)
    assert np.std(deviates) == pytest.approx(1, abs=0.2)
    narrow = [replace(one, variance=one.variance / 9) for one in normal_trials(20)]
    assert expected_errors.deviate(chi_square(narrow, TRUTH), 20) > 5


@pytest.mark.parametrize(("freedom", "exact"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (19, 2.0930)])
def test_students_points(freedom: int, exact: float) -> None:
    assert expected_errors.clear(freedom) == pytest.approx(exact, rel=0.01)


def test_columns_that_rounding_alone_moves_tell_nothing() -> None:
    """Twelve numbers that are all alike, but for their last bit: a slope along them would be beyond all bounds."""
    values = np.random.default_rng(1).uniform(1, 2, 12)
    alike = np.full(12, 0.8354470932905438)
    alike[::2] = np.nextafter(alike[::2], 1)
    assert steadied_mean(values, np.stack([values - 1.5, alike], axis=1))[0] == pytest.approx(1.5, abs=0.01)
