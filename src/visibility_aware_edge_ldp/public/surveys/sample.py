"""A sample of positions, drawn by a public coin before anybody answers.  [SAMPLE.0-1]

Everybody can tell which positions are drawn, in order, from the survey alone, in time proportional to how many they
are: positions come in tiles, and each tile has a keystream of gaps of its own.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes
from visibility_aware_edge_ldp.privacy import Number, parse_number
from visibility_aware_edge_ldp.public.layout import PackedBits, Report
from visibility_aware_edge_ldp.public.positions import TILE, Ints

RESOLUTION = 1 << 32
LEAST = Fraction(1, 1 << 20)
# A tile holds about so many drawn positions, and one word skips at most so many positions.
_PER_TILE, _LONGEST = 1 << 16, 1 << 16
_WORD, _GUARD = 64, 192
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PositionSample:
    """Each position is drawn with chance ``rate``, a multiple of 2⁻³².

    ``coin`` is any text that was public before anybody answered: with another text other positions are drawn.
    """

    rate: Fraction
    coin: str = ""

    def __post_init__(self) -> None:
        if not LEAST <= self.rate < 1 or (self.rate * RESOLUTION).denominator != 1:
            raise BadPrivacyParameter(
                f"A sample takes a share of the positions from 2^-20 to below 1, in steps of 2^-32; got {self.rate}."
            )

    def describe(self) -> dict[str, str]:
        """As canonical JSON values, for a survey's identity."""
        return {"drawn out of 2^32": str(int(self.rate * RESOLUTION)), "coin": self.coin}


def position_sample(rate: Number, coin: str = "") -> PositionSample | None:
    """A sample of about this share of the positions, rounded to 2⁻³²; None where all are asked."""
    share = parse_number(rate, "the share of the positions that are asked")
    rounded = Fraction(round(share * RESOLUTION), RESOLUTION)
    if not 0 < share <= 1 or rounded < LEAST:
        raise BadPrivacyParameter(f"The share of the positions that are asked is from 1e-6 to 1; got {rate}.")
    return None if rounded == 1 else PositionSample(rounded, coin)


@dataclass(frozen=True)
class DrawnPositions:
    """Which of the positions numbered 0 … ``positions`` − 1 a survey of this identity draws."""

    rate: Fraction
    survey: str
    positions: int

    @cached_property
    def tile(self) -> int:
        """Positions in a tile: a power of two, more of them where few are drawn."""
        size = TILE
        while size * self.rate < _PER_TILE:
            size *= 2
        return size

    @property
    def tiles(self) -> int:
        return -(-self.positions // self.tile)

    def in_tile(self, tile: int) -> Ints:
        """The drawn positions of one tile, in order. Read only."""
        return _drawn(self.rate, self.survey, tile, tile * self.tile, min(self.tile, self.positions - tile * self.tile))

    def between(self, start: int, count: int) -> Ints:
        """Those numbered ``start`` … ``start + count`` − 1, in order. Read only."""
        if start < 0 or count < 0 or start + count > self.positions:
            raise ProtocolViolation(f"There are positions 0 to {self.positions - 1}, not {start} and {count} more.")
        if not count:
            return np.empty(0, np.int64)
        tiles = [self.in_tile(tile) for tile in range(start // self.tile, (start + count - 1) // self.tile + 1)]
        drawn = tiles[0] if len(tiles) == 1 else np.concatenate(tiles)
        return drawn[slice(*np.searchsorted(drawn, [start, start + count]))]

    @cached_property
    def before(self) -> Ints:
        """How many are drawn before each tile; last, how many in all."""
        return np.concatenate([[0], np.cumsum([self.in_tile(tile).size for tile in range(self.tiles)], dtype=np.int64)])

    @property
    def count(self) -> int:
        """How many are drawn."""
        return int(self.before[-1])

    def rank(self, start: int) -> int:
        """How many are drawn before this position."""
        tile = start // self.tile
        inside = int(np.searchsorted(self.in_tile(tile), start)) if tile < self.tiles else 0
        return int(self.before[min(tile, self.tiles)]) + inside


@lru_cache(maxsize=4)
def _drawn(rate: Fraction, survey: str, tile: int, first: int, size: int) -> Ints:
    """All drawn positions of a tile: each word is a gap; a small one skips K positions and draws none."""
    key = hashlib.sha256(f"va-edge-ldp drawn positions\x1f{survey}\x1f{tile}".encode()).digest()
    random_bytes, longest, find = keyed_random_bytes(key), _steps(rate).size, _finder(rate)
    each = float(rate) / (1 - float(1 - rate) ** longest)
    parts, end = [np.empty(0, np.int64)], 0
    while end < size:
        gaps = longest - find(np.frombuffer(random_bytes(8 * (int(1.02 * each * (size - end)) + 64)), "<u8"))
        found = gaps < longest
        places = end + np.cumsum(gaps + found)
        parts.append(places[found] - 1)
        end = int(places[-1])
    places = np.concatenate(parts)
    places = first + places[: np.searchsorted(places, size)]
    places.flags.writeable = False
    return places


@lru_cache(maxsize=8)
def _steps(rate: Fraction) -> Words:
    """⌊2⁶⁴ (1 − p)^g⌋ for g = K … 1, with K as large as leaves an eighth, and at most 2¹⁶.  [SAMPLE.1]"""
    stay, scale = int((1 - rate) * RESOLUTION), 1 << (_WORD + _GUARD)
    value, found = scale, list[int]()
    while len(found) < _LONGEST and (not found or 8 * value * stay >= scale * RESOLUTION):
        value = value * stay // RESOLUTION
        found.append(value >> _GUARD)
    return np.array(found[::-1], dtype=np.uint64)


@lru_cache(maxsize=8)
def _finder(rate: Fraction) -> Callable[[Words], Ints]:
    """How many steps are at most each word; where no two share their first 16 bits, by one look and one comparison."""
    steps, heads = _steps(rate), np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    passed = np.searchsorted(steps, heads, side="right")
    if np.diff(passed, append=steps.size).max() > 1:
        return lambda words: np.searchsorted(steps, words, side="right")
    # Above the last step there is none: no word passes it.
    following, beyond = np.append(steps, np.uint64(0))[passed], passed == steps.size

    def look_up(words: Words) -> Ints:
        head = words >> np.uint64(48)
        found: Ints = passed[head] + ((following[head] <= words) & ~beyond[head])
        return found

    return look_up


@dataclass(frozen=True)
class SampledReport(Report):
    """One round's answers for the drawn ones of the positions numbered ``start`` … ``start + count − 1``.

    Two bits for each of the ``drawn`` positions, in their order, packed as in a ``PositionReport``. Positions that were
    not drawn have no bits, so nothing can be said for them.  [SAMPLE.2]
    """

    survey: str
    round: int
    start: int
    count: int
    drawn: int
    answered: bytes = field(repr=False)
    ones: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.drawn <= self.count or self.start < 0:
            raise ProtocolViolation("A report of a sample draws from 0 to all of its positions, which start from 0.")
        self.layout.validate(self)


LAYOUT = PackedBits(
    "report of a sample of positions", b"VAES", "round:B start:Q count:Q drawn:Q survey:32s", SampledReport, "drawn"
)
encode_sampled, decode_sampled = LAYOUT.encode, LAYOUT.decode
