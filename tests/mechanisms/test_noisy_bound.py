"""A noisy bound on the scale of another noise: what it costs, and what its interval holds.  [BOUND.1-4]"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.noisy_bound import NO_NOISE, NoisyBound, beyond, covering_steps
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace, SmoothNoise, SmoothStudentT

POWER = NoisyBound(SmoothPower(Fraction(4, 5), Fraction(1, 16)), Fraction(1, 5))
NOISES: dict[str, SmoothNoise] = {
    "power": POWER.noise,
    "a small epsilon": SmoothPower(Fraction(1, 100), Fraction(1, 16)),
    "laplace": SmoothLaplace(Fraction(4, 5), Fraction(1, 10**6), Fraction(1, 4)),
    "student_t": SmoothStudentT(Fraction(4, 5), 4, Fraction(1, 4)),
    "cauchy": SmoothCauchy(Fraction(2, 3)),
}


@pytest.mark.parametrize("weight", [1, 2, 3])
@pytest.mark.parametrize("name", NOISES)
def test_a_change_moves_the_number_by_at_most_its_weight_in_steps(name: str, weight: int) -> None:
    """Also where the logarithm lies at the end of a step, and both bounds are rounded."""
    made = NoisyBound(NOISES[name], Fraction(1, 5))
    for steps in (*range(-30, 30), 1000, 40_000):
        for off in ("0", "1e-29", "-1e-29", "0.4"):
            start = made.step * (steps + Decimal(off))
            apart = made.exact((start + weight * made.noise.beta).exp()) - made.exact(start.exp())
            assert 0 <= apart <= weight * made.steps


def test_a_step_is_never_finer_than_what_the_noise_is_for() -> None:
    assert POWER.steps == math.ceil(128 * 0.05)
    assert POWER.step * POWER.steps > POWER.noise.beta
    assert POWER.told_noise.rate * POWER.steps == POWER.epsilon


@pytest.mark.parametrize("bound", [Decimal("0.001"), Fraction(1, 3), 1, 5, Decimal(10) ** 70])
def test_the_number_is_the_first_step_at_or_above_the_bound(bound: Decimal | Fraction | int) -> None:
    steps = POWER.exact(bound)
    logarithm = Decimal(Fraction(bound).numerator).ln() - Decimal(Fraction(bound).denominator).ln()
    assert (steps - 1) * POWER.step < logarithm + Decimal("1e-20")
    assert logarithm <= steps * POWER.step + Decimal("1e-20")


def test_where_nothing_can_move_nothing_is_drawn() -> None:
    def no_bytes(count: int) -> bytes:
        raise AssertionError(count)

    assert POWER.tell(0, no_bytes) == NO_NOISE
    assert (POWER.half_width(NO_NOISE, 0.95), POWER.variance(NO_NOISE)) == (0, 0)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("name", ["power", "laplace", "student_t"])
def test_the_interval_covers_by_the_exact_laws(name: str, level: float) -> None:
    """The coverage for a large bound, summed over all numbers that may be told: at the level and little above."""
    made = NoisyBound(NOISES[name], Fraction(1, 5))
    bound, covered = Decimal(54321), 0.0
    exact, reach = made.exact(bound), math.ceil(28 / float(made.told_noise.rate))
    for k in range(-reach, reach + 1):
        half = made.half_width(exact + k, level)
        inside = 1 - beyond(made.noise, Decimal(half) / made.noise.scale(bound))
        covered += made.told_noise.probability(k) * inside
    assert level <= covered <= level + 0.006


def test_a_constant_that_forgets_the_noise_of_the_bound_covers_too_little() -> None:
    """The broken twin: the quantile of the answer's noise alone, times the told scale."""
    random = np.random.default_rng(1)
    sizes = np.abs(POWER.noise.sample_each(np.full(20_000, 10_000.0), random.bytes)) * float(POWER.noise.shift) / 1e4
    told = np.exp(float(POWER.step) * POWER.told_noise.sample_many(20_000, random.bytes))
    right, alone = math.exp(covering_steps(POWER, 0.95) / 128), float(np.quantile(sizes, 0.95))
    assert 0.945 < np.mean(sizes <= right * told) < 0.962
    assert np.mean(sizes <= alone * told) < 0.942


def test_the_variance_is_right_in_the_mean() -> None:
    told = POWER.exact(1000) + POWER.told_noise.sample_many(4000, keyed_random_bytes(seeded_key("variance")))
    found = np.mean([POWER.variance(int(each)) for each in told])
    assert found / POWER.noise.standard_deviation(1000) ** 2 == pytest.approx(1.005, abs=0.06)
    assert math.isinf(NoisyBound(NOISES["cauchy"], Fraction(1, 3)).variance(5))
    assert math.isinf(NoisyBound(POWER.noise, Fraction(1, 20)).variance(5))


def test_a_number_beyond_all_bounds_gives_a_width_that_a_double_holds() -> None:
    assert math.isfinite(float(POWER.half_width(1 << 200, 0.95)))
    assert math.isfinite(POWER.variance(1 << 200))


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(BadPrivacyParameter, match="above 0"):
        NoisyBound(POWER.noise, Fraction(0))
    with pytest.raises(BadPrivacyParameter, match="level"):
        POWER.half_width(0, 1.0)
