"""Edges and degrees: sums of scores; k-stars: elementary symmetric polynomials of them.  [COUNTS.1-2]"""

from math import factorial

import numpy as np

from visibility_aware_edge_ldp.compute.reproducible_math import powers, weighted
from visibility_aware_edge_ldp.counts.scores import AllScores, Floats, ScoreFunction, score, spread


def stars(scores: AllScores, k: int) -> tuple[float, float]:
    """The number of k-stars and its variance."""
    symmetric = elementary(scores, 2 * k)
    value = float(symmetric[k].sum())
    variance = float(_centre_variance(symmetric, k).sum()) + _shared_variance(scores, symmetric, k)
    # The term in which all k sides are noisy; the whole variance is at least that.
    floor = float(elementary(scores, k, spread)[k].sum())
    return value, max(variance, floor)


def elementary(scores: AllScores, order: int, function: ScoreFunction = score) -> Floats:
    """(order + 1, n): e_0 … e_order of a function of each node's scores, by Newton's identities."""
    counts, values = scores.symbol_counts, function(scores.values)
    sums = [weighted(each, counts) for each in powers(values, order)]
    result = np.zeros((order + 1, scores.n))
    result[0] = 1
    for j in range(1, order + 1):
        result[j] = sum((-1) ** (i - 1) * result[j - i] * sums[i] for i in range(1, j + 1)) / j
    return result


def _centre_variance(symmetric: Floats, k: int) -> Floats:
    """e_k² minus the unbiased estimate of C(d, k)², node by node.  [COUNTS.3]"""
    square: Floats = sum(
        symmetric[j] * (factorial(j) / (factorial(j - k) ** 2 * factorial(2 * k - j))) for j in range(k, 2 * k + 1)
    )
    difference: Floats = symmetric[k] ** 2 - square
    return difference


def _shared_variance(scores: AllScores, symmetric: Floats, k: int) -> float:
    """Twice the covariance of the stars at the two ends of each position.  [COUNTS.3]"""
    total = 0.0
    for index, value in enumerate(scores.values):
        if varies := float(spread(np.array(value))):
            total += 2 * varies * scores.symbol_form(index, _without(symmetric, value, k - 1))
    return total


def _without(symmetric: Floats, value: float, order: int) -> Floats:
    """e_order of each node's scores with one score of this value taken away."""
    result: Floats = np.ones_like(symmetric[0])
    for j in range(1, order + 1):
        result = symmetric[j] - value * result
    return result


def covariance_with_edges(scores: AllScores, k: int) -> float:
    """Of the number of k-stars and the number of edges.  [DERIVED.2]"""
    symmetric, total = elementary(scores, k), 0.0
    for count, value in zip(scores.symbol_counts, scores.values, strict=True):
        total += float(spread(value)) * float((count * _without(symmetric, value, k - 1)).sum())
    return total


def edges(scores: AllScores) -> tuple[float, float]:
    """The edge count and its variance.  [COUNTS.1]"""
    return float(scores.node_sums(score).sum() / 2), float(scores.node_sums(spread).sum() / 2)


def degrees(scores: AllScores) -> tuple[Floats, Floats]:
    """Each node's degree and its variance."""
    return scores.node_sums(score), scores.node_sums(spread)
