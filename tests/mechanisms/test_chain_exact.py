"""The joint law of three chained answers, in every order of asking, exactly; and three ways to get it wrong.  [CHAIN.3]

A *way* of answering is given the levels asked so far and returns the chance of each answer. The same check is made of
the chain and of its broken twins: the joint law's largest ratio between the two bits, and each answer's own law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.mechanisms.chain import Level, chained, flip_given, loss
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION, RandomizedResponse

BEST, MIDDLE, WORST = LEVELS = tuple(RandomizedResponse(Fraction(each)).threshold for each in ("2", "1", "1/2"))
ORDERS = list(permutations(LEVELS))
Said = Mapping[int, int]
Way = Callable[[int, int, Said], Fraction]
"""The chance of a 1 at a threshold, for a bit, after what was said at other thresholds."""


def neighbours(threshold: int, bit: int, said: Said) -> tuple[int, int, int, bool]:
    better = max((each for each in said if each < threshold), default=0)
    worse = min((each for each in said if each > threshold), default=0)
    above = said[better] if better else bit
    return above, better, worse, not worse or said[worse] == above


def by_chain(threshold: int, bit: int, said: Said) -> Fraction:
    above, better, worse, agree = neighbours(threshold, bit, said)
    flip = flip_given(threshold, better, worse, agree)
    return 1 - flip if above else flip


def by_real_code(threshold: int, bit: int, said: Said) -> Fraction:
    """The chance as measured on the sampler: the place, found by halving, where a word no longer means a flip."""
    one = np.ones(1, np.bool_)
    levels = [Level(each, one, np.array([bool(value)])) for each, value in said.items()]

    def answer(word: int) -> int:
        coins = iter([word.to_bytes(8, "big"), bytes(8)])  # a tie is settled by a word of zeros
        return int(chained(threshold, np.array([bool(bit)]), levels, lambda count: next(coins))[0])

    low, high, first = 0, RESOLUTION - 1, answer(0)
    assert answer(high) != first
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if answer(middle) == first else (low, middle)
    return Fraction(high if first else RESOLUTION - high, RESOLUTION)


def fresh(threshold: int, bit: int, said: Said) -> Fraction:
    """Twin: every answer with new coins, as if nothing had been said."""
    flip = Fraction(threshold, RESOLUTION)
    return 1 - flip if bit else flip


def forgetful(threshold: int, bit: int, said: Said) -> Fraction:
    """Twin: chained to the better neighbour, but blind for the worse one."""
    return by_chain(threshold, bit, {each: value for each, value in said.items() if each < threshold})


def joint(way: Way, order: tuple[int, ...], bit: int) -> dict[tuple[int, ...], Fraction]:
    """The probability of every three answers, listed from the best level to the worst."""
    law = {}
    for answers in product((0, 1), repeat=3):
        chance, said = Fraction(1), {}
        for threshold in order:
            value = answers[LEVELS.index(threshold)]
            one = way(threshold, bit, said)
            chance *= one if value else 1 - one
            said[threshold] = value
        law[answers] = chance
    return law


def one_uniform(bit: int) -> dict[tuple[int, ...], Fraction]:
    """Twin: one uniform number is compared with all thresholds. Its law does not depend on the order."""
    law = dict.fromkeys(product((0, 1), repeat=3), Fraction(0))
    edges = [0, *LEVELS, RESOLUTION]
    for low, high in pairwise(edges):
        flips = [int(low < threshold) for threshold in LEVELS]
        law[tuple(bit ^ flip for flip in flips)] += Fraction(high - low, RESOLUTION)
    return law


def exact_loss(zero: Mapping[tuple[int, ...], Fraction], one: Mapping[tuple[int, ...], Fraction]) -> float:
    """The largest logarithm of a ratio, either way; infinite where only one world can say it."""
    assert sum(zero.values()) == sum(one.values()) == 1
    pairs = [(zero[said], one[said]) for said in zero] + [(one[said], zero[said]) for said in zero]
    return max(math.inf if not b else math.log(a / b) for a, b in pairs if a)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "".join("BMW"[LEVELS.index(each)] for each in order))
def test_every_order_has_the_chains_law_and_the_best_answers_loss(order: tuple[int, ...]) -> None:
    laws = [joint(by_chain, order, bit) for bit in (0, 1)]
    assert laws == [joint(by_chain, LEVELS, bit) for bit in (0, 1)]
    assert max(
        a / b for law, other in (laws, laws[::-1]) for a, b in zip(law.values(), other.values(), strict=True)
    ) == (Fraction(RESOLUTION - BEST, BEST))
    assert exact_loss(*laws) <= float(loss(BEST)) <= 2
    for place, threshold in enumerate(LEVELS):
        flipped = sum(chance for said, chance in laws[0].items() if said[place])
        assert flipped == Fraction(threshold, RESOLUTION)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "".join("BMW"[LEVELS.index(each)] for each in order))
def test_the_real_sampler_has_this_law(order: tuple[int, ...]) -> None:
    for bit in (0, 1):
        exact, measured = joint(by_chain, order, bit), joint(by_real_code, order, bit)
        assert max(abs(exact[said] - measured[said]) for said in exact) <= Fraction(8, RESOLUTION)


def test_fresh_answers_are_caught() -> None:
    found = exact_loss(*(joint(fresh, LEVELS, bit) for bit in (0, 1)))
    assert found == pytest.approx(3.5)
    assert found > float(loss(BEST))


def test_one_uniform_number_at_several_thresholds_is_caught() -> None:
    assert exact_loss(one_uniform(0), one_uniform(1)) == math.inf


def test_a_chain_that_forgets_its_worse_neighbour_is_caught() -> None:
    """From the best to the worst it does no harm; asked the other way round the answers are fresh."""
    losses = {order: exact_loss(*(joint(forgetful, order, bit) for bit in (0, 1))) for order in ORDERS}
    assert losses[BEST, MIDDLE, WORST] == pytest.approx(2)
    assert losses[WORST, MIDDLE, BEST] == pytest.approx(3.5)
