"""Flags of what changed: their law, their inverse, the loss of whole histories, and ways that lose without bound."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.changes import Changes, tellable
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key

ONE = Changes(Fraction(1), 1)


def raised_flags(history: tuple[int, ...], most: int) -> list[int]:
    """For each wave after the first, which of both flags are raised: an arithmetic of its own."""
    told, times, flags = history[0], 0, list[int]()
    for bit in history[1:]:
        changes = bit != told and times < most
        flags += [int(changes and bit == 1), int(changes and bit == 0)]
        told, times = (bit, times + 1) if changes else (told, times)
    return flags


def loss(one: list[int], other: list[int], q: float) -> float:
    """The largest logarithm of P(y | one)/P(y | other) over all answers y to these flags."""
    chances = {0: (1 - q, q), 1: (0.5, 0.5)}
    return sum(
        max(math.log(a / b) for a, b in zip(chances[x], chances[y], strict=True))
        for x, y in zip(one, other, strict=True)
    )


@pytest.mark.parametrize(("most", "waves"), [(1, 7), (2, 6), (3, 7)])
def test_no_two_histories_lose_more_and_some_lose_as_much(most: int, waves: int) -> None:
    mechanism = Changes(Fraction(3, 2), most)
    flags = [raised_flags(history, most) for history in product((0, 1), repeat=waves)]
    assert max(sum(each) for each in flags) == most
    losses = [loss(one, other, float(mechanism.quiet.flip)) for one in flags for other in flags]
    assert max(losses) == pytest.approx(1.5, abs=1e-12)


def test_of_ties_that_stay_nothing_is_told() -> None:
    assert raised_flags((0,) * 12, 1) == raised_flags((1,) * 12, 1)


def test_the_inverse_and_its_variance() -> None:
    zero, one = ((ONE.channel.given_zero, 0), (ONE.channel.given_one, 1))
    q, half = ONE.quiet.flip, Fraction(1, 2)
    scores = [(y - q) / (half - q) for y in (0, 1)]
    assert list(ONE.channel.scores) == scores
    for chances, mean in (zero, one):
        assert sum(p * v for p, v in zip(chances, scores, strict=True)) == mean
    assert ONE.channel.variance(1) - ONE.channel.variance(0) == 1
    odds = math.e
    assert float(ONE.channel.variance(0)) == pytest.approx(4 * odds / (odds - 1) ** 2, rel=1e-12)


def test_flags_that_are_not_raised_are_those_of_randomized_response() -> None:
    assert ONE.threshold == RandomizedResponse(Fraction(1)).threshold
    assert Changes(Fraction(1), 4).threshold == RandomizedResponse(Fraction(1, 4)).threshold


def test_the_sampler_has_these_chances() -> None:
    count, coins = 200_000, keyed_random_bytes(seeded_key("flags"))
    raised = np.arange(count) % 2 == 0
    said = ONE.told(raised, coins)
    for bits, chance in ((said[raised], 0.5), (said[~raised], float(ONE.quiet.flip))):
        error = math.sqrt(chance * (1 - chance) / bits.size)
        assert abs(bits.mean() - chance) < 5 * error


def test_as_many_bytes_are_drawn_whatever_is_raised() -> None:
    drawn = []
    for raised in (np.zeros(20, np.bool_), np.ones(20, np.bool_)):
        counts = list[int]()

        def noted(count: int, counts: list[int] = counts) -> bytes:
            counts.append(count)
            return bytes([200]) * count

        ONE.told(raised, noted)
        drawn.append(counts)
    assert drawn[0] == drawn[1]


def test_what_changed_often_enough_is_not_told() -> None:
    now, told = np.array([1, 1, 0, 0], np.bool_), np.array([1, 0, 1, 1], np.bool_)
    assert tellable(now, told, np.array([0, 0, 1, 2]), 2).tolist() == [False, True, True, False]


def test_no_change_at_all_cannot_be_asked_for() -> None:
    with pytest.raises(BadPrivacyParameter, match="At least one change"):
        Changes(Fraction(1), 0)
