"""Many draws at once have exactly the law of single ones.  [LAPLACES.1]"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.mechanisms import discrete_laplace
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace, sample_each, variances
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key


def coins_of(words: np.ndarray):
    """Coins that give these words first, and a fixed stream after them."""
    first, rest = bytearray(words.astype(">u8").tobytes()), keyed_coins(seeded_key(1))

    def draw(count: int) -> bytes:
        given = bytes(first[:count])
        del first[:count]
        return given + rest(count - len(given))

    return draw


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [("1", 1), ("40", 1), ("0.01", 1), ("0.7", 300), ("1", 10**7), ("1", 2 * 10**10)]
)
def test_each_word_gives_the_integer_of_the_exact_search(epsilon: str, sensitivity: int) -> None:
    words = np.random.default_rng(2).integers(0, 2**64, 300, dtype=np.uint64)
    words[:6] = [0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
    drawn = sample_each(Fraction(epsilon), np.full(words.size, sensitivity), coins_of(words))
    law = DiscreteLaplace(Fraction(epsilon), sensitivity).law
    certain = discrete_laplace._propose(np.full(words.size, float(Fraction(epsilon)) / sensitivity), words)[1]
    assert certain[6:].mean() > 0.9
    assert not certain[[0, 1, 4, 5]].any()
    for word, value in zip(words[certain], drawn[certain], strict=True):
        assert law.place(int(word), keyed_coins(seeded_key(0))) == value


def test_words_at_a_threshold_are_left_to_the_exact_search() -> None:
    mechanism = DiscreteLaplace(Fraction(1), 3)
    ties = [int(Fraction(mechanism.cdf(k, 40)) * 2**64) + shift for k in range(-9, 9) for shift in (-1, 0, 1)]
    words = np.array(ties, dtype=np.uint64)
    certain = discrete_laplace._propose(np.full(words.size, 1 / 3), words)[1]
    assert not certain.any()


def test_no_noise_where_nothing_can_move() -> None:
    drawn = sample_each(Fraction(1), np.array([0, 5, 0]), keyed_coins(seeded_key(3)))
    assert drawn[0] == drawn[2] == 0
    assert variances(Fraction(1), np.array([0, 5])).tolist() == [0.0, DiscreteLaplace(Fraction(1), 5).variance]


def test_mean_and_variance() -> None:
    scales = np.repeat([1, 20, 400], 20000)
    drawn = sample_each(Fraction(1), scales, keyed_coins(seeded_key(4))).reshape(3, -1).astype(float)
    for values, scale in zip(drawn, (1, 20, 400), strict=True):
        assert abs(z_of(values, 0.0)) < Z_LIMIT
        assert abs(z_of(values**2, DiscreteLaplace(Fraction(1), scale).variance)) < Z_LIMIT
