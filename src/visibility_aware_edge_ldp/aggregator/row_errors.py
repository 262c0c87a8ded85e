"""What stands behind the standard errors of sums over rows: noise, first answers, and who stayed away.

[TRIANGLE.4, CYCLE.2]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.subgraphs import cycles, pairs
from visibility_aware_edge_ldp.subgraphs import triangles as triangle_sums
from visibility_aware_edge_ldp.subgraphs.absence import Spread, missing
from visibility_aware_edge_ldp.subgraphs.row_noise import first_vertex_noise
from visibility_aware_edge_ldp.subgraphs.rows import Step
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores, score, spread

Integers = npt.NDArray[np.int64]
# Where the first answers say little of how much they add to the variance, it is guessed from the estimate itself:
# this many times what equal numbers of common friends at every edge would give.  [TRIANGLE.4]
UNEVEN = 4.0
# Of what a side of 4-cycles adds to the one-round variance, the part that it adds as a far side; and of what pairs of
# adjacent sides add, relative to the triangles' part, for numbers given without regard to friendship.  [CYCLE.2]
ONE_SIDE, TWO_SIDES = 107 / 360, 11 / 20


class Places(NamedTuple):
    """What a user is needed for as a holder, b, beside what it owns, a, if numbers have nothing to do with friendship.

    Σ2ab and Σb² over Σa², Σb over Σa, and Σba² over Σa³.  [TRIANGLE.4]
    """

    both: float
    held: float
    mean: float
    lean: float

    def hidden(self, share: float) -> Places:
        """The same where only this share of what is held is not public, so that nobody need answer for the rest."""
        return Places(self.both * share, self.held * share**2, self.mean * share, self.lean * share)


TRIANGLE_PLACES = Places(1.0, 2 / 3, 1.0, 1 / 3)
CYCLE_PLACES = Places(1.7516, 1.6405, 5 / 3, 0.635)


def second_noise(survey: TriangleSurvey, reaches: Integers, largest: float) -> Spread:
    """The variance of all second-round noise together, from the noisy reaches, without bias.  [TRIANGLE.4]"""
    noise = survey.total_noise
    pace, more = 1 / float(noise.beta), 2 / (largest * 2.0**survey.fineness)
    factor = (largest * noise.standard_deviation(1)) ** 2

    def squared_bound(reach: Integers | float) -> Floats:
        middle = reach + 0.5
        smooth = np.where(middle >= pace, middle, pace * np.exp(np.minimum(middle / pace, 1.0) - 1))
        return np.square(smooth + more)

    measured = float(survey.reach_noise.unbiased(squared_bound, reaches).sum())
    middling = max(float(reaches.mean()), 0.0) * np.sqrt(1.5)
    guessed = float(squared_bound(middling)) * reaches.size
    doubt = np.sqrt(5 * reaches.size) * survey.reach_noise.variance
    least = float(squared_bound(0.0)) * reaches.size
    return _believed(measured, guessed, doubt, least).times(factor**0.5)


def _believed(measured: float, guessed: float, doubt: float, least: float) -> Spread:
    """A mean of what was measured, with standard error ``doubt``, and of a guess that may be off by half of itself."""
    off = guessed / 2
    if not guessed or not doubt:
        return Spread(max(measured, least), doubt)
    mean = (off**2 * measured + doubt**2 * guessed) / (off**2 + doubt**2)
    return Spread(max(mean, least), off * doubt / float(np.hypot(off, doubt)))


def first_noise(scores: Scores, value: float, step: Step | None = None) -> Spread:
    """What the first answers add to the variance: measured where they tell, guessed where they do not.  [TRIANGLE.4]"""
    edges, typical = size_and_spread(scores)
    guessed = UNEVEN * typical * value**2 / edges
    # The measured part is a sum over pairs of squares of sums of n noisy products: this is how far it may be off.
    doubt = typical**3 * scores.n**2 / np.sqrt(6)
    return _believed(first_vertex_noise(scores, step), guessed, doubt, guessed / UNEVEN)


def first_cycle_noise(scores: Scores, value: float, kept: float, step: Step | None = None) -> Spread:
    """The same for 4-cycles, whose two far sides are both first answers.  [CYCLE.2]"""
    edges, typical = size_and_spread(scores)
    sums = pairs.sum_over_pairs(
        scores, lambda block: {**cycles.cycle_sums(block), "triangles": triangle_sums.triangle_sums(block)["count"] / 3}
    )
    # Of the other sides of a cycle with one side heard, so many are heard all three.
    heard = (2 * kept**2 + kept) / 3
    measured, doubt = cycles.one_side_alone(scores, sums)
    guessed = UNEVEN * typical * (2 * value * heard) ** 2 * kept / edges
    one_side = _believed(ONE_SIDE * measured, guessed, ONE_SIDE * doubt, guessed / UNEVEN).times(1 / (kept * heard))
    two_sides = first_noise(scores, sums["triangles"] / kept**0.5, step).times((TWO_SIDES * scores.n * typical) ** 0.5)
    return one_side.plus(two_sides.times(1 / kept**3))


def size_and_spread(scores: Scores) -> tuple[float, float]:
    """About how many edges there are, and the variance of one score."""
    n = scores.n
    edges = max(float(scores.node_sums(score).sum()) / 2, 1.0)
    return edges, float(scores.node_sums(spread).sum()) / (n * (n - 1))


def absence(sums: Floats, noise: float, counts: tuple[int, int, int], places: Places) -> Spread:
    """What users who stayed away add, whatever their lists: they are missed as first vertices and as holders.

    [TRIANGLE.4]
    """
    asked, first, second = counts
    if second == asked:
        return Spread(0.0)
    alone = missing(sums, noise / second, asked)
    if not math.isfinite(alone.variance):
        return alone
    once, twice = asked / second - 1, asked / first - 1
    squares = max(float((sums**2).sum()) - noise, 0.0) * asked / second
    level = max(squares - (asked - 1) * alone.variance / (asked * once), 0.0)
    held = places.both + places.held
    centre = (1 + places.mean) ** 2 - 1
    variance = alone.variance + twice * max(held * squares - centre * level, 0.0)
    # What is known of the owned sums' own spread, carried over to all that a user is needed for.
    more = 1 + held * twice / once
    return Spread(variance, more * alone.doubt, more * (1 + places.lean) * alone.third)
