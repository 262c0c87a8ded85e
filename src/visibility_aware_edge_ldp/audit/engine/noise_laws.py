"""How well two noisy integers can be told apart, and which noise a client adds to its numbers.  [WALK.1-3]

The noise of the real code is taken out by coins that mean 0, and put back as the exact law that its sampler follows:
exact laws with different centres and scales are compared.

Which noise is added is found by the words that move the numbers; nothing that a client says is believed.  [WALK.1]
Two runs find a number and confirm a supposed law: the first word that means a noise of 1 and the first that means −1
must be 2 apart. Narrower noise fails at the one, wider noise at the other. Where it fails, the noise is measured: by
one word far out, or by halving, and what is measured has to be confirmed too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import last_where, no_noise, words_then
from visibility_aware_edge_ldp.audit.engine.findings import largest
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw, Integers, RandomBytes
from visibility_aware_edge_ldp.mechanisms.smooth_noise import Bound, SmoothNoise

Bits = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Pair = tuple[float, float]
"""The largest logarithm of one law's probability over the other's, and of the other's over the one's."""
Send = Callable[[RandomBytes], Ints]
"""From coins to the numbers that a client sends."""
# Masses are differences of distribution functions; with so many digits they keep 15 far into the tails.
_DIGITS, _WORDS = 45, 1 << 64
# So far doubles are enough for the logarithms of power noise; the exact law is asked at both ends, and must agree to so
# much for the first, and in proportion to the window for wider ones: differences lose what their steps are smaller by.
_WIDE, _SHORT, _NEARLY = 1 << 21, 1024, 1e-10
# So near to an end of its step a word is still decided by doubles, which is fast; with CLOSEST by digits.
NEAR, CLOSEST = 1 << 24, 2
# A word that moves every number, however narrow its noise; and with wide noise, far.
FAR = _WORDS - NEAR
_MANY = 1000


class Noised(NamedTuple):
    """A number before its noise, and the bound that its noise is scaled by; 0 where there is no noise."""

    number: int
    bound: Bound


@dataclass(frozen=True)
class RecordingPower(SmoothPower):
    """The same noise, drawn in the same way, that also notes the bounds which it was asked for."""

    bounds: list[Bound] = field(default_factory=list, compare=False, repr=False)

    def sample(self, bound: Bound, coins: RandomBytes) -> int:
        self.bounds.append(bound)
        return super().sample(bound, coins)

    def sample_each(self, bounds: Floats, coins: RandomBytes) -> Integers:
        self.bounds.extend(Decimal(float(bound)) for bound in bounds)
        return super().sample_each(bounds, coins)


class RecordingNoise:
    """A noise on smooth bounds that notes which ones it is asked for."""

    def __init__(self, noise: SmoothNoise) -> None:
        self.noise, self.bounds = noise, list[Bound]()

    def law(self, bound: Bound) -> IntegerLaw:
        self.bounds.append(bound)
        return law_of(self.noise, bound)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.noise, name)


@cache
def law_of(noise: SmoothNoise, bound: Bound) -> IntegerLaw:
    """One law for all worlds with this bound."""
    return noise.law(bound)


# ── pure noises ──


def laplace_losses(one: tuple[int, DiscreteLaplace], other: tuple[int, DiscreteLaplace]) -> Pair:
    """Two numbers with discrete Laplace noise; without bound where the scales differ.  [WALK.2]"""
    (centre, noise), (centre_too, noise_too) = one, other
    outputs = range(min(centre, centre_too) - 1, max(centre, centre_too) + 2)
    ratios = [math.log(noise.probability(y - centre) / noise_too.probability(y - centre_too)) for y in outputs]
    # Far away the wider law's probabilities exceed the narrower one's by any factor.
    return (
        math.inf if noise.rate < noise_too.rate else largest(ratios),
        math.inf if noise.rate > noise_too.rate else largest(-ratio for ratio in ratios),
    )


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
    if half > _WIDE:
        return _logarithms([law.cdf(-k, _DIGITS) for k in range(half + 2)])
    ends: Floats = np.linspace(0.5, half + 0.5, half + 1) / float(noise.scale(bound))
    found: Floats = np.log(_masses(float(noise.alpha), ends))
    for k in {0, half}:
        (exact,) = _logarithms([law.cdf(-each, _DIGITS) for each in (k, k + 1)])
        if abs(found[k] - exact) > _NEARLY * max(1, half // _SHORT):
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


# ── which noise is added ──


def another_noise() -> ProtocolViolation:
    """What is said wherever a noise is not what it should be."""
    return ProtocolViolation("A client adds another noise than the one that it is said to add.")


@lru_cache(maxsize=4096)
def beside(law: IntegerLaw, apart: int = CLOSEST) -> tuple[int, int]:
    """The first and the last word, but for so many, that mean a noise of 1."""
    low, high = (int(Fraction(law.cdf(k, _DIGITS)) * _WORDS) for k in (0, 1))
    inside = min(apart, (high - low) // 4)
    return low + inside, high - inside


def step_words(law: IntegerLaw | None) -> tuple[int, int]:
    """The words that must move a number by 1; where there should be no noise, one that would show any."""
    return beside(law) if law is not None else (FAR, FAR)


def both_sides(law: IntegerLaw, apart: int = CLOSEST) -> tuple[int, int]:
    """The first word, but for so many, that means a noise of 1, and the first that means −1: the laws are symmetric."""
    first, last = beside(law, apart)
    return first, _WORDS - last


def moves(send: Send, still: Ints, words: Sequence[tuple[int, int]]) -> Ints:
    """By how much each number moves: 1 or 0 at both its words; a client for which they differ stops the audit."""
    one, other = (
        (send(words_then(each, no_noise)) - still for each in zip(*words, strict=True))
        if words
        else (still * 0, still * 0)
    )
    if (one != other).any() or ((one != 0) & (one != 1)).any():
        raise another_noise()
    return one


def confirmed(send: Send, words: Sequence[Sequence[int]], noisy: Bits) -> Ints | None:
    """The numbers before their noise, if each noise is what these words say: beside its steps to 1 and to −1."""
    up, down = (send(words_then(each, no_noise)) for each in words)
    return up - noisy if np.array_equal(up - down, 2 * noisy) else None


# ── discrete Laplace noises of one epsilon, on whole scales ──


def counts_and_scales(send: Send, epsilon: Fraction, supposed: Ints) -> tuple[Ints, Ints]:
    """The numbers before their noise and its scales, 0 where there is none: those supposed, or what is measured."""
    counts = _with_scales(send, epsilon, supposed)
    if counts is not None:
        return counts, supposed
    still = send(no_noise)
    far = send(words_then([FAR] * still.size, no_noise)) - still
    measured = np.array([_scale_of(int(step), epsilon) for step in far], np.int64)
    counts = _with_scales(send, epsilon, measured)
    if counts is None or not np.array_equal(counts, still):
        raise another_noise()
    return counts, measured


def _with_scales(send: Send, epsilon: Fraction, scales: Ints) -> Ints | None:
    return confirmed(send, _to_both_sides(epsilon, tuple(scales.tolist())), scales > 0)


@cache
def _to_both_sides(epsilon: Fraction, scales: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """For every number both its words; where there should be no noise, two that would show any."""
    silent = FAR, _WORDS - FAR
    each = [both_sides(DiscreteLaplace(epsilon, scale).law, NEAR) if scale else silent for scale in scales]
    return tuple(zip(*each, strict=True))


def closely(send: Send, counts: Ints, epsilon: Fraction, scales: Ints) -> bool:
    """Whether the numbers move by 1 at the nearest words to both ends of these noises' steps, the silent ones never."""
    ends = [step_words(DiscreteLaplace(epsilon, scale).law if scale else None) for scale in scales.tolist()]
    return all(
        np.array_equal(send(words_then(each, no_noise)) - counts, scales > 0) for each in zip(*ends, strict=True)
    )


@cache
def _scale_of(step: int, epsilon: Fraction) -> int:
    """The whole scale of a noise that gives this at the far word."""
    if step == 0:
        return 0
    high = 1
    while _far_step(float(epsilon) / high) < step:
        high *= 2
    return last_where(lambda scale: _far_step(float(epsilon) / scale) < step, high // 2, high) + 1


def _far_step(rate: float) -> int:
    return math.floor(-math.log((NEAR - 0.5) / _WORDS * (1 + math.exp(-rate))) / rate)


# ── discrete Laplace noises of any rate ──


def counts_and_rates(send: Send, supposed: Sequence[DiscreteLaplace]) -> tuple[Ints, Floats]:
    """The numbers before their noise and its rates, infinite where there is none: those supposed, or those measured."""
    words = zip(*(both_sides(quick(noise).law) for noise in supposed), strict=True)
    counts = confirmed(send, list(words), np.ones(len(supposed), np.bool_))
    if counts is not None:
        return counts, np.array([float(noise.rate) for noise in supposed])
    still = send(no_noise)
    return still, _halved(send, still)


@cache
def quick(noise: DiscreteLaplace) -> DiscreteLaplace:
    """The same noise, one for all, after so many draws that its law has made its table."""
    noise.sample_many(_MANY, no_noise)
    return noise


def _halved(send: Send, still: Ints) -> Floats:
    """Where each number begins to move is F(0), which is 1/(1 + e^−rate); the step after that must end at F(1)."""
    noisy = send(words_then([FAR] * still.size, no_noise)) > still
    low, high = [_WORDS // 2] * still.size, [FAR] * still.size
    while max(up - down for down, up in zip(low, high, strict=True)) > 1:
        middle = [(down + up) // 2 for down, up in zip(low, high, strict=True)]
        moved = send(words_then(middle, no_noise)) > still
        low = [old if yes else new for old, new, yes in zip(low, middle, moved, strict=True)]
        high = [new if yes else old for old, new, yes in zip(high, middle, moved, strict=True)]
    rates = np.array([math.log(word / (_WORDS - word)) for word in high])
    # F(1) is 1 less this.
    beyond = np.exp(-2 * rates) / (1 + np.exp(-rates))
    second = [_WORDS - int(Fraction(each) * _WORDS) for each in beyond]
    for apart, step in ((-NEAR, 1), (NEAR, 2)):
        ends = [min(end + apart, _WORDS - 1) if yes else FAR for end, yes in zip(second, noisy, strict=True)]
        if not np.array_equal(send(words_then(ends, no_noise)) - still, np.where(noisy, step, 0)):
            raise another_noise()
    return np.where(noisy, rates, math.inf)
