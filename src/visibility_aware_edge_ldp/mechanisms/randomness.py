"""Random bytes, and exact draws of integers from any distribution function that can be computed.  [DL.3]

Randomness is an argument of the humblest type: a function from a number of bytes to that many
bytes. Where real people's bits are answered it is AES-256 in counter mode under a fresh key from
the operating system; in a simulation the key comes from a seed; in the exact audit it is an
enumerator. The mechanisms cannot tell which.

A uniform number is drawn bit by bit, only as far as a question needs, and compared with values of
the distribution function that are computed, digit by digit, only as far as the answer needs. Every
comparison is certain, so what is drawn has exactly the distribution that the proof is about.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation

RandomBytes = Callable[[int], bytes]
"""From a number of bytes to that many bytes, each drawn anew."""
# What is encrypted; kept, because fresh zeros from the operating system cost more than the encryption.
_ZEROS = memoryview(bytes(1 << 20))

Integers = npt.NDArray[np.int64]
CumulativeDistribution = Callable[[int, int], Decimal]
"""``F(k, digits)``: the probability of at most k, wrong by at most ``10**-digits``."""

_WORD = 1 << 64
_TABLE_HALF = 1 << 13
_TABLE_DIGITS = 30
_OUTSIDE_TABLE = Fraction(1, 1 << 20)
_FARTHEST = (1 << 63) - 1
_ROOMY = Context(prec=10**6)


def all_random_bytes(random_bytes: RandomBytes, count: int) -> bytes:
    """So many random bytes and no fewer: where some are missing, a bit would be sent as it is, or with less noise."""
    found = random_bytes(count)
    if len(found) != count:
        raise ProtocolViolation(f"{count} bytes of coins were asked for and {len(found)} came; nothing was drawn.")
    return found


def keyed_random_bytes(key: bytes) -> RandomBytes:
    """The AES-256-CTR keystream of a 32-byte key: the same key gives the same bytes."""
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def draw(count: int) -> bytes:
        if count <= len(_ZEROS):
            return stream.update(_ZEROS[:count])
        return b"".join(stream.update(_ZEROS[: count - start]) for start in range(0, count, len(_ZEROS)))

    return draw


def secure_random_bytes() -> RandomBytes:
    """Random bytes that nobody can repeat: a fresh key from the operating system, and a new one after a fork.

    A forked child inherits its parent's keystream; two processes answering with the same bytes
    would undo each other's noise, so the key belongs to one process identity.
    """
    owner, stream = os.getpid(), keyed_random_bytes(os.urandom(32))

    def draw(count: int) -> bytes:
        nonlocal owner, stream
        if os.getpid() != owner:
            owner, stream = os.getpid(), keyed_random_bytes(os.urandom(32))
        return stream(count)

    return draw


def seeded_key(seed: int | str, *labels: int | str) -> bytes:
    """A key for a simulation, one per (seed, labels): experiments repeat, streams never overlap."""
    text = "\x1f".join(["va-edge-ldp simulation", str(seed), *map(str, labels)])
    return hashlib.sha256(text.encode()).digest()


Coins = RandomBytes
keyed_coins, secure_coins = keyed_random_bytes, secure_random_bytes


@dataclass(frozen=True)
class IntegerLaw:
    """A distribution on the integers, known by its cumulative distribution function.

    Parameters
    ----------
    cdf : (k, digits) -> Decimal
        The probability of at most ``k``, wrong by at most ``10**-digits``.
    stride : int
        About the width of the distribution; the search starts with steps of this length.
    table_pays : int
        From how many draws on a table of thresholds is cheaper than so many searches.
    """

    cdf: CumulativeDistribution
    stride: int = 1
    table_pays: int = 500

    def sample(self, random_bytes: RandomBytes) -> int:
        """One integer with exactly this distribution.  [DL.3]"""
        return self.place(int.from_bytes(all_random_bytes(random_bytes, 8)), random_bytes)

    def sample_many(self, count: int, random_bytes: RandomBytes) -> Integers:
        """``count`` independent integers, from a table of 64-bit thresholds wherever it decides.

        Values outside 64 bits are drawn as the nearest 64-bit integer; who adds one to a number cuts the sum off well
        before that, because a noise that was cut off would show what it is added to.
        """
        words = random_words(random_bytes, count)
        values, doubtful = np.zeros(count, dtype=np.int64), np.arange(count)
        if count >= self.table_pays or "_table" in self.__dict__:
            values, doubtful = self._look_up(words)
        for index in doubtful:
            exact = self.place(int(words[index]), random_bytes)
            values[index] = max(-_FARTHEST, min(exact, _FARTHEST))
        return values

    def _look_up(self, words: npt.NDArray[np.uint64]) -> tuple[Integers, npt.NDArray[np.intp]]:
        """The table's integer for each word, and the indices of the words that it cannot decide."""
        first, thresholds = self._table
        place = np.searchsorted(thresholds, words, side="right")
        # A word at most one above the threshold that it has passed may be a tie.
        tied = words - thresholds[np.maximum(place, 1) - 1] <= 1
        outside = (place == 0) | (place == thresholds.size)
        return place.astype(np.int64) + first, np.flatnonzero(tied | outside)

    def symmetric_interval(self, level: Fraction | float) -> tuple[int, int]:
        """The smallest interval from -m to m that holds a symmetric law's draw with chance ``level``."""
        if not 0 < level < 1:
            raise BadPrivacyParameter(f"An interval's level must be above 0 and below 1; got {level}.")
        half = smallest(partial(self._reaches, (1 + Fraction(level)) / 2), self.stride)
        return -max(half, 0), max(half, 0)

    def place(self, word: int, random_bytes: RandomBytes) -> int:
        """The integer for a uniform number whose first 64 bits are ``word``; more are drawn where needed."""
        uniform = LazyUniform(word, random_bytes)
        return smallest(lambda k: uniform.below(partial(self.cdf, k)), self.stride)

    def _reaches(self, chance: Fraction, k: int) -> bool:
        return Fraction(self.cdf(k, _TABLE_DIGITS)) >= chance

    @cached_property
    def _table(self) -> tuple[int, npt.NDArray[np.uint64]]:
        """Where the table starts, and for each of its k a t with t <= 2^64 F(k) < t + 1 + 1e-9."""
        first = max(smallest(partial(self._reaches, _OUTSIDE_TABLE), self.stride), -_TABLE_HALF)
        last = min(smallest(partial(self._reaches, 1 - _OUTSIDE_TABLE), self.stride), _TABLE_HALF)
        unit = 10**_TABLE_DIGITS
        below = (_scaled(self.cdf(k, _TABLE_DIGITS), _TABLE_DIGITS) - 2 for k in range(first, last + 1))
        thresholds = np.array([max(0, low * _WORD // unit) for low in below], dtype=np.uint64)
        return first, np.maximum.accumulate(thresholds)


def random_words(random_bytes: RandomBytes, count: int) -> npt.NDArray[np.uint64]:
    """So many uniform 64-bit words."""
    return np.frombuffer(all_random_bytes(random_bytes, 8 * count), dtype=">u8").astype(np.uint64)


class LazyUniform:
    """A uniform number in [0, 1), of which only as many bits are drawn as a question needs."""

    def __init__(self, word: int, random_bytes: RandomBytes) -> None:
        self._numerator, self._bits, self._random_bytes = word, 64, random_bytes

    def below(self, value: Callable[[int], Decimal]) -> bool:
        """Is the number below this value, given as ``digits -> Decimal``?  The answer is certain."""
        while True:
            digits = self._bits * 3 // 8  # 64 bits are 19.3 decimal digits: a word is rarely left in doubt
            scaled, unit = _scaled(value(digits), digits), 10**digits
            if (self._numerator + 1) * unit <= (scaled - 2) << self._bits:
                return True
            if self._numerator * unit >= (scaled + 2) << self._bits:
                return False
            self._numerator = self._numerator << 64 | int.from_bytes(all_random_bytes(self._random_bytes, 8))
            self._bits += 64


def smallest(holds: Callable[[int], bool], stride: int = 1) -> int:
    """The smallest integer at which a condition holds that holds from some integer on."""
    low, high = -stride, 0
    while holds(low):
        low, high = 2 * low, low
    while not holds(high):
        low, high = high, max(stride, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _scaled(value: Decimal, digits: int) -> int:
    """The whole part of 10^digits times the value: with the value's own error, off by at most 2."""
    return int(value.scaleb(digits, _ROOMY))
