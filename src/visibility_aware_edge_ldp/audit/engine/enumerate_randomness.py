"""An exhaustive source of coins: the real client is run once for every outcome of the coins that it draws.  [AUDIT.2]

A coin is a draw of bytes whose outcomes were measured on the real sampler: for each outcome some bytes that bring it
about, and how many numbers of 64 or 128 bits do. Bytes lie beside the place where one outcome becomes the
next, so a client that draws with another mechanism than was measured does not get away with it.

What a sampler does with its words is found by trying: nothing that it says of itself is believed.  [AUDIT.3]
Other sources of bytes are seeded, or their first words are given.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import TypeVar

import numpy as np

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes, seeded_key

# A measured edge is right to one number: with so many, an outcome's chance is right to twenty digits.
_ENOUGH = 1 << 80
Said = TypeVar("Said", bound=Hashable)
Law = dict[bytes, Fraction]
"""What can be said, with its exact probability; what is missing from 1 was not walked."""
Script = tuple[int, ...]
"""The number of the outcome of each coin, in the order in which they are drawn."""
WORDS = 1 << 64
# Numbers of two words: edges of integer noises are measured among them.
NUMBERS = 1 << 128
TAILS = 1 << 56
Sampler = Callable[[RandomBytes], int]
# Beyond the words: a noise of this many bits' rarity is tried too.
_FAR_BITS = 192
_DIGITS, _CLOSE = 120, Decimal("1e-40")


def fresh_coins(seed: str, *labels: int | str) -> RandomBytes:
    """Random bytes of their own for every answer."""
    return keyed_random_bytes(seeded_key(seed, *labels))


def no_noise(count: int) -> bytes:
    """Random bytes whose 64-bit words are all one half: every symmetric noise is 0 there.  [WALK.1]"""
    return (b"\x80" + bytes(7)) * (count // 8) + b"\x80" * (count % 8)


def words_then(words: Iterable[int], rest: RandomBytes = lambda count: b"\x5a" * count) -> RandomBytes:
    """Random bytes that give these 64-bit words and then the rest, by default one byte for ever."""
    left = b"".join(word.to_bytes(8) for word in words)

    def draw(count: int) -> bytes:
        nonlocal left
        drawn, left = left[:count], left[count:]
        return drawn + rest(count - len(drawn))

    return draw


def words_of(number: int, bits: int) -> list[int]:
    """A number of so many bits as 64-bit words, the highest first."""
    return [number >> shift & ((1 << 64) - 1) for shift in range(bits - 64, -1, -64)]


def beginning(word: int, coins: RandomBytes) -> RandomBytes:
    """Random bytes whose every draw begins with this 64-bit word: it decides a noise, 2^63 one near 0."""
    return lambda count: (word.to_bytes(8, "big") + coins(count))[:count]


def with_words_again(coins: RandomBytes) -> RandomBytes:
    """A mutant's: whatever was drawn first is handed out again, draw after draw."""
    drawn: list[bytes] = []

    def draw(count: int) -> bytes:
        if not drawn:
            drawn.append(coins(count))
        return (drawn[0] * -(-count // max(1, len(drawn[0]))))[:count]

    return draw


@cache
def flipping_words(mechanism: RandomizedResponse, bit: int = 0) -> int:
    """How many of the 2^64 words flip this bit: every first byte is tried, and every tie bisected.  [AUDIT.3]"""
    return sum(_flipping_tails(mechanism, bit, byte) for byte in range(256))


def _flipping_tails(mechanism: RandomizedResponse, bit: int, byte: int) -> int:
    """How many of the 2^56 words that begin with this byte flip."""

    def flips(tail: int) -> bool:
        left = [bytes([byte]), tail.to_bytes(7)]
        answer = mechanism.randomize(np.array([bit], np.bool_), lambda count: left.pop(0) if count else b"")
        return bool(answer[0] != bit)

    if flips(0) == flips(TAILS - 1):
        return TAILS * flips(0)
    return last_where(flips, 0, TAILS - 1) + 1


def last_where(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The last integer at which a condition holds that holds at ``low``, ends once, and does not hold at ``high``."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def measured_edges(sample: Sampler, cdf: Callable[[int, int], Decimal], first: int, last: int) -> list[int]:
    """How many of the 2^128 numbers give at most k, for k from ``first`` − 1 to ``last``.

    The stated law only says where to look.
    """
    return [measured_edge(sample, k, int(Fraction(cdf(k, 60)) * NUMBERS)) for k in range(first - 1, last + 1)]


def measured_edge(sample: Sampler, k: int, guess: int) -> int:
    """How many of the 2^128 numbers a sampler turns into at most k, by bisection; right to one.  [AUDIT.3]"""

    def beyond(number: int) -> bool:
        return number >= NUMBERS or (number >= 0 and sample(words_then(words_of(number, 128))) > k)

    step, low, high = 2, guess - 2, guess + 2
    while beyond(low):
        step, low, high = 4 * step, low - 4 * step, low
    while not beyond(high):
        step, low, high = 4 * step, high, high + 4 * step
    return min(max(0, last_where(lambda number: not beyond(number), low, high) + 1), NUMBERS)


@cache
def tail_is_geometric(mechanism: DiscreteLaplace, window: int, shift: int = 1, sample: Sampler | None = None) -> bool:
    """Whether the noise falls by the same factor at each step from ``window`` − ``shift`` on.  [AUDIT.4]

    Looked at on both sides, in what the mechanism states and in what the sampler draws.
    """
    places = [*range(window - shift, window), *_far_places(mechanism, window)]
    signed = [(side, k) for k in places for side in (-1, 1)]

    def stated(k: int) -> Decimal:
        return mechanism.cdf(k, _DIGITS) - mechanism.cdf(k - 1, _DIGITS)

    with localcontext(prec=_DIGITS):
        factor = (Decimal(-mechanism.rate.numerator) / mechanism.rate.denominator).exp()
        ratios = (stated(side * (k + 1)) / stated(side * k) for side, k in signed)
        falls = all(abs(ratio / factor - 1) < _CLOSE for ratio in ratios)
    return falls and all(drawn_as_stated(sample or mechanism.sample, mechanism.cdf, side * k) for side, k in signed)


def _far_places(mechanism: DiscreteLaplace, window: int) -> list[int]:
    """Some noises from the window's end to the rarest that 192 bits can draw, each twice as far as the last."""
    places, farthest = [window], _FAR_BITS * math.log(2) / float(mechanism.rate)
    while places[-1] < farthest:
        places.append(2 * places[-1] + 1)
    return places[:-1] or [window]


def drawn_as_stated(sample: Sampler, cdf: Callable[[int, int], Decimal], k: int) -> bool:
    """Whether the integer changes from k to k + 1 exactly where the stated law says, to 256 bits."""
    place = int(Fraction(cdf(k, _DIGITS)) * (1 << 256))

    def drawn(number: int) -> int:
        return sample(words_then(words_of(number, 256)))

    return (drawn(place - 16), drawn(place + 16)) == (k, k + 1)


@dataclass(frozen=True)
class Outcome:
    """What one coin may bring.

    ``first`` are the bytes handed out when the coin is drawn, ``more`` those that follow if the sampler asks for the
    rest; ``numbers`` of the numbers of so many ``bits`` mean this outcome.
    """

    first: bytes
    more: bytes
    numbers: int
    bits: int


Coin = tuple[Outcome, ...]
Batch = Sequence[Coin]
"""Coins that are drawn by one call."""


class ScriptTooShort(Exception):  # noqa: N818 — a question, not an error
    """More coins are drawn than the script says; carries how many outcomes each of them has."""


class ScriptedCoins:
    """Random bytes that follow a script. Before each call of a client they are told which coins it may draw."""

    def __init__(self, script: Script) -> None:
        self._script, self._used = script, 0
        self._offered: list[Batch] = []
        self._more = b""
        self._numbers, self._bits = 1, 0

    def offer(self, batches: Iterable[Batch]) -> None:
        """The next draws may be these, one batch after the other; what was offered before is withdrawn."""
        self._offered, self._more = list(batches), b""

    def __call__(self, count: int) -> bytes:
        if count == 0:
            return b""
        if count == len(self._more):
            more, self._more = self._more, b""
            return more
        return self._draw(count)

    @property
    def probability(self) -> Fraction:
        """Of all outcomes of the script together, all of which must have been drawn."""
        if self._used != len(self._script):
            raise ProtocolViolation("A client draws other coins when it is run again; its coins cannot be walked.")
        return Fraction(self._numbers, 1 << self._bits)

    def _draw(self, count: int) -> bytes:
        batch = self._offered.pop(0) if self._offered else ()
        left = self._script[self._used :]
        if len(left) < len(batch):
            raise ScriptTooShort([len(coin) for coin in batch[len(left) :]])
        drawn = [coin[number] for coin, number in zip(batch, left, strict=False)]
        first, self._more = b"".join(one.first for one in drawn), b"".join(one.more for one in drawn)
        if len(first) != count:
            raise ProtocolViolation(f"A client drew {count} bytes of coins where {len(first)} were due.")
        self._used += len(batch)
        self._numbers *= math.prod(one.numbers for one in drawn)
        self._bits += sum(one.bits for one in drawn)
        return first


def walk(play: Callable[[ScriptedCoins], Said]) -> dict[Said, Fraction]:
    """Run a play once for every script that it can use: the exact law of what it says.  [AUDIT.2]"""
    law: dict[Said, Fraction] = defaultdict(Fraction)
    scripts: list[Script] = [()]
    while scripts:
        script = scripts.pop()
        coins = ScriptedCoins(script)
        try:
            said = play(coins)
        except ScriptTooShort as short:
            scripts += [(*script, *more) for more in product(*map(range, short.args[0]))]
            continue
        law[said] += coins.probability
    return dict(law)


@cache
def flip_coin(mechanism: RandomizedResponse) -> Coin:
    """The coin of one randomized response: keep or flip, at the two words where one becomes the other."""
    threshold = flipping_words(mechanism)
    head = threshold >> 56

    def beside(word: int, words: int) -> Outcome:
        first, tail = divmod(word, TAILS)
        return Outcome(bytes([first]), tail.to_bytes(7) if first == head else b"", words, 64)

    outcomes = [(threshold, WORDS - threshold), (threshold - 1, threshold)]
    return tuple(beside(word, words) for word, words in outcomes if words)


@cache
def cuts_coin(*thresholds: int) -> Coin:
    """One word that is compared with several thresholds, by a first byte that decides every comparison."""
    edges = [0, *sorted(thresholds), WORDS]
    middles = [(low + high) // 2 for low, high in pairwise(edges)]
    heads = {threshold >> 56 for threshold in thresholds}
    if heads & {middle >> 56 for middle in middles}:
        raise ProtocolViolation("These thresholds are too close for one byte to tell them apart; use other epsilons.")
    spans = [high - low for low, high in pairwise(edges)]
    return tuple(Outcome(bytes([m >> 56]), b"", span, 64) for m, span in zip(middles, spans, strict=True))


@cache
def column_coin(columns: int) -> Coin:
    """A uniform column of a power of two, drawn as a 32-bit word whose upper bits must not matter."""
    upper, bits = 0xABCD0000 & ~(columns - 1), columns.bit_length() - 1
    return tuple(Outcome((upper | column).to_bytes(4, "little"), b"", 1, bits) for column in range(columns))


@cache
def noise_coin(mechanism: DiscreteLaplace, window: int) -> Coin:
    """The coin of an integer noise: outcome i stands for the noise i − window.

    What lies outside the window is not walked. The word handed out is among the first of its outcome that need no
    further coins to be decided.
    """
    spans = list(pairwise(measured_edges(mechanism.sample, mechanism.cdf, -window, window)))
    if any(high - low < _ENOUGH for low, high in spans):
        raise ProtocolViolation(f"{mechanism} has too few words near {window} to be walked; walk a smaller window.")
    return tuple(Outcome((low // WORDS + 2).to_bytes(8), b"", high - low, 128) for low, high in spans)
