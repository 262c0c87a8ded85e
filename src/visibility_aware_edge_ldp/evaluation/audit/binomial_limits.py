"""Exact limits on a probability from how often something happened (Clopper and Pearson 1934).  [SHOWN.1]"""

from __future__ import annotations

import math
from collections.abc import Callable

from visibility_aware_edge_ldp.errors import BadInput

# Logarithms of factorials err by a few parts in 10^16 of their size, 2·10^9 at this many trials.
MOST_TRIALS = 10**8
# More than all rounding can move a tail: the limits are those of an alpha that is smaller by this.
_SAFER = 1 - 1e-5
_CLOSE = 1e-13
_SMALLEST = 1e-300


def lower_limit(successes: int, trials: int, alpha: float) -> float:
    """The probability is at least this, but for a chance of at most ``alpha``.  [SHOWN.1]"""
    _check(successes, trials, alpha)
    if successes == 0:
        return 0.0
    # The largest p at which so many successes or more are still that unlikely.
    return _last(lambda p: tail(successes, trials, p) <= alpha * _SAFER)


def upper_limit(successes: int, trials: int, alpha: float) -> float:
    """The probability is at most this, but for a chance of at most ``alpha``.  [SHOWN.1]"""
    return 1 - lower_limit(trials - successes, trials, alpha)


def tail(successes: int, trials: int, chance: float) -> float:
    """The probability of at least so many successes in independent trials of this chance."""
    if successes <= 0:
        return 1.0
    if successes > trials or chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    a, b = float(successes), float(trials - successes + 1)
    # The fraction converges fast on the side of the mean where the tail is small.
    if chance < (a + 1) / (a + b + 2):
        return _front(a, b, chance) * _fraction(a, b, chance) / a
    return 1 - _front(b, a, 1 - chance) * _fraction(b, a, 1 - chance) / b


def _front(a: float, b: float, x: float) -> float:
    """x^a (1 − x)^b / B(a, b)."""
    return math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated from the front."""
    value, c, d, m = 1.0, 1.0, 0.0, 0
    while True:
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) if m else 0.0
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd) if m else (odd,):
            d = 1 / ((1 + term * d) or _SMALLEST)
            c = (1 + term / c) or _SMALLEST
            value *= c * d
        if abs(c * d - 1) < _CLOSE:
            return 1 / value
        m += 1


def _last(holds: Callable[[float], bool]) -> float:
    """A number of [0, 1] at which a condition holds, and which is all but the last: it holds from 0 on."""
    low, high = 0.0, 1.0
    while high - low > _CLOSE * high and high > _SMALLEST:
        # Geometric steps while the ends are far apart, so that tiny probabilities have all their digits.
        middle = math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _check(successes: int, trials: int, alpha: float) -> None:
    if not 0 <= successes <= trials or not 1 <= trials <= MOST_TRIALS:
        raise BadInput(f"Limits need 1 to {MOST_TRIALS:,} trials and successes among them; got {successes}, {trials}.")
    if not 0 < alpha < 1:
        raise BadInput(f"A chance of error is above 0 and below 1; got {alpha}.")
