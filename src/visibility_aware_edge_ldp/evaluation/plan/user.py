"""USER before anybody is asked: noisy degrees, and the two rounds of triangles and 4-cycles.  [PLAN.4-6]"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
import numpy.typing as npt

import visibility_aware_edge_ldp.evaluation.plan.base as base
from visibility_aware_edge_ldp.aggregator.node_statistics.cycle_parts import LISTS, SQUARES, TWO_SIDES
from visibility_aware_edge_ldp.counts.degrees.degree_functions import binomial
from visibility_aware_edge_ldp.evaluation.plan import groups
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import CLASSES, Moments, Pulls
from visibility_aware_edge_ldp.evaluation.plan.position import cycles as one_round_cycles
from visibility_aware_edge_ldp.evaluation.plan.position import spreads, wedge_spread
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.groups import groups_of
from visibility_aware_edge_ldp.public.statistic import (
    DEGREES,
    EDGES,
    FOUR_CYCLES,
    TRANSITIVITY,
    TRIANGLES,
    star_size,
    statistic,
)
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.row_parts import CyclePartSurvey
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, row_surveys
from visibility_aware_edge_ldp.public.trust import USER
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.options import Plan, plan_for

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Of what a side of 4-cycles adds in one round, what it adds as a far side; and two noisy far sides beside triangles'.
_ONE_SIDE, _TWO_SIDES = 107 / 360, 11 / 20
# Lists hold a quarter of Σ c²(d_i + d_l): of what they do, this part is what one noisy side adds.  [PARTS.13]
_OF_LISTS = 4 * LISTS
_PLACES = (np.arange(16) + 0.5) / 16
_LEVELS = 8
# The law of a maximum: steps of its grid, deviations that it reaches beyond the means, and the tail of the normal law.
_GRID, _FAR = 48, 7.0
_POINTS = np.linspace(-9.0, 9.0, 3601)
_TAILS = np.array([0.5 * math.erfc(x / math.sqrt(2)) for x in _POINTS.tolist()])
# The wire format: what a report of the second round has beside its numbers; it names the transcript.
_ROW_HEAD = 86


@dataclass(frozen=True, eq=False)
class Noise:
    """Around its mean every pull of a user varies by ``deviation``, with this skewness, and never beyond ``most``."""

    deviation: Floats
    skewness: Floats
    most: Floats

    def of(self, users: npt.NDArray[np.int64]) -> "Noise":
        """That of some users."""
        return Noise(self.deviation[users], self.skewness[users], self.most[users])


def squared_bounds(pulls: Pulls, noise: Noise, largest: float, beta: float, more: float) -> Floats:
    """E(s + more)² for each user, s the smooth bound of the largest |pull|; 0 for users who are not asked."""
    asked = pulls.counts.any(axis=1)
    grid, chances = law_of_reach(pulls, noise, largest)
    pace = largest / beta
    smooth = np.where(grid >= pace, grid, pace * np.exp(np.minimum(grid / pace, 1.0) - 1))
    mass = np.diff(chances, axis=1, prepend=0.0)
    return np.asarray(np.where(asked, (mass * (smooth + more) ** 2).sum(axis=1), 0.0))


def law_of_reach(pulls: Pulls, noise: Noise, largest: float) -> tuple[Floats, Floats]:
    """A grid of reaches for each user, and the chance that its reach is at most each."""
    top = pulls.means.max(axis=1, initial=0.0) + _FAR * noise.deviation + 1e-9
    grid = np.linspace(0, 1, _GRID + 1)[1:] * top[:, None]
    logs = np.zeros(grid.shape)
    for each in range(pulls.counts.shape[1]):
        count = pulls.counts[:, each]
        used = np.flatnonzero(count)
        if used.size:
            mean = pulls.means[used, each][:, None]
            beyond = _beyond(grid[used], mean, noise, used)
            logs[used] += count[used][:, None] * np.log1p(-np.minimum(beyond, 1 - 1e-12))
    chances = np.maximum.accumulate(np.exp(logs), axis=1)
    chances[:, -1] = 1.0
    # A value stands for the step below it: its middle is nearer the truth than its end.
    return grid - top[:, None] / _GRID / 2, chances


def _beyond(grid: Floats, mean: Floats, noise: Noise, used: npt.NDArray[np.int64]) -> Floats:
    """The chance that one pull lies outside ±grid."""
    deviation = np.maximum(noise.deviation[used], 1e-12)[:, None]
    skewness, most = noise.skewness[used][:, None], np.maximum(noise.most[used][:, None], mean)
    above = np.where(grid >= most, 0.0, _tail((grid - mean) / deviation, skewness))
    return np.asarray(above + _tail((grid + mean) / deviation, -skewness), dtype=np.float64)


def _tail(z: Floats, skewness: Floats) -> Floats:
    """The chance to lie beyond z, for a law with a little skewness: Wilson and Hilferty's cube root."""
    bend = np.where(np.abs(skewness) < 1e-6, 1e-6, skewness)
    root = np.cbrt(np.maximum(1 + bend * z / 2, 0.0))
    point = 6 / bend * (root - 1) + bend / 6
    return np.asarray(np.interp(point, _POINTS, _TAILS), dtype=np.float64)


def largest_of_many(counts: Floats, means: Floats, deviation: Floats, shares: Floats) -> float:
    """The median of the largest |value| among so many of each mean, a share of them with each deviation."""
    low, high = 0.0, float(means.max(initial=0.0)) + 12 * float(deviation.max(initial=0.0)) + 1.0
    zero = np.zeros(1)
    for _ in range(50):
        middle = (low + high) / 2
        tails = _tail((middle - means[:, None]) / deviation, zero) + _tail((middle + means[:, None]) / deviation, zero)
        expected = float(counts @ (tails @ shares))
        low, high = (middle, high) if expected > math.log(2) else (low, middle)
    return high


def star_sum(moments: Moments, survey: DegreeSurvey, k: int) -> float:
    """The variance of Σ C(d, k) from noisy degrees, exactly.  [PLAN.4]"""
    total, degrees = 0.0, moments.world.graph.degrees[moments.chosen].astype(np.int64)
    for users, noises in base.degree_noise(moments, survey):
        others = np.array([binomial(degrees[users], k - j) for j in range(1, k + 1)])
        each = np.einsum("iu,ij,ju->u", others, corrected_products(noises, k), others)
        total += float(moments.weights[users] @ each)
    return total


@lru_cache(maxsize=64)
def corrected_products(noises: tuple[DiscreteLaplace, ...], k: int) -> Floats:
    """E[h_i·h_j] for i, j from 1 to k, h_j(K) the unbiased estimate of C(0, j) from the noise K alone."""
    steps, chances = base.noise_law(noises)
    constants = [noise.second_difference_constant for noise in noises] + [0.0]
    first, second = sum(constants), constants[0] * constants[1]
    near = np.arange(steps[0] - 2, steps[-1] + 3)
    corrected = []
    for j in range(1, k + 1):
        values = binomial(near, j)
        below, here, above = values[1:-3], values[2:-2], values[3:-1]
        twice = values[4:] - 4 * above + 6 * here - 4 * below + values[:-4]
        corrected.append(here - first * (above - 2 * here + below) + second * twice)
    return np.asarray((np.array(corrected) * chances) @ np.array(corrected).T)


def degree_misses(moments: Moments, survey: DegreeSurvey) -> tuple[float, float]:
    """Of all users together: the sum of mean absolute errors, and of standard errors."""
    misses = deviations = 0.0
    for users, noises in base.degree_noise(moments, survey):
        steps, chances = base.noise_law(noises)
        count = float(moments.weights[users].sum())
        misses += count * float(chances @ np.abs(steps))
        deviations += count * sum(noise.variance for noise in noises) ** 0.5
    return misses, deviations


def from_degrees(moments: Moments, plan: Plan, k: int) -> float:
    """The variance of k-stars; edges are half of the 1-stars."""
    survey = degree_survey(moments.world.public, plan.degree_epsilon)
    return star_sum(moments, survey, k) / (4 if k == 1 else 1)


@lru_cache(maxsize=64)
def triangles(moments: Moments, plan: Plan) -> float:
    """First answers, and the second round's noise on smooth bounds.  [PLAN.5]"""
    survey = row_surveys(moments.world.public, plan.row_epsilon, plan.summed)[TRIANGLES.name]
    spread = spreads(moments, float(survey.first.epsilon))
    return float(moments.earlier_squares @ spread) + _triangle_noise(moments, survey, spread)


def _triangle_noise(moments: Moments, survey: RowSurvey, spread: Floats) -> float:
    scores = _scores(survey)
    third = np.array([s * (high + low) for s, (low, high) in zip(spread, scores, strict=True)])
    held = moments.hidden_friends
    deviation = np.sqrt(held @ spread)
    skewness = held @ third / np.maximum(deviation, 1e-12) ** 3
    most = held @ np.array([max(high, 1.0) for _, high in scores])
    largest = max(abs(value) for kind in _asked(moments) for value in scores[kind])
    return _row_noise(moments, survey, Noise(deviation, skewness, most), largest)


def _row_noise(moments: Moments, survey: RowSurvey, noise: Noise, largest: float) -> float:
    pulls = moments.triangle_pulls if survey.statistic == TRIANGLES.name else moments.cycle_pulls
    shrink = 1.0 if Visibility.PRIVATE in _asked(moments) else float(1 / survey.ratio)
    mechanism = survey.total_noise
    scaled = Noise(noise.deviation * shrink, noise.skewness, noise.most * shrink)
    users, weights = moments.some_users
    used = type(pulls)(pulls.counts[users], pulls.sums[users] * shrink)
    more = 2.0 ** (1 - survey.fineness)
    squares = squared_bounds(used, scaled.of(users), largest, float(mechanism.beta), more)
    return mechanism.standard_deviation(1) ** 2 * float(weights @ squares)


def _asked(moments: Moments) -> list[Visibility]:
    return [kind for kind in NON_PUBLIC if moments.positions[kind] > 0]


def _scores(survey: RowSurvey) -> list[tuple[float, float]]:
    """By class, the scores of a 0 and of a 1."""
    found = [(0.0, 1.0)] * CLASSES
    for kind in NON_PUBLIC:
        low, high = sorted(float(value) for value in survey.first.channel(kind).scores)
        found[kind] = low, high
    return found


def cycles(moments: Moments, plan: Plan) -> float:
    """Two rounds where they pay, else POSITION's one.  [PLAN.6]"""
    if not plan.cycles_twice:
        surveys = row_surveys(moments.world.public, plan.row_epsilon, plan.summed) if plan.summed else {}
        epsilon = surveys[TRIANGLES.name].first.epsilon if surveys else plan.row_epsilon
        return one_round_cycles(moments, spreads(moments, float(epsilon)))
    survey = row_surveys(moments.world.public, plan.row_epsilon, plan.summed)[FOUR_CYCLES.name]
    spread = spreads(moments, float(survey.first.epsilon))
    return _first_cycles(moments, spread) + _cycle_noise(moments, survey, spread)


def cycles_by_parts(moments: Moments, survey: CyclePartSurvey) -> float:
    """Where each user reads one part of the first answers: what the coin adds, and noise for √G times as much.

    [PARTS.13]
    """
    spread, more = spreads(moments, float(survey.first.epsilon)), survey.groups - 1
    coin = SQUARES * float(moments.opposite_squares.sum())
    coin += _OF_LISTS * float((moments.weights * moments.list_lengths) @ moments.around_squares) * spread.max()
    coin += TWO_SIDES * moments.n * wedge_spread(moments, spread) * float(moments.two_stars) / 3
    found = _first_cycles(moments, spread) + more * coin + _cycle_noise(moments, survey, spread, survey.groups)
    return float(found)


def _first_cycles(moments: Moments, spread: Floats) -> float:
    """What the first answers add where all of them are read."""
    first = float(moments.closing_squares @ spread) * _ONE_SIDE
    return first + _TWO_SIDES * moments.n * float(moments.earlier_squares.sum()) * wedge_spread(moments, spread)


def _cycle_noise(moments: Moments, survey: RowSurvey, spread: Floats, groups: int = 1) -> float:
    """A pull is a sum over l of ê_kl·ê_lx for the k of a list; a path over an early l counts half.

    Of a part there are one in ``groups`` of the l, each counted so many times.
    """
    by_coin = 2 * moments.m / moments.n**2 * moments.around_squares * (groups - 1)
    deviation = np.sqrt(_pull_variances(moments, spread) * groups + by_coin)
    noise = Noise(deviation, np.zeros(deviation.size), np.full(deviation.size, np.inf))
    counts, scores = moments.path_counts.astype(np.float64), _scores(survey)
    levels = _path_variances(moments, spread)
    by_place = np.sqrt(np.outer(1 - 0.75 * _PLACES, levels) * groups).ravel()
    shares = np.repeat(2 * (1 - _PLACES) / len(_PLACES) / levels.size, levels.size)
    scale = comb(moments.n, 2) / max(float(counts.sum()), 1.0)
    values = np.arange(counts.size, dtype=np.float64) * groups + 0.25
    largest = largest_of_many(scale * _in_a_part(counts, groups), values, by_place, shares)
    largest += groups * max(value**2 for kind in _asked(moments) for value in scores[kind]) / 2
    return _row_noise(moments, survey, noise, largest)


def _in_a_part(counts: Floats, groups: int) -> Floats:
    """Of how many pairs so many common neighbours are in a part, where so many pairs have so many in all."""
    found, chances = np.zeros(counts.size), np.zeros(counts.size)
    chances[0] = 1.0
    for many in counts.tolist():
        found += many * chances
        chances[1:] = chances[1:] * (1 - 1 / groups) + chances[:-1] / groups
        chances[0] *= 1 - 1 / groups
    return found


def _pull_variances(moments: Moments, spread: Floats) -> Floats:
    """¾Σ_l(S_lx·W_l + S_lx·c_l² + e_lx·W_l), mean over the x that are asked; W_l: Σ of S between l and the list."""
    n, mean_degree, around = moments.n, 2 * moments.m / moments.n, moments.around_squares
    if moments.constant:
        one = float(spread[moments.only])
        return np.asarray(0.75 * one * (moments.list_lengths * (n * one + mean_degree) + around))
    near, held = spread[moments.looked_kinds], np.tensordot(spread, moments.friends_there, 1)
    np.fill_diagonal(near, 0)
    asked = moments.asked_there / np.maximum(moments.asked_there.sum(axis=1), 1)[:, None]
    both = n / len(near) * ((held @ near) * asked).sum(axis=1)
    return np.asarray(0.75 * (both + asked @ near.mean(axis=1) * around + mean_degree * held.mean(axis=1)))


def _path_variances(moments: Moments, spread: Floats) -> Floats:
    """Σ_l(S_kl·S_lx + S_kl·e_lx + e_kl·S_lx) of pairs {k, x}, as a few values that are equally frequent."""
    n, mean_degree = moments.n, 2 * moments.m / moments.n
    if moments.constant:
        one = float(spread[moments.only])
        return np.array([one * (n * one + 2 * mean_degree)])
    near = spread[moments.looked_kinds]
    np.fill_diagonal(near, 0)
    side = near.mean(axis=1)
    pairs = n / len(near) * near @ near + mean_degree * (side[:, None] + side)
    return np.asarray(np.quantile(pairs[np.triu_indices(len(near), 1)], (np.arange(_LEVELS) + 0.5) / _LEVELS)) + 1e-12


SUMMED: dict[str, Callable[[Moments, Plan], float]] = {TRIANGLES.name: triangles, FOUR_CYCLES.name: cycles}
"""The variances of what users sum over their rows."""


def error(question: base.Question, name: str) -> base.PredictedError | str:
    """The standard error of one name, with what the others that are asked leave it of ε."""
    moments, k = question.moments, star_size(name)
    plan = plan_for(question.statistics, question.epsilon, moments.n)
    if statistic(name).by_groups:
        return groups.user_error(moments.world, plan.group_epsilon, name)
    if name == DEGREES.name:
        survey = degree_survey(moments.world.public, plan.degree_epsilon)
        misses, deviations = degree_misses(moments, survey)
        return base.PredictedError(deviations / moments.n, misses / moments.n)
    if name == EDGES.name or k is not None:
        return base.PredictedError(from_degrees(moments, plan, k or 1) ** 0.5)
    if name == TRANSITIVITY.name and moments.two_stars:
        ratio = moments.triangles / moments.two_stars
        stars = from_degrees(moments, plan, 2)
        variance = 9 * (triangles(moments, plan) + ratio**2 * stars) / moments.two_stars**2
        return base.PredictedError(variance**0.5)
    if name not in SUMMED:
        return base.NO_CLOSED_FORM
    return base.PredictedError(SUMMED[name](moments, plan) ** 0.5)


def cost(world: VisibilityAwareGraph, statistics: Sequence[str], without: base.Subsample) -> base.Cost:
    """Degrees, a row, and for each sum of the second round a report that names the transcript, which all receive."""
    n, plan = world.graph.n, plan_for(statistics, 1, world.graph.n)
    up = (base.hidden_classes(world) * base.NUMBER + base.HEAD if plan.by_degrees else 0) + (
        base.row_bytes(n) if plan.by_rows else 0
    )
    cells = base.hidden_classes(world) * groups_of(world.graph).count
    up += cells * base.NUMBER + base.HEAD if plan.by_groups else 0
    up += len(plan.summed) * (_ROW_HEAD + 2 * base.NUMBER)
    # Everybody's rows together are the transcript; before they sum, users receive all first answers. Inside a scope
    # these are who answered, and one bit for each position that is asked.
    reporters, share = base.asked_in_scope(world)
    positions = n * (n - 1) // 2
    heard = 2 * (positions // 8 + 1) if share == 1 else -(-n // 8) - (-round(share * positions) // 8)
    down = base.QUESTION + (heard if plan.summed else 0)
    words = round(base.words_over_pairs(n, statistics) * share) if plan.by_rows else n
    return base.Cost(USER.name, reporters, up, down, words)


MODEL = base.Model(USER, error, cost, bounded=True)
