"""The exhaustive source of coins, the samplers that it is measured on, and the comparison of laws.  [AUDIT.2-5]"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import (
    NUMBERS,
    ScriptedCoins,
    column_coin,
    cuts_coin,
    drawn_as_stated,
    flip_coin,
    flipping_words,
    measured_edge,
    noise_coin,
    tail_is_geometric,
    walk,
    words_of,
    words_then,
)
from visibility_aware_edge_ldp.audit.engine.findings import Spoken, gap_between
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse

ONE = RandomizedResponse(Fraction(1))
TWO = RandomizedResponse(Fraction(2))
ZERO_BITS = np.zeros(2, np.bool_)


@pytest.mark.parametrize("text", ["1e-9", "0.1", "1", "5.55", "20", "44", "1000"])
def test_measured_flips_are_the_threshold(text: str) -> None:
    mechanism = RandomizedResponse(Fraction(text))
    assert flipping_words(mechanism, 0) == flipping_words(mechanism, 1) == mechanism.threshold


def test_every_flip_of_two_bits_is_walked_with_its_chance() -> None:
    def play(coins: ScriptedCoins) -> bytes:
        coins.offer([[flip_coin(ONE)] * 2])
        return ONE.randomize(ZERO_BITS, coins).tobytes()

    law = walk(play)
    assert law == {
        bytes([a, b]): (ONE.flip if a else ONE.keep) * (ONE.flip if b else ONE.keep) for a in (0, 1) for b in (0, 1)
    }


def test_a_second_draw_may_hang_on_the_first() -> None:
    def play(coins: ScriptedCoins) -> bytes:
        coins.offer([[flip_coin(ONE)], [flip_coin(TWO)]])
        first = ONE.randomize(ZERO_BITS[:1], coins)
        return first.tobytes() + (TWO.randomize(ZERO_BITS[:1], coins).tobytes() if first[0] else b"")

    assert walk(play) == {b"\0": ONE.keep, b"\1\0": ONE.flip * TWO.keep, b"\1\1": ONE.flip * TWO.flip}


@pytest.mark.parametrize(
    "other", [TWO, RandomizedResponse(Fraction("1.0000001"))], ids=lambda other: str(other.epsilon)
)
def test_a_client_that_draws_with_another_mechanism_is_seen(other: RandomizedResponse) -> None:
    """Coins lie at the measured threshold: another one cannot tell them apart, and the bit shows through."""

    def law(bit: bool) -> Spoken:
        def play(coins: ScriptedCoins) -> bytes:
            coins.offer([[flip_coin(ONE)]])
            return other.randomize(np.array([bit]), coins).tobytes()

        return Spoken(walk(play))

    assert gap_between(law(False), law(True)).epsilon == math.inf


def test_draws_that_were_not_offered_are_refused() -> None:
    with pytest.raises(ProtocolViolation, match="drew 3 bytes of coins where 0 were due"):
        walk(lambda coins: coins(3))

    def too_many(coins: ScriptedCoins) -> bytes:
        coins.offer([[flip_coin(ONE)]])
        return coins(2)

    with pytest.raises(ProtocolViolation, match="drew 2 bytes"):
        walk(too_many)
    assert ScriptedCoins(())(0) == b""


def test_a_word_between_two_thresholds_has_its_own_outcome() -> None:
    coin = cuts_coin(ONE.threshold, TWO.threshold)
    chances = [Fraction(outcome.numbers, 1 << outcome.bits) for outcome in coin]
    assert chances == [TWO.flip, ONE.flip - TWO.flip, ONE.keep]
    answers = []
    for outcome in coin:
        flips = [bool(m.flips(1, lambda count, o=outcome: o.first if count else b"")[0]) for m in (ONE, TWO)]
        answers.append(flips)
    assert answers == [[True, True], [True, False], [False, False]]
    with pytest.raises(ProtocolViolation, match="too close"):
        cuts_coin(ONE.threshold, ONE.threshold + 1)


def test_columns_are_uniform() -> None:
    coin = column_coin(8)
    assert sum(Fraction(outcome.numbers, 1 << outcome.bits) for outcome in coin) == 1
    assert [int.from_bytes(outcome.first, "little") % 8 for outcome in coin] == list(range(8))


@pytest.mark.parametrize(("epsilon", "window"), [("1", 8), ("1/3", 12), ("6", 2)])
def test_a_noise_has_the_chances_of_its_law(epsilon: str, window: int) -> None:
    noise = DiscreteLaplace(Fraction(epsilon))
    coin = noise_coin(noise, window)
    assert len(coin) == 2 * window + 1
    for k, outcome in enumerate(coin, -window):
        assert abs(Fraction(outcome.numbers, 1 << outcome.bits) - Fraction(noise.pmf(k))) < Fraction(4, NUMBERS)
        assert noise.sample(words_then([int.from_bytes(outcome.first)])) == k


def test_a_window_with_too_few_words_is_refused() -> None:
    with pytest.raises(ProtocolViolation, match="smaller window"):
        noise_coin(DiscreteLaplace(Fraction(6)), 9)


def test_an_edge_is_found_from_any_guess() -> None:
    noise = DiscreteLaplace(Fraction(1))
    place = int(Fraction(noise.cdf(2, 60)) * NUMBERS)
    found = {measured_edge(noise.sample, 2, guess) for guess in (place, place - 10**9, place + 10**20, 5, NUMBERS - 5)}
    assert len(found) == 1
    assert abs(found.pop() - place) <= 1
    assert words_of((3 << 64) + 7, 128) == [3, 7]


class HeavyTail(DiscreteLaplace):
    """A broken twin: what it states far out falls more slowly than what it states inside."""

    def cdf(self, k: int, digits: int = 50) -> Decimal:
        half = DiscreteLaplace(self.epsilon / 2)
        return super().cdf(k, digits) if abs(k) < 30 else half.cdf(k, digits)


def cut_short(noise: DiscreteLaplace):
    """A broken twin of the sampler: noises beyond 30 are brought back to 30."""
    return lambda coins: max(-30, min(noise.sample(coins), 30))


def test_tails_are_closed_only_if_stated_and_drawn_so() -> None:
    noise = DiscreteLaplace(Fraction(1))
    assert tail_is_geometric(noise, 3)
    assert tail_is_geometric(DiscreteLaplace(Fraction(1, 2), 4), 12, 4)
    assert not tail_is_geometric(HeavyTail(Fraction(1)), 3)
    assert not tail_is_geometric(noise, 3, 1, cut_short(noise))
    assert drawn_as_stated(noise.sample, noise.cdf, 100)
    assert not drawn_as_stated(cut_short(noise), noise.cdf, 100)


def spoken(**chances: str) -> Spoken:
    return Spoken({said.encode(): Fraction(chance) for said, chance in chances.items()})


def test_the_gap_of_two_laws() -> None:
    one, other = spoken(a="1/4", b="3/4"), spoken(a="1/2", b="1/2")
    assert gap_between(one, other).epsilon == pytest.approx(math.log(2))
    assert gap_between(one, other).delta == 0
    assert gap_between(one, spoken(a="1/4", c="3/4")).epsilon == math.inf


def test_what_was_not_walked_is_told_and_bounds_the_loss_from_below() -> None:
    one, other = spoken(a="1/2", b="1/4"), spoken(a="1/2", c="2/5")
    gap = gap_between(one, other)
    assert gap.delta == pytest.approx(0.4 + 0.25)
    assert gap.epsilon == pytest.approx(math.log(Fraction("1/4") / Fraction("1/10")))
    assert gap_between(spoken(a="9/10"), spoken(a="9/10")).epsilon == 0
    assert gap_between(spoken(a="9/10"), spoken(b="9/10")).epsilon == pytest.approx(math.log(9))
