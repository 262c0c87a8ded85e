"""An exhaustive source of coins: the real client is run once for every outcome of the coins that it draws.  [AUDIT.2]

A coin is a draw of bytes whose outcomes were measured on the real sampler: for each outcome some bytes that bring it
about, and how many numbers of 64 or 128 bits do. Bytes lie beside the place where one outcome becomes the
next, so a client that draws with another mechanism than was measured does not get away with it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import TypeVar

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.exact_words import TAILS, WORDS, flipping_words, measured_edges
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse

# A measured edge is right to one number: with so many, an outcome's chance is right to twenty digits.
_ENOUGH = 1 << 80
Said = TypeVar("Said", bound=Hashable)
Law = dict[bytes, Fraction]
"""What can be said, with its exact probability; what is missing from 1 was not walked."""
Script = tuple[int, ...]
"""The number of the outcome of each coin, in the order in which they are drawn."""


@dataclass(frozen=True)
class Outcome:
    """What one coin may bring.

    Parameters
    ----------
    first, more
        The bytes handed out when the coin is drawn, and those that follow if the sampler asks for the rest.
    numbers, bits
        How many of the numbers of so many bits mean this outcome.
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
    """Coins that follow a script. Before each call of a client they are told which coins it may draw."""

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
        """Of all outcomes drawn so far together."""
        return Fraction(self._numbers, 1 << self._bits)

    @property
    def finished(self) -> bool:
        """Whether the whole script was used."""
        return self._used == len(self._script)

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
        if not coins.finished:
            raise ProtocolViolation("A client draws other coins when it is run again; its coins cannot be walked.")
        law[said] += coins.probability
    return dict(law)


def flip_coin(mechanism: RandomizedResponse) -> Coin:
    """The coin of one randomized response: keep or flip, at the two words where one becomes the other."""
    return cut_coin(flipping_words(mechanism))


@cache
def cut_coin(threshold: int) -> Coin:
    """A coin that asks only whether a word is below a threshold: outcome 0 is not, outcome 1 is."""
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
