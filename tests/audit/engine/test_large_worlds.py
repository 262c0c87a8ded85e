"""The engine of large worlds: wrong noises are noticed, losses are those of the exact laws, coins are as written."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.noise_laws import laplace_losses
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.visibility import Visibility

CENTRES = np.arange(40, dtype=np.int64) * 7
NOISE = DiscreteLaplace(Fraction(1, 2))


def honest(coins: RandomBytes) -> large.Ints:
    return CENTRES + NOISE.sample_many(40, coins)


def shared(coins: RandomBytes) -> large.Ints:
    return CENTRES + NOISE.sample_many(1, coins)


def shifted(coins: RandomBytes) -> large.Ints:
    return CENTRES + np.roll(NOISE.sample_many(40, coins), 1)


def cut(coins: RandomBytes) -> large.Ints:
    return CENTRES + np.maximum(NOISE.sample_many(40, coins), 0)


def narrow(coins: RandomBytes) -> large.Ints:
    return CENTRES + DiscreteLaplace(Fraction(501, 1000)).sample_many(40, coins)


def left_out(coins: RandomBytes) -> large.Ints:
    return CENTRES + np.where(np.arange(40) == 33, 0, NOISE.sample_many(40, coins))


def test_an_honest_client_is_heard() -> None:
    found = large.heard(honest, lambda: [NOISE] * 40)
    assert np.array_equal(found.centres, CENTRES)


@pytest.mark.parametrize("client", [shared, shifted, cut, narrow, left_out], ids=lambda each: each.__name__)
def test_other_noises_stop_the_audit(client: object) -> None:
    with pytest.raises(ProtocolViolation, match="another noise"):
        large.heard(client, lambda: [NOISE] * 40)  # type: ignore[arg-type]


def test_losses_are_those_of_the_exact_laws() -> None:
    one, other = (large.Heard(np.array(at), (NOISE, NOISE)) for at in ([3, 5], [4, 5]))
    assert large.losses_between(one, other)[0] == pytest.approx(laplace_losses((3, NOISE), (4, NOISE))[0])
    wider = large.Heard(np.array([3, 5]), (NOISE, DiscreteLaplace(Fraction(1))))
    assert max(large.losses_between(one, wider)) == math.inf
    bare = large.Heard(np.array([3, 5]), (NOISE,))
    assert max(large.losses_between(one, bare)) == math.inf


def test_power_noise_uses_its_claim_up_where_bound_and_number_move() -> None:
    noise, far = SmoothPower(Fraction(1)), 100_000
    near = int(far * math.exp(float(noise.beta)))
    one, other = (large.Heard(np.array([at]), (large.Scaled(noise, bound),)) for at, bound in ((0, far), (far, near)))
    assert 0.99 < max(large.losses_between(one, other)) < 1 + 1e-6


def test_a_case_is_beside_the_smaller_of_what_was_asked_and_billed() -> None:
    loss = large.Case(Visibility.PRIVATE, 0.5, Fraction(2), Fraction(1)).loss
    assert (loss.claimed, loss.found) == (1.0, 0.5)
    dear = large.Case(Visibility.PRIVATE, 0.5, Fraction(1), Fraction(2)).loss
    assert not dear.holds


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3", "20"])
def test_the_threshold_is_the_least_that_keeps_the_claim(epsilon: str) -> None:
    threshold = large.threshold_of(Fraction(epsilon))
    assert large.bit_loss(threshold) <= float(Fraction(epsilon)) * (1 + 1e-15)
    assert threshold <= RandomizedResponse(Fraction(epsilon)).threshold <= threshold + 1


def test_written_coins_flip_what_they_should_and_are_used_up() -> None:
    flips, ties = (large.coin_bits(3000, each) for each in ("a", "b"))
    mechanism = RandomizedResponse(Fraction(1))
    coins = large.Stream(large.flip_octets(mechanism.threshold, flips, ties))
    assert np.array_equal(mechanism.flips(3000, coins), flips)
    coins.refuse_rest()
    with pytest.raises(ProtocolViolation):
        coins(1)
    with pytest.raises(ProtocolViolation):
        large.Stream(b"left").refuse_rest()


def test_a_search_keeps_what_is_no_worse() -> None:
    state, score = large.climb(0, lambda at: -abs(at - 20.0), lambda at, coins: at + coins.between(-3, 4), 300)
    assert (state, score) == (20, 0)


def test_dice_are_the_same_again() -> None:
    one, other = large.Dice(7), large.Dice(7)
    assert np.array_equal(one.shares(3, 4), other.shares(3, 4))
    assert one.pick([4, 5, 6]) == other.pick([4, 5, 6])
    assert 0.45 < large.Dice(8).shares(20_000).mean() < 0.55
    assert set(large.Dice(9).whole(2, 5, 500).tolist()) == {2, 3, 4}
