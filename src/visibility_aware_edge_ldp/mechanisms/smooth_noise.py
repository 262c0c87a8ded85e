"""Integer noise for a number whose local sensitivity has a smooth upper bound.  [SN.1-5]

A bound S is β-smooth when neighbouring worlds have |f - f'| <= min(S, S') and |ln S - ln S'| <= β.
Each mechanism here says how smooth it needs the bound, and adds S/s times a fixed noise, rounded to
an integer; f must be an integer, so that the rounding is post-processing.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache, partial

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw, RandomBytes

Bound = int | Fraction | Decimal
"""A smooth bound; computed ones may be wrong by a relative 1e-30, which the margin pays for.  [SN.5]"""

_SLACK = Fraction(1, 1 << 60)
_LEAST_BETA = Decimal("1e-9")
DOWN, _UP = Context(prec=60, rounding=ROUND_FLOOR), Context(prec=60, rounding=ROUND_CEILING)
_WORK = Context(prec=80)


@dataclass(frozen=True)
class SmoothNoise(ABC):
    """What all noises on smooth bounds share: everything but β, s and the shape."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or not 0 < self.share < 1:
            raise BadPrivacyParameter(f"epsilon must be above 0 and share between 0 and 1; got {self}.")
        if self.beta < _LEAST_BETA:
            raise BadPrivacyParameter(
                f"{self} needs a smoothness of {self.beta:.1e}, too fine to compute; use a larger epsilon or share."
            )

    @property
    @abstractmethod
    def share(self) -> Fraction:
        """The part of ε that pays for the bound's movement; the rest pays for the number's."""

    @property
    @abstractmethod
    def beta(self) -> Decimal:
        """How smooth the bound must be: ln S moves by at most this much per private change."""

    @property
    @abstractmethod
    def shift(self) -> Decimal:
        """s: a private change moves the number by at most this many units of the noise's scale."""

    def price(self, weight: int = 1) -> tuple[Fraction, Fraction]:
        """(ε, δ) of a change that may move f by ``weight`` * S and ln S by ``weight`` * β.  [SN.4]"""
        if weight < 1:
            raise BadPrivacyParameter(f"A change counts a whole number of times, at least once; got {weight}.")
        return weight * Fraction(self.epsilon), self._delta(weight)

    def scale(self, bound: Bound) -> Decimal:
        """S/s, rounded up: what the ideal noise is multiplied with."""
        exact = isinstance(bound, int | Fraction) or (isinstance(bound, Decimal) and bound.is_finite())
        if not (exact and bound >= 0):
            raise BadPrivacyParameter(f"A smooth bound is an int, Fraction or Decimal from 0 on; got {bound!r}.")
        return _UP.divide(decimal_of(bound, _UP), self.shift)

    def law(self, bound: Bound) -> IntegerLaw:
        """The noise for this bound: the ideal noise, rounded to the nearest integer."""
        scale = self.scale(bound)
        if not scale:
            return IntegerLaw(lambda k, _digits: Decimal(int(k >= 0)))
        return IntegerLaw(partial(self._rounded, scale), max(1, int(scale)))

    def sample(self, bound: Bound, random_bytes: RandomBytes) -> int:
        """One draw of the noise for this bound, exactly.  [DL.3]"""
        return self.law(bound).sample(random_bytes)

    def standard_deviation(self, bound: Bound) -> float:
        """Of the ideal noise; rounding changes it by at most one half."""
        scale = float(self.scale(bound))
        return scale * self._deviation if scale else 0.0

    def interval(self, bound: Bound, level: Fraction | float) -> tuple[int, int]:
        """The smallest interval from -m to m that holds the noise with probability ``level``."""
        return self.law(bound).symmetric_interval(level)

    @property
    def friend_visible_delta(self) -> Fraction:
        """The δ beside the 2ε of a friend-visible change, which counts twice.  [SN.4]"""
        return self.price(2)[1]

    @property
    def _promised(self) -> Fraction:
        """The ε that is designed for: less than ε by what rounding may cost.  [SN.5]"""
        return Fraction(self.epsilon) * (1 - _SLACK)

    def _delta(self, weight: int) -> Fraction:
        return Fraction(0)

    @property
    @abstractmethod
    def _deviation(self) -> float:
        """Standard deviation of the ideal noise at scale 1."""

    @abstractmethod
    def _ideal(self, z: Decimal, digits: int) -> Decimal:
        """The ideal noise's distribution function at scale 1, wrong by at most ``10**-digits``."""

    def _rounded(self, scale: Decimal, k: int, digits: int) -> Decimal:
        """At most k after rounding is at most k + 1/2 before it."""
        context = Context(prec=digits + 8)
        return self._ideal(context.divide(Decimal(2 * k + 1), context.multiply(2, scale)), digits + 1)


@dataclass(frozen=True)
class SmoothLaplace(SmoothNoise):
    """Laplace noise with scale S/((1 - share) ε): (ε, δ).  [SN.1]

    With ``share`` one half the scale is the published 2S/ε; β is the largest that keeps the promise,
    and above the published ε/(2 ln(2/δ)), so a bound made for the published β serves too.
    """

    delta: Fraction
    share: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise BadPrivacyParameter(
                f"Laplace noise on a smooth bound needs a delta above 0 and below 1; got {self.delta}. "
                "For delta = 0 use Student-t noise."
            )
        super().__post_init__()

    @cached_property
    def beta(self) -> Decimal:
        """The largest β with D(ε, s, β) <= δ and β + e^(-β) s <= ε."""
        epsilon, delta = (decimal_of(Fraction(x) * (1 - _SLACK), DOWN) for x in (self.epsilon, self.delta))
        low, high = Decimal(0), epsilon
        with localcontext(_WORK):
            for _ in range(150):
                middle = (low + high) / 2
                one_way = middle + (-middle).exp() * self.shift <= epsilon
                kept = one_way and _laplace_delta(epsilon, self.shift, middle) <= delta
                low, high = (middle, high) if kept else (low, middle)
        return DOWN.plus(low)

    @property
    def published_beta(self) -> Decimal:
        """ε/(2 ln(2/δ)) of Nissim, Raskhodnikova and Smith, or ``beta`` where theirs is too large."""
        twice_logarithm = _UP.multiply(2, _UP.ln(decimal_of(2 / Fraction(self.delta), _UP)))
        return min(self.beta, DOWN.divide(decimal_of(self._promised, DOWN), twice_logarithm))

    @cached_property
    def shift(self) -> Decimal:
        return decimal_of((1 - self.share) * self._promised, DOWN)

    def _delta(self, weight: int) -> Fraction:
        if weight == 1:
            return Fraction(self.delta)
        spent = _laplace_delta(decimal_of(self._promised, DOWN), self.shift, self.beta, weight)
        return Fraction(_UP.plus(spent)) * (1 + 2 * _SLACK)

    @property
    def _deviation(self) -> float:
        return math.sqrt(2)

    def _ideal(self, z: Decimal, digits: int) -> Decimal:
        context = Context(prec=digits + 6)
        # copy_abs and copy_negate keep all digits; abs and minus would round to the caller's context.
        tail = context.divide(context.exp(z.copy_abs().copy_negate()), 2)
        return tail if z < 0 else context.subtract(1, tail)


class _HeavyTailed(SmoothNoise):
    """Student-t noise with any whole number of degrees of freedom, 1 being Cauchy's.  [SN.2]"""

    @property
    @abstractmethod
    def degrees(self) -> int:
        """d, the degrees of freedom."""

    @cached_property
    def beta(self) -> Decimal:
        """share * ε/d: at ε/d nothing would be left for the shift."""
        return decimal_of(self.share * self._promised / self.degrees, DOWN)

    @cached_property
    def shift(self) -> Decimal:
        """s = √(2d min(cosh η₀ - 1, e^β (cosh η - cosh β))), the largest that keeps the promise."""
        epsilon, d = decimal_of(self._promised, DOWN), self.degrees
        with localcontext(_WORK):
            standing = _cosh(2 * epsilon / (d + 1)) - 1
            moving = _cosh((2 * epsilon - (d - 1) * self.beta) / (d + 1)) - _cosh(self.beta)
            squared = 2 * d * min(standing, self.beta.exp() * moving)
            return DOWN.plus(squared.sqrt())

    @property
    def _deviation(self) -> float:
        return math.sqrt(self.degrees / (self.degrees - 2)) if self.degrees > 2 else math.inf

    def _ideal(self, z: Decimal, digits: int) -> Decimal:
        return student_cdf(z, self.degrees, digits)


@dataclass(frozen=True)
class SmoothStudentT(_HeavyTailed):
    """Student-t noise with finite variance: pure ε.  [SN.2]

    Parameters
    ----------
    degrees : int
        d > 2. Fewer allow a larger β, more have lighter tails; 4 has an algebraic distribution function.
    share : Fraction
        β = share * ε/d. Bounds that hardly grow with distance want a small share, fast ones about two thirds.
    """

    degrees: int = 4
    share: Fraction = Fraction(1, 3)

    def __post_init__(self) -> None:
        if not 3 <= self.degrees <= 64:
            raise BadPrivacyParameter(
                f"Student-t noise is offered with 3 to 64 degrees of freedom; got {self.degrees}. "
                "4 is the default, and SmoothCauchy has 1."
            )
        super().__post_init__()


@dataclass(frozen=True)
class SmoothCauchy(_HeavyTailed):
    """Cauchy noise, density proportional to 1/(1 + z²): pure ε, infinite variance.  [SN.3]

    β is the published ε/6; the published scale 6S/ε is private too, with six times the noise needed.
    """

    share: Fraction = Fraction(1, 6)

    @property
    def degrees(self) -> int:
        return 1


def student_cdf(z: Decimal, degrees: int, digits: int) -> Decimal:
    """Student's t distribution function, wrong by at most ``10**-digits``.

    With tan θ = z/√d it is a polynomial in sin θ and cos θ, and for odd d also in θ/π.
    """
    with localcontext(Context(prec=digits + 10)):
        square = degrees + z * z
        sine, cosine_squared = z / square.sqrt(), degrees / square
        term = total = Decimal(1)
        for m in range(2 + degrees % 2, degrees - 1, 2):
            term *= cosine_squared * (m - 1) / m
            total += term
        if degrees % 2 == 0:
            return (1 + sine * total) / 2
        product = sine * cosine_squared.sqrt() * total if degrees > 1 else 0
        return (_arctan(z / Decimal(degrees).sqrt()) + product) / _pi(digits + 10) + Decimal("0.5")


def _laplace_delta(epsilon: Decimal, shift: Decimal, beta: Decimal, weight: int = 1) -> Decimal:
    """D(ε, s, β), all times weight: what Laplace noise spends on a shift by s and a dilation by e^β.  [SN.1]"""
    with localcontext(_WORK):
        epsilon, shift, beta = weight * epsilon, weight * shift, weight * beta
        growth = beta.exp() - 1
        near, far = (epsilon + beta - shift) / growth, (epsilon + beta + shift) / growth
        return (1 - (-beta).exp()) * ((-near).exp() + (-far).exp()) / 2


def _cosh(x: Decimal) -> Decimal:
    return (x.exp() + (-x).exp()) / 2


def _arctan(x: Decimal) -> Decimal:
    """In the current context, with an error of some tens of units in the last place."""
    for _ in range(4):
        x = x / (1 + (1 + x * x).sqrt())
    square, power, odd = -x * x, x, 1
    total, sharper = Decimal(0), x
    while sharper != total:
        power, odd = power * square, odd + 2
        total, sharper = sharper, sharper + power / odd
    return 16 * total


@lru_cache(maxsize=64)
def _pi(digits: int) -> Decimal:
    with localcontext(Context(prec=digits + 4)):
        return 4 * _arctan(Decimal(1))


def decimal_of(value: Bound, context: Context) -> Decimal:
    """A number as a decimal, rounded as the context says."""
    if isinstance(value, Decimal):
        return context.plus(value)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
