"""The source documents' own estimator, for comparison: inverse weights, capped and penalised.  [AGGREGATE.4]

It reads the same honest two-round transcript as the unbiased estimator. It is biased, carries no
standard error, and is offered so that anybody can see what its caps cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import row_sums
from visibility_aware_edge_ldp.counts.scores import Floats, scores_of
from visibility_aware_edge_ldp.counts.triangles import PairBlock, Sums, sum_over_pairs
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.statistic import check_statistics, star_size
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.position import PositionCollection

CANDIDATES = 10


def estimate_ipw_capped(collection: PositionCollection, statistics: Sequence[str]) -> dict[str, Estimate]:
    """Edges, max degree, triangles and k-stars as document 003 computes them."""
    if collection.survey.rounds != 2:
        raise BadStatistic("ipw_capped reads two rounds; ask with rounds=2.")
    if collection.survey.sample is not None:
        raise BadStatistic("ipw_capped knows nothing of samples; ask every position.")
    wanted = check_statistics(statistics, collection.view.n)
    return {
        name: Estimate(name, _value(collection, name), math.nan, collection.releases, unbiased=False) for name in wanted
    }


def _value(collection: PositionCollection, statistic: str) -> float:
    k = star_size(statistic)
    methods: dict[str, Callable[[PositionCollection], float]] = {
        "edges": lambda found: float(_debiased_degrees(found).sum() / 2),
        "max_degree": _max_degree,
        "triangles": _triangles,
    }
    if k is not None:
        return _stars(collection, k)
    if statistic not in methods:
        raise BadStatistic(f"ipw_capped has no {statistic}; it has {', '.join(methods)} and stars:K.")
    return methods[statistic](collection)


def _detection(collection: PositionCollection, kind: Visibility) -> tuple[float, float]:
    """p₁p₂ and q₁q₂: how often a true and a false edge say 1 twice."""
    first, second = (collection.survey.mechanism(kind, number) for number in (1, 2))
    return float(first.keep * second.keep), float(first.flip * second.flip)


def _node_counts(collection: PositionCollection, kind: Visibility, depth: int) -> Floats:
    """Per node: its positions that took part (0), said 1 (1), said 1 again (2)."""
    return row_sums(backend.plane_of(collection.nested(kind)[depth], collection.view.n)).astype(np.float64)


def _public_degrees(collection: PositionCollection) -> Floats:
    return np.bincount(collection.view.edges.ravel(), minlength=collection.view.n).astype(np.float64)


def _debiased_degrees(collection: PositionCollection) -> Floats:
    """§4.2: an exact public part, and a debiased private one cut off at 0."""
    total = _public_degrees(collection)
    for kind in NON_PUBLIC:
        true, false = _detection(collection, kind)
        surplus = _node_counts(collection, kind, 2) - _node_counts(collection, kind, 0) * false
        total += np.maximum(0, surplus / (true - false))
    return total


def _max_degree(collection: PositionCollection) -> float:
    """§4.2: the ten nodes of highest noisy degree in round 1 are looked at again."""
    first = _public_degrees(collection) + sum(_node_counts(collection, kind, 1) for kind in NON_PUBLIC)
    candidates = np.argsort(-first, kind="stable")[:CANDIDATES]
    return float(min(_debiased_degrees(collection)[candidates].max(), collection.view.n - 1))


def _stars(collection: PositionCollection, k: int) -> float:
    """§6.2: C(d, k) of a rounded, capped degree."""
    total = _public_degrees(collection)
    for kind in NON_PUBLIC:
        true, false = _detection(collection, kind)
        surplus = _node_counts(collection, kind, 2) - _node_counts(collection, kind, 0) * false
        total += np.maximum(0, surplus) * _weight(true, cap=5.0, floor=0.6)
    degrees = np.maximum(0, np.round(total)).astype(int)
    return float(sum(math.comb(degree, k) for degree in degrees.tolist()))


def _weight(detection: float, cap: float, floor: float) -> float:
    """An inverse probability, capped, and shrunk towards ``floor`` of itself where detection is rare."""
    if detection <= 0.01:
        return 0.0
    weight = min(1 / detection, cap)
    return weight * (floor + (1 - floor) * detection / 0.3) if detection < 0.3 else weight


def _triangles(collection: PositionCollection) -> float:
    """§5.2: confirmed triangles by how many of their sides are not public, weighted, less a correction."""
    confirmed = _confirmed_triangles(collection)
    weighted, counted = 0.0, 0.0
    for sides, count in confirmed.items():
        chance = math.prod(_detection(collection, kind)[0] for kind in sides if kind is not Visibility.PUBLIC)
        weight = 1.0 if chance == 1 else _weight(chance, cap=50.0, floor=0.5)
        weighted += weight * count
        counted += count if weight else 0
    public = confirmed.get((Visibility.PUBLIC,) * 3, 0.0)
    false_rate = float(collection.survey.mechanism(Visibility.PRIVATE, 2).flip) ** 2
    correction = 0.5 * false_rate * max(0.0, _candidate_triangles(collection) - counted)
    return public + max(0.0, weighted - public - correction)


def _confirmed_triangles(collection: PositionCollection) -> dict[tuple[Visibility, ...], float]:
    """How many triangles of twice-confirmed edges have sides of which classes."""
    layers = {Visibility.PUBLIC: collection.view.edge_bits} | {kind: collection.nested(kind)[2] for kind in NON_PUBLIC}
    scores = scores_of([([flat], [1.0]) for flat in layers.values()], collection.view.n)
    kinds = list(layers)
    sums = sum_over_pairs(scores, lambda block: _sides(block, len(kinds)))
    return {tuple(kinds[int(place)] for place in key): count for key, count in sums.items()}


def _sides(block: PairBlock, layers: int) -> Sums:
    """Triangles of the block by the layers of their sides, each counted from its odd side once."""
    found = {}
    for triple in combinations_with_replacement(range(layers), 3):
        a, b, c = triple if triple[0] != triple[1] else triple[::-1]
        count = float((block.inside(a) * block.shared(b, c)).sum())
        found["".join(map(str, triple))] = count / 3 if a == b == c else count
    return found


def _candidate_triangles(collection: PositionCollection) -> float:
    """Triangles among public edges and first answers of 1."""
    flat = collection.view.edge_bits
    for kind in NON_PUBLIC:
        flat = flat | collection.nested(kind)[1]
    scores = scores_of([([flat], [1.0])], collection.view.n)
    return sum_over_pairs(scores, lambda block: _sides(block, 1))["000"]
