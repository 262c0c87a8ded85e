"""How sums over rows vary: the noise of both rounds, and what users add who did not report.

[TRIANGLE.4, TRIANGLE.7, CYCLE.2]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import exp
from visibility_aware_edge_ldp.counts import cycles, triangles
from visibility_aware_edge_ldp.counts.nonresponse import Spread, believed
from visibility_aware_edge_ldp.counts.row_noise import Shape, first_vertex_noise
from visibility_aware_edge_ldp.counts.rows import Step
from visibility_aware_edge_ldp.counts.scores import Floats, Scores
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey

Integers = npt.NDArray[np.int64]
# The squares of what users own are guessed as so many times what they would be if all owned the same.  [TRIANGLE.7]
OWNERS = 6.0
# Subgraphs beyond those that the degrees alone make add so many times what equal numbers at every edge would add.
UNEVEN = 4.0
# Of what a side of 4-cycles adds to the one-round variance, the part that it adds as a far side; and of what pairs of
# adjacent sides add, relative to the triangles' part, for numbers given without regard to friendship.  [CYCLE.2]
ONE_SIDE, TWO_SIDES = 107 / 360, 11 / 20
# How often squared subgraphs of one first vertex and one holder were found what equal numbers at every edge would give.
CYCLES_IN_COMMON = 4.0


class Counted(NamedTuple):
    """An estimated number of subgraphs, and about the variance of it."""

    value: float
    variance: float

    def beyond(self, expected: float) -> float:
        """The square of what there is more than was expected, less what noise adds to it."""
        return max(max(self.value - expected, 0.0) ** 2 - self.variance, 0.0)


def first_noise(measured: float, n: int, shape: Shape, found: Counted) -> Spread:
    """What the first answers that were reported add to the sum of triangles over reported rows.  [TRIANGLE.6]"""
    # σ²·Σc² with Σc² = S₂/3 + ⅔C₄, which degrees alone make, and four times (T̂ − κ³/6)²/m beyond that.
    beyond = UNEVEN * found.beyond(shape.triangles) / shape.edges
    guessed = shape.own_noise + shape.variance * shape.kept**2 * (2 / 3 * shape.cycles + beyond)
    # The measured part is a sum over pairs of squares of sums of n noisy products: this is how far it may be off.
    doubt = shape.variance**3 * n**2 / np.sqrt(6) / shape.kept**1.5
    return believed(Spread(measured, doubt), Spread(guessed, guessed / 2), shape.own_noise)


def first_cycle_noise(scores: Scores, shape: Shape, found: Counted, step: Step | None = None) -> Spread:
    """What they add to the number of 4-cycles, whose two far sides are both first answers.  [CYCLE.2]"""
    kept, variance = shape.kept, shape.variance
    sums = triangles.sum_over_pairs(
        scores, lambda block: {**cycles.cycle_sums(block), "triangles": triangles.triangle_sums(block)["count"] / 3}
    )
    # Of the other sides of a cycle with one side reported, all three are with this chance.
    reported = (2 * kept**2 + kept) / 3
    measured, doubt = cycles.one_side_alone(scores, sums)
    paths, joined = shape.edges * shape.branching**2, shape.branching**6 / 2
    joined += UNEVEN * 16 * found.beyond(shape.cycles) / shape.edges
    least, guessed = (ONE_SIDE * variance * reported * (paths + more) for more in (0.0, reported * joined))
    one_side = believed(Spread(ONE_SIDE * measured, ONE_SIDE * doubt / kept), Spread(guessed, guessed / 2), least)
    counted = Counted(sums["triangles"] / kept**2, variance**3 * scores.n**3 / 6 / kept**5)
    two_sides = first_noise(first_vertex_noise(scores, step), scores.n, shape, counted)
    scale = (TWO_SIDES * scores.n * variance) ** 0.5 / kept**3
    return one_side.times(1 / (kept * reported)).plus(two_sides.times(scale))


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


def second_noise(survey: RowSurvey, reaches: Integers, largest: Floats | float) -> Noise:
    """The second-round noise from the noisy reaches, without bias where they tell; each user may have its own M.

    [TRIANGLE.4]
    """
    noise, users = survey.total_noise, reaches.size
    # Users with an M of their own count by its square beside the mean square.
    usual = largest if isinstance(largest, float) else math.sqrt(float(np.square(largest).mean()))
    pace, more = 1 / float(noise.beta), 2 / (usual * 2.0**survey.fineness)
    factor = (usual * noise.standard_deviation(1)) ** 2

    def squared_bound(reach: Integers | float) -> Floats:
        middle = reach + 0.5
        smooth = np.where(middle >= pace, middle, pace * exp(np.minimum(middle / pace, 1.0) - 1))
        return np.square(smooth + more)

    told = survey.reach_noise.unbiased(squared_bound, reaches)
    measured = float((told if isinstance(largest, float) else told * np.square(largest / usual)).sum())
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
    # Q less σ²Σc/ρ²: the mean of what is left is N + A.
    found = float((sums**2).sum()) - first
    value, error = asked / answers * float(sums.sum()), (asked / answers) ** 2 * expected
    # The guess of A: six times T̂²/n, of those who answered, with T̂² lowered by its variance.
    even = answers / asked**2
    guessed = OWNERS * even * max(value**2 - error, 0.0)
    rest = found - expected - guessed
    # The guess may be off by all of itself, and what is owned may always be more.
    off = max(OWNERS * even * max(value**2, error), rest)
    # The variance of Q by noise: (k − 1)N²/b + 4NA/b.
    scatter = (kurtosis(tail) - 1) * expected**2 / answers + 4 * expected / answers * max(found - expected, guessed)
    # What Q has beyond N + A is shared out in proportion to the squared errors of A, N and Q itself.
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


def second_round(rows: Owned, counts: Counts) -> Spread:
    """What second-round noise adds where the squares of the sums tell what nonresponse does.  [MIDDLE.2]

    Noise that is taken off these squares is not counted twice, so what is not known of it weighs less.
    """
    return Spread(counts.expansion**2 * rows.noise, counts.expansion * math.sqrt(rows.noise_error))


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


CYCLE_PLACES = Places(1.7516, 1.6405, 5 / 3, 0.635)


def nonresponse_spread(sums: Floats, rows: Owned, counts: Counts, places: Places, shared: float = 0.0) -> Spread:
    """What users who did not report add, whatever their lists: they are missed as first vertices and as holders.

    ``shared`` is about the sum, over owners and holders, of the squares of what they have in common.  [CYCLE.2]
    """
    asked, _, second = counts
    if second == asked:
        return Spread(0.0)
    if second < 2:
        return Spread(math.inf)
    # (1/f₂ − 1) and (1/f₁ − 1): the odds of not answering twice, and of not answering first.
    once, twice = counts.odds
    # The sample's variance of a: Σa² less (Σa)²/b, where of the squared sum what noise and first answers add is taken
    # off, over b − 1.
    inner = max(rows.squares - (float(sums.sum()) ** 2 - rows.noise - rows.first) / second, 0.0) / (second - 1)
    # Σa² over all users, and what their common mean adds to it: centring takes that off again.
    squares = max(rows.squares, 0.0) * counts.expansion
    level = max(squares - (asked - 1) * inner, 0.0)
    both, centre = places.both + places.held, (1 + places.mean) ** 2 - 1
    # Missed as a first vertex: (1/f₂ − 1)·Σa², centred.
    alone = Spread(asked * once * inner)
    # Missed as a holder: (1/f₁ − 1)·Σ(2ab + b²) by the average over numberings, without the pairs (1/f₁ − 1)Σc² that
    # the squares of the sums already hold, and centred by (Σ(a + b))² − (Σa)².
    guess = twice * max(both * max(squares - twice * shared, 0.0) - centre * level, 0.0)
    # What is known of the owned sums' own spread, carried over to all that a user is needed for.
    factor = 1 + both * twice / once
    _, doubt, third = _by_who_came(sums, rows.scatter, counts)
    return alone.plus(Spread(guess, factor * doubt, factor * (1 + places.lean) * third))


def _by_who_came(each: Floats, scatter: float, counts: Counts) -> Spread:
    """How sure the spread of these numbers is, of which others might have come, and how it leans.  [ABSENT.2]"""
    (asked, _, second), (once, _) = counts, counts.odds
    centred = each - each.mean()
    apart = max(float((centred**2).var()) - scatter / second, 0.0)
    doubt = asked * once * math.sqrt(apart * (1 - second / asked) / second)
    return Spread(0.0, doubt, asked * once**2 * float((centred**3).mean()))
