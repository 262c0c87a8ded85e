"""Chained answers: levels, losses, the sampler and what is refused.  [CHAIN.1-4]"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from support.alarm import Z_LIMIT
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms import chain
from visibility_aware_edge_ldp.mechanisms.chain import Level, chained, flip_given, loss, step
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION, RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import Coins, keyed_coins, seeded_key

HALF, TWO = (RandomizedResponse(Fraction(each)).threshold for each in ("1/2", "2"))
NOTHING = np.zeros(0, np.bool_)


def seeded(label: str) -> Coins:
    return keyed_coins(seeded_key("chain", label))


def words(*numbers: int) -> Coins:
    """Coins that hand out these 64-bit words, and nothing after them."""
    left = list(numbers)
    return lambda count: b"".join(left.pop(0).to_bytes(8, "big") for _ in range(count // 8))


@pytest.mark.parametrize("epsilon", ["1/10", "1/2", "1", "1.17", "3", "8", "40"])
def test_a_promise_is_its_thresholds_loss(epsilon: str) -> None:
    promised = Fraction(epsilon)
    threshold = RandomizedResponse(promised).threshold
    exact = math.log((RESOLUTION - threshold) / threshold)
    assert exact - 1e-12 <= loss(threshold) <= promised
    # At 40 a threshold is about 80, so its rounding shows.
    assert loss(threshold) == promised or promised == 40


def test_a_loss_is_rounded_up() -> None:
    third = RandomizedResponse(Fraction(1, 3)).threshold
    assert loss(third) == Fraction("0.333333333334")
    assert loss(RESOLUTION // 2 - 1) > 0


def test_two_steps_are_one() -> None:
    best, middle, worst = Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)
    first, second = step(best, middle), step(middle, worst)
    assert first * (1 - second) + (1 - first) * second == step(best, worst)
    assert step(Fraction(0), middle) == middle


@pytest.mark.parametrize("threshold", [0, -1, RESOLUTION // 2, RESOLUTION])
def test_flips_that_say_all_or_nothing_are_refused(threshold: int) -> None:
    with pytest.raises(BadPrivacyParameter, match="between 0 and 1/2"):
        chained(threshold, NOTHING, [], words())
    with pytest.raises(BadPrivacyParameter):
        loss(threshold)
    with pytest.raises(BadPrivacyParameter):
        Level(threshold, NOTHING, NOTHING)


def test_a_level_says_nothing_where_nothing_is_known() -> None:
    with pytest.raises(ProtocolViolation):
        Level(HALF, np.array([True, False]), np.array([True, True]))


def test_one_level_is_given_once() -> None:
    level = Level(HALF, NOTHING, NOTHING)
    with pytest.raises(ProtocolViolation, match="twice"):
        chained(TWO, NOTHING, [level, level], words())


def test_coins_that_are_missing_are_noticed() -> None:
    with pytest.raises(ProtocolViolation, match="16 bytes"):
        chained(TWO, np.zeros(2, np.bool_), [], lambda count: bytes(count - 1))


def test_the_same_threshold_gives_the_same_answer() -> None:
    bits, known = seeded_bits(400, "bits"), seeded_bits(400, "known")
    ones = seeded_bits(400, "ones") & known
    again = chained(HALF, bits, [Level(HALF, known, ones)], seeded("again"))
    assert (again[known] == ones[known]).all()
    assert (again[~known] != bits[~known]).any()


def seeded_bits(count: int, label: str) -> np.ndarray:
    return np.frombuffer(seeded(label)(count), np.uint8) % 2 == 1


def test_a_first_answer_is_randomized_response() -> None:
    """The threshold's own word does not flip: the chance is a whole number of 2^-64, and exact."""
    bits = np.array([True, False, True, False])
    drawn = chained(HALF, bits, [], words(HALF - 1, HALF - 1, HALF, HALF))
    assert (drawn == [False, True, True, False]).all()


def test_ties_are_settled_by_further_words() -> None:
    """A chance whose digits go on: the word that ties is followed by the next."""
    chance = flip_given(HALF, TWO)
    first, second = int(chance * RESOLUTION), int(chance * RESOLUTION % 1 * RESOLUTION)
    assert second  # otherwise there is nothing to settle
    better = Level(TWO, np.ones(1, np.bool_), np.ones(1, np.bool_))
    bit = np.ones(1, np.bool_)
    assert not chained(HALF, bit, [better], words(first, second, 0)).any()  # both tie; the third digit decides
    assert chained(HALF, bit, [better], words(first, second, RESOLUTION - 1)).all()
    assert not chained(HALF, bit, [better], words(first, second - 1)).any()
    assert chained(HALF, bit, [better], words(first, second + 1)).all()
    assert not chained(HALF, bit, [better], words(first - 1)).any()
    assert chained(HALF, bit, [better], words(first + 1)).all()


def test_as_many_coins_whatever_is_known_and_true() -> None:
    drawn: list[int] = []

    def counted(count: int) -> bytes:
        drawn.append(count)
        return seeded("counted")(count)

    for bits in (np.zeros(50, np.bool_), np.ones(50, np.bool_)):
        for known in (np.zeros(50, np.bool_), np.ones(50, np.bool_)):
            chained(HALF, bits, [Level(TWO, known, known & bits), Level(HALF, known, known)], counted)
    assert drawn == [400] * 4


def test_many_positions_have_the_chains_frequencies() -> None:
    """Asked from the worst to the best and in between, with some positions that know less than others."""
    count, middle = 200_000, RandomizedResponse(Fraction(1)).threshold
    bits = seeded_bits(count, "many")
    worst = chained(HALF, bits, [], seeded("worst"))
    some = np.arange(count) % 3 > 0
    levels = [Level(HALF, some, worst & some)]
    best = chained(TWO, bits, levels, seeded("best"))
    levels.append(Level(TWO, some, best & some))
    between = chained(middle, bits, levels, seeded("between"))
    for threshold, answers in ((HALF, worst), (TWO, best), (middle, between)):
        rings(answers != bits, threshold / RESOLUTION)
    q_best, q_middle, q_worst = (Fraction(each, RESOLUTION) for each in (TWO, middle, HALF))
    rings((between != best)[some], float(step(q_best, q_middle)))
    rings((between != worst)[some], float(step(q_middle, q_worst)))
    rings((best != worst)[some], float(step(q_best, q_worst)))
    fresh = chained(middle, bits, [], seeded("fresh"))  # a broken twin: it looks at the bit, and not at its neighbours
    rings(fresh != bits, middle / RESOLUTION)
    with pytest.raises(AssertionError):
        rings((fresh != best)[some], float(step(q_best, q_middle)))


def rings(events: np.ndarray, chance: float) -> None:
    """Z-test of a frequency."""
    error = math.sqrt(chance * (1 - chance) / events.size)
    assert abs(events.mean() - chance) < Z_LIMIT * error


def test_the_number_of_chances_does_not_grow_with_positions() -> None:
    table = chain._chances(HALF, [0, TWO], [0])
    assert [len(row) for row in table] == [1, 1]
