"""Randomized response on one bit: forward, likelihood, unbiased inverse and variance.  [RR.1-3]  [CHANNEL.1-3]"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.response import Octets
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, all_random_bytes

RESOLUTION = 1 << 64
_TAIL = 1 << 56
# First bytes are drawn and compared so many at a time, while they are near; a multiple of 8.
_AT_ONCE = 1 << 19
Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Channel:
    """Outcome y has probability ``given_zero[y]`` when the bit is 0 and ``given_one[y]`` when it is 1."""

    given_zero: tuple[Fraction, ...]
    given_one: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.given_zero) != len(self.given_one) or not sum(self.given_zero) == sum(self.given_one) == 1:
            raise BadPrivacyParameter("A channel needs two probability vectors of the same length.")
        if min(self.given_zero) <= 0 or min(self.given_one) < 0:
            raise BadPrivacyParameter("Every outcome of a channel must be possible without an edge.")
        if self.given_zero == self.given_one:
            raise BadPrivacyParameter(
                "This channel tells nothing about the bit, so nothing can be estimated; use a larger epsilon."
            )

    @cached_property
    def scores(self) -> tuple[Fraction, ...]:
        """v(y) with mean 1 on an edge, mean 0 on a non-edge, least variance on non-edges.  [CHANNEL.1]"""
        ratios = [one / zero for zero, one in zip(self.given_zero, self.given_one, strict=True)]
        chi_square = sum(zero * ratio**2 for zero, ratio in zip(self.given_zero, ratios, strict=True)) - 1
        return tuple((ratio - 1) / chi_square for ratio in ratios)

    def variance(self, bit: int) -> Fraction:
        """Variance of the score given the bit.  [CHANNEL.2]"""
        chances = self.given_one if bit else self.given_zero
        return sum((p * v**2 for p, v in zip(chances, self.scores, strict=True)), Fraction(0)) - bit

    @property
    def loss(self) -> float:
        """The largest log-ratio of an outcome's two probabilities: the exact epsilon."""
        pairs = zip(self.given_zero, self.given_one, strict=True)
        return max(abs(_log(one) - _log(zero)) for zero, one in pairs)

    def refined(self, outcome: int, second: "Channel") -> "Channel":
        """Ask again where the first answer was ``outcome``; other outcomes stay as they are.  [CHANNEL.3]"""
        return Channel(
            _split(self.given_zero, outcome, second.given_zero),
            _split(self.given_one, outcome, second.given_one),
        )


def _split(first: tuple[Fraction, ...], outcome: int, second: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    finer = tuple(first[outcome] * p for p in second)
    return first[:outcome] + finer + first[outcome + 1 :]


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


@dataclass(frozen=True)
class RandomizedResponse:
    """Keep the bit with probability about e^ε/(1 + e^ε), flip it otherwise.

    Its only field is its promise; the integer that is sampled against follows from it.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if 2 * self.threshold >= RESOLUTION:
            raise BadPrivacyParameter(
                f"A loss of {float(self.epsilon):g} is too small to be sampled with 64-bit words: "
                "an answer would carry no information. Use an epsilon of at least 1e-18."
            )

    @cached_property
    def threshold(self) -> int:
        """T: a bit is flipped when a uniform 64-bit integer is below T.  [RR.1]

        Rounded up, so that the loss of what is really sampled never exceeds ε.
        """
        context = Context(prec=80)
        exponent = context.divide(Decimal(self.epsilon.numerator), Decimal(self.epsilon.denominator))
        if exponent > 100:
            return 1
        ideal = context.divide(Decimal(RESOLUTION), context.add(1, context.exp(exponent)))
        # The margin exceeds the decimal rounding error by far and a unit of T by far less.
        return int(context.add(ideal, Decimal("1e-30"))) + 1

    @property
    def flip(self) -> Fraction:
        """The exact probability of a flipped answer."""
        return Fraction(self.threshold, RESOLUTION)

    @property
    def keep(self) -> Fraction:
        """The exact probability of a true answer."""
        return 1 - self.flip

    def randomize(self, bits: Bits, random_bytes: RandomBytes) -> Bits:
        """One randomized answer per bit."""
        return bits ^ self.flips(bits.size, random_bytes)

    def flips(self, count: int, random_bytes: RandomBytes) -> Bits:
        """Which of ``count`` bits to flip; looks at no bit.  [RR.2]"""
        return np.unpackbits(self.packed_flips(count, random_bytes), count=count, bitorder="little").view(np.bool_)

    def packed_flips(self, count: int, random_bytes: RandomBytes) -> Octets:
        """The same, eight bits a byte, the first in the lowest bit; zeros after the last.  [RR.2]

        One byte decides 255 cases of 256; a byte equal to T's leading byte draws seven more, after all first bytes.
        """
        kernels, (head, tail) = backend.kernels("response"), divmod(self.threshold, _TAIL)
        flips, ties = np.empty((count + 7) // 8, np.uint8), [np.empty(0, np.int64)]
        for start in range(0, count, _AT_ONCE):
            first = _drawn(min(_AT_ONCE, count - start), random_bytes)
            run = slice(start >> 3, (start + first.size + 7) >> 3)
            ties.append(start + kernels.compare(first, head, flips[run]))
        places = np.concatenate(ties)
        kernels.settle(flips, places, _drawn(7 * places.size, random_bytes), tail)
        return flips

    def likelihood(self, answer: int, bit: int) -> Fraction:
        """The probability of this answer given this bit."""
        return self.keep if answer == bit else self.flip

    @cached_property
    def channel(self) -> Channel:
        """The same as a channel with outcomes 0 and 1: its scores are the unbiased inverse."""
        zero, one = ((self.likelihood(0, bit), self.likelihood(1, bit)) for bit in (0, 1))
        return Channel(zero, one)


def _drawn(count: int, random_bytes: RandomBytes) -> Octets:
    return np.frombuffer(all_random_bytes(random_bytes, count), np.uint8)
