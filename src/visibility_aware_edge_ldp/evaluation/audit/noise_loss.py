"""How well two noisy integers can be told apart: exact laws with different centres and scales.  [WALK.1-3]

The noise of the real code is taken out by coins that mean 0, and put back as the exact law that its sampler follows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.finding import Finding, Loss, largest
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.exact_sampling import IntegerLaw, Integers
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import Bound
from visibility_aware_edge_ldp.public.visibility import Visibility

Floats = npt.NDArray[np.float64]
Pair = tuple[float, float]
"""The largest logarithm of one law's probability over the other's, and of the other's over the one's."""
# Masses are differences of distribution functions; with so many digits they keep 15 far into the tails.
_DIGITS = 45
# So far doubles are enough for the logarithms of power noise, right to so much; the exact law is asked at both ends.
_SHORT, _NEARLY = 1024, 1e-10


class Noised(NamedTuple):
    """A number before its noise, and the bound that its noise is scaled by; 0 where there is no noise."""

    number: int
    bound: Bound


@dataclass(frozen=True)
class Overheard(SmoothPower):
    """The same noise, drawn in the same way, that also notes the bounds which it was asked for."""

    bounds: list[Bound] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, noise: SmoothPower) -> Overheard:
        return cls(noise.epsilon, noise.share)

    def sample(self, bound: Bound, coins: Coins) -> int:
        self.bounds.append(bound)
        return super().sample(bound, coins)

    def sample_each(self, bounds: Floats, coins: Coins) -> Integers:
        self.bounds.extend(Decimal(float(bound)) for bound in bounds)
        return super().sample_each(bounds, coins)


def no_noise(count: int) -> bytes:
    """Coins whose 64-bit words are all one half: every symmetric noise is 0 there.  [WALK.1]"""
    return (b"\x80" + bytes(7)) * (count // 8) + b"\x80" * (count % 8)


class Words:
    """Coins whose first 64-bit words are given, and mean no noise from there on."""

    def __init__(self, words: Sequence[int]) -> None:
        self._left = b"".join(word.to_bytes(8) for word in words)

    def __call__(self, count: int) -> bytes:
        taken, self._left = self._left[:count], self._left[count:]
        return taken + no_noise(count - len(taken))


def check_noise(numbers: Callable[[Coins], Sequence[int]], laws: Sequence[IntegerLaw]) -> None:
    """Whether a client's numbers move by 1 exactly where these laws do, drawn in this order.  [WALK.1]

    A client that asks for one noise and adds another, or a part of it, stops the audit here.
    """
    still = list(numbers(no_noise))
    for beside in (_first_word, _last_word):
        if list(numbers(Words([beside(law) for law in laws]))) != [number + 1 for number in still]:
            raise ProtocolViolation("A client adds another noise than the one that it is said to add.")


def _first_word(law: IntegerLaw) -> int:
    return int(Fraction(law.cdf(0, _DIGITS)) * 2**64) + 2


def _last_word(law: IntegerLaw) -> int:
    return int(Fraction(law.cdf(1, _DIGITS)) * 2**64) - 2


# ── pure noises ──


def laplace_losses(one: tuple[int, DiscreteLaplace], other: tuple[int, DiscreteLaplace]) -> Pair:
    """Two numbers with discrete Laplace noise; without bound where the scales differ.  [WALK.2]"""
    near = _nearby(one, other)
    rate, rate_too = one[1].rate, other[1].rate
    # Far away the wider law's probabilities exceed the narrower one's by any factor.
    return math.inf if rate < rate_too else near[0], math.inf if rate > rate_too else near[1]


def _nearby(one: tuple[int, DiscreteLaplace], other: tuple[int, DiscreteLaplace]) -> Pair:
    (centre, noise), (centre_too, noise_too) = one, other
    outputs = range(min(centre, centre_too) - 1, max(centre, centre_too) + 2)
    ratios = [math.log(noise.probability(y - centre) / noise_too.probability(y - centre_too)) for y in outputs]
    return largest(ratios), largest(-ratio for ratio in ratios)


def power_losses(noise: SmoothPower, one: Noised, other: Noised) -> Pair:
    """Two numbers with power noise on their own bounds: a window over both cores, and the limit beyond.  [WALK.3]"""
    if one == other:
        return 0.0, 0.0
    if not (one.bound and other.bound):
        return math.inf, math.inf
    shift = other.number - one.number
    reach = abs(shift) + int(max(noise.scale(one.bound), noise.scale(other.bound))) + 2
    outputs = np.arange(-reach, reach + shift + 1) if shift > 0 else np.arange(-reach + shift, reach + 1)
    half = 1 << (reach + abs(shift)).bit_length()
    masses, masses_too = (_log_masses(noise, bound, half) for bound in (one.bound, other.bound))
    ratios = masses[np.abs(outputs)] - masses_too[np.abs(outputs - shift)]
    at_infinity = float(noise.alpha) * math.log(one.bound / other.bound)  # type: ignore[operator]
    return largest([float(ratios.max()), at_infinity]), largest([float(-ratios.min()), -at_infinity])


@cache
def _log_masses(noise: SmoothPower, bound: Bound, half: int) -> Floats:
    """The logarithms of the probabilities of 0, ±1, … ±half: in doubles, if those agree with the exact law."""
    law = noise.law(bound)
    if half > _SHORT:
        return _logarithms([law.cdf(-k, _DIGITS) for k in range(half + 2)])
    ends: Floats = np.linspace(0.5, half + 0.5, half + 1) / float(noise.scale(bound))
    found: Floats = np.log(_masses(float(noise.alpha), ends))
    for k in {0, half}:
        (exact,) = _logarithms([law.cdf(-each, _DIGITS) for each in (k, k + 1)])
        if abs(found[k] - exact) > _NEARLY:
            raise ProtocolViolation(f"{noise} does not have the density that the audit believes it to have.")
    return found


def _logarithms(below: list[Decimal]) -> Floats:
    return np.array([float((high - low).ln()) for high, low in pairwise(below)])


def _masses(alpha: float, ends: Floats) -> Floats:
    """Of power noise of scale 1: the chance to be within the first of these distances, then between each and the next.

    Beyond distance 1 the tail begins. Differences of powers are taken as powers times e^x − 1, so nothing cancels.
    """
    joint = (1 - 1 / alpha) ** (alpha - 1)
    inner = _falls(1 - np.minimum(ends, 1) / alpha, alpha)
    outer = _falls((1 + np.maximum(ends, 1) / alpha) / (1 + 1 / alpha), -alpha) * joint * (1 + 1 / alpha)
    found: Floats = (inner + outer) / (2 + 4 * joint / alpha)
    found[0] *= 2
    return found


def _falls(bases: Floats, power: float) -> Floats:
    """By how much this power falls from each base to the next, the first of them 1."""
    logarithms = np.concatenate([[0.0], power * np.log(bases)])
    falls: Floats = -np.exp(logarithms[:-1]) * np.expm1(np.diff(logarithms))
    return falls


# ── noises with a delta ──


@dataclass(frozen=True, eq=False)
class Walked:
    """A law on a window of integers, and the probability that lies outside."""

    start: int
    masses: Floats
    outside: float

    def over(self, start: int, stop: int) -> Floats:
        """The probabilities of start … stop − 1, zero outside the window."""
        found = np.zeros(stop - start)
        at = self.start - start
        found[at : at + self.masses.size] = self.masses
        return found


def walked(number: int, law: IntegerLaw, half: int) -> Walked:
    """The exact law of a number plus symmetric noise, up to ``half`` from it."""
    below = [law.cdf(k, _DIGITS) for k in range(-half - 1, half + 1)]
    masses = np.array([float(high - low) for low, high in pairwise(below)])
    return Walked(number - half, masses, float(2 * below[0]))


def spent_delta(one: Walked, other: Walked, epsilon: float) -> float:
    """The least δ beside this ε, in the worse direction; all that was not walked counts in full.  [WALK.4]"""
    start = min(one.start, other.start)
    stop = max(law.start + law.masses.size for law in (one, other))
    p, q = one.over(start, stop), other.over(start, stop)
    exceeding = (np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))
    return largest(float(x) + law.outside for x, law in zip(exceeding, (one, other), strict=True))


def least_epsilon(one: Walked, other: Walked, delta: float, most: float) -> float:
    """The least ε beside this δ, up to ``most``; infinite where even that is not enough, NaN if that is unknown."""
    spent = spent_delta(one, other, most)
    if math.isnan(spent) or spent > delta:
        return largest([math.inf, spent])
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if spent_delta(one, other, middle) <= delta else (middle, high)
    return high


# ── what is reported ──


def loss_of(kind: Visibility, claimed: float, found: float, deltas: Pair = (0.0, 0.0)) -> Loss:
    """A loss by the class itself; ``deltas`` are the claimed and the found one."""
    return Loss(str(kind), claimed, found, *deltas)


def worst(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """For each class the loss that comes nearest to its claim, or exceeds it most; one that is not a number first."""
    claims: dict[tuple[str, float, float], Loss] = {}
    for loss in losses:
        key = (loss.kind, loss.claimed, loss.claimed_delta)
        other = claims.get(key, loss)
        found = largest([loss.found, other.found]), largest([loss.found_delta, other.found_delta])
        claims[key] = replace(loss, found=found[0], found_delta=found[1])
    kinds: dict[str, list[Loss]] = defaultdict(list)
    for loss in claims.values():
        kinds[loss.kind].append(loss)
    return tuple(max(kinds[kind], key=_rank) for kind in sorted(kinds, reverse=True))


def _part(loss: Loss) -> float:
    """How much of its claim a loss uses up."""
    spent = loss.found_delta / loss.claimed_delta if loss.claimed_delta else math.inf if loss.found_delta else 0.0
    return largest([loss.found / loss.claimed, spent])


def _rank(loss: Loss) -> tuple[bool, float]:
    part = _part(loss)
    return math.isnan(part), part


def exact_finding(name: str, losses: Iterable[Loss], cases: int, about: str) -> Finding:
    """The finding of an exact audit."""
    return Finding(name, "exact", worst(losses), cases, about)
