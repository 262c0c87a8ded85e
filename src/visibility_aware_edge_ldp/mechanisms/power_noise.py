"""The tightest pure noise on a smooth bound, one draw or many.  [POWER.1-3]"""

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import exp
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomness import Integers, RandomBytes, random_words
from visibility_aware_edge_ldp.mechanisms.smooth_noise import DOWN, SmoothNoise, decimal_of

Floats = npt.NDArray[np.float64]

# Times α + 100: doubles err by less than a hundredth of this; what lies closer to a threshold is decided exactly.
_DOUBT = 1e-13
_FARTHEST = (1 << 62) - 1
# Numbers with noise are cut off here before they are sent.  [TRIANGLE.2]
_CUT = 1 << 61


@dataclass(frozen=True)
class SmoothPower(SmoothNoise):
    """Noise whose density falls as fast as pure ε allows, everywhere: powers of 1 ∓ |z|/α.  [POWER.1]

    Parameters
    ----------
    share : Fraction
        β = share * ε, and α = 1/share. Below one half the variance is finite; near 0 the noise is Laplace's.
    """

    share: Fraction = Fraction(1, 8)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share >= Fraction(1, 2):
            raise BadPrivacyParameter(f"With a share of {self.share} the variance is infinite; use less than 1/2.")

    @cached_property
    def beta(self) -> Decimal:
        return decimal_of(self.share * self._promised, DOWN)

    @cached_property
    def shift(self) -> Decimal:
        """ε itself: a private change moves the number by at most ε units of the noise's scale."""
        return decimal_of(self._promised, DOWN)

    @property
    def alpha(self) -> Fraction:
        """The tail's power."""
        return 1 / Fraction(self.share)

    @cached_property
    def _deviation(self) -> float:
        """The root of the second moment of both pieces.  [POWER.2]"""
        with localcontext(Context(prec=60)):
            a = Decimal(self.alpha.numerator) / self.alpha.denominator
            low, high, joint = 1 - 1 / a, 1 + 1 / a, (1 - 1 / a) ** (a - 1)
            core = (1 - low ** (a + 1)) / (a + 1) - (1 - low ** (a + 2)) / (a + 2)
            tail = joint * (high**3 / (a - 2) - high**2 / (a - 1))
            extra = 2 * joint / a
            return float(((extra + 2 * a * a * (core + tail)) / (1 + extra)).sqrt())

    def _ideal(self, z: Decimal, digits: int) -> Decimal:
        """The distribution function, wrong by at most ``10**-digits``."""
        with localcontext(Context(prec=digits + 12)):
            a = Decimal(self.alpha.numerator) / self.alpha.denominator
            size, joint = z.copy_abs(), (1 - 1 / a) ** (a - 1)
            mass = 1 + 2 * joint / a
            if size <= 1:
                beyond = mass - 1 + (1 - size / a) ** a
            else:
                beyond = joint * (1 + 1 / a) * ((1 + size / a) / (1 + 1 / a)) ** -a
            tail = beyond / (2 * mass)
            return tail if z < 0 else 1 - tail

    def sample_each(self, bounds: Floats, random_bytes: RandomBytes) -> Integers:
        """One draw for each bound, independent, each with exactly the law of its bound.  [POWER.3]

        The inverse distribution function proposes an integer for a 64-bit uniform, and two values of the
        distribution function confirm it; the few that are not confirmed are placed with as many digits as it takes.
        Draws beyond ±2^62 are given as the last integer before it: cut off what they are added to well before that.
        """
        words = random_words(random_bytes, bounds.size)
        right = words >> np.uint64(63) == 1
        # How far the uniform number lies from its own end of [0, 1), in units of 2^-64: it is in [units, units + 1).
        units, scale = np.where(right, ~words, words).astype(np.float64), bounds / float(self.shift)
        tail, doubt = (units + 0.5) / 2.0**64, _DOUBT * (float(self.alpha) + 100) + 1 / (units + 0.5)
        with np.errstate(all="ignore"):
            sizes = np.rint(self._size_beyond(tail) * scale)
            above, below = (self._tail((sizes + half) / scale) for half in (0.5, -0.5))
            certain = (above < tail * (1 - doubt)) & ((sizes == 0) | (below > tail * (1 + doubt))) & (sizes < _FARTHEST)
        drawn = np.where(certain, np.where(right, sizes, -sizes), 0).astype(np.int64)
        for index in np.flatnonzero(~certain):
            exact = self.law(Decimal(float(bounds[index]))).place(int(words[index]), random_bytes)
            drawn[index] = max(-_FARTHEST, min(exact, _FARTHEST))
        return drawn

    def _tail(self, size: Floats) -> Floats:
        """The chance of more than ``size`` on one side."""
        a = float(self.alpha)
        mass, joint = _mass(a), (1 - 1 / a) ** (a - 1)
        core = mass - 1 + np.maximum(1 - size / a, 0) ** a
        tail = joint * (1 + 1 / a) * ((1 + size / a) / (1 + 1 / a)) ** -a
        return np.where(size <= 1, core, tail) / (2 * mass)

    def _size_beyond(self, tail: Floats) -> Floats:
        """The size that is exceeded on one side with this chance, at most one half."""
        a = float(self.alpha)
        mass, joint = _mass(a), (1 - 1 / a) ** (a - 1)
        beyond = tail * 2 * mass
        core = a * (1 - (beyond - mass + 1) ** (1 / a))
        far = a * ((1 + 1 / a) * (beyond / (joint * (1 + 1 / a))) ** (-1 / a) - 1)
        return np.where(beyond > joint * (1 + 1 / a), core, far)


def _mass(a: float) -> float:
    """Half the integral of the density before it is scaled to 1."""
    return float(1 + 2 / a * (1 - 1 / a) ** (a - 1))


def smooth_bound(reach: Floats, largest: Floats | float, beta: float) -> Floats:
    """max over t ≥ 0 of e^(-βt)(reach + tM): moves by at most e^β when the reach moves by M.  [TRIANGLE.2]"""
    pace = largest / beta
    return np.where(reach >= pace, reach, pace * exp(np.minimum(reach / pace, 1.0) - 1))


def cut_sum(values: Integers, noise: Integers) -> Integers:
    """Values plus noise, cut off at ±2^61: the same whatever the noise is beyond ±2^62, where 64 bits end."""
    return np.clip(values + np.clip(noise, -2 * _CUT, 2 * _CUT), -_CUT, _CUT)
