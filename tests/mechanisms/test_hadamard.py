"""Hadamard response: its promise, its sampler coin by coin, its inverse.  [HADAMARD.1-3]"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse, walsh_hadamard
from visibility_aware_edge_ldp.mechanisms.randomness import Coins, keyed_coins, seeded_key
from visibility_aware_edge_ldp.privacy import OneDegree

SIZES = (1, 2, 3, 4, 7, 8, 20)
Law = dict[int, Fraction]


def script(*parts: bytes) -> Coins:
    left = list(parts)

    def draw(count: int) -> bytes:
        if not count:
            return b""
        part = left.pop(0)
        assert len(part) == count
        return part

    return draw


def walked(mechanism: HadamardResponse, randomize: Callable[[np.ndarray, Coins], np.ndarray], place: int) -> Law:
    """The exact law of the answer: every column that can be drawn, and the sign kept or turned over.

    A first byte of 0 turns the sign over and one of 255 keeps it; ``test_randomized_response.py`` proves that the
    sampler turns over with probability T/2⁶⁴ exactly.
    """
    law: Law = defaultdict(Fraction)
    for column in range(mechanism.columns):
        for byte, chance in ((0, mechanism.sign.flip), (255, mechanism.sign.keep)):
            # Bits of the word above the columns' must not matter.
            word = (column | 0xABCD0000 & ~(mechanism.columns - 1)).to_bytes(4, "little")
            (answer,) = randomize(np.array([place]), script(word, bytes([byte])))
            law[int(answer)] += chance / mechanism.columns
    assert sum(law.values()) == 1
    return law


def loss(laws: list[Law]) -> float:
    """The largest log-ratio over all answers and all pairs of bins."""
    if any(one.keys() != laws[0].keys() for one in laws):
        return math.inf
    precise = Context(prec=60)
    ratio = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])
    return float(precise.ln(precise.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_sampler_has_the_stated_law_and_keeps_the_promise(size: int, epsilon: str) -> None:
    mechanism = HadamardResponse(Fraction(epsilon), size)
    laws = [walked(mechanism, mechanism.randomize, place) for place in range(size)]
    for place, law in enumerate(laws):
        assert law == {y: mechanism.likelihood(y, place) for y in range(mechanism.columns)}
    if size > 1:
        assert float(epsilon) * (1 - 1e-9) <= loss(laws) <= float(epsilon)


@pytest.mark.parametrize("size", SIZES)
def test_the_inverse_is_exactly_unbiased_with_the_stated_variance(size: int) -> None:
    mechanism = HadamardResponse(Fraction(1), size)
    for place in range(size):
        chances = np.array([float(mechanism.likelihood(y, place)) for y in range(mechanism.columns)])
        each = np.array([mechanism.counts(np.array([y])) for y in range(mechanism.columns)])
        truth = np.eye(size)[place]
        assert chances @ each == pytest.approx(truth, abs=1e-12)
        assert chances @ each**2 - truth**2 == pytest.approx(mechanism.scale**2 - truth)
        estimated = chances @ np.array([mechanism.variances(counts, 1) for counts in each])
        assert estimated == pytest.approx(mechanism.scale**2 - truth)


def test_the_twin_that_never_turns_the_sign_over_is_caught() -> None:
    mechanism = HadamardResponse(Fraction(1), 3)

    def always_plus(bins: np.ndarray, coins: Coins) -> np.ndarray:
        drawn = coins(4)
        coins(1)
        return mechanism.randomize(bins, script(drawn, b"\xff"))

    assert loss([walked(mechanism, always_plus, place) for place in range(3)]) == math.inf


def test_the_twin_that_uses_row_zero_is_biased() -> None:
    """Row 0 is +1 everywhere: a bin that had it would be counted whatever is answered."""
    mechanism = HadamardResponse(Fraction(1), 3)
    chances = np.array([float(mechanism.likelihood(y, 1)) for y in range(mechanism.columns)])
    each = mechanism.scale * np.array([walsh_hadamard(np.eye(mechanism.columns)[y]) for y in range(mechanism.columns)])
    means = chances @ each
    assert means[1:4] == pytest.approx([0, 1, 0], abs=1e-12)
    assert means[0] > 2


@pytest.mark.parametrize("size", [1, 2, 4, 8, 64])
def test_the_fast_transform_is_the_matrix(size: int) -> None:
    numbers = np.arange(size)
    matrix = 1 - 2 * (np.bitwise_count(numbers[:, None] & numbers) & 1).astype(np.int64)
    values = np.cos(numbers + 1.0)
    assert walsh_hadamard(values) == pytest.approx(matrix @ values)
    assert (matrix @ matrix == size * np.eye(size)).all()


@pytest.mark.parametrize(("size", "columns"), [(1, 2), (2, 4), (3, 4), (4, 8), (7, 8), (8, 16), (1000, 1024)])
def test_there_are_more_columns_than_bins(size: int, columns: int) -> None:
    assert HadamardResponse(Fraction(1), size).columns == columns


def test_counts_of_many_users_and_the_plain_count_which_is_wrong() -> None:
    mechanism, users = HadamardResponse(Fraction(1), 5), 3000
    bins = np.repeat([0, 3, 3, 4], users // 4)
    runs = [mechanism.randomize(bins, keyed_coins(seeded_key("hadamard", i))) for i in range(300)]
    found = np.array([mechanism.counts(answers) for answers in runs])
    truth = np.bincount(bins, minlength=5)
    for place in range(5):
        assert abs(z_of(found[:, place], truth[place])) < Z_LIMIT
        assert np.mean(mechanism.variances(found, users)[:, place]) == pytest.approx(found[:, place].var(), rel=0.3)
    plain = np.array([np.bincount(answers, minlength=8)[1:6] for answers in runs])
    assert abs(z_of(plain[:, 3], truth[3])) > 10 * Z_LIMIT


def test_the_coins_drawn_do_not_depend_on_the_bins() -> None:
    mechanism, drawn = HadamardResponse(Fraction(1), 6), []
    for bins in (np.zeros(5000, np.int64), np.full(5000, 5)):
        stream, asked = keyed_coins(seeded_key("coins")), []

        def counted(count: int, stream: Coins = stream, asked: list[int] = asked) -> bytes:
            asked.append(count)
            return stream(count)

        mechanism.randomize(bins, counted)
        drawn.append(asked)
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(("epsilon", "size"), [("1", 0), ("1", -1), ("1", 2**32), ("0", 3), ("-1", 3)])
def test_what_cannot_be_promised_is_refused(epsilon: str, size: int) -> None:
    with pytest.raises(BadPrivacyParameter):
        HadamardResponse(Fraction(epsilon), size)


def test_the_relation_says_what_is_hidden_and_what_an_edge_loses() -> None:
    assert OneDegree.words.startswith("per degree:")
    assert "about that user's degree" in OneDegree.words
    assert "twice" in OneDegree.words
