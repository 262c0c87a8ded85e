"""Discrete Laplace noise: its probabilities, its promise, its inverse.  [DL.1-3]"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key

MECHANISMS = [
    DiscreteLaplace(Fraction(1)),
    DiscreteLaplace(Fraction(1, 10)),
    DiscreteLaplace(Fraction(2), 3),
    DiscreteLaplace(Fraction(6)),
]


def chi_square_z(draws: np.ndarray, mechanism: DiscreteLaplace) -> float:
    """Pearson's statistic against the mechanism's probabilities, in its own standard deviations."""
    reach = mechanism.interval(1 - 50 / draws.size)[1]
    inside = draws[abs(draws) <= reach]
    chances = np.array([mechanism.probability(k) for k in range(-reach, reach + 1)])
    expected = np.append(chances, 1 - chances.sum()) * draws.size
    observed = np.append(np.bincount(inside + reach, minlength=2 * reach + 1), draws.size - inside.size)
    return float((((observed - expected) ** 2 / expected).sum() - 2 * reach - 1) / math.sqrt(4 * reach + 2))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_probabilities_are_a_geometric_sequence_on_both_sides(mechanism: DiscreteLaplace) -> None:
    with localcontext(prec=60):
        alpha = (-Decimal(mechanism.rate.numerator) / mechanism.rate.denominator).exp()
        for k in (-40, -3, -1, 0, 1, 2, 40):
            expected = (1 - alpha) / (1 + alpha) * alpha ** abs(k)
            difference = mechanism.cdf(k) - mechanism.cdf(k - 1)
            assert abs(mechanism.pmf(k) - expected) < Decimal("1e-50")
            assert abs(difference - expected) < Decimal("2.1e-50")
            assert mechanism.probability(k) == pytest.approx(float(expected), rel=1e-13)


def test_tables_keep_their_digits_and_are_shared() -> None:
    """A table's powers are products of two; equal mechanisms have one table."""
    mechanism = DiscreteLaplace(Fraction(1, 40))
    with localcontext(prec=120):
        for k in (-9_000, -527, -128, -127, -64, -1, 0, 1, 63, 64, 65, 500, 8_191):
            assert abs(mechanism.cdf(k, 30) - mechanism.cdf(k, 60)) <= Decimal(10) ** -33
    assert DiscreteLaplace(Fraction(1, 40)).law is mechanism.law
    assert DiscreteLaplace(Fraction(1, 41)).law is not mechanism.law


@pytest.mark.parametrize("digits", [20, 35, 60])
def test_stated_digits_are_kept(digits: int) -> None:
    mechanism = DiscreteLaplace(Fraction(1, 3))
    for k in (-300, -7, 0, 5, 200):
        with localcontext(prec=120):
            assert abs(mechanism.cdf(k, digits) - mechanism.cdf(k, 100)) <= Decimal(10) ** -digits


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_output_tells_more_than_epsilon(mechanism: DiscreteLaplace) -> None:
    """[DL.1], and the loss is reached; the twin with a tenth more epsilon would break the promise."""
    with localcontext(prec=250):
        epsilon = Decimal(mechanism.epsilon.numerator) / mechanism.epsilon.denominator
        worst = max(
            abs((mechanism.pmf(y, 200) / mechanism.pmf(y - mechanism.sensitivity, 200)).ln()) for y in range(-60, 61)
        )
        assert abs(worst - epsilon) < Decimal("1e-60")
        twin = DiscreteLaplace(mechanism.epsilon * Fraction(11, 10), mechanism.sensitivity)
        assert abs((twin.pmf(70, 200) / twin.pmf(70 - twin.sensitivity, 200)).ln()) > epsilon


@settings(max_examples=50, deadline=None)
@given(
    epsilon=st.fractions(Fraction(1, 4), 3),
    degree=st.integers(-20, 20),
    values=st.lists(st.integers(-1000, 1000), min_size=1, max_size=9),
)
def test_any_function_is_estimated_without_bias(epsilon: Fraction, degree: int, values: list[int]) -> None:
    """[DL.2] for arbitrary functions of finite support, the expectation summed term by term."""
    mechanism = DiscreteLaplace(epsilon)
    offset = len(values) // 2

    def function(x: int) -> float:
        place = x - degree + offset
        return values[place] if 0 <= place < len(values) else 0.0

    mean = math.fsum(mechanism.probability(k) * float(mechanism.unbiased(function, degree + k)) for k in range(-12, 13))
    assert mean == pytest.approx(function(degree), abs=1e-7)


def test_stars_of_noisy_degrees_are_unbiased_and_the_plain_count_is_not() -> None:
    mechanism, degree = DiscreteLaplace(Fraction(1, 2)), 12
    reports = degree + mechanism.sample_many(400_000, keyed_coins(seeded_key(7, "stars")))

    def three_stars(d: np.ndarray) -> np.ndarray:
        return d * (d - 1) * (d - 2) / 6

    assert abs(z_of(mechanism.unbiased(three_stars, reports), 220)) < Z_LIMIT
    assert abs(z_of(three_stars(reports), 220)) > 3 * Z_LIMIT


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_draws_follow_the_probabilities(mechanism: DiscreteLaplace) -> None:
    draws = mechanism.sample_many(400_000, keyed_coins(seeded_key(1, str(mechanism))))
    assert abs(chi_square_z(draws, mechanism)) < Z_LIMIT
    three_percent_off = DiscreteLaplace(mechanism.epsilon * Fraction(103, 100), mechanism.sensitivity)
    assert chi_square_z(draws, three_percent_off) > 2 * Z_LIMIT
    assert abs(z_of(draws.astype(float) ** 2, mechanism.variance)) < Z_LIMIT


def test_single_draws_follow_the_probabilities() -> None:
    mechanism, coins = DiscreteLaplace(Fraction(1)), keyed_coins(seeded_key(5))
    draws = np.array([mechanism.sample(coins) for _ in range(8_000)])
    assert abs(chi_square_z(draws, mechanism)) < Z_LIMIT
    assert chi_square_z(draws, DiscreteLaplace(Fraction(5, 4))) > 2 * Z_LIMIT


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_variance_and_interval_against_sums(mechanism: DiscreteLaplace) -> None:
    reach = range(-2000, 2001)
    assert mechanism.variance == pytest.approx(math.fsum(mechanism.probability(k) * k * k for k in reach))
    low, high = mechanism.interval(0.95)
    inside = math.fsum(mechanism.probability(k) for k in range(low, high + 1))
    assert low == -high
    assert inside >= 0.95 > inside - 2 * mechanism.probability(high)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(Fraction(0), 1), (Fraction(-1), 1), (Fraction(1), 0)])
def test_promises_that_cannot_be_kept_are_refused(epsilon: Fraction, sensitivity: int) -> None:
    with pytest.raises(BadPrivacyParameter):
        DiscreteLaplace(epsilon, sensitivity)
