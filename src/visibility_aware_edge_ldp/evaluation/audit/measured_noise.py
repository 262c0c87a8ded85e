"""Which noise a client adds, found by the words that move its numbers; nothing that it says is believed.  [WALK.1]

Two runs find a number and confirm a supposed law: the first word that means a noise of 1 and the first that means −1
must be 2 apart. Narrower noise fails at the one, wider noise at the other. Where it fails, the noise is measured: by
one word far out, or by halving, and what is measured has to be confirmed too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.finding import Loss
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Floats, Words, no_noise
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.exact_sampling import IntegerLaw

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Send = Callable[[Coins], Ints]
"""From coins to the numbers that a client sends."""
_DIGITS, _WORDS = 45, 1 << 64
# So near to an end of its step a word is still decided by doubles, which is fast; with CLOSEST by digits.
NEAR, CLOSEST = 1 << 24, 2
# A word that moves every number, however narrow its noise; and with wide noise, far.
FAR = _WORDS - NEAR
_MANY = 1000


def another_noise() -> ProtocolViolation:
    """What is said wherever a noise is not what it should be."""
    return ProtocolViolation("A client adds another noise than the one that it is said to add.")


def beside(law: IntegerLaw) -> tuple[int, int]:
    """The first and the last word, but for two, that mean a noise of 1."""
    return _beside(law, CLOSEST)


@lru_cache(maxsize=4096)
def _beside(law: IntegerLaw, apart: int) -> tuple[int, int]:
    low, high = (int(Fraction(law.cdf(k, _DIGITS)) * _WORDS) for k in (0, 1))
    inside = min(apart, (high - low) // 4)
    return low + inside, high - inside


def both_sides(law: IntegerLaw, apart: int = CLOSEST) -> tuple[int, int]:
    """The first word, but for so many, that means a noise of 1, and the first that means −1: the laws are symmetric."""
    first, last = _beside(law, apart)
    return first, _WORDS - last


def moves(send: Send, still: Ints, words: Sequence[tuple[int, int]]) -> Ints:
    """By how much each number moves: 1 or 0 at both its words; a client for which they differ stops the audit."""
    one, other = (send(Words(each)) - still for each in zip(*words, strict=True)) if words else (still * 0, still * 0)
    if (one != other).any() or ((one != 0) & (one != 1)).any():
        raise another_noise()
    return one


def confirmed(send: Send, words: Sequence[Sequence[int]], noisy: Bits) -> Ints | None:
    """The numbers before their noise, if each noise is what these words say: beside its steps to 1 and to −1."""
    up, down = (send(Words(each)) for each in words)
    return up - noisy if np.array_equal(up - down, 2 * noisy) else None


# ── discrete Laplace noises of one epsilon, on whole scales ──


def counts_and_scales(send: Send, epsilon: Fraction, supposed: Ints) -> tuple[Ints, Ints]:
    """The numbers before their noise and its scales, 0 where there is none: those supposed, or what is measured."""
    counts = _with_scales(send, epsilon, supposed)
    if counts is not None:
        return counts, supposed
    still = send(no_noise)
    far = send(Words([FAR] * still.size)) - still
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
    ends = [beside(DiscreteLaplace(epsilon, scale).law) if scale else (FAR, FAR) for scale in scales.tolist()]
    return all(np.array_equal(send(Words(each)) - counts, scales > 0) for each in zip(*ends, strict=True))


@cache
def _scale_of(step: int, epsilon: Fraction) -> int:
    """The whole scale of a noise that gives this at the far word."""
    if step == 0:
        return 0
    low, high = 0, 1
    while _far_step(float(epsilon) / high) < step:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _far_step(float(epsilon) / middle) < step else (low, middle)
    return high


def _far_step(rate: float) -> int:
    return math.floor(-math.log((NEAR - 0.5) / _WORDS * (1 + math.exp(-rate))) / rate)


# ── discrete Laplace noises of any rate ──


def counts_and_rates(send: Send, supposed: Sequence[DiscreteLaplace]) -> tuple[Ints, Floats]:
    """The numbers before their noise and its rates, infinite where there is none: those supposed, or those measured."""
    words = zip(*(both_sides(_quick(noise).law) for noise in supposed), strict=True)
    counts = confirmed(send, list(words), np.ones(len(supposed), np.bool_))
    if counts is not None:
        return counts, np.array([float(noise.rate) for noise in supposed])
    still = send(no_noise)
    return still, _halved(send, still)


@cache
def _quick(noise: DiscreteLaplace) -> DiscreteLaplace:
    """The same noise after so many draws that its law has made its table."""
    noise.sample_many(_MANY, no_noise)
    return noise


def _halved(send: Send, still: Ints) -> Floats:
    """Where each number begins to move is F(0), which is 1/(1 + e^−rate); the step after that must end at F(1)."""
    noisy = send(Words([FAR] * still.size)) > still
    low, high = [_WORDS // 2] * still.size, [FAR] * still.size
    while max(up - down for down, up in zip(low, high, strict=True)) > 1:
        middle = [(down + up) // 2 for down, up in zip(low, high, strict=True)]
        moved = send(Words(middle)) > still
        low = [old if yes else new for old, new, yes in zip(low, middle, moved, strict=True)]
        high = [new if yes else old for old, new, yes in zip(high, middle, moved, strict=True)]
    rates = np.array([math.log(word / (_WORDS - word)) for word in high])
    for apart, step in ((-NEAR, 1), (NEAR, 2)):
        ends = [
            min(_second_edge(rate) + apart, _WORDS - 1) if yes else FAR for rate, yes in zip(rates, noisy, strict=True)
        ]
        if not np.array_equal(send(Words(ends)) - still, np.where(noisy, step, 0)):
            raise another_noise()
    return np.where(noisy, rates, math.inf)


def _second_edge(rate: float) -> int:
    return _WORDS - int(Fraction(math.exp(-2 * rate) / (1 + math.exp(-rate))) * _WORDS)


# ── what was asked for ──


def as_asked(loss: Loss, asked: Fraction, billed: Fraction) -> Loss:
    """A loss beside what was asked for and what the code bills: the less of both is the claim.

    A bill above what was asked for is a loss that nobody agreed to, so it is told as found.
    """
    over = float(billed) if billed > asked else 0.0
    return replace(loss, claimed=float(min(asked, billed)), found=max(loss.found, over))
