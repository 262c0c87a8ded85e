"""Power noise: its inequality, its exact loss, its variance, and many draws as exact as one.  [POWER.1-3]"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from support.alarm import Z_LIMIT
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms import power_noise
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import Coins, keyed_coins, seeded_key
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothStudentT

NOISES = [
    SmoothPower(Fraction(1)),
    SmoothPower(Fraction(2, 5), Fraction(1, 11)),
    SmoothPower(Fraction(3), Fraction(9, 20)),
    SmoothPower(Fraction(1, 2), Fraction(1, 40)),
    SmoothPower(Fraction(6), Fraction(1, 3)),
]
EVERY_NOISE = pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.epsilon} share {noise.share}")


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def slope(noise: SmoothPower, z: np.ndarray) -> np.ndarray:
    """h′ of [POWER.1] at z ≥ 0, the noise in units of the bound."""
    epsilon, beta = float(noise.epsilon), float(noise.beta)
    near = np.minimum(z, 1 / epsilon)
    return np.where(z <= 1 / epsilon, (epsilon - beta) / (1 - beta * near), (epsilon + beta) / (1 + beta * z))


def log_density(alpha: float, w: np.ndarray) -> np.ndarray:
    """Of the two powers before they are scaled to 1, the noise in units of its own scale."""
    size = np.abs(w)
    joint = (alpha - 1) * math.log1p(-1 / alpha) + (alpha + 1) * math.log1p(1 / alpha)
    core = (alpha - 1) * np.log1p(-np.minimum(size, 1) / alpha)
    return np.where(size <= 1, core, joint - (alpha + 1) * np.log1p(size / alpha))


@EVERY_NOISE
def test_the_inequality_holds_everywhere_and_wastes_nothing(noise: SmoothPower) -> None:
    """(∗) is an equality at every z; a slope a thousandth steeper anywhere breaks it there."""
    z = np.concatenate([np.linspace(0, 3, 3001), np.geomspace(3, 1e9, 2000)]) / float(noise.epsilon)
    beta, epsilon = float(noise.beta), float(noise.epsilon)
    spent = slope(noise, z) + beta * np.abs(1 - z * slope(noise, z))
    assert spent == pytest.approx(np.full(z.size, epsilon), rel=1e-12)
    steeper = 1.001 * slope(noise, z)
    assert (steeper + beta * np.abs(1 - z * steeper) > epsilon * (1 + 1e-7)).all()


@EVERY_NOISE
def test_the_distribution_function_is_the_integral_of_those_slopes(noise: SmoothPower) -> None:
    """h is integrated numerically from h′, and the distribution function from h: no power is written down."""
    epsilon = float(noise.epsilon)
    z = np.linspace(0, 5, 200_001) / epsilon
    h = np.concatenate([[0], np.cumsum((slope(noise, z)[1:] + slope(noise, z)[:-1]) / 2 * np.diff(z))])
    inside = np.concatenate([[0], np.cumsum((np.exp(-h)[1:] + np.exp(-h)[:-1]) / 2 * np.diff(z))])
    # Beyond the grid the density falls as the power −(α + 1) of 1 + βz.
    beta = float(noise.beta)
    beyond = math.exp(-h[-1]) * (1 + beta * z[-1]) / epsilon
    half = inside[-1] + beyond
    for index in range(0, z.size, 10_000):
        expected = 0.5 + inside[index] / half / 2
        assert float(noise._ideal(Decimal(epsilon * z[index]), 30)) == pytest.approx(expected, rel=1e-8)
        assert 1 - noise._tail(np.array([epsilon * z[index]]))[0] == pytest.approx(expected, rel=1e-8)


@EVERY_NOISE
def test_both_distribution_functions_agree_and_sizes_invert_them(noise: SmoothPower) -> None:
    """Doubles err, relative to a tail that may be tiny, by a hundredth of the margin at most.  [POWER.3]"""
    sizes = np.concatenate([np.linspace(0, 4, 161), [10, 1e3, 1e6]])
    with localcontext(prec=90):
        exact = [noise._ideal(-Decimal(float(x)), 80) for x in sizes]
        errors = [abs(Decimal(float(t)) / e - 1) for t, e in zip(noise._tail(sizes), exact, strict=True) if e > 1e-60]
        assert max(errors) < Decimal(power_noise._DOUBT * (float(noise.alpha) + 100) / 100)
        for x in map(Decimal, ("-1e6", "-1.5", "-1", "-0.999", "0", "0.3", "1", "2", "1e9")):
            assert abs(noise._ideal(x, 20) - noise._ideal(x, 60)) < Decimal("1e-20")
            assert abs(noise._ideal(x, 40) + noise._ideal(x.copy_negate(), 40) - 1) < Decimal("1e-39")
    body = sizes < 10
    with np.errstate(invalid="ignore"):  # each of the two pieces is worked out where the other is used, too
        assert noise._size_beyond(noise._tail(sizes[body])) == pytest.approx(sizes[body], abs=1e-9)


def mass(noise: SmoothPower, bound: Decimal, k: int) -> Decimal:
    """The exact probability of k, from the left tail, where no digit is lost."""
    law = noise.law(bound)
    return law.cdf(-abs(k), 40) - law.cdf(-abs(k) - 1, 40)


def exact_loss(noise: SmoothPower, lower: Decimal, upper: Decimal, shift: int) -> float:
    """The largest |log-ratio| over integers near and far, the narrow noise at 0 and the wide one at ``shift``."""
    scale = float(noise.scale(lower))
    tenths, far = range(-15, 41), [10.0**power for power in range(1, 9)]
    outputs = {round(scale * w) for w in (*(t / 10 for t in tenths), *far, *(-w for w in far))}
    with localcontext(prec=50):
        ratios = (mass(noise, lower, y) / mass(noise, upper, y - shift) for y in outputs)
        return float(max(abs(ratio.ln()) for ratio in ratios))


def worst_loss(noise: SmoothPower, bound: int, beta: Decimal, weight: Fraction = Fraction(1)) -> float:
    """Shift alone, dilation alone, and both together in both directions."""
    with localcontext(prec=80):
        wide, reach = bound * (decimal(weight) * beta).exp(), math.floor(weight * bound)
        moves = [(bound, reach), (wide, 0), (wide, reach), (wide, -reach)]
        return max(exact_loss(noise, Decimal(bound), Decimal(upper), shift) for upper, shift in moves)


@EVERY_NOISE
@pytest.mark.parametrize("weight", [Fraction(1), Fraction(5, 2)], ids=str)
def test_the_exact_loss_is_never_above_the_promise_and_close_to_it(noise: SmoothPower, weight: Fraction) -> None:
    """[POWER.1] for weights whole or not."""
    found, claim = worst_loss(noise, 40, noise.beta, weight), float(weight * noise.epsilon)
    assert found <= claim
    assert found > 0.97 * claim


@EVERY_NOISE
def test_a_bound_of_one_unit_keeps_the_promise_too(noise: SmoothPower) -> None:
    assert worst_loss(noise, 1, noise.beta) <= float(noise.epsilon)


class TooNarrow(SmoothPower):
    """A broken twin: nine tenths of the scale that the promise needs."""

    @property
    def shift(self) -> Decimal:  # type: ignore[override]
        return super().shift / Decimal("0.9")


@EVERY_NOISE
def test_the_twin_with_a_tenth_less_noise_is_caught(noise: SmoothPower) -> None:
    twin = TooNarrow(noise.epsilon, noise.share)
    assert twin.standard_deviation(1) == pytest.approx(0.9 * noise.standard_deviation(1), rel=1e-6)
    part = Fraction(1, 16)  # a small change, which costs in proportion: a large one goes past the steepest place
    claim = float(part * noise.epsilon)
    assert 0.98 * claim < worst_loss(noise, 640, noise.beta, part) <= claim
    assert worst_loss(twin, 640, noise.beta, part) > 1.03 * claim


@EVERY_NOISE
def test_the_twin_whose_bound_moves_a_fifth_more_than_claimed_is_caught(noise: SmoothPower) -> None:
    """Its share is 20 % larger than what the noise was made for."""
    assert worst_loss(noise, 40, noise.beta * Decimal("1.2")) > 1.01 * float(noise.epsilon)


@EVERY_NOISE
def test_beta_and_scale_are_rounded_towards_privacy(noise: SmoothPower) -> None:
    assert Fraction(noise.beta) < noise.share * noise.epsilon
    assert Fraction(noise.beta) > noise.share * noise.epsilon * (1 - Fraction(1, 10**17))
    assert Fraction(noise.shift) < noise.epsilon
    assert Fraction(noise.scale(7)) > 7 / Fraction(noise.epsilon)
    # The ratio of the two is the α that the density is made of, to 58 digits: its error is far inside the margin.
    assert abs(Fraction(noise.beta) * noise.alpha / Fraction(noise.shift) - 1) < Fraction(1, 10**57)


@EVERY_NOISE
def test_the_variance_formula_is_the_integral(noise: SmoothPower) -> None:
    alpha = float(noise.alpha)
    core = np.linspace(0, 1, 20_001)
    tail = np.geomspace(1, 1e12, 400_001)

    def integral(power: int, w: np.ndarray) -> float:
        y = w**power * np.exp(log_density(alpha, w))
        return float(((y[1:] + y[:-1]) / 2 * np.diff(w)).sum())

    second = (integral(2, core) + integral(2, tail)) / (integral(0, core) + integral(0, tail))
    # What lies beyond the last point, from the power that the density has become.
    rest = tail[-1] ** 3 * math.exp(float(log_density(alpha, tail[-1:])[0])) / (alpha - 2)
    second += rest / (integral(0, core) + integral(0, tail))
    assert noise._deviation == pytest.approx(math.sqrt(second), rel=1e-6)
    assert noise.standard_deviation(3) == pytest.approx(3 * math.sqrt(second) / float(noise.epsilon), rel=1e-6)


def test_the_figures_of_the_proof() -> None:
    """4.1 S against Student-t's 5.2 S, and Laplace's √2/ε as the share falls to 0."""
    epsilon, beta = Fraction(2, 5), Fraction(35, 1000)
    assert SmoothPower(epsilon, beta / epsilon).standard_deviation(1) == pytest.approx(4.1, abs=0.05)
    assert SmoothStudentT(epsilon, 4, 4 * beta / epsilon).standard_deviation(1) == pytest.approx(5.2, abs=0.05)
    assert SmoothPower(Fraction(1), Fraction(1, 10**6)).standard_deviation(1) == pytest.approx(math.sqrt(2), rel=1e-5)


def words_of(words: list[int], more: Coins) -> Coins:
    """These 64-bit words first, and then other coins."""
    left = b"".join(word.to_bytes(8) for word in words)

    def draw(count: int) -> bytes:
        nonlocal left
        if not left:
            return more(count)
        drawn, left = left[:count], left[count:]
        return drawn

    return draw


def endless(bits: int) -> Coins:
    """The same bits for ever, so that the draw by one path and by the other hang on the same number."""
    return lambda count: bytes([bits]) * count


def placed(noise: SmoothPower, bound: float, word: int, more: Coins) -> int:
    exact = noise.law(Decimal(bound)).place(word, more)
    return max(-((1 << 62) - 1), min(exact, (1 << 62) - 1))


@cache
def awkward_words() -> list[int]:
    """The ends, the middle, and the neighbours of every power of two from both sides."""
    powers = [1 << bit for bit in range(64)]
    near = {w + step for w in powers for step in (-1, 0, 1)} | {2**64 - 1 - w + step for w in powers for step in (0, 1)}
    return sorted(w for w in near | {0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1} if 0 <= w < 2**64)


@EVERY_NOISE
@pytest.mark.parametrize("bound", [1e-3, 2.0, 2.7182818284590455, 300.1, 1e7], ids=str)
def test_many_draws_are_the_exact_draws(noise: SmoothPower, bound: float) -> None:
    """[POWER.3], word by word: the farthest tails, the middle, and what lies in between, from tiny to large bounds."""
    random = np.random.default_rng(3).integers(0, 2**64, 40, dtype=np.uint64).tolist()
    # Powers that are not whole take a hundred times as long: one word in sixteen is enough of them.
    words = [*awkward_words(), *random][:: 4 if noise.alpha.denominator == 1 else 16]
    drawn = noise.sample_each(np.full(len(words), bound), words_of(words, endless(0x5A)))
    assert drawn.tolist() == [placed(noise, bound, word, endless(0x5A)) for word in words]


@EVERY_NOISE
def test_words_beside_a_threshold_are_decided_exactly(noise: SmoothPower) -> None:
    """Words a few units around where one integer becomes the next: doubles alone cannot tell them apart."""
    bound, words = 5.3, []
    law = noise.law(Decimal(bound))
    for k in (-40, -3, -1, 0, 2, 17):
        threshold = int(law.cdf(k, 40) * 2**64)
        words += [threshold + step for step in (-300, -2, -1, 0, 1, 2, 300)]
    drawn = noise.sample_each(np.full(len(words), bound), words_of(words, endless(0xA5)))
    assert drawn.tolist() == [placed(noise, bound, word, endless(0xA5)) for word in words]
    assert set(drawn.tolist()) == {-40, -39, -3, -2, -1, 0, 1, 2, 3, 17, 18}


def test_without_the_margin_of_doubt_some_draws_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: doubles that decide everything decide some words wrongly."""
    monkeypatch.setattr(power_noise, "_DOUBT", -1.0)
    with pytest.raises(AssertionError):
        test_words_beside_a_threshold_are_decided_exactly(NOISES[0])


def test_the_margin_grows_with_alpha() -> None:
    """With α = 10^7 a power of a double has lost seven digits; the draws are exact all the same."""
    noise = SmoothPower(Fraction(1), Fraction(1, 10**7))
    law, words = noise.law(Decimal(4)), []
    for k in (-9, -2, 0, 5):
        words += [int((law.cdf(k, 40) + step * Decimal("2e-12")) * 2**64) for step in (-2, -1, 1, 2)]
    drawn = noise.sample_each(np.full(len(words), 4.0), words_of(words, endless(0)))
    assert drawn.tolist() == [placed(noise, 4.0, word, endless(0)) for word in words]


def test_bounds_of_all_sizes_in_one_call_and_none_at_all() -> None:
    noise, bounds = NOISES[0], np.array([1e-9, 0.5, 2.0, 1e5, 1e17])
    words = [3, 2**63 + 12345, 2**64 - 9, 77 << 50, 2**62]
    drawn = noise.sample_each(bounds, words_of(words, endless(1)))
    assert drawn.tolist() == [placed(noise, b, w, endless(1)) for b, w in zip(bounds.tolist(), words, strict=True)]
    assert drawn.dtype == np.int64
    assert noise.sample_each(np.empty(0), endless(1)).size == 0


def test_draws_that_do_not_fit_in_64_bits_are_the_last_that_do() -> None:
    noise = SmoothPower(Fraction(1), Fraction(49, 100))
    drawn = noise.sample_each(np.array([1e18, 1e18]), words_of([0, 2**64 - 1], endless(0x5A)))
    assert drawn.tolist() == [-((1 << 62) - 1), (1 << 62) - 1]
    assert noise.law(Decimal(10**18)).place(0, endless(0x5A)) < -(1 << 62)


def chi_square_z(draws: np.ndarray, noise: SmoothPower, bound: Fraction) -> float:
    """Pearson's statistic against the law, in its own standard deviations."""
    reach = noise.interval(bound, 0.9)[1]
    law = noise.law(bound)
    edges = [float(law.cdf(k, 20)) for k in range(-reach - 1, reach + 1)]
    chances = np.array([edges[0], *np.diff(edges), 1 - edges[-1]])
    cells = np.clip(draws, -reach - 1, reach + 1) + reach + 1
    observed, expected = np.bincount(cells, minlength=chances.size), chances * draws.size
    degrees = chances.size - 1
    return float((((observed - expected) ** 2 / expected).sum() - degrees) / math.sqrt(2 * degrees))


@EVERY_NOISE
def test_draws_follow_the_law(noise: SmoothPower) -> None:
    draws = noise.sample_each(np.full(200_000, 6.0), keyed_coins(seeded_key(5, str(noise))))
    assert abs(chi_square_z(draws, noise, Fraction(6))) < Z_LIMIT
    assert chi_square_z(draws, noise, Fraction(6 * 104, 100)) > 2 * Z_LIMIT


def test_what_cannot_be_promised_is_refused() -> None:
    for share in ("1/2", "3/4", "1", "0", "-1/8"):
        with pytest.raises(BadPrivacyParameter):
            SmoothPower(Fraction(1), Fraction(share))
    for epsilon in (Fraction(0), Fraction(-1), Fraction(1, 10**9)):
        with pytest.raises(BadPrivacyParameter):
            SmoothPower(epsilon)
    with pytest.raises(BadPrivacyParameter, match="infinite"):
        replace(NOISES[0], share=Fraction(1, 2))
    assert NOISES[0].price(2) == (2, 0)
