"""A sum over all users who were asked, from those who answered, and how it varies.  [ABSENT.1-2]"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Spread(NamedTuple):
    """How an estimate varies.

    ``doubt`` is the standard error of ``variance`` itself, and ``third`` the covariance of the two: both are 0 where
    the variance is known from the noise alone.
    """

    variance: float
    doubt: float = 0.0
    third: float = 0.0

    def plus(self, other: Spread) -> Spread:
        """That of the sum with an independent estimate."""
        doubt = math.hypot(self.doubt, other.doubt)
        return Spread(max(self.variance + other.variance, 0.0), doubt, self.third + other.third)

    def less(self, other: Spread) -> Spread:
        """That of the sum without one of its independent parts."""
        doubt = math.sqrt(max(self.doubt**2 - other.doubt**2, 0.0))
        return Spread(max(self.variance - other.variance, 0.0), doubt, self.third - other.third)

    def times(self, factor: float) -> Spread:
        """That of the estimate times a number."""
        return Spread(factor**2 * self.variance, factor**2 * self.doubt, factor**3 * self.third)


def missing(each: Floats, noise: float, asked: int, odds: float | None = None) -> Spread:
    """How asked/answered · Σ each varies with who answered; ``noise`` is the mean variance of each answer's noise.

    ``odds`` are those of not answering, where these are not the answers that the sum was expanded from.
    """
    answers = each.size
    if answers >= asked or odds == 0:
        return Spread(0.0)
    if answers < 2:
        return Spread(math.inf)
    centred = each - each.mean()
    squares = centred**2
    weight = asked * (asked - answers) / answers if odds is None else asked * odds
    variance = weight * max(float(squares.sum()) / (answers - 1) - noise, 0.0)
    doubt = weight * float(squares.std()) * math.sqrt((1 - answers / asked) / answers)
    third = weight**2 / asked * float((squares * centred).mean())
    return Spread(variance, doubt, third)


def believed(measured: Spread, guess: Spread, least: float) -> Spread:
    """A mean of what was measured and of a guess, by how far either may be off."""
    doubt, off = measured.doubt, guess.doubt
    if not (doubt and off):
        return Spread(max(measured.variance, least), doubt)
    mean = (off**2 * measured.variance + doubt**2 * guess.variance) / (off**2 + doubt**2)
    return Spread(max(mean, least), off * doubt / math.hypot(off, doubt))
