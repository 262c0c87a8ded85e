"""USER clustering: triangles from answers for rows, and classes from noisy degrees.  [CLUSTER.1-3]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval, estimate_of, ratio_of, unknown_share
from visibility_aware_edge_ldp.counts.degrees.clustering import (
    ClassClustering,
    DegreeWeights,
    NodeTriangles,
    by_class,
    local_sum,
    refuse_many,
)
from visibility_aware_edge_ldp.counts.exact import degree_classes
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.counts.plane_products import dense
from visibility_aware_edge_ldp.errors import BadStatistic

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
    from visibility_aware_edge_ldp.aggregator.position import PositionCollection
    from visibility_aware_edge_ldp.privacy import Release

LOCAL = "local_clustering"


def clustering(names: Sequence[str], answers: PositionCollection, degrees: DegreeCollection) -> dict[str, Estimate]:
    """Estimates of these statistics from users' answers for their rows and from their noisy degrees."""
    known, n, releases = degrees.noisy_degrees(), answers.view.n, (*answers.releases, *degrees.releases)
    refuse_many(n, names[0])
    if known.absent.size or set(answers.response_rates().values()) != {1.0}:
        raise BadStatistic(f"{names[0]} is worked out where everybody reported alone; ask for transitivity.")
    triangles = NodeTriangles(dense(answers.scores()))
    weights = DegreeWeights(known, np.asarray(degrees.hiding.any(axis=0)))
    return {name: (_local if name == LOCAL else _by_class)(name, triangles, weights, releases) for name in names}


def _local(name: str, triangles: NodeTriangles, weights: DegreeWeights, releases: tuple[Release, ...]) -> Estimate:
    """The mean of everybody's own coefficient, without bias.  [CLUSTER.2]"""
    found, n = local_sum(triangles, weights), weights.hides.size
    return replace(estimate_of(name, found.value / n, found.spread.times(1 / n), releases), conservative=True)


def _by_class(name: str, triangles: NodeTriangles, weights: DegreeWeights, releases: tuple[Release, ...]) -> Estimate:
    """The share of 2-stars that are closed at the nodes of each class of degrees.  [CLUSTER.3]"""
    if not (labels := degree_classes(weights.hides.size)):
        raise BadStatistic(f"{name} tells nothing on {weights.hides.size} nodes: nobody can have two friends.")
    each = [_share(name, part, releases) for part in by_class(triangles, weights)]

    def limits(level: float) -> Interval:
        low, high = zip(*(found.interval(level) for found in each), strict=True)
        return np.array(low, np.float64), np.array(high, np.float64)

    # Of a class with hardly any 2-stars every share is possible, and its interval holds all of them.
    value, variance = (np.array([float(getattr(found, part)) for found in each]) for part in ("value", "variance"))
    return Estimate(name, value, variance, releases, labels, unbiased=False, limits=limits, conservative=True)


def _share(name: str, part: ClassClustering, releases: tuple[Release, ...]) -> Estimate:
    if part.wedges <= 0:
        return unknown_share(name, releases)

    def noise(share: float) -> Spread:
        return part.less(share).times(1 / part.wedges)

    return ratio_of(name, part.triangles.value / part.wedges, lambda share: Spread(0.0), noise, releases)
