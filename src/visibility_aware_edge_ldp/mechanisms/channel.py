"""A finite channel on one bit, and the best unbiased score of its outcomes.  [CHANNEL.1-3]"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from visibility_aware_edge_ldp.errors import BadPrivacyParameter


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

    def refined(self, outcome: int, second: Channel) -> Channel:
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
