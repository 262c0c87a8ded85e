"""Answers of one bit at several flip probabilities: a chain that loses what its best answer loses.  [CHAIN.1-4]"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, random_words

Bits = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

# Losses are rounded up to this many decimals: far below what matters, far above what the logarithm's digits err by.
DECIMALS = 12
_DIGITS = Context(prec=60)
_UP = Context(prec=60, rounding=ROUND_CEILING)


@dataclass(frozen=True, eq=False)
class Level:
    """What some positions have answered at one flip probability, ``threshold`` out of 2^64.

    Bits are said where ``known``; elsewhere nothing was answered yet.
    """

    threshold: int
    known: Bits = field(repr=False)
    ones: Bits = field(repr=False)

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        if self.known.shape != self.ones.shape or (self.ones & ~self.known).any():
            raise ProtocolViolation("A level says bits of positions that did not answer at it.")


def check_threshold(threshold: int) -> None:
    """A flip probability is above 0 and below one half, or an answer would be the bit, or nothing."""
    if not 0 < 2 * threshold < RESOLUTION:
        raise BadPrivacyParameter(f"An answer is flipped with a chance between 0 and 1/2; got {threshold}/2^64.")


@cache
def loss(threshold: int) -> Fraction:
    """ln((1 − q)/q) for q = threshold/2^64, rounded up: what one answer loses, and a chain whose best it is.

    [CHAIN.3]
    """
    check_threshold(threshold)
    odds = _UP.divide(Decimal(RESOLUTION - threshold), Decimal(threshold))
    # The logarithm is right to sixty digits; ten of them are given away.
    above = _UP.add(_DIGITS.ln(odds), Decimal("1e-48"))
    return Fraction(above.quantize(Decimal(1).scaleb(-DECIMALS), ROUND_CEILING, _UP))


def step(better: Fraction, worse: Fraction) -> Fraction:
    """The flip probability that turns an answer flipped with ``better`` into one flipped with ``worse``.  [CHAIN.1]"""
    return (worse - better) / (1 - 2 * better)


@cache
def flip_given(threshold: int, better: int, worse: int = 0, agree: bool = True) -> Fraction:
    """The chance that a new answer differs from its better neighbour, given what its worse neighbour says.  [CHAIN.2]

    Parameters
    ----------
    better, worse
        The neighbours' thresholds; 0 stands for the bit itself as the better one, and for no worse one.
    agree
        Whether the two neighbours say the same.
    """
    here = Fraction(threshold, RESOLUTION)
    down = step(Fraction(better, RESOLUTION), here)
    if not worse:
        return down
    further = step(here, Fraction(worse, RESOLUTION))
    # If this answer differs from the better neighbour, then it differs from the worse one just where those agree.
    differs = down * (further if agree else 1 - further)
    same = (1 - down) * (1 - further if agree else further)
    return differs / (differs + same)


def chained(threshold: int, bits: Bits, levels: Sequence[Level], random_bytes: RandomBytes) -> Bits:
    """One answer for each bit at this threshold, given all that was answered before.  [CHAIN.2]

    Where this threshold was answered before, the same answer again. As many random bytes are drawn, and as much is
    computed, whatever the bits and answers are.
    """
    check_threshold(threshold)
    thresholds = [level.threshold for level in levels]
    if len(set(thresholds)) != len(thresholds):
        raise ProtocolViolation("A position has one answer at each flip probability; a level was given twice.")
    better, above = _nearest([each for each in levels if each.threshold < threshold], bits, nearest_last=True)
    worse, below = _nearest([each for each in levels if each.threshold > threshold], above, nearest_last=False)
    # One number for each pair of neighbours and for whether they agree; there are few, whatever the positions.
    agree = above == below
    flips = _bernoulli(
        _chances(threshold, better[0], worse[0]), (better[1], worse[1], agree.astype(np.intp)), random_bytes
    )
    fresh = above ^ flips
    for level in levels:
        if level.threshold == threshold:
            fresh = np.where(level.known, level.ones, fresh)
    return fresh


def _nearest(levels: Sequence[Level], otherwise: Bits, nearest_last: bool) -> tuple[tuple[list[int], Places], Bits]:
    """The thresholds that may be nearest (0: none), which of them is at each position, and what is said there."""
    ordered = sorted(levels, key=lambda level: level.threshold, reverse=not nearest_last)
    which, said = np.zeros(otherwise.size, np.intp), otherwise
    for number, level in enumerate(ordered, 1):
        which, said = np.where(level.known, number, which), np.where(level.known, level.ones, said)
    return ([0, *(level.threshold for level in ordered)], which), said


def _chances(threshold: int, better: list[int], worse: list[int]) -> list[list[tuple[Fraction, Fraction]]]:
    """For each pair of neighbours, the chance of a flip where they differ and where they agree."""
    return [
        [(flip_given(threshold, up, down, False), flip_given(threshold, up, down, True)) for down in worse]
        for up in better
    ]


def _bernoulli(
    chances: list[list[tuple[Fraction, Fraction]]], which: tuple[Places, Places, Places], random_bytes: RandomBytes
) -> Bits:
    """Independent events with exactly these rational chances.  [CHAIN.4]

    A 64-bit word decides all but one case in 2^64; then further words are drawn, as long as they tie.
    """
    tops = np.array([[[int(chance * RESOLUTION) for chance in two] for two in row] for row in chances], np.uint64)
    words, limits = random_words(random_bytes, which[0].size), tops[which]
    events: Bits = words < limits
    for tie in np.flatnonzero(words == limits):
        up, down, agree = (int(part[tie]) for part in which)
        events[tie] = _settled(chances[up][down][agree], random_bytes)
    return events


def _settled(chance: Fraction, random_bytes: RandomBytes) -> bool:
    """Whether a uniform number is below the chance, given that their first 64 bits are the same."""
    while rest := chance * RESOLUTION % 1:
        word = int.from_bytes(random_bytes(8))
        if word != int(rest * RESOLUTION):
            return word < int(rest * RESOLUTION)
        chance = rest
    return False
