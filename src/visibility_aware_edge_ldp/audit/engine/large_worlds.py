"""Worlds of 20 to 1,000 users: what real clients add noise to, which noise, and one edge's exact loss.  [LARGE.1-3]

Nothing is enumerated here. The client runs with coins that mean noise 0, and its numbers are read. The law that each
number's noise should have is overheard or taken from the survey, and then tried: every number gets a word of its own,
beside an end of the steps −1, 0 or 1 of that law, and must move by just that step. What is then compared between two
neighbouring worlds are exact laws.

Randomized bits get a word each, too, at the two words between which a flip begins.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.engine import findings, noise_laws
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import TAILS, WORDS, no_noise, words_then
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw, RandomBytes, keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.mechanisms.smooth_noise import Bound, SmoothNoise
from visibility_aware_edge_ldp.public.visibility import Visibility

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Edges = npt.NDArray[np.int32]
State = TypeVar("State")
# So many times every number is given a word beside an end of a step; each time another one.
TRIES = 3
# So near to an end of its step a word of any noise is still decided by doubles; with the closest words by digits.
FAST, CLOSEST = 1 << 30, noise_laws.CLOSEST
_DIGITS = 45
_EDGES = 6
_COMPARED = 9


@dataclass(frozen=True)
class Scaled:
    """Noise on a smooth bound, at this bound."""

    noise: SmoothNoise
    bound: Bound

    @property
    def law(self) -> IntegerLaw:
        return noise_laws.law_of(self.noise, self.bound)


Law = DiscreteLaplace | Scaled | None
"""The law of one number's noise; none where a word is drawn that must not matter."""


@dataclass(frozen=True, eq=False)
class Heard:
    """All numbers that are sent in one world, before their noise; and the laws of the first of them, in draw order."""

    centres: Ints
    laws: tuple[Law, ...]

    def law(self, place: int) -> Law:
        """A number without a law has no noise."""
        return self.laws[place] if place < len(self.laws) else None


def heard(send: noise_laws.Send, laws: Callable[[], Sequence[Law]], apart: int = FAST) -> Heard:
    """What a client sends without noise, and that it adds these noises: each to one number, from a word of its own.

    ``laws`` is asked after the first run, in which a client may have been overheard.  [LARGE.1]
    """
    still = send(no_noise)
    found = Heard(still, tuple(laws()))
    refuse_other_noise(send, found, apart)
    return found


def refuse_other_noise(send: noise_laws.Send, found: Heard, apart: int = FAST) -> None:
    """Stop the audit if some number does not move as its law says, at words so far from the ends of steps."""
    chosen = np.frombuffer(random_bytes_of("edges")(TRIES * len(found.laws)), np.uint8) % _EDGES
    for row in chosen.reshape(TRIES, -1).tolist():
        words = [edge_words(law, apart)[edge] for law, edge in zip(found.laws, row, strict=True)]
        steps = np.zeros(found.centres.size, np.int64)
        steps[: len(row)] = [(edge // 2 - 1) * (law is not None) for law, edge in zip(found.laws, row, strict=True)]
        if not np.array_equal(send(words_then(words, no_noise)), found.centres + steps):
            raise noise_laws.another_noise()


@lru_cache(maxsize=1 << 14)
def edge_words(law: Law, apart: int) -> tuple[int, ...]:
    """The first and the last word, but for so many, that mean −1, 0 and 1."""
    if law is None:
        return (noise_laws.FAR, WORDS - noise_laws.FAR) * 3
    below = [int(Fraction(law.law.cdf(k, _DIGITS)) * WORDS) for k in range(-2, 2)]
    steps = [(low, high, min(apart, (high - low) // 4)) for low, high in pairwise(below)]
    return tuple(word for low, high, inside in steps for word in (low + inside, high - inside))


# ── the loss of one edge ──


def losses_between(one: Heard, other: Heard) -> noise_laws.Pair:
    """Over all that may be sent: how much likelier the one world makes it, and the other.  [LARGE.2]

    Numbers have independent noises, so each adds its own.
    """
    if one.centres.shape != other.centres.shape or len(one.laws) != len(other.laws):
        return math.inf, math.inf
    moved = one.centres != other.centres
    moved[: len(one.laws)] |= [here != there for here, there in zip(one.laws, other.laws, strict=True)]
    up = down = 0.0
    for place in np.flatnonzero(moved).tolist():
        more, less = _apart(one.law(place), other.law(place), int(other.centres[place] - one.centres[place]))
        up, down = up + more, down + less
    return up, down


@lru_cache(maxsize=1 << 16)
def _apart(law: Law, law_too: Law, shift: int) -> noise_laws.Pair:
    """Two noises, the second around a centre that is so much higher."""
    if law is None or law_too is None or type(law) is not type(law_too):
        return math.inf, math.inf
    if isinstance(law, DiscreteLaplace) and isinstance(law_too, DiscreteLaplace):
        told = float(law.rate * abs(shift)) if law.rate == law_too.rate else math.inf
        return told, told
    if isinstance(law, Scaled) and isinstance(law_too, Scaled) and isinstance(law.noise, SmoothPower):
        if law.noise != law_too.noise:
            return math.inf, math.inf
        here, there = noise_laws.Noised(0, law.bound), noise_laws.Noised(shift, law_too.bound)
        return noise_laws.power_losses(law.noise, here, there)
    raise ProtocolViolation(f"The audit at size does not know how to compare {law}.")


@dataclass(frozen=True)
class Case:
    """What was found of one edge: its class, its loss, what was asked for, and what is billed."""

    kind: Visibility
    found: float
    asked: Fraction
    billed: Fraction

    @property
    def loss(self) -> findings.Loss:
        """Beside the smaller of the two."""
        return findings.as_asked(findings.Loss(str(self.kind), 0.0, self.found), self.asked, self.billed)


def finding_of(name: str, cases: Iterable[Case], about: str) -> findings.Finding:
    """The largest losses of all cases."""
    found = list(cases)
    return findings.exact_finding(name, [case.loss for case in found], len(found), about)


# ── randomized bits ──


@cache
def threshold_of(epsilon: Fraction) -> int:
    """How many of the 2^64 words may flip an answer at the least, so that it loses no more than this."""
    context = Context(prec=90, rounding=ROUND_CEILING)
    odds = context.exp(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))
    return int(context.divide(Decimal(WORDS), context.add(1, odds)).to_integral_value(ROUND_CEILING))


def bit_loss(threshold: int) -> float:
    """What one answer loses that so many words flip."""
    return math.log((WORDS - threshold) / threshold)


class Stream:
    """Random bytes that were written down before; who draws more or less than there are adds another noise."""

    def __init__(self, octets: bytes) -> None:
        self._left = memoryview(octets)

    def __call__(self, count: int) -> bytes:
        drawn, self._left = bytes(self._left[:count]), self._left[count:]
        if len(drawn) < count:
            raise noise_laws.another_noise()
        return drawn

    def refuse_rest(self) -> None:
        """Stop the audit if something is left."""
        if self._left:
            raise noise_laws.another_noise()


def flip_octets(threshold: int, flips: Bits, ties: Bits) -> bytes:
    """The bytes that answers at this threshold draw: first ones, then seven more where the first decides nothing.

    Where ``ties`` say so, the word is the last that flips or the first that does not; elsewhere its first byte is the
    last that surely flips or the first that surely does not.
    """
    head, tail = divmod(threshold, TAILS)
    at_edge = np.where(flips, tail > 0, True) & ties
    first = np.where(at_edge, head, np.where(flips, head - 1, head + 1)).astype(np.uint8)
    seven = {True: (tail - 1).to_bytes(7) if tail else b"", False: tail.to_bytes(7)}
    words = np.frombuffer(seven[True] + seven[False], np.uint8).reshape(-1, 7) if tail else np.zeros((2, 7), np.uint8)
    return first.tobytes() + words[np.where(flips, 0, 1)[at_edge]].tobytes()


def coin_bits(count: int, *labels: int | str) -> Bits:
    """So many fair coins, the same for the same labels."""
    drawn = np.frombuffer(keyed_random_bytes(seeded_key("large worlds", *labels))((count + 7) // 8), np.uint8)
    return np.unpackbits(drawn, count=count).view(np.bool_)


# ── the search for worlds in which much is lost ──


class Dice:
    """Random numbers that choose worlds, the same for the same labels."""

    def __init__(self, *labels: int | str) -> None:
        self._octets = random_bytes_of("dice", *labels)

    def shares(self, *shape: int) -> noise_laws.Floats:
        """Uniform numbers from 0 to 1."""
        words = np.frombuffer(self._octets(4 * math.prod(shape)), ">u4")
        return (words / 2.0**32).reshape(shape)

    def share(self) -> float:
        """One of them."""
        return float(self.shares(1)[0])

    def whole(self, low: int, high: int, count: int) -> Ints:
        """So many integers from low to below high."""
        return low + (self.shares(count) * (high - low)).astype(np.int64)

    def between(self, low: int, high: int | None = None) -> int:
        """One integer from low to below high, or from 0 to below the one number that is given."""
        return int(self.whole(*((0, low) if high is None else (low, high)), 1)[0])

    def pick(self, items: Sequence[int] | Ints) -> int:
        """One of these."""
        return int(items[self.between(len(items))])


def climb(
    start: State,
    score: Callable[[State], float],
    move: Callable[[State, Dice], State],
    steps: int,
    seed: int = 0,
) -> tuple[State, float]:
    """From a state, over so many random moves, those that do not lower the score: where it ends, and its score.

    Scores are compared by nine digits, so that no processor's last digit leads elsewhere.
    """
    coins, best = Dice(seed), start
    value = round(score(best), _COMPARED)
    for _ in range(steps):
        other = move(best, coins)
        found = round(score(other), _COMPARED)
        if found >= value:
            best, value = other, found
    return best, value


def joined(*pairs: tuple[Iterable[int], Iterable[int]]) -> set[tuple[int, int]]:
    """All positions between the users of the one group and those of the other, for each pair of groups."""
    return {
        (min(u, v), max(u, v))
        for one, other in ((list(a), list(b)) for a, b in pairs)
        for u in one
        for v in other
        if u != v
    }


def edge_array(pairs: Iterable[tuple[int, int]]) -> Edges:
    """A set of edges as clients hold them."""
    return np.array(sorted(pairs), np.int32).reshape(-1, 2)


def random_bytes_of(*labels: int | str) -> RandomBytes:
    """Seeded random bytes."""
    return keyed_random_bytes(seeded_key("large worlds", *labels))
