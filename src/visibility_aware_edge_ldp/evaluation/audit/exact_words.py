"""What a sampler does with its 64-bit words, found by trying: nothing that it says of itself is believed.  [AUDIT.3]"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse

WORDS = 1 << 64
# Numbers of two words: edges of integer noises are measured among them.
NUMBERS = 1 << 128
TAILS = 1 << 56
Sampler = Callable[[Coins], int]
# Beyond the words: a noise of this many bits' rarity is tried too.
_FAR_BITS = 192
_DIGITS, _CLOSE = 120, Decimal("1e-40")


@cache
def flipping_words(mechanism: RandomizedResponse, bit: int = 0) -> int:
    """How many of the 2^64 words flip this bit: every first byte is tried, and every tie bisected.  [AUDIT.3]"""
    return sum(_flipping_tails(mechanism, bit, byte) for byte in range(256))


def _flipping_tails(mechanism: RandomizedResponse, bit: int, byte: int) -> int:
    """How many of the 2^56 words that begin with this byte flip."""

    def flips(tail: int) -> bool:
        left = [bytes([byte]), tail.to_bytes(7)]
        answer = mechanism.randomize(np.array([bit], np.bool_), lambda count: left.pop(0) if count else b"")
        return bool(answer[0] != bit)

    if flips(0) == flips(TAILS - 1):
        return TAILS * flips(0)
    low, high = 0, TAILS - 1  # flips at `low`, does not at `high`
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if flips(middle) else (low, middle)
    return high


def words_then(words: Iterable[int], rest: int = 0x5A) -> Coins:
    """Coins that give these 64-bit words and then one byte for ever."""
    left = b"".join(word.to_bytes(8) for word in words)

    def draw(count: int) -> bytes:
        nonlocal left
        drawn, left = left[:count], left[count:]
        return drawn + bytes([rest]) * (count - len(drawn))

    return draw


def words_of(number: int, bits: int) -> list[int]:
    """A number of so many bits as 64-bit words, the highest first."""
    return [number >> shift & (WORDS - 1) for shift in range(bits - 64, -1, -64)]


def measured_edges(sample: Sampler, cdf: Callable[[int, int], Decimal], first: int, last: int) -> list[int]:
    """How many of the 2^128 numbers give at most k, for k from ``first`` − 1 to ``last``.

    The stated law only says where to look.
    """
    return [measured_edge(sample, k, int(Fraction(cdf(k, 60)) * NUMBERS)) for k in range(first - 1, last + 1)]


def measured_edge(sample: Sampler, k: int, guess: int) -> int:
    """How many of the 2^128 numbers a sampler turns into at most k, by bisection; right to one.  [AUDIT.3]"""

    def beyond(number: int) -> bool:
        return number >= NUMBERS or (number >= 0 and sample(words_then(words_of(number, 128))) > k)

    step, low, high = 2, guess - 2, guess + 2
    while beyond(low):
        step, low, high = 4 * step, low - 4 * step, low
    while not beyond(high):
        step, low, high = 4 * step, high, high + 4 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return min(max(0, high), NUMBERS)


@cache
def tail_is_geometric(mechanism: DiscreteLaplace, window: int, shift: int = 1, sample: Sampler | None = None) -> bool:
    """Whether the noise falls by the same factor at each step from ``window`` − ``shift`` on.  [AUDIT.4]

    Looked at on both sides, in what the mechanism states and in what the sampler draws.
    """
    places = [*range(window - shift, window), *_far_places(mechanism, window)]
    with localcontext(prec=_DIGITS):
        factor = (Decimal(-mechanism.rate.numerator) / mechanism.rate.denominator).exp()
        falls = all(_step(mechanism, side, k, factor) for k in places for side in (-1, 1))
    drawn = (drawn_as_stated(sample or mechanism.sample, mechanism.cdf, side * k) for k in places for side in (-1, 1))
    return falls and all(drawn)


def _step(mechanism: DiscreteLaplace, side: int, k: int, factor: Decimal) -> bool:
    """Whether the stated chance of k + 1 is the factor times that of k, on one side of 0."""
    here, next_one = (_stated_chance(mechanism, side * place) for place in (k, k + 1))
    return abs(next_one / here / factor - 1) < _CLOSE


def _stated_chance(mechanism: DiscreteLaplace, k: int) -> Decimal:
    return mechanism.cdf(k, _DIGITS) - mechanism.cdf(k - 1, _DIGITS)


def _far_places(mechanism: DiscreteLaplace, window: int) -> list[int]:
    """Some noises from the window's end to the rarest that 192 bits can draw, each twice as far as the last."""
    places, farthest = [window], _FAR_BITS * math.log(2) / float(mechanism.rate)
    while places[-1] < farthest:
        places.append(2 * places[-1] + 1)
    return places[:-1] or [window]


def drawn_as_stated(sample: Sampler, cdf: Callable[[int, int], Decimal], k: int) -> bool:
    """Whether the integer changes from k to k + 1 exactly where the stated law says, to 256 bits."""
    place = int(Fraction(cdf(k, _DIGITS)) * (1 << 256))

    def drawn(number: int) -> int:
        return sample(words_then(words_of(number, 256)))

    return (drawn(place - 16), drawn(place + 16)) == (k, k + 1)
