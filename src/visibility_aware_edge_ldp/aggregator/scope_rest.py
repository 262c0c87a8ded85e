"""What is not wholly inside a scope, and what there is in all, with a second collection of positions outside the scope.

That one is of a sample of them.  [SCOPE.7-8]
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.pair_sums import upper
from visibility_aware_edge_ldp.counts import triangles
from visibility_aware_edge_ldp.counts.scores import Floats, Scores, score, scores_of, spread, square
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy import Release
from visibility_aware_edge_ldp.public.statistic import EDGES, TRIANGLES


class Rest(NamedTuple):
    """What is not wholly inside, and what there is in all."""

    outside: Estimate
    everywhere: Estimate


class _Parts(NamedTuple):
    """Of a statistic, the value and the variance of what is not wholly inside, and of all."""

    rest: tuple[float, float]
    everywhere: tuple[float, float]


def joint_releases(inside: PositionCollection, outside: PositionCollection) -> tuple[Release, ...]:
    """Both collections as what one edge pays for: no position is asked in both.  [SCOPE.7]"""
    if inside.view.policy.outside != outside.view.policy:
        raise ProtocolViolation("The second collection is not of the positions outside the first one's scope.")
    names = hashlib.sha256(f"{inside.survey.identity} {outside.survey.identity}".encode()).hexdigest()
    pairs = list(zip(inside.releases, outside.releases, strict=True))
    if any(one.prices != other.prices for one, other in pairs):
        raise ProtocolViolation("Inside and outside a scope positions are asked at the same loss.")
    return tuple(Release(names, one.round, one.prices) for one, _ in pairs)


def rest_estimates(
    inside: PositionCollection, outside: PositionCollection, statistics: tuple[str, ...]
) -> dict[str, Rest]:
    """For each statistic what is not wholly inside, and the sum, with their variances.  [SCOPE.8]"""
    refuse_others(statistics)
    groups, known = inside.outcome_planes()
    more, _ = outside.outcome_planes()
    releases, planes = joint_releases(inside, outside), sum(len(bits) for bits, _ in groups)
    scores, found = scores_of([*groups, *more], inside.view.n, known), {}
    for name in statistics:
        parts = ESTIMATED[name](scores, planes)
        found[name] = Rest(*(Estimate(name, value, max(variance, 0.0), releases) for value, variance in parts))
    return found


def refuse_others(statistics: tuple[str, ...]) -> None:
    """Statistics for which nobody has worked out how what is inside and what is not hang together."""
    for name in statistics:
        if name not in ESTIMATED:
            raise BadStatistic(
                f"What is not wholly inside a scope is estimated for {' and '.join(ESTIMATED)}, not for {name}; ask "
                "for these alone, or leave the rest (--rest leave)."
            )


def _edges(scores: Scores, planes: int) -> _Parts:
    ones = scores.plane_degrees.sum(axis=1) / 2
    outer, whole = (
        [float((scores.weights(f)[first:] * ones[first:]).sum()) for f in (score, spread)] for first in (planes, 0)
    )
    return _Parts((outer[0], outer[1]), (whole[0], whole[1]))


def _triangles(scores: Scores, planes: int) -> _Parts:
    """Var(all) = Var(inside) + Var(rest) + 2 Σ over positions inside of s·F_in·(F_all − F_in).  [SCOPE.8]"""
    kept = np.arange(len(scores.values)) < planes

    def summand(block: triangles.PairBlock) -> dict[str, float]:
        inner = _inner_sums(block, kept)
        return {**triangles.triangle_sums(block), **{f"inside/{key}": value for key, value in inner.items()}}

    sums = triangles.sum_over_pairs(scores, summand)
    inner = {name.partition("/")[2]: value for name, value in sums.items() if name.startswith("inside/")}
    value, variance = triangles.triangles(sums)
    own, own_variance = triangles.triangles(inner)
    return _Parts((value - own, variance - own_variance - 2 * inner["shared"]), (value, variance))


def _inner_sums(block: triangles.PairBlock, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> dict[str, float]:
    """The block's sums of triangles inside, and of what they share with those that are not wholly inside."""
    scores = block.scores
    both = np.array([kept[a] and kept[b] for a, b in scores.plane_pairs])
    forms = np.stack([scores.form_weights(f, f) * both for f in (score, square, spread)])
    own = np.stack([scores.weights(f) * kept for f in (score, spread)])
    ends = np.zeros(block.last - block.start)  # nobody asks for 2-stars here
    found = backend.kernels("pair_sums").triangle_sums(block.counts, forms, block.bits, own, ends)
    noise = _weighted(own[1], block.bits) * upper(*block.bits.shape[1:])
    inner, whole = _weighted(forms[0], block.counts), _weighted(scores.form_weights(score, score), block.counts)
    shared = float((noise * inner * (whole - inner)).sum())
    return {**dict(zip(triangles.NAMES, found.tolist(), strict=True)), "shared": shared}


def _weighted(weights: Floats, arrays: np.ndarray[tuple[int, int, int], np.dtype[np.generic]]) -> Floats:
    total = np.zeros(arrays.shape[1:])
    for weight, array in zip(weights.tolist(), arrays, strict=True):
        if weight:
            total += weight * array
    return total


ESTIMATED: Mapping[str, Callable[[Scores, int], _Parts]] = {EDGES.name: _edges, TRIANGLES.name: _triangles}
"""The statistics whose rest is known, each from scores and how many of their planes, the first ones, are inside."""
