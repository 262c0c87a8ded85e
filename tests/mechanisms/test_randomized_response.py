"""Randomized response: the integer that is sampled against keeps the promise, and is what is sampled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms import randomized_response
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION, RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import Coins, keyed_coins, seeded_key

FIXED = settings(derandomize=True, deadline=None, max_examples=50)
TAIL = 2**56
GOLDEN_FLIPS = "8d1a9c0dd39a54dfb0e40a1777a1b41f4e511caa87d2f1885333c7b331756bee"
PRECISE = Context(prec=200)
EPSILONS = (
    "3e-19", "1e-18", "1e-15", "1e-9", "1e-3", "0.01", "0.1", "1/3", "0.5", "0.6931471805599453", "1", "2",
    "4", "10", "22.18", "30", "40", "44", "44.36", "44.4", "50", "99.9", "100", "101", "1000", "1e9", "1e400",
)  # fmt: skip


def exact_loss(threshold: int) -> Decimal:
    """ln((2⁶⁴ − T)/T) to 200 digits."""
    return PRECISE.subtract(PRECISE.ln(Decimal(RESOLUTION - threshold)), PRECISE.ln(Decimal(threshold)))


def promised(epsilon: Fraction) -> Decimal:
    return PRECISE.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))


def script(*parts: bytes) -> Coins:
    """Coins that were written down beforehand; asking for anything else is an error."""
    left = list(parts)

    def draw(count: int) -> bytes:
        if count == 0:
            return b""
        part = left.pop(0)
        assert len(part) == count
        return part

    return draw


def words(values: Iterable[int]) -> bytes:
    return b"".join(value.to_bytes(7, "big") for value in values)


@pytest.mark.parametrize("text", EPSILONS)
def test_the_exact_loss_is_at_most_epsilon(text: str) -> None:
    epsilon = Fraction(text)
    threshold = RandomizedResponse(epsilon).threshold
    assert 1 <= threshold < RESOLUTION // 2
    assert 0 < exact_loss(threshold) <= promised(epsilon)


@pytest.mark.parametrize("text", [text for text in EPSILONS if Fraction(text) < 44])
def test_the_twin_that_rounds_down_breaks_the_promise(text: str) -> None:
    epsilon = Fraction(text)
    assert exact_loss(RandomizedResponse(epsilon).threshold - 1) > promised(epsilon)


@settings(FIXED, max_examples=150)
@given(st.integers(-17, 1), st.integers(1, 10**9))
def test_the_threshold_is_the_least_that_keeps_the_promise(power: int, digits: int) -> None:
    epsilon = Fraction(digits, 10**9) * Fraction(10) ** power + Fraction(1, 10**18)
    threshold = RandomizedResponse(epsilon).threshold
    assert exact_loss(threshold) <= promised(epsilon) < exact_loss(threshold - 1)


@pytest.mark.parametrize("text", ["1e-19", "2e-19", "1e-30", "1e-400", "0", "-1"])
def test_an_epsilon_that_cannot_be_sampled_is_refused(text: str) -> None:
    with pytest.raises(BadPrivacyParameter, match="too small to be sampled"):
        RandomizedResponse(Fraction(text))


def test_what_the_refusal_recommends_is_accepted() -> None:
    assert RandomizedResponse(Fraction("1e-18")).threshold < RESOLUTION // 2


def count_flipping(mechanism: RandomizedResponse) -> int:
    """How many of the 2⁶⁴ outcomes of eight coin bytes flip: all first bytes, and the boundary of the tie word."""
    firsts = bytes(range(256))

    def flips(word: int) -> np.ndarray:
        return mechanism.flips(256, script(firsts, words([word])))

    never, always = flips(TAIL - 1), flips(0)
    tied = np.flatnonzero(never != always)
    low, high = 0, TAIL  # words below `low` flip, words from `high` on do not
    while low < high and tied.size:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if flips(middle)[tied[0]] else (low, middle)
    return int(never.sum()) * TAIL + low


@pytest.mark.parametrize("text", ["1e-18", "1e-9", "0.1", "0.5", "1", "2", "5.5", "5.6", "20", "44", "1000"])
def test_exactly_t_outcomes_of_two_to_the_64_flip(text: str) -> None:
    mechanism = RandomizedResponse(Fraction(text))
    assert count_flipping(mechanism) == mechanism.threshold
    assert mechanism.flip == Fraction(mechanism.threshold, RESOLUTION)


@pytest.mark.parametrize("text", ["0.1", "1", "20"])
def test_the_twin_that_ignores_ties_is_off(text: str) -> None:
    mechanism = RandomizedResponse(Fraction(text))
    without_ties = mechanism.threshold // TAIL * TAIL
    assert without_ties != mechanism.threshold
    assert count_flipping(mechanism) != without_ties


def test_only_the_tied_byte_draws_again() -> None:
    mechanism = RandomizedResponse(Fraction(1))
    head, tail = divmod(mechanism.threshold, TAIL)
    others = bytes(byte for byte in range(256) if byte != head)
    flips = mechanism.flips(255, script(others))
    assert flips.tolist() == [byte < head for byte in others]
    for word, expected in [(0, True), (tail - 1, True), (tail, False), (tail + 1, False), (TAIL - 1, False)]:
        assert mechanism.flips(1, script(bytes([head]), words([word]))).tolist() == [expected]


def test_ties_take_their_words_in_order() -> None:
    mechanism = RandomizedResponse(Fraction(1))
    head, tail = divmod(mechanism.threshold, TAIL)
    firsts = bytes([head, 255, head, 0, head])
    flips = mechanism.flips(5, script(firsts, words([tail, tail - 1, 0])))
    assert flips.tolist() == [False, False, True, True, True]


class Cut(RandomizedResponse):
    """Compares with any integer that it is told, also with one that no epsilon has."""

    def __init__(self, threshold: int) -> None:
        self.__dict__["told"] = threshold

    @property
    def threshold(self) -> int:
        return int(self.__dict__["told"])


def flips_one_by_one(threshold: int, count: int, coins: Coins) -> list[bool]:
    """[RR.2] as it is written: all first bytes, then the seven bytes of every tie."""
    head, tail = divmod(threshold, TAIL)
    first = coins(count)
    more = iter([int.from_bytes(word, "big") for word in sevens(coins(7 * first.count(head)))])
    return [byte < head or (byte == head and next(more) < tail) for byte in first]


def sevens(drawn: bytes) -> list[bytes]:
    return [drawn[at : at + 7] for at in range(0, len(drawn), 7)]


def many_ties(head: int, every: int, seed: int) -> Coins:
    """A keystream in which about one byte in ``every`` is this one, or all are."""
    stream = keyed_coins(seeded_key(seed, "ties"))
    return lambda count: bytes(head if byte % every == 0 else byte for byte in stream(count))


EDGES = [0, 1, TAIL - 1, TAIL, TAIL + 1, 255 * TAIL, 255 * TAIL + 1, 256 * TAIL - 1]


@pytest.mark.parametrize("plain", [False, True], ids=["chosen kernels", "plain kernels"])
@settings(FIXED, max_examples=200)
@given(
    st.sampled_from(EDGES) | st.integers(0, 2**64 - 1),
    st.integers(0, 300),
    st.integers(1, 9),
    st.integers(0, 99),
    st.sampled_from([8, 64, 72, 1 << 19]),
)
def test_packed_flips_are_the_flips_of_a_plain_loop(
    plain: bool, threshold: int, count: int, every: int, seed: int, at_once: int
) -> None:
    coins = [many_ties(threshold // TAIL, every, seed) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomized_response, "_AT_ONCE", at_once)
        if plain:
            patch.setattr(backend, "kernels", backend.PLAIN.__getitem__)
        found, packed = Cut(threshold).flips(count, coins[0]), Cut(threshold).packed_flips(count, coins[1])
    expected = flips_one_by_one(threshold, count, coins[2])
    assert found.tolist() == expected
    assert found.dtype == np.bool_
    assert packed.tobytes() == np.packbits(np.array(expected, np.bool_), bitorder="little").tobytes()
    assert len({stream(16) for stream in coins}) == 1, "as many coins as by the loop, and no more"


def test_the_same_seed_means_the_same_flips_for_ever() -> None:
    """A million positions, whose coins are drawn in several parts."""
    flips = RandomizedResponse(Fraction(1)).packed_flips(1_000_003, keyed_coins(seeded_key(1, "golden")))
    assert hashlib.sha256(flips.tobytes()).hexdigest() == GOLDEN_FLIPS


@pytest.mark.parametrize("missing", [0, 1], ids=["first bytes", "ties"])
def test_missing_coins_are_refused(missing: int) -> None:
    mechanism = RandomizedResponse(Fraction(1))
    parts = [bytes([mechanism.threshold // TAIL]) * 9, bytes(63)]
    parts[missing] = parts[missing][:-1]
    with pytest.raises(ProtocolViolation, match="were asked for"):
        mechanism.flips(9, lambda count: parts.pop(0))


def deviation(flips: int, count: int, chance: Fraction) -> float:
    """Chi-square with one degree of freedom, as its signed root."""
    p = float(chance)
    return (flips - count * p) / (count * p * (1 - p)) ** 0.5


@pytest.mark.parametrize("text", ["0.5", "1", "2", "4"])
def test_frequencies_are_as_promised_and_the_twin_is_caught(text: str) -> None:
    """6.2 standard deviations: less than one false alarm in 10⁹. The twin claims a loss 5 % larger."""
    count = 1 << 21
    mechanism, twin = RandomizedResponse(Fraction(text)), RandomizedResponse(Fraction(text) * Fraction("1.05"))
    flips = int(mechanism.flips(count, keyed_coins(seeded_key(1, "frequency", text))).sum())
    assert abs(deviation(flips, count, mechanism.flip)) < 6.2
    assert abs(deviation(flips, count, twin.flip)) > 6.2


@FIXED
@given(st.lists(st.booleans(), min_size=1, max_size=300), st.integers(0, 2**32), st.data())
def test_an_answer_depends_on_its_own_bit_only(held: list[bool], seed: int, data: st.DataObject) -> None:
    bits = np.array(held)
    other = np.array(data.draw(st.lists(st.booleans(), min_size=len(held), max_size=len(held))))
    mechanism = RandomizedResponse(Fraction(1))
    answers, others = (mechanism.randomize(b, keyed_coins(seeded_key(seed))) for b in (bits, other))
    assert np.array_equal(answers ^ bits, others ^ other)
    same = bits == other
    assert np.array_equal(answers[same], others[same])


def test_the_coins_drawn_do_not_depend_on_bits() -> None:
    mechanism, drawn = RandomizedResponse(Fraction(1)), []
    for bits in (np.zeros(5000, np.bool_), np.ones(5000, np.bool_)):
        stream, asked = keyed_coins(seeded_key("coins")), []

        def counted(count: int, stream: Coins = stream, asked: list[int] = asked) -> bytes:
            asked.append(count)
            return stream(count)

        mechanism.randomize(bits, counted)
        drawn.append(asked)
    assert drawn[0] == drawn[1]
    assert drawn[0][0] == 5000
    assert drawn[0][1] % 7 == 0


def test_no_bits_no_coins() -> None:
    assert RandomizedResponse(Fraction(1)).flips(0, script()).size == 0


def test_likelihoods_are_the_channel() -> None:
    mechanism = RandomizedResponse(Fraction(2))
    assert mechanism.keep + mechanism.flip == 1
    assert mechanism.likelihood(0, 0) == mechanism.likelihood(1, 1) == mechanism.keep
    assert mechanism.likelihood(0, 1) == mechanism.likelihood(1, 0) == mechanism.flip
    assert mechanism.channel.given_zero == (mechanism.keep, mechanism.flip)
    assert mechanism.channel.given_one == (mechanism.flip, mechanism.keep)


def test_the_threshold_of_epsilon_one_is_pinned() -> None:
    """Another machine must sample against the same integer."""
    assert RandomizedResponse(Fraction(1)).threshold == 4961093570831980854
