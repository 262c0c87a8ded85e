"""POSITION before anybody is asked: the exact variances of all counts, with assumed counts in them.  [PLAN.3, 13]"""

from collections.abc import Callable, Sequence
from math import comb, factorial

import numpy as np
import numpy.typing as npt

import visibility_aware_edge_ldp.evaluation.plan.base as base
from visibility_aware_edge_ldp.counts.degrees.degree_functions import binomial
from visibility_aware_edge_ldp.evaluation.lower_bounds import unbiased_variance
from visibility_aware_edge_ldp.evaluation.plan import groups
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import CLASSES, Moments
from visibility_aware_edge_ldp.evaluation.plan.subsampling import Parts, added_to_cycles, added_to_triangles
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.statistic import (
    CLUSTERING,
    DEGREES,
    EDGES,
    FOUR_CYCLES,
    TRANSITIVITY,
    TRIANGLES,
    star_size,
    statistic,
)
from visibility_aware_edge_ldp.public.trust import POSITION
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

Floats = npt.NDArray[np.float64]
# Below so many wrong answers the error comes in steps.
FEWEST_FLIPS = 30
NO_COIN = np.zeros(CLASSES)


def spreads(moments: Moments, epsilon: float, rate: float = 1.0) -> Floats:
    """The variance of one score at a position without an edge, by class; public bits have none.

    With a sample it is 1/rate of what it was.  [SAMPLE.3]
    """
    result, policy = np.zeros(CLASSES), moments.world.policy
    for kind in NON_PUBLIC:
        result[kind] = float(unbiased_variance(float(policy.multiplier(kind)) * epsilon)) / rate
    return result


def expected_flips(moments: Moments, epsilon: float) -> float:
    """How many answers will be wrong."""
    losses = np.array([float(moments.world.policy.multiplier(kind)) * epsilon for kind in NON_PUBLIC])
    return float(moments.positions[list(NON_PUBLIC)] @ (1 / (1 + np.exp(losses))))


def edges(moments: Moments, spread: Floats, coin: Floats = NO_COIN) -> float:
    """Σσ² over all positions."""
    return float(moments.positions @ spread + moments.edge_counts @ coin)


def degree_errors(moments: Moments, spread: Floats, coin: Floats = NO_COIN) -> Floats:
    """The standard error of each chosen node's degree."""
    at_friends = coin @ moments.degrees_by_class[:, moments.chosen]
    return np.asarray(np.sqrt(moments.node_classes @ spread + at_friends))


def stars(moments: Moments, spread: Floats, k: int, coin: Floats = NO_COIN) -> float:
    """Stars at one centre with j noisy sides, and what the two ends of a position have in common."""
    chosen = moments.world.graph.degrees[moments.chosen]
    friends = moments.degrees_by_class[:, moments.chosen]
    strangers = np.maximum(moments.node_classes.T - friends, 0)
    at_friends, at_strangers = _elementary(friends, spread + coin, k), _elementary(strangers, spread, k)
    total = np.zeros(chosen.size)
    for j in range(1, k + 1):
        for i in range(j + 1):
            total += at_friends[i] * at_strangers[j - i] * binomial(np.maximum(chosen - i, 0), k - j) ** 2
    shared = moments.star_products(k) @ spread
    if coin.any():
        shared += moments.edge_star_products(k) @ coin
    return float(moments.weights @ total) + 2 * float(shared)


def _elementary(counts: Floats, spread: Floats, order: int) -> list[Floats]:
    """e_0 … e_order of the spreads of so many positions of each class."""
    result = [np.ones(counts.shape[1]), *(np.zeros(counts.shape[1]) for _ in range(order))]
    for kind in range(CLASSES):
        powers = [_falling(counts[kind], i) * spread[kind] ** i for i in range(order + 1)]
        result = [sum((result[j - i] * powers[i] for i in range(j + 1)), np.zeros(1)) for j in range(order + 1)]
    return result


def _falling(count: Floats, i: int) -> Floats:
    value = np.ones(count.shape)
    for step in range(i):
        value = value * np.maximum(count - step, 0)
    return value / factorial(i)


def triangle_parts(moments: Moments, spread: Floats, coin: Floats = NO_COIN) -> Parts:
    """One, two and three noisy sides.  [COUNTS.4], with a sample [PLAN.13]"""
    # Σ over edges and third nodes of two spreads; over 2-stars of the spread of what would close them.
    at_edges = moments.m * (moments.n - 2) * float(np.einsum("ab,a,b", moments.wedges_at_edges, spread, spread))
    closing = float(moments.shared_sums @ spread)
    extra = float(moments.edge_counts @ coin) / max(moments.m, 1)
    one = float(moments.shared_squares @ spread + moments.edge_squares @ coin)
    two, three = at_edges, comb(moments.n, 3) * float(np.einsum("abc,a,b,c", moments.triples, spread, spread, spread))
    if extra:
        two += 2 * extra * closing + 3 * extra**2 * moments.triangles
        three += extra * at_edges + extra**2 * closing + extra**3 * moments.triangles
    return Parts(one, two, 0.0, three, 0.0)


def triangles(moments: Moments, spread: Floats, coin: Floats = NO_COIN) -> float:
    """All of it."""
    return sum(triangle_parts(moments, spread, coin))


def transitivity(moments: Moments, spread: Floats, coin: Floats = NO_COIN) -> float:
    """The delta method on 3T/S₂.  [COUNTS.5]"""
    ratio, parts = moments.triangles / moments.two_stars, triangle_parts(moments, spread, coin)
    shared = float(moments.shared_ends @ spread + moments.edge_ends @ coin) + parts.two
    apart = sum(parts) + ratio**2 * stars(moments, spread, 2, coin)
    return 9 * max(apart - 2 * ratio * shared, 0.0) / moments.two_stars**2


def cycle_parts(moments: Moments, spread: Floats, coin: Floats = NO_COIN) -> Parts:
    """One to four noisy sides.  [COUNTS.6]; what a coin adds is taken into account at single noisy sides.  [PLAN.13]"""
    n, m = moments.n, moments.m
    one = float(moments.closing_squares @ spread + moments.edge_closing_squares @ coin)
    three = m * (n - 2) * (n - 3) * float(np.einsum("abc,a,b,c", moments.paths_at_edges, spread, spread, spread))
    four = 3 * comb(n, 4) * float(np.einsum("abcd,a,b,c,d", moments.quads, spread, spread, spread, spread))
    return Parts(one, _two_adjacent(moments, spread), _two_opposite(moments, spread), three, four)


def cycles(moments: Moments, spread: Floats, coin: Floats = NO_COIN) -> float:
    """All of it."""
    return sum(cycle_parts(moments, spread, coin))


def _two_adjacent(moments: Moments, spread: Floats) -> float:
    """Σ over pairs of Σ_w σ²σ²(c − x)²: n − 2 − c others see c paths, and c of them c − 1."""
    squares = float(moments.shared_squares.sum())
    return ((moments.n - 4) * squares + moments.two_stars) * wedge_spread(moments, spread)


def wedge_spread(moments: Moments, spread: Floats) -> float:
    """The mean of σ²_uw·σ²_wv over all w, for pairs {u, v} in proportion to the squares of their common friends."""
    if moments.constant:
        return float(spread[moments.only]) ** 2
    wedges = moments.heavy_wedges / max(float(moments.heavy_wedges.sum()), 1e-300)
    return float(np.einsum("ab,a,b", wedges, spread, spread))


def _two_opposite(moments: Moments, spread: Floats) -> float:
    typical = float(moments.positions @ spread) / max(float(moments.positions.sum()), 1.0)
    return typical**2 * 2 * (moments.disjoint_edges + moments.cycles_on_four)


def error(question: base.Question, name: str) -> base.PredictedError | str:
    """The standard error of one name, all of which come from the same answers."""
    moments, without = question.moments, question.without
    spread = spreads(moments, float(question.epsilon), float(without.positions))
    coin, k = without.coin, star_size(name)
    if statistic(name).by_groups:
        return groups.position_error(moments.world, name, spread, coin)
    if name == DEGREES.name:
        errors = degree_errors(moments, spread, coin)
        mean = float(moments.weights @ errors / moments.weights.sum())
        return base.PredictedError(mean, base.NORMAL * mean)
    if k is not None:
        return base.PredictedError(stars(moments, spread, k, coin) ** 0.5)
    if name == TRANSITIVITY.name and not moments.two_stars:
        return "the assumed graph has no 2-stars"
    variance = VARIANCES.get(name)
    return base.NO_CLOSED_FORM if variance is None else base.PredictedError(variance(moments, spread, without) ** 0.5)


def _counted_triangles(moments: Moments, spread: Floats, without: base.Subsample) -> float:
    return triangles(moments, spread, without.coin) + added_to_triangles(without.work, moments, spread)


def _counted_transitivity(moments: Moments, spread: Floats, without: base.Subsample) -> float:
    added = _counted_triangles(moments, spread, without) - triangles(moments, spread, without.coin)
    return transitivity(moments, spread, without.coin) + 9 * added / moments.two_stars**2


def _counted_cycles(moments: Moments, spread: Floats, without: base.Subsample) -> float:
    parts = cycle_parts(moments, spread, without.coin)
    # A sample of positions is counted whole.
    return sum(parts) + (added_to_cycles(without.work, moments, parts) if without.positions == 1 else 0.0)


VARIANCES: dict[str, Callable[[Moments, Floats, base.Subsample], float]] = {
    EDGES.name: lambda moments, spread, without: edges(moments, spread, without.coin),
    TRIANGLES.name: _counted_triangles,
    TRANSITIVITY.name: _counted_transitivity,
    FOUR_CYCLES.name: _counted_cycles,
}


def doubt(question: base.Question, found: base.PredictedError) -> str:
    """Whether so few answers will be wrong that the error comes in steps."""
    flips = expected_flips(question.moments, float(question.epsilon)) if found.deviation else FEWEST_FLIPS
    if flips >= FEWEST_FLIPS:
        return ""
    return f"{base.FEW_FLIPS} {flips:.1f} answers will be wrong: the error is 0 or comes in steps"


def cost(world: VisibilityAwareGraph, statistics: Sequence[str], without: base.Subsample) -> base.Cost:
    """With a sample, two bits for each drawn position of a row; lists are walked where that is less.  [SAMPLE.5]

    Inside a scope only those who are asked report, and only pairs that are asked are worked on; a row keeps its layout.
    """
    n, rate = world.graph.n, float(without.positions)
    cubic = any(statistic(name).over_pairs for name in statistics)
    reporters, share = base.asked_in_scope(world)
    words = round(base.words_over_pairs(n, statistics) * share)
    if rate == 1:
        counted = round(words * (without.work or 1.0)) if cubic else words
        return base.Cost(POSITION.name, reporters, base.row_bytes(n), base.QUESTION, counted)
    drawn = rate * (n - 1)
    walked = drawn * n / 2 * (drawn / 3 if cubic else 1)
    up = base.HEAD + base.NUMBER + 2 * (int(drawn) // 16 + 1)
    return base.Cost(POSITION.name, reporters, up, base.QUESTION, min(words, round(walked)))


MODEL = base.Model(POSITION, error, cost, doubt, bounded=True, noted=("tail", "degree_quantile", *CLUSTERING))
