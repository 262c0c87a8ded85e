"""Ratios of exact laws: against enumeration, closed forms, and laws that must be told apart.  [WALK.1-4]"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.engine.findings import Loss, as_asked, worst
from visibility_aware_edge_ldp.audit.engine.noise_laws import (
    Noised,
    RecordingPower,
    another_noise,
    beside,
    closely,
    counts_and_rates,
    counts_and_scales,
    laplace_losses,
    moves,
    power_losses,
)
from visibility_aware_edge_ldp.audit.engine.small_worlds import least_epsilon, spent_delta, walked
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace, sample_each
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw, RandomBytes
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothLaplace

POWER = SmoothPower(Fraction(1), Fraction(1, 8))


@pytest.mark.parametrize("bound", [1, Fraction(7, 2), Decimal("31.4")])
def test_the_middle_word_means_no_noise(bound: int | Fraction | Decimal) -> None:
    assert POWER.sample(bound, no_noise) == 0
    assert POWER.sample_each(np.array([float(bound)] * 3), no_noise).tolist() == [0, 0, 0]
    assert DiscreteLaplace(Fraction(1, 3), 5).sample_many(4, no_noise).tolist() == [0] * 4
    assert sample_each(Fraction(1), np.array([0, 1, 9, 704]), no_noise).tolist() == [0] * 4
    assert len(no_noise(21)) == 21


def test_overheard_noise_is_the_same_noise() -> None:
    heard = RecordingPower(POWER.epsilon, POWER.share)
    coins = bytes(range(200, 208))
    assert heard.sample(3, lambda count: coins[:count]) == POWER.sample(3, lambda count: coins[:count]) != 0
    heard.sample_each(np.array([1.5, 2.0]), no_noise)
    assert heard.bounds == [3, Decimal("1.5"), Decimal(2)]
    assert heard == RecordingPower(POWER.epsilon, POWER.share)


@pytest.mark.parametrize(("one", "other"), [(0, 0), (0, 3), (7, -2)])
def test_discrete_laplace_of_one_scale_loses_the_distance(one: int, other: int) -> None:
    noise = DiscreteLaplace(Fraction(1, 2))
    assert laplace_losses((one, noise), (other, noise)) == (pytest.approx(abs(one - other) / 2),) * 2


def test_discrete_laplace_of_two_scales_is_without_bound_on_the_wider_side() -> None:
    narrow, wide = DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(1), 2)
    up, down = laplace_losses((0, wide), (0, narrow))
    assert up == math.inf
    assert 0 < down < 1
    assert laplace_losses((0, narrow), (0, wide)) == (down, math.inf)


def by_enumeration(noise: SmoothPower, one: Noised, other: Noised, reach: int) -> tuple[float, float]:
    laws = [(noise.law(each.bound), each.number) for each in (one, other)]

    def mass(y: int, which: int) -> Decimal:
        law, centre = laws[which]
        return law.cdf(y - centre, 60) - law.cdf(y - centre - 1, 60)

    ratios = [float((mass(y, 0) / mass(y, 1)).ln()) for y in range(-reach, reach + 1)]
    return max(ratios), -min(ratios)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Noised(0, 4), Noised(0, 5)),
        (Noised(3, 4), Noised(-1, 4)),
        (Noised(-2, Fraction(9, 2)), Noised(2, 4)),
        (Noised(0, 1), Noised(1, 6)),
    ],
)
def test_power_laws_against_a_far_wider_window(one: Noised, other: Noised) -> None:
    """The short window with its limit says what 1,500 integers on each side show, or the limit that they run to."""
    found, shown = power_losses(POWER, one, other), by_enumeration(POWER, one, other, 1500)
    limit = float(POWER.alpha) * math.log(Fraction(one.bound) / Fraction(other.bound))
    assert found == (pytest.approx(max(shown[0], limit)), pytest.approx(max(shown[1], -limit)))


def test_a_power_law_that_uses_its_promise_up() -> None:
    """Bounds that move by e^β and numbers by the smaller bound cost ε, at most, and nearly."""
    moved = Decimal(1000) * POWER.beta.exp()
    assert 0.99 < max(power_losses(POWER, Noised(0, 1000), Noised(-1000, moved))) <= 1


def test_without_noise_what_differs_is_told() -> None:
    assert power_losses(POWER, Noised(1, 0), Noised(1, 0)) == (0, 0)
    assert power_losses(POWER, Noised(1, 0), Noised(2, 0)) == (math.inf, math.inf)
    assert power_losses(POWER, Noised(1, 0), Noised(1, 2)) == (math.inf, math.inf)


def test_a_window_that_is_too_short_is_paid_for_in_delta() -> None:
    noise = SmoothLaplace(Fraction(1), Fraction(1, 10**6), Fraction(1, 4))
    wide, short = ([walked(centre, noise.law(2), half) for centre in (0, 1)] for half in (90, 10))
    assert wide[0].masses.sum() + wide[0].outside == pytest.approx(1, abs=1e-14)
    assert spent_delta(*wide, 1.0) < 1e-12
    assert spent_delta(*short, 1.0) >= short[0].outside > 1e-3


def test_the_least_epsilon_of_a_shift_is_its_rate() -> None:
    law = DiscreteLaplace(Fraction(1, 2)).law
    pair = walked(0, law, 80), walked(1, law, 80)
    assert least_epsilon(*pair, 1e-12, 4.0) == pytest.approx(0.5, abs=1e-9)
    assert least_epsilon(*pair, 0.1, 4.0) < 0.4
    assert least_epsilon(*pair, 0.0, 4.0) == math.inf, "what was not walked is never free"


def add(coins: RandomBytes, factor: int = 1) -> list[int]:
    noise = DiscreteLaplace(Fraction(1), 3)
    return [5 + factor * noise.sample(coins), 6 + POWER.sample(4, coins)]


def check_noise(numbers: Callable[[RandomBytes], list[int]], laws: list[IntegerLaw]) -> None:
    def send(coins: RandomBytes) -> npt.NDArray[np.int64]:
        return np.array(numbers(coins))

    if not moves(send, send(no_noise), [beside(law) for law in laws]).all():
        raise another_noise()


def test_a_client_that_adds_what_it_says_passes() -> None:
    check_noise(add, [DiscreteLaplace(Fraction(1), 3).law, POWER.law(4)])


@pytest.mark.parametrize("scale", [2, 4])
def test_a_client_that_draws_at_another_scale_is_stopped(scale: int) -> None:
    with pytest.raises(ProtocolViolation, match="another noise"):
        check_noise(add, [DiscreteLaplace(Fraction(1), scale).law, POWER.law(4)])


def test_a_client_that_adds_twice_its_noise_is_stopped() -> None:
    with pytest.raises(ProtocolViolation, match="another noise"):
        check_noise(lambda coins: add(coins, 2), [DiscreteLaplace(Fraction(1), 3).law, POWER.law(4)])


def test_the_worst_loss_of_each_class_is_kept() -> None:
    losses = [Loss("PRIVATE", 1, 0.5), Loss("PRIVATE", 1, 0.7), Loss("FRIEND_VISIBLE", 2, 1.5), Loss("PRIVATE", 4, 2.9)]
    assert worst(losses) == (Loss("PRIVATE", 4, 2.9), Loss("FRIEND_VISIBLE", 2, 1.5))
    deltas = [Loss("PRIVATE", 1, 0.9, 0.1, 0.01), Loss("PRIVATE", 1, 0.2, 0.1, 0.2)]
    assert worst(deltas) == (Loss("PRIVATE", 1, 0.9, 0.1, 0.2),)
    assert not worst(deltas)[0].holds


class Narrow(SmoothPower):
    """A law that is narrower than its density says."""

    def _ideal(self, z: Decimal, digits: int) -> Decimal:
        return super()._ideal(z * 2, digits)


def test_power_noise_of_another_density_stops_the_audit() -> None:
    """Its probabilities are worked out in doubles, and so compared with the exact law."""
    with pytest.raises(ProtocolViolation, match="density"):
        power_losses(Narrow(Fraction(1), Fraction(1, 8)), Noised(0, 12), Noised(1, 12))


# ── Noises are confirmed where they are what was supposed, measured where they are not, and never believ ──


NUMBERS, SCALES = np.array([0, 5, -3, 7]), np.array([1, 0, 3, 500])


@pytest.mark.parametrize("supposed", [SCALES, SCALES + 1, np.array([0, 2, 3, 500]), np.array([1, 0, 3, 501])])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(5)])
def test_scales_are_found_whatever_is_supposed(supposed: np.ndarray, epsilon: Fraction) -> None:
    def send(coins: RandomBytes) -> np.ndarray:
        return NUMBERS + sample_each(epsilon, SCALES, coins)

    counts, scales = counts_and_scales(send, epsilon, supposed)
    assert counts.tolist() == NUMBERS.tolist()
    assert scales.tolist() == SCALES.tolist()
    assert closely(send, counts, epsilon, SCALES)
    assert not closely(send, counts, epsilon, SCALES + 1)


def test_a_noise_of_no_whole_scale_stops_the_audit() -> None:
    def send(coins: RandomBytes) -> np.ndarray:
        return NUMBERS + sample_each(Fraction(101, 100), SCALES, coins)

    with pytest.raises(ProtocolViolation, match="another noise"):
        counts_and_scales(send, Fraction(1), SCALES)


@pytest.mark.parametrize("rate", ["1/3", "1/2", "5000001/10000000", "2"])
def test_rates_are_found_whatever_is_supposed(rate: str) -> None:
    noise, supposed = DiscreteLaplace(Fraction(rate)), [DiscreteLaplace(Fraction(1, 2))] * 4
    counts, rates = counts_and_rates(lambda coins: NUMBERS + noise.sample_many(4, coins), supposed)
    assert counts.tolist() == NUMBERS.tolist()
    assert rates == pytest.approx(np.full(4, float(Fraction(rate))), rel=1e-12)


def test_a_number_without_noise_has_an_infinite_rate() -> None:
    noise = DiscreteLaplace(Fraction(1, 2))
    where = np.array([1, 0, 1, 1])
    _, rates = counts_and_rates(lambda coins: NUMBERS + where * noise.sample_many(4, coins), [noise] * 4)
    assert rates == pytest.approx(np.array([0.5, math.inf, 0.5, 0.5]))


def test_a_noise_of_another_shape_stops_the_audit() -> None:
    noise = DiscreteLaplace(Fraction(1, 2))
    with pytest.raises(ProtocolViolation, match="another noise"):
        counts_and_rates(lambda coins: NUMBERS + noise.sample_many(4, coins) // 2, [noise] * 4)


@pytest.mark.parametrize(
    ("billed", "found", "holds"), [("1", 1.0, True), ("2", 1.0, False), ("1/2", 1.0, False), ("1/2", 0.5, True)]
)
def test_the_claim_is_the_less_of_what_is_asked_for_and_billed(billed: str, found: float, holds: bool) -> None:
    loss = as_asked(Loss("PRIVATE", 1.0, found), Fraction(1), Fraction(billed))
    assert loss.holds == holds
    assert loss.claimed == min(1, float(Fraction(billed)))
