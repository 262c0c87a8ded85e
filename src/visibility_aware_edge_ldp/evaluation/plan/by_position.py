"""POSITION before anybody is asked: the exact variances of all counts, with assumed counts in them.  [PLAN.3]"""

from __future__ import annotations

from math import comb, factorial, pi, sqrt

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.evaluation.plan.moments import CLASSES, Moments
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.subgraphs.degree_functions import binomial
from visibility_aware_edge_ldp.subgraphs.lower_bounds import unbiased_variance

Floats = npt.NDArray[np.float64]

NORMAL = sqrt(2 / pi)


def spreads(moments: Moments, epsilon: float) -> Floats:
    """The variance of one score, by class; public bits have none."""
    result, policy = np.zeros(CLASSES), moments.world.policy
    for kind in NON_PUBLIC:
        result[kind] = float(unbiased_variance(float(policy.multiplier(kind)) * epsilon))
    return result


def expected_flips(moments: Moments, epsilon: float) -> float:
    """How many answers will be wrong."""
    losses = np.array([float(moments.world.policy.multiplier(kind)) * epsilon for kind in NON_PUBLIC])
    return float(moments.positions[list(NON_PUBLIC)] @ (1 / (1 + np.exp(losses))))


def edges(moments: Moments, spread: Floats) -> float:
    """Σσ² over all positions."""
    return float(moments.positions @ spread)


def degree_errors(moments: Moments, spread: Floats) -> Floats:
    """The standard error of each chosen node's degree."""
    return np.asarray(np.sqrt(moments.node_classes @ spread))


def stars(moments: Moments, spread: Floats, k: int) -> float:
    """Stars at one centre with j noisy sides, and what the two ends of a position have in common."""
    chosen = moments.world.graph.degrees[moments.chosen]
    friends = moments.degrees_by_class[:, moments.chosen]
    strangers = np.maximum(moments.node_classes.T - friends, 0)
    at_friends, at_strangers = _elementary(friends, spread, k), _elementary(strangers, spread, k)
    total = np.zeros(chosen.size)
    for j in range(1, k + 1):
        for i in range(j + 1):
            total += at_friends[i] * at_strangers[j - i] * binomial(np.maximum(chosen - i, 0), k - j) ** 2
    return float(moments.weights @ total) + 2 * float(moments.star_products(k) @ spread)


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


def two_noisy_sides(moments: Moments, spread: Floats) -> float:
    """Triangles of a true edge and two noisy sides."""
    each = float(np.einsum("ab,a,b", moments.wedges_at_edges, spread, spread))
    return moments.m * (moments.n - 2) * each


def triangles(moments: Moments, spread: Floats) -> float:
    """One, two and three noisy sides.  [COUNTS.4]"""
    three = comb(moments.n, 3) * float(np.einsum("abc,a,b,c", moments.triples, spread, spread, spread))
    return float(moments.shared_squares @ spread) + two_noisy_sides(moments, spread) + three


def transitivity(moments: Moments, spread: Floats) -> float:
    """The delta method on 3T/S₂.  [COUNTS.5]"""
    ratio = moments.triangles / moments.two_stars
    shared = float(moments.shared_ends @ spread) + two_noisy_sides(moments, spread)
    apart = triangles(moments, spread) + ratio**2 * stars(moments, spread, 2)
    return 9 * max(apart - 2 * ratio * shared, 0.0) / moments.two_stars**2


def four_cycles(moments: Moments, spread: Floats) -> float:
    """One to four noisy sides.  [COUNTS.6]"""
    n, m = moments.n, moments.m
    one = float(moments.closing_squares @ spread)
    three = m * (n - 2) * (n - 3) * float(np.einsum("abc,a,b,c", moments.paths_at_edges, spread, spread, spread))
    four = 3 * comb(n, 4) * float(np.einsum("abcd,a,b,c,d", moments.quads, spread, spread, spread, spread))
    return one + _two_adjacent(moments, spread) + _two_opposite(moments, spread) + three + four


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
