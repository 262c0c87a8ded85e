"""The sampler's distribution is the given one, to the last bit that a coin can show.  [DL.3]"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace, sample_each
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse
from visibility_aware_edge_ldp.mechanisms.randomness import Coins, IntegerLaw, keyed_coins, seeded_key, smallest
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace, SmoothStudentT

LAWS = [
    DiscreteLaplace(Fraction(1)).law,
    DiscreteLaplace(Fraction(1, 7), 3).law,
    SmoothLaplace(Fraction(1), Fraction(1, 1000)).law(5),
    SmoothStudentT(Fraction(1)).law(3),
    SmoothStudentT(Fraction(1), 3).law(Fraction(7, 2)),
    SmoothCauchy(Fraction(1)).law(2),
]


def scripted(*words: int) -> Coins:
    """Coins that give these 64-bit words and then refuse."""
    left = list(words)

    def draw(count: int) -> bytes:
        assert count == 8, "the sampler draws one word at a time"
        return left.pop(0).to_bytes(8)

    return draw


def words_of(value: Decimal) -> tuple[int, int]:
    """The first 128 bits of a number in (0, 1)."""
    return divmod(int(Fraction(value) * 2**128), 2**64)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("k", [-9, -2, -1, 0, 1, 2, 9])
def test_the_integer_changes_exactly_at_the_distribution_function(law: IntegerLaw, k: int) -> None:
    first, second = words_of(law.cdf(k, 80))
    assert law.sample(scripted(first - 1)) == k
    assert law.sample(scripted(first + 1)) == k + 1
    assert law.sample(scripted(first, second - 1)) == k
    assert law.sample(scripted(first, second + 1)) == k + 1


@pytest.mark.parametrize("law", LAWS)
def test_a_word_on_the_threshold_decides_nothing(law: IntegerLaw) -> None:
    with pytest.raises(IndexError):
        law.sample(scripted(words_of(law.cdf(0, 80))[0]))


def test_every_byte_of_a_small_law() -> None:
    """Sixteen equal parts, 3 : 5 : 8; a word inside each part counts for it."""
    law = IntegerLaw(lambda k, digits: Decimal({-1: 3, 0: 8}.get(k, 0 if k < -1 else 16)) / 16)
    drawn = [law.sample(scripted((part << 60) + 12345)) for part in range(16)]
    assert [drawn.count(k) for k in (-1, 0, 1)] == [3, 5, 8]


def replay(words: np.ndarray, extra: bytes) -> Coins:
    """The words at the first call, ``extra`` at every later one."""
    calls = iter([words.astype(">u8").tobytes()])
    return lambda count: next(calls, extra)


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("extra", [b"\x01" * 8, b"\xfe" * 8])
def test_the_table_agrees_with_the_exact_path_at_and_around_every_threshold(law: IntegerLaw, extra: bytes) -> None:
    thresholds = law._table[1]
    central = thresholds[:: max(1, thresholds.size // 15)].astype(object)
    near = [int(t) + step for t in central for step in (-1, 0, 1, 2) if 0 <= int(t) + step < 2**64]
    words = np.array([*near, 2**24, 2**40, 2**64 - 2**40, 2**64 - 2**24], dtype=np.uint64)
    one_by_one = [law.sample(replay(words[i : i + 1], extra)) for i in range(words.size)]
    padded = np.resize(words, 600)  # enough for the table to be used
    assert law.sample_many(600, replay(padded, extra))[: words.size].tolist() == one_by_one


def test_a_law_wider_than_the_table_is_drawn_all_the_same() -> None:
    law = DiscreteLaplace(Fraction(1, 10**5)).law
    draws = law.sample_many(600, keyed_coins(seeded_key(1, "wide")))
    again = keyed_coins(seeded_key(1, "wide"))(4800)
    exact = [law.sample(scripted(int.from_bytes(again[i : i + 8]))) for i in range(0, 4800, 8)]
    assert draws.tolist() == exact
    assert abs(draws).max() > 1 << 15


def test_values_beyond_64_bits_become_the_farthest() -> None:
    law = SmoothCauchy(Fraction(1)).law(10**30)
    farthest = 2**63 - 1
    assert set(law.sample_many(20, keyed_coins(seeded_key(2))).tolist()) == {farthest, -farthest}


@pytest.mark.parametrize("stride", [1, 3, 1000])
@pytest.mark.parametrize("answer", [-5000, -3, -1, 0, 1, 2, 7, 4096])
def test_smallest(answer: int, stride: int) -> None:
    holds: Callable[[int], bool] = lambda k: k >= answer  # noqa: E731
    assert smallest(holds, stride) == answer


def test_interval_is_the_smallest_that_holds_the_level() -> None:
    law = SmoothStudentT(Fraction(1)).law(11)
    low, high = law.symmetric_interval(Fraction(9, 10))
    inside = [2 * law.cdf(m, 40) - 1 for m in (high - 1, high)]
    assert low == -high
    assert inside[0] < Decimal("0.9") <= inside[1]
    with pytest.raises(BadPrivacyParameter, match="level"):
        law.symmetric_interval(1.0)


@pytest.mark.parametrize("given", [0, 1, 8, 16], ids=lambda given: f"{given} bytes")
@pytest.mark.parametrize("count", [3, 600], ids=["without a table", "with a table"])
def test_missing_coins_are_refused(count: int, given: int) -> None:
    """A short answer would be fewer noises than numbers, and the last numbers would go out as they are."""
    law = DiscreteLaplace(Fraction(1)).law
    with pytest.raises(ProtocolViolation, match=f"{8 * count} bytes of coins were asked for and {given} came"):
        law.sample_many(count, lambda _: bytes(given))


def test_missing_coins_of_one_draw_are_refused() -> None:
    law = DiscreteLaplace(Fraction(1)).law
    with pytest.raises(ProtocolViolation, match="8 bytes of coins were asked for and 7 came"):
        law.sample(lambda count: bytes(count - 1))
    # A word that ties asks for more, which must be there too.
    first, _ = words_of(law.cdf(0, 60))
    with pytest.raises(ProtocolViolation, match="nothing was drawn"):
        law.place(first, lambda count: b"")


def test_missing_coins_of_many_scales_and_of_columns_are_refused() -> None:
    with pytest.raises(ProtocolViolation, match="24 bytes of coins were asked for and 8 came"):
        sample_each(Fraction(1), np.array([1, 2, 3]), lambda _: bytes(8))
    with pytest.raises(ProtocolViolation, match="12 bytes of coins were asked for and 4 came"):
        HadamardResponse(Fraction(1), 5).randomize(np.arange(3), lambda _: bytes(4))
