"""Noise on smooth bounds: its law, its promise for both classes, its margins.  [SN.1-5]"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from support.alarm import Z_LIMIT
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.mechanisms.smooth_noise import (
    SmoothCauchy,
    SmoothLaplace,
    SmoothNoise,
    SmoothStudentT,
    student_cdf,
)

PURE: list[SmoothStudentT | SmoothCauchy] = [
    SmoothStudentT(Fraction(1)),
    SmoothStudentT(Fraction(1, 2), 3, Fraction(2, 3)),
    SmoothStudentT(Fraction(2), 6, Fraction(1, 10)),
    SmoothStudentT(Fraction(9), 3, Fraction(1, 50)),
    SmoothCauchy(Fraction(1)),
    SmoothCauchy(Fraction(2), Fraction(3, 4)),
]
LAPLACE = [
    SmoothLaplace(Fraction(1), Fraction(1, 1000)),
    SmoothLaplace(Fraction(2), Fraction(1, 100), Fraction(1, 10)),
    SmoothLaplace(Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 3)),
]


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def masses(noise: SmoothNoise, bound: Decimal, centre: int, outputs: Iterable[int], digits: int) -> list[Decimal]:
    """The exact probabilities of f + noise at these outputs."""
    law = noise.law(bound)
    return [law.cdf(y - centre, digits) - law.cdf(y - centre - 1, digits) for y in outputs]


def loss(noise: SmoothNoise, lower: Decimal, upper: Decimal, shift: int) -> Decimal:
    """The largest |log-ratio| over outputs near and far, the narrow noise at 0, the wide one at ``shift``."""
    far = [round(10 ** (e / 4)) for e in range(8, 37)]
    outputs = [*range(-120, 121, 5), *far, *(-y for y in far)]
    with localcontext(prec=100):
        narrow = masses(noise, lower, 0, outputs, 95)
        wide = masses(noise, upper, shift, outputs, 95)
        return max(abs((p / q).ln()) for p, q in zip(narrow, wide, strict=True))


def exact_loss(degrees: int, log_scale: float, shift: float) -> float:
    """G(b, s) of [SN.2]."""
    distance = math.acosh(math.cosh(log_scale) + math.exp(-log_scale) * shift**2 / (2 * degrees))
    return (degrees - 1) / 2 * log_scale + (degrees + 1) / 2 * distance


@pytest.mark.parametrize("noise", PURE)
@pytest.mark.parametrize("weight", [1, 2])
@pytest.mark.parametrize("part", [Decimal(0), Decimal("0.5"), Decimal(1)])
def test_rounded_noise_keeps_the_pure_promise(noise: SmoothNoise, weight: int, part: Decimal) -> None:
    """[SN.2], [SN.3] and, for weight 2, [SN.4]: shift and dilation both as large as allowed."""
    bound = Decimal(16)
    with localcontext(prec=80):
        upper = bound * (weight * part * noise.beta).exp()
    assert loss(noise, bound, upper, 16 * weight) <= weight * decimal(noise.epsilon)


@pytest.mark.long
@pytest.mark.parametrize("noise", PURE)
def test_the_promise_is_used_up_and_half_the_noise_breaks_it(noise: SmoothNoise) -> None:
    bound = Decimal(60)
    with localcontext(prec=80):
        upper = bound * noise.beta.exp()
        worst = max(loss(noise, bound, bound, 60), loss(noise, bound, upper, 60))
        halved = max(loss(noise, bound / 2, bound / 2, 60), loss(noise, bound / 2, upper / 2, 60))
    assert worst > Decimal("0.97") * decimal(noise.epsilon)
    assert halved > Decimal("1.05") * decimal(noise.epsilon)


@pytest.mark.parametrize("degrees", [1, 3, 4, 5, 6])
@pytest.mark.parametrize("log_scale", [0.0, 0.05, 0.7])
@pytest.mark.parametrize("shift", [0.1, 1.0, 3.0])
def test_the_exact_loss_and_the_two_slopes(degrees: int, log_scale: float, shift: float) -> None:
    """[SN.2]'s formula against a search over densities, both directions of the log-scale change."""
    far = np.geomspace(1e-4, 1e6, 100_000)
    z = np.concatenate([-far, far])

    def log_density(x: np.ndarray) -> np.ndarray:
        return -(degrees + 1) / 2 * np.log1p(x**2 / degrees)

    wider = np.abs(log_density(z) - log_density((z - shift) / math.exp(log_scale)) + log_scale)
    moved = shift * math.exp(-log_scale)
    narrower = np.abs(log_density(z) - log_density((z - moved) * math.exp(log_scale)) - log_scale)
    formula = exact_loss(degrees, log_scale, shift)
    assert max(wider.max(), narrower.max()) == pytest.approx(formula, rel=1e-5)
    assert formula <= degrees * log_scale + (degrees + 1) / (2 * math.sqrt(degrees)) * shift + 1e-12


@pytest.mark.parametrize("noise", PURE)
def test_rounding_and_a_bound_with_30_digits_stay_inside_the_margin(noise: SmoothStudentT) -> None:
    """[SN.5]: a relative error of 1e-30 in both bounds, computed with 60 digits."""
    mp = pytest.importorskip("mpmath")
    with mp.workdps(60):
        error = mp.mpf(10) ** -30
        beta = mp.mpf(str(noise.beta)) + 2 * error
        shift, d = mp.mpf(str(noise.shift)) * (1 + 2 * error), noise.degrees
        worst = max(
            (d - 1) * b / 2 + (d + 1) * mp.acosh(mp.cosh(b) + mp.exp(-b) * shift**2 / (2 * d)) / 2 for b in (0, beta)
        )
        epsilon = mp.mpf(noise.epsilon.numerator) / noise.epsilon.denominator
        assert epsilon * (1 - mp.mpf(2) ** -59) < worst <= epsilon


def hockey_stick(
    noise: SmoothLaplace, wide: Decimal, narrow: Decimal, shift: int, epsilon: Fraction
) -> tuple[Decimal, Decimal]:
    """The δ that the rounded noises need at this ε, in both directions."""
    reach = int(25 * noise.scale(wide))
    outputs = range(-reach, reach + 1)
    with localcontext(prec=40):
        factor = decimal(epsilon).exp()
        p, q = masses(noise, wide, 0, outputs, 35), masses(noise, narrow, shift, outputs, 35)
        there = sum((max(Decimal(0), a - factor * b) for a, b in zip(p, q, strict=True)), Decimal(0))
        back = sum((max(Decimal(0), b - factor * a) for a, b in zip(p, q, strict=True)), Decimal(0))
        return there, back


@pytest.mark.long
@pytest.mark.parametrize("noise", LAPLACE)
@pytest.mark.parametrize("weight", [1, 2])
def test_rounded_laplace_keeps_its_promise_and_uses_it_up(noise: SmoothLaplace, weight: int) -> None:
    """[SN.1] and, for weight 2, the δ of [SN.4]; half the noise breaks both."""
    epsilon, delta = noise.price(weight)
    bound = Decimal(24)
    with localcontext(prec=60):
        wide = bound * (weight * noise.beta).exp()
    there, back = hockey_stick(noise, wide, bound, 24 * weight, epsilon)
    # What lies beyond the reach weighs less than e^-25 and belongs to the first direction.
    assert back <= 0
    assert Decimal("0.8") * decimal(delta) < there <= decimal(delta)
    broken = hockey_stick(noise, wide / 2, bound / 2, 24 * weight, epsilon)
    assert max(broken) > decimal(delta)


def published_spend(epsilon: float, delta: float) -> float:
    """The δ really spent by β = ε/(2 ln(2/δ)) and scale 2S/ε."""
    beta = epsilon / (2 * math.log(2 / delta))
    growth = math.expm1(beta)
    tails = math.exp(-(epsilon / 2 + beta) / growth) + math.exp(-(1.5 * epsilon + beta) / growth)
    return -math.expm1(-beta) * tails / 2


@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-6, 1e-12])
def test_published_laplace_constants_hold_for_usual_epsilon_and_fail_for_large(delta: float) -> None:
    for epsilon in (0.01, 0.1, 0.5, 1, 2):
        assert published_spend(epsilon, delta) <= delta / 2
    assert published_spend(40, 1e-6) > 1e-6
    noise = SmoothLaplace(Fraction(1), Fraction(delta))
    assert float(noise.published_beta) == pytest.approx(min(float(noise.beta), 1 / (2 * math.log(2 / delta))))
    large = SmoothLaplace(Fraction(40), Fraction(1, 10**6))
    assert large.published_beta == large.beta
    assert noise.scale(3) == pytest.approx(Decimal(6), rel=Decimal("1e-17"))


def test_published_cauchy_constants_hold_with_much_to_spare() -> None:
    """[SN.3]: β = ε/6 and scale 6S/ε spend less than a third of ε; the same β allows six times less noise."""
    for epsilon in (0.1, 1.0, 4.0):
        assert exact_loss(1, epsilon / 6, epsilon / 6) < epsilon / 3
        noise = SmoothCauchy(Fraction(epsilon))
        assert float(noise.beta) == pytest.approx(epsilon / 6)
        assert float(noise.scale(1)) < 1.02 / epsilon


@pytest.mark.parametrize("degrees", [1, 3, 4, 5, 6, 11])
def test_student_distribution_function(degrees: int) -> None:
    mp = pytest.importorskip("mpmath")
    with mp.workdps(70):
        for z in ("-1e9", "-17.25", "-1", "-0.001", "0.3", "2.5", "4e5"):
            ratio = degrees / (degrees + mp.mpf(z) ** 2)
            tail = mp.betainc(mp.mpf(degrees) / 2, 0.5, 0, ratio, regularized=True) / 2
            expected = tail if z.startswith("-") else 1 - tail
            for digits in (20, 50):
                assert abs(mp.mpf(str(student_cdf(Decimal(z), degrees, digits))) - expected) < mp.mpf(10) ** -digits


def test_laplace_distribution_function() -> None:
    law = LAPLACE[0].law(7)
    for k in (-60, -1, 0, 13):
        z = (k + 0.5) / float(LAPLACE[0].scale(7))
        assert float(law.cdf(k, 30)) == pytest.approx(math.exp(z) / 2 if z < 0 else 1 - math.exp(-z) / 2, rel=1e-13)
        with localcontext(prec=80):
            assert abs(law.cdf(k, 25) - law.cdf(k, 60)) < Decimal("1e-25")


def chi_square_z(draws: np.ndarray, noise: SmoothNoise, bound: Fraction | int) -> float:
    """Pearson's statistic against the law, in its own standard deviations."""
    reach = noise.interval(bound, 0.85)[1]
    edges = [float(noise.law(bound).cdf(k, 20)) for k in range(-reach - 1, reach + 1)]
    chances = np.array([edges[0], *np.diff(edges), 1 - edges[-1]])
    cells = np.clip(draws, -reach - 1, reach + 1) + reach + 1
    observed, expected = np.bincount(cells, minlength=chances.size), chances * draws.size
    degrees = chances.size - 1
    return float((((observed - expected) ** 2 / expected).sum() - degrees) / math.sqrt(2 * degrees))


@pytest.mark.long
@pytest.mark.parametrize("noise", [LAPLACE[0], PURE[0], PURE[1], PURE[4]])
def test_draws_follow_the_law(noise: SmoothNoise) -> None:
    draws = noise.law(6).sample_many(400_000, keyed_coins(seeded_key(3, str(noise))))
    assert abs(chi_square_z(draws, noise, 6)) < Z_LIMIT
    assert chi_square_z(draws, noise, Fraction(6 * 103, 100)) > 2 * Z_LIMIT


def test_single_draws_follow_the_law() -> None:
    noise, coins = SmoothStudentT(Fraction(1)), keyed_coins(seeded_key(4))
    draws = np.array([noise.sample(3, coins) for _ in range(5_000)])
    assert abs(chi_square_z(draws, noise, 3)) < Z_LIMIT
    assert chi_square_z(draws, noise, 4) > 2 * Z_LIMIT


@pytest.mark.parametrize("noise", [LAPLACE[0], PURE[0], PURE[2]])
def test_standard_deviation_is_that_of_the_law(noise: SmoothNoise) -> None:
    """Summed over the law where its tail is light enough; rounding adds about a twelfth."""
    reach = 4_000
    law = noise.law(4)
    cdf = np.array([float(law.cdf(k, 25)) for k in range(-reach - 1, 0)])
    second_moment = 2 * float(np.diff(cdf) @ (np.arange(-reach, 0, dtype=float) ** 2))
    assert math.sqrt(second_moment) == pytest.approx(noise.standard_deviation(4), rel=5e-3)


def test_a_bound_of_nothing_needs_no_noise() -> None:
    noise = SmoothStudentT(Fraction(1))
    assert {noise.sample(0, keyed_coins(seeded_key(seed))) for seed in range(5)} == {0}
    assert noise.interval(0, 0.99) == (0, 0)
    assert SmoothCauchy(Fraction(1)).standard_deviation(0) == 0
    assert SmoothCauchy(Fraction(1)).standard_deviation(1) == math.inf


def test_prices() -> None:
    assert SmoothStudentT(Fraction(1)).price() == (1, 0)
    assert SmoothCauchy(Fraction(1, 2)).price(2) == (1, 0)
    assert LAPLACE[0].price() == (1, Fraction(1, 1000))
    assert LAPLACE[0].price(2) == (2, LAPLACE[0].friend_visible_delta)
    assert 2 < float(LAPLACE[0].friend_visible_delta / LAPLACE[0].delta) < 1 + math.e
    assert PURE[0].friend_visible_delta == 0


@pytest.mark.parametrize(
    "promise",
    [
        lambda: SmoothStudentT(Fraction(0)),
        lambda: SmoothStudentT(Fraction(1), 2),
        lambda: SmoothStudentT(Fraction(1), 4, Fraction(1)),
        lambda: SmoothStudentT(Fraction(1, 10**10)),
        lambda: SmoothLaplace(Fraction(1), Fraction(0)),
        lambda: SmoothCauchy(Fraction(-1)),
        lambda: PURE[0].price(0),
        lambda: PURE[0].scale(-1),
        lambda: PURE[0].scale(1.5),
        lambda: PURE[0].scale(Decimal("NaN")),
        lambda: PURE[0].scale(Decimal("Infinity")),
    ],
)
def test_what_cannot_be_promised_is_refused(promise: object) -> None:
    with pytest.raises(BadPrivacyParameter):
        promise()  # type: ignore[operator]
