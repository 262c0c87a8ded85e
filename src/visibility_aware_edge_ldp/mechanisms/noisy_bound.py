"""A noisy bound on the scale of another noise, so that an interval may be published.  [BOUND.1-4]"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, smallest
from visibility_aware_edge_ldp.mechanisms.smooth_noise import Bound, SmoothNoise, decimal_of

# The logarithm of a bound is told in steps of at most 1 over this; intervals are worked out in such steps too.
FINENESS = 128
# Told where no private bit can move the answer: a number that no bound has.
NO_NOISE = -(1 << 254)
_FINE, _UP = Context(prec=80), Context(prec=60, rounding=ROUND_CEILING, Emin=-(10**15), Emax=10**15)
# What rounding of the bound and of its logarithm may cost, far more than it does.
_SLACK = Decimal("1e-20")
# Noise on the logarithm that is rarer than this counts as missed.
_RARE, _DIGITS = 1e-12, 20
_FARTHEST = Decimal(300)


@dataclass(frozen=True)
class NoisyBound:
    """Tell ln S in whole steps, with discrete Laplace noise: S is the bound that ``noise`` was scaled by.  [BOUND.1]

    Parameters
    ----------
    noise
        The noise of the answer; its β says how far one private change moves ln S.
    epsilon
        What telling the bound costs a private change, beside what the answer costs.
    """

    noise: SmoothNoise
    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise BadPrivacyParameter(f"The bound's epsilon must be above 0; got {self.epsilon}.")

    @property
    def steps(self) -> int:
        """r: by how many steps one private change moves the number that is told."""
        return max(1, math.ceil(FINENESS * self.noise.beta))

    @cached_property
    def step(self) -> Decimal:
        """g: one step of ln S, a little more than β/r."""
        return _FINE.divide(_FINE.multiply(self.noise.beta, 1 + _SLACK), self.steps)

    @cached_property
    def told_noise(self) -> DiscreteLaplace:
        """The noise on the number of steps."""
        return DiscreteLaplace(self.epsilon, self.steps)

    def exact(self, bound: Bound) -> int:
        """⌈(ln S)/g⌉, before its noise; for S = 0 the number that means so.  [BOUND.1]"""
        if not bound:
            return NO_NOISE
        steps = _FINE.divide(_FINE.ln(decimal_of(bound, _FINE)), self.step)
        return int(steps.to_integral_value(ROUND_CEILING))

    def tell(self, bound: Bound, random_bytes: RandomBytes) -> int:
        """The number of steps with its noise: what may be published."""
        exact = self.exact(bound)
        return exact if exact == NO_NOISE else exact + self.told_noise.sample(random_bytes)

    def half_width(self, told: int, level: float) -> int:
        """Half of an interval about the answer that holds the true number with at least this chance.  [BOUND.3]"""
        if told == NO_NOISE:
            return 0
        exponent = _UP.add(self._logarithm(told), _UP.divide(covering_steps(self, level), FINENESS))
        # Decimal's exp rounds to nearest whatever the context says.
        reach = _UP.divide(_UP.next_plus(_UP.exp(exponent)), self.noise.shift)
        return int(_UP.add(reach, Decimal("0.5")))

    def _logarithm(self, told: int) -> Decimal:
        """ln S as it was told; beyond all numbers of subgraphs it is cut off, so that doubles hold what follows."""
        return min(_UP.multiply(self.step, told), _FARTHEST)

    def variance(self, told: int) -> float:
        """An estimate of the variance of the answer's noise, at most 1.6 % too large in the mean.  [BOUND.4]"""
        if told == NO_NOISE:
            return 0.0
        twice, rate = 2 * float(self.step), float(self.told_noise.rate)
        if twice >= rate or not math.isfinite(self.noise.standard_deviation(1)):
            return math.inf
        mean = math.expm1(-rate) ** 2 / (math.expm1(twice - rate) * math.expm1(-twice - rate))
        scale = float(_UP.exp(self._logarithm(told)))
        return (scale * self.noise.standard_deviation(1)) ** 2 / mean


@lru_cache(maxsize=256)
def covering_steps(bound: NoisyBound, level: float) -> int:
    """The least i such that c = e^{i/128} covers with at least this chance.  [BOUND.3]"""
    if not 0 < level < 1:
        raise BadPrivacyParameter(f"An interval's level must be above 0 and below 1; got {level}.")
    masses = _told_masses(bound)
    inside = lru_cache(maxsize=None)(lambda at: 1 - beyond(bound.noise, _UP.exp(Decimal(at) / FINENESS)))
    return smallest(lambda i: math.fsum(mass * inside(i + at) for at, mass in masses.items()) >= level, FINENESS // 2)


def beyond(noise: SmoothNoise, size: Decimal) -> float:
    """The chance that a noise at scale 1 is larger than this, before it is rounded to integers."""
    return 2 * float(noise._ideal(size.copy_negate(), _DIGITS))


def _told_masses(bound: NoisyBound) -> dict[int, float]:
    """How likely it is that the noise on ln S lies between each multiple of 1/128 and the next; rare ones left out."""
    rate, step = float(bound.told_noise.rate), float(bound.step)
    last = math.ceil(-math.log(_RARE) / rate * step * FINENESS)
    width = Fraction(1, FINENESS) / Fraction(bound.step)
    # The last whole number of steps below each multiple; the first and the last chance are left out.
    below = [math.ceil(at * width) - 1 for at in range(-last, last + 1)]
    chances = [float(bound.told_noise.cdf(k, _DIGITS)) for k in below]
    return {at - last: high - low for at, (low, high) in enumerate(pairwise(chances)) if high > low}
