"""USER rows where each user downloads one part of the first answers: groups, parts, noise, price.  [PARTS.0-3, PARTS.9]

A public coin puts the users into groups, and gives each user one part. For triangles every part has groups of its own
and holds the first answers between users of one group; for 4-cycles there is one set of groups, and a part holds all
first answers about the users of one of them.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon, parse_number
from visibility_aware_edge_ldp.public.layout import Ints, octets
from visibility_aware_edge_ldp.public.positions import position_count
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES, TRIANGLES
from visibility_aware_edge_ldp.public.surveys.base import Content
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, row_surveys
from visibility_aware_edge_ldp.public.view import PublicView

Bits = npt.NDArray[np.bool_]
# Of epsilon, what the first answers get, and at least what the noisy length of every list gets.  [PARTS.7]
FIRST_SHARE, LENGTH_SHARE = Fraction(45, 100), Fraction(1, 20)
# Times the groups: a list that is longer than this, with its noise, is long.
SHORT = Fraction(3, 2)
# The loss for a length is at least so many times the chance of a group, so that a list that is wrongly taken as short
# is rarer than its sum is large; and at most this part of epsilon.  [PARTS.6]
LENGTH_STEP, LENGTH_MOST = 3, Fraction(1, 5)
# A list longer than all but e^-40 of those that are taken as short has the weight of that length.  [PARTS.2]
RARE = 40
_WHICH_PART = (1 << 64) - 1
# A sum of 4-cycles times its roundings stays below 2^52; half of the users may be away.  [TRIANGLE.2]
SPARE_SUM = 1 << 49
# Of a campaign: groups of fewer people hold next to nothing, and a coin is as long as a digest.
MOST_GROUPS = 1 << 20
_COIN = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class CoinSurvey(RowSurvey):
    """As ``RowSurvey``, but a user reads only the first answers of its own part, which a public coin gave it.

    Parameters
    ----------
    groups
        G: into so many groups users are put.
    parts
        How many parts there are.
    coin
        Any text that was public before anybody answered: with another text the groups are others.
    """

    summed: ClassVar[str] = TRIANGLES.name
    fewest: ClassVar[int] = 5
    groups: int = 0
    parts: int = 0
    coin: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.statistic != self.summed:
            raise BadPrivacyParameter(f"These parts of the first answers are for {self.summed} alone.")
        if not 1 <= self.parts < 1 << 32 or not self.fewest <= self.groups < 1 << 32:
            raise BadPrivacyParameter(
                f"There are at least {self.fewest} groups and 1 part; got {self.groups} groups and {self.parts} parts."
            )

    def content(self) -> Content:
        cut = {"groups": self.groups, "parts": self.parts, "coin": self.coin}
        return {**super().content(), "parts of the first answers": cut}

    @property
    def chance(self) -> Fraction:
        """s = 1/G: with it two users are in one group."""
        return Fraction(1, self.groups)

    def part_of(self, users: Ints) -> Ints:
        """Which part each of these users downloads."""
        return _below(self._words(np.full(users.shape, _WHICH_PART, np.uint64), users), self.parts)

    def group_of(self, part: Ints, users: Ints) -> Ints:
        """In which group of a part each user is.  [PARTS.1]"""
        return _below(self._words(part.astype(np.uint64), users), self.groups)

    def _words(self, first: npt.NDArray[np.uint64], second: Ints) -> npt.NDArray[np.uint64]:
        """A public 64-bit number for each two numbers: AES under a key that everybody works out from the survey."""
        blocks = np.stack([first, second.astype(np.uint64)], axis=-1).astype("<u8")
        # Nothing is hidden by it: it is a public function that no graph had a say in.
        cipher = Cipher(algorithms.AES256(self._key), modes.ECB()).encryptor()  # noqa: S305
        return np.frombuffer(cipher.update(blocks.tobytes()), "<u8")[::2]

    @cached_property
    def _key(self) -> bytes:
        return hashlib.sha256(f"va-edge-ldp parts of first answers\x1f{self.identity}".encode()).digest()


@dataclass(frozen=True)
class PartSurvey(CoinSurvey):
    """For triangles: a part has G groups of users, and holds the answers within them, about one in G of all.

    ``reach`` pays for the noisy length of a user's list, which decides how its triangles are summed; ``share`` is the
    part of ``total`` that pays for the movement of a long list's noise scale.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pair_noise  # noqa: B018 - refuses bad numbers before anybody is asked

    @cached_property
    def pair_noise(self) -> SmoothPower:
        """The noise on the sum of a short list, whose bound moves by at most 2s.  [PARTS.2]"""
        whole = self.multipliers.private * self.total
        return SmoothPower(whole, 2 * self.chance / whole)

    @property
    def longest_short(self) -> int:
        """A list whose noisy length is at most this is short."""
        return math.floor(SHORT * self.groups)

    @property
    def last_weight(self) -> int:
        """Where the weights of short lists stop growing with their length."""
        return self.longest_short + math.ceil(RARE / (self.multipliers.private * self.reach))


@dataclass(frozen=True)
class CyclePartSurvey(CoinSurvey):
    """For 4-cycles: part g holds all answers at positions that a user of group g is an end of; G parts.  [PARTS.9]

    ``reach``, ``total`` and ``share`` pay for what they pay for where users read all first answers.
    """

    summed: ClassVar[str] = FOUR_CYCLES.name
    fewest: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parts != self.groups:
            raise BadPrivacyParameter("For 4-cycles there are as many parts as groups.")

    @cached_property
    def group_of_all(self) -> Ints:
        """The group of every user."""
        users = np.arange(self.nodes)
        return self.group_of(np.zeros(users.shape, np.int64), users)

    def members(self, part: int) -> Ints:
        """The users whose answers are all in this part."""
        return np.flatnonzero(self.group_of_all == part)


def _below(words: npt.NDArray[np.uint64], count: int) -> Ints:
    """⌊word·count/2⁶⁴⌋: each number below ``count`` has the same chance, up to 2⁻⁶⁴."""
    half, many = np.uint64(32), np.uint64(count)
    low = ((words & np.uint64(0xFFFFFFFF)) * many) >> half
    return (((words >> half) * many + low) >> half).astype(np.int64)


@dataclass(frozen=True)
class PartRule:
    """What is public of the parts: how many groups there are, which is also the number of parts, and the coin."""

    groups: int
    coin: str

    def __post_init__(self) -> None:
        if type(self.groups) is not int or not 5 <= self.groups <= MOST_GROUPS:
            raise ProtocolViolation(f"Parts of the first answers have 5 to {MOST_GROUPS:,} groups.")
        if not isinstance(self.coin, str) or not _COIN.fullmatch(self.coin):
            raise ProtocolViolation("The coin of parts is 64 hexadecimal digits, in lower case.")

    @property
    def content(self) -> dict[str, int | str]:
        """The rule as a charter states it."""
        return {"coin": self.coin, "groups": self.groups}

    @classmethod
    def of(cls, content: object) -> PartRule:
        """The rule that a charter states; refuses another object."""
        if not isinstance(content, dict) or content.keys() != {"coin", "groups"}:
            raise ProtocolViolation("A charter's parts have a coin and a number of groups.")
        return cls(content["groups"], content["coin"])


def part_survey(view: PublicView, epsilon: Number, groups: int, coin: str = "") -> PartSurvey:
    """A survey of every user for triangles, for one epsilon in all, with as many parts as groups.  [PARTS.7]"""
    whole = parse_epsilon(epsilon)
    private = view.policy.multipliers.private
    length = max(LENGTH_SHARE * whole, Fraction(LENGTH_STEP, groups) / private)
    if length > LENGTH_MOST * whole:
        least = fewest_groups(view, whole)
        raise BadPrivacyParameter(
            f"With ε = {float(whole):g} a user downloads at most 1/{least} of the first answers; ask for less, or "
            "leave the share out, and everybody downloads all of them."
        )
    total = whole * (1 - FIRST_SHARE) - length
    first = PositionSurvey(
        view.roster_digest, view.n, view.policy.digest, FIRST_SHARE * whole, multipliers=view.policy.multipliers
    )
    # Units of about 1/64 of a pair's weight, which is the number of groups.
    fineness = 6 - round(math.log2(groups)) + min(0, round(3 * math.log2(whole)))
    return PartSurvey(
        first, length, total, 1 / (3 + 7 * total), fineness, "triangles", groups, groups, coin
    )  # fmt: skip


def cycle_part_survey(view: PublicView, epsilon: Number, groups: int, coin: str = "") -> CyclePartSurvey:
    """A survey of every user for 4-cycles, for one epsilon in all, with as many parts as groups.  [PARTS.9]"""
    one = row_surveys(view, epsilon, [FOUR_CYCLES.name])[FOUR_CYCLES.name]
    # Units so large that sums are exact to half a unit with half of the users away; far below the noise.
    largest = largest_sum(one.first, view)
    fineness = min(one.fineness, math.floor(math.log2(SPARE_SUM / (2 * view.n * largest))))
    return CyclePartSurvey(
        one.first, one.reach, one.total, one.share, max(fineness, -40), one.statistic, groups, groups, coin
    )  # fmt: skip


def largest_sum(first: PositionSurvey, view: PublicView, rate: float = 1.0) -> float:
    """A public bound of any user's sum of 4-cycles by parts: no two friends have more paths than M ≤ 2n·max ê²."""
    scores = (abs(float(score)) / rate for kind in view.non_public for score in first.channel(kind).scores)
    return 2.0 * view.n**3 * max([1.0, *scores]) ** 2


def fewest_groups(view: PublicView, epsilon: Number) -> int:
    """How few groups a survey of parts may have at this epsilon."""
    return max(5, math.ceil(LENGTH_STEP / (LENGTH_MOST * parse_epsilon(epsilon) * view.policy.multipliers.private)))


def groups_for(
    view: PublicView,
    epsilon: Number,
    share: Number = 1,
    download: str | None = None,
    statistic: str = TRIANGLES.name,
) -> int | None:
    """How many groups a part of the first answers has; None where everybody downloads all of them.

    A download is an upper limit: where all first answers are less, all are taken.
    """
    if download is None:
        found = groups_for_share(share, statistic)
        return found if found > 1 else None
    most = parse_size(download)
    if view.policy.scope is None and 2 * octets(view.positions) <= most:
        return None
    least = fewest_groups(view, epsilon) if statistic == TRIANGLES.name else CyclePartSurvey.fewest
    return max(groups_for_download(most, view.n, statistic), least)


def groups_for_share(share: Number, statistic: str = TRIANGLES.name) -> int:
    """How many groups there are where a user downloads at most this share of the first answers."""
    part = parse_number(share, "the share of the first answers that a user downloads")
    if not 0 < part <= 1:
        raise BadPrivacyParameter(f"A user downloads a share above 0 and at most 1 of the first answers; got {share}.")
    least = math.ceil(1 / part)
    # For 4-cycles a part is nearly twice as large, and never above the next few numbers of groups.
    return least if statistic == TRIANGLES.name else _fewest_with(part, least)


def _fewest_with(part: Fraction, least: int) -> int:
    """The fewest groups of which one's users are in at most this part of all positions."""
    low, high = least, 2 * least
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if part_share(middle, FOUR_CYCLES.name) <= part else (middle + 1, high)
    return low


def part_share(groups: int, statistic: str = TRIANGLES.name) -> Fraction:
    """Which share of all positions a part has: those within a group, or those with an end in one of the groups."""
    s = Fraction(1, groups)
    return s if statistic == TRIANGLES.name else s * (2 - s)


def groups_for_download(octets_each: int, nodes: int, statistic: str = TRIANGLES.name) -> int:
    """How many groups there are where a part of this roster's first answers has about so many octets."""
    left = octets_each - octets(nodes)
    if left <= 0:
        raise BadPrivacyParameter(
            f"Who answered takes {octets(nodes):,} bytes alone, and a download of {octets_each:,} was asked for; "
            "allow more."
        )
    # Groups differ in size, so that the largest part is a little larger than the average one.
    return groups_for_share(min(Fraction(800 * left, 101 * position_count(nodes)), Fraction(1)), statistic)


def part_size(nodes: int, groups: int, statistic: str = TRIANGLES.name) -> float:
    """About how many octets a user downloads: who answered, and the bits of one part."""
    if statistic == TRIANGLES.name:
        return octets(nodes) + position_count(nodes) / (8 * groups)
    return octets(nodes) + position_count(nodes) * float(part_share(groups, statistic)) / 8


def part_words(nodes: int, groups: int, statistic: str = TRIANGLES.name) -> str:
    """What a user downloads, as people read it."""
    size = part_size(nodes, groups, statistic)
    small = f"{size / 1e6:,.0f} MB" if size > 1e6 else f"{math.ceil(size / 1e3):,} kB"
    words = f"{size / 1e9:,.1f} GB" if size >= 0.95e9 else small
    share = f"1/{groups}"
    if statistic != TRIANGLES.name:
        share = f"{100 * float(part_share(groups, statistic)):.3g} %"
    return f"{share} of the first answers, about {words}, that a public coin chose"


_UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3}


def parse_size(text: str) -> int:
    """From a size such as 10MB, 500 kB or 2000 to octets; refuses what is no size."""
    digits = str(text).strip().rstrip("BbKkMmGg ")
    unit = str(text).strip()[len(digits) :].strip().upper()
    if unit not in _UNITS or not digits.replace(".", "", 1).isdecimal():
        raise BadPrivacyParameter(f"A download is a size such as 10MB, 500kB or 1GB; got {text!r}.")
    size = parse_number(digits, "the size of a download") * _UNITS[unit]
    if size < 1:
        raise BadPrivacyParameter(f"A download has at least one byte; got {text!r}.")
    return int(size)
