"""The noise in sums over rows: how large it is, and which part of the sums it is.  [TRIANGLE.4, TRIANGLE.7]"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.first_answers import believed
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.subgraphs.absence import Spread
from visibility_aware_edge_ldp.subgraphs.scores import Floats

Integers = npt.NDArray[np.int64]
# The squares of what users own are guessed as so many times what they would be if all owned the same.  [TRIANGLE.7]
OWNERS = 6.0


class Counts(NamedTuple):
    """How many users were asked, answered first, and answered twice."""

    asked: int
    first: int
    second: int

    @property
    def expansion(self) -> float:
        """How many users each second answer stands for."""
        return self.asked / self.second

    @property
    def odds(self) -> tuple[float, float]:
        """Of not answering twice, and of not answering first."""
        return self.asked / self.second - 1, self.asked / self.first - 1


class Noise(NamedTuple):
    """The variance of all second-round noise together, and the least that it can be."""

    spread: Spread
    least: float


def second_noise(survey: TriangleSurvey, reaches: Integers, largest: float) -> Noise:
    """The second-round noise from the noisy reaches, without bias where they tell.  [TRIANGLE.4]"""
    noise, users = survey.total_noise, reaches.size
    pace, more = 1 / float(noise.beta), 2 / (largest * 2.0**survey.fineness)
    factor = (largest * noise.standard_deviation(1)) ** 2

    def squared_bound(reach: Integers | float) -> Floats:
        middle = reach + 0.5
        smooth = np.where(middle >= pace, middle, pace * np.exp(np.minimum(middle / pace, 1.0) - 1))
        return np.square(smooth + more)

    measured = float(survey.reach_noise.unbiased(squared_bound, reaches).sum())
    middling, error = max(float(reaches.mean()), 0.0), math.sqrt(survey.reach_noise.variance / users)
    least, guessed, higher = (
        float(squared_bound(math.sqrt(1.5) * reach)) * users for reach in (0.0, middling, middling + error)
    )
    # A guess may be off by half of what is not certain, and by what the noise of the mean reach makes of it.
    guess = Spread(guessed, math.hypot((guessed - least) / 2, higher - guessed))
    found = believed(Spread(measured, math.sqrt(5 * users) * survey.reach_noise.variance), guess, least)
    return Noise(found.times(factor**0.5), factor * least)


class Owned(NamedTuple):
    """Of the sums of those who answered twice: the squares of what they own, together, and the variance of the noise.

    ``first`` is the variance by first answers, and ``scatter`` that of the sum of all squares by noise; the last three
    are the variances of the errors of ``squares`` and of ``noise``, and their covariance.  [TRIANGLE.7]
    """

    squares: float
    noise: float
    first: float = 0.0
    scatter: float = 0.0
    squares_error: float = 0.0
    noise_error: float = 0.0
    common: float = 0.0

    def doubt(self, per_square: float, per_noise: float) -> float:
        """The standard error of so many times the squares and so many times the noise."""
        found = per_square**2 * self.squares_error + per_noise**2 * self.noise_error
        return math.sqrt(max(found + 2 * per_square * per_noise * self.common, 0.0))


def owned(sums: Floats, noise: Noise, first: float, asked: int, tail: float) -> Owned:
    """Which part of the sums' squares is noise, and which is owned: together they are known best.  [TRIANGLE.7]

    ``first`` is what the first answers add to the squares, and ``tail`` the power with which noise falls.
    """
    (expected, doubt, _), answers = noise.spread, sums.size
    found = float((sums**2).sum()) - first
    value, error = asked / answers * float(sums.sum()), (asked / answers) ** 2 * expected
    even = answers / asked**2
    guessed = OWNERS * even * max(value**2 - error, 0.0)
    rest = found - expected - guessed
    # The guess may be off by all of itself, and what is owned may always be more.
    off = max(OWNERS * even * max(value**2, error), rest)
    scatter = (kurtosis(tail) - 1) * expected**2 / answers + 4 * expected / answers * max(found - expected, guessed)
    whole = off**2 + doubt**2 + scatter
    to_squares, to_noise = off**2 / whole, doubt**2 / whole
    return Owned(
        squares=guessed + to_squares * rest,
        noise=max(expected + to_noise * rest, noise.least),
        first=first,
        scatter=scatter,
        squares_error=off**2 * (1 - to_squares),
        noise_error=doubt**2 * (1 - to_noise),
        common=-(off**2) * to_noise,
    )


def kurtosis(tail: float) -> float:
    """About that of noise which falls with this power; Laplace's for an infinite one.  [TRIANGLE.7]"""
    return 6 * (tail - 1) * (tail - 2) / ((tail - 3) * (tail - 4)) if tail > 4 else math.inf


def noise_part(rows: Owned, counts: Counts, both: float) -> Spread:
    """What second-round noise adds, and the doubt about which part of the sums is noise.  [TRIANGLE.7]

    ``both`` is how much a user adds as a holder, relative to what it adds as an owner.
    """
    once, twice = counts.odds
    per_noise = counts.expansion**2
    return Spread(per_noise * rows.noise, rows.doubt(counts.expansion * (once + twice * both), per_noise))
