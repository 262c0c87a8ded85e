"""POSITION before anybody is asked: the exact variances of all counts, with assumed counts in them.  [PLAN.3, 13]"""

from __future__ import annotations

from math import comb, factorial, pi, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.evaluation.plan.moments import CLASSES, Moments
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.subgraphs.degree_functions import binomial
from visibility_aware_edge_ldp.subgraphs.lower_bounds import unbiased_variance

Floats = npt.NDArray[np.float64]

NORMAL = sqrt(2 / pi)
NO_COIN = np.zeros(CLASSES)


def spreads(moments: Moments, epsilon: float, rate: float = 1.0) -> Floats:
    """The variance of one score at a position without an edge, by class; public bits have none.

    With a sample it is 1/rate of what it was.  [SAMPLE.3]
    """
    result, policy = np.zeros(CLASSES), moments.world.policy
    for kind in NON_PUBLIC:
        result[kind] = float(unbiased_variance(float(policy.multiplier(kind)) * epsilon)) / rate
    return result


def coin_spreads(rate: float) -> Floats:
    """What the coin of a sample adds to that at a position with an edge, by class.  [SAMPLE.3]"""
    return np.array([0.0, *((1 - rate) / rate for _ in NON_PUBLIC)])


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


class Parts(NamedTuple):
    """The variance of a count by how many noisy sides a subgraph has: 1, 2 adjacent ones, 2 opposite ones, 3, 4."""

    one: float
    two: float
    opposite: float
    three: float
    four: float


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


def four_cycles(moments: Moments, spread: Floats, coin: Floats = NO_COIN) -> float:
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
    return typical**2 * 2 * (moments.disjoint_edges + moments.four_cycles)
