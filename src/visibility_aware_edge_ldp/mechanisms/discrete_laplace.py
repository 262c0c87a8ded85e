"""Discrete Laplace noise on integers: forward, likelihood, unbiased inverse and variance.  [DL.1-3]  [LAPLACES.1]"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import exp, expm1
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw, Integers, RandomBytes, random_words

Reported = TypeVar("Reported", int, Integers)
# Tables ask for many powers with so many digits: each is the product of two of few, some steps and some strides.
_TABLE_DIGITS, _STRIDE = 30, 64
Floats = npt.NDArray[np.float64]
# Logarithms and quotients of doubles err by a few parts in 10^16; a thousand times that is left in doubt.
_RELATIVE = 1e-13
# Closer than this to an end of [0, 1), in units of 2^-64, a word says too little of its uniform number.
_TOO_NEAR = 2.0**20
_FARTHEST = (1 << 62) - 1


@dataclass(frozen=True)
class DiscreteLaplace:
    """Add an integer k with probability proportional to α^|k|, where α = e^(-ε/Δ).  [DL.1]

    Parameters
    ----------
    epsilon : Fraction
        The loss for two inputs that differ by at most ``sensitivity``.
    sensitivity : int
        Δ: how far neighbouring worlds may move the number that is noised.
    """

    epsilon: Fraction
    sensitivity: int = 1

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise BadPrivacyParameter(f"epsilon must be above 0; got {self.epsilon}.")
        if self.sensitivity < 1:
            raise BadPrivacyParameter(
                f"A sensitivity must be a whole number of at least 1; got {self.sensitivity}. "
                "A number that no private bit can move needs no noise."
            )

    @cached_property
    def rate(self) -> Fraction:
        """ε/Δ: what one unit of shift costs."""
        return Fraction(self.epsilon) / self.sensitivity

    @property
    def alpha(self) -> float:
        """α = e^(-ε/Δ), for arithmetic after the draw."""
        return math.exp(-self.rate)

    def pmf(self, k: int, digits: int = 50) -> Decimal:
        """The probability of exactly ``k``, wrong by at most ``10**-digits``."""
        context = Context(prec=digits + 6)
        one = self._power(1, context)
        share = context.divide(context.subtract(1, one), context.add(1, one))
        return context.multiply(share, self._power(abs(k), context))

    def cdf(self, k: int, digits: int = 50) -> Decimal:
        """The probability of at most ``k``, wrong by at most ``10**-digits``."""
        context = Context(prec=digits + 6)
        beyond = k + 1 if k >= 0 else -k
        power = self._tabled_power if digits == _TABLE_DIGITS else self._power
        tail = context.divide(power(beyond, context), self._whole(context.prec))
        return context.subtract(1, tail) if k >= 0 else tail

    def probability(self, k: int) -> float:
        """The probability of exactly ``k`` as a float, accurate far into the tails."""
        return math.tanh(self.rate / 2) * math.exp(-self.rate * abs(k))

    def sample(self, random_bytes: RandomBytes) -> int:
        """One draw of the noise, exactly.  [DL.3]"""
        return self.law.sample(random_bytes)

    def sample_many(self, count: int, random_bytes: RandomBytes) -> Integers:
        """``count`` independent draws of the noise, exactly.  [DL.3]"""
        return self.law.sample_many(count, random_bytes)

    @cached_property
    def law(self) -> IntegerLaw:
        """The noise as a law on the integers; equal mechanisms share one, and its table."""
        return _law_of(self)

    @property
    def variance(self) -> float:
        """2α/(1 - α)²."""
        return 2 * self.second_difference_constant

    @property
    def second_difference_constant(self) -> float:
        """c = α/(1 - α)²: how much of the second difference is taken off.  [DL.2]"""
        return self.alpha / math.expm1(-self.rate) ** 2

    def unbiased(self, function: Callable[[Reported], npt.ArrayLike], report: Reported) -> npt.NDArray[np.float64]:
        """An estimate of ``function`` of the true number from the noisy one, without bias.  [DL.2]"""
        here = np.asarray(function(report), dtype=np.float64)
        above = np.asarray(function(report + 1), dtype=np.float64)
        below = np.asarray(function(report - 1), dtype=np.float64)
        return here - self.second_difference_constant * (above - 2 * here + below)

    def interval(self, level: Fraction | float) -> tuple[int, int]:
        """The smallest interval from -m to m that holds the noise with probability ``level``."""
        return self.law.symmetric_interval(level)

    @cached_property
    def _powers(self) -> dict[int, Decimal]:
        return {}

    def _tabled_power(self, exponent: int, context: Context) -> Decimal:
        """α^exponent, wrong by less than six units of the last digit; both its factors are kept."""
        steps = exponent % _STRIDE
        for part in (steps, exponent - steps):
            if part not in self._powers:
                self._powers[part] = self._power(part, context)
        return context.multiply(self._powers[steps], self._powers[exponent - steps])

    @cached_property
    def _wholes(self) -> dict[int, Decimal]:
        return {}

    def _whole(self, precision: int) -> Decimal:
        """1 + α, which every tail is a part of; worked out once for each precision."""
        if precision not in self._wholes:
            context = Context(prec=precision)
            self._wholes[precision] = context.add(1, self._power(1, context))
        return self._wholes[precision]

    def _power(self, exponent: int, context: Context) -> Decimal:
        """α^exponent, wrong by less than three units of the context's last digit after the point."""
        minus_loss = context.divide(Decimal(-exponent * self.rate.numerator), Decimal(self.rate.denominator))
        return context.exp(minus_loss)


@lru_cache(maxsize=64)
def _law_of(mechanism: DiscreteLaplace) -> IntegerLaw:
    width = max(1, round(1 / mechanism.rate))
    # A table has some 28 thresholds for each unit of width; a search asks for some 10 powers that are not kept.
    return IntegerLaw(mechanism.cdf, width, table_pays=min(width + 16, 500))


def sample_each(epsilon: Fraction, sensitivities: Integers, random_bytes: RandomBytes) -> Integers:
    """One draw for each sensitivity, independent, each exactly of its own law; a sensitivity of 0 needs no noise.

    Doubles invert the distribution function; what they cannot decide is placed with as many digits as it takes.
    """
    words = random_words(random_bytes, sensitivities.size)
    noisy = np.flatnonzero(sensitivities > 0)
    drawn = np.zeros(sensitivities.size, dtype=np.int64)
    values, certain = _propose(float(epsilon) / sensitivities[noisy], words[noisy])
    drawn[noisy] = np.where(certain, values, 0).astype(np.int64)
    for index in noisy[~certain]:
        law = DiscreteLaplace(epsilon, int(sensitivities[index])).law
        drawn[index] = max(-_FARTHEST, min(law.place(int(words[index]), random_bytes), _FARTHEST))
    return drawn


def variances(epsilon: Fraction, sensitivities: Integers) -> Floats:
    """2α/(1 − α)² for each sensitivity; 0 where there is no noise.  [DL.2]"""
    rate = float(epsilon) / np.maximum(sensitivities, 1)
    return np.where(sensitivities > 0, 2 * exp(-rate) / expm1(-rate) ** 2, 0.0)


def _propose(rate: Floats, words: npt.NDArray[np.uint64]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """For each word the integer whose step of the distribution function holds it, and whether that is certain."""
    right = words >> np.uint64(63) == 1
    # How far the uniform number lies from its own end of [0, 1), in units of 2^-64: it is in [units, units + 1).
    units = np.where(right, ~words, words).astype(np.float64)
    steps = -np.log((units + 0.5) / 2.0**64 * (1 + np.exp(-rate))) / rate
    error = _RELATIVE * (1 / rate + np.abs(steps)) + 1 / ((units + 0.5) * rate)
    whole = np.floor(steps)
    certain = (units > _TOO_NEAR) & (steps - whole > error) & (whole + 1 - steps > error) & (steps < _FARTHEST)
    return np.where(right, whole, -whole), certain
