"""Everybody's degree with intervals that hold at once, and the K largest: from reports to estimates.  [ATONCE.1-4]"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.counts.degrees.simultaneous_degrees import (
    Limits,
    ScoredPositions,
    SimultaneousDegrees,
    by_laplace,
    by_scores,
)
from visibility_aware_edge_ldp.counts.scores import Floats, score
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
    from visibility_aware_edge_ldp.aggregator.score_estimates import ScoreEstimates
    from visibility_aware_edge_ldp.public.statistic import Statistic


def from_scores(given: ScoreEstimates, asked: Statistic) -> Estimate:
    """Degrees at once, or the K largest, from the answers of positions.  [ATONCE.2-4]"""
    collection = given.collection
    least, most = collection.degree_bounds  # the least are public edges
    found = SimultaneousDegrees(given.noisy_degrees[0], least, most, by_scores(least, _classes(given)))
    return _estimate(asked, found, collection.view.names)


def _classes(given: ScoreEstimates) -> list[ScoredPositions]:
    """What the positions of each class said; classes with the same mechanism and response rate are taken together."""
    collection: Any = given.collection
    view, survey, rates = collection.view, collection.survey, collection.response_rates()
    by_values: dict[tuple[float, ...], list[Any]] = {}
    for kind in NON_PUBLIC:
        if kind in view.present:
            rate = rates[kind] * float(survey.rate)
            by_values.setdefault(tuple(float(v) / rate for v in survey.channel(kind).scores), []).append(kind)
    found = []
    for values, kinds in by_values.items():
        rate = rates[kinds[0]] * float(survey.rate)
        answered = given.scores.node_sums(_only(values, np.ones_like))
        sums = given.scores.node_sums(_only(values, score)) * rate
        every = answered if rate == 1 else np.sum([collection.positions_of(kind) for kind in kinds], axis=0)
        found.append(ScoredPositions(survey.channel(kinds[0]), every.astype(np.float64), answered, sums))
    return found


def _only(values: tuple[float, ...], function: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """The function of these scores, and 0 of all others."""
    return lambda value: np.where(np.isin(value, values), function(value), 0.0)


def from_degrees(collection: DegreeCollection, noisy: Estimate, asked: Statistic) -> Estimate:
    """The same from users' ``noisy`` degrees; those who did not answer have what is public as their interval.

    [ATONCE.1, ATONCE.3-4]
    """
    answered, least = collection.answered, collection.public_degrees.astype(np.float64)
    absent = collection.hiding.any(axis=0) & ~answered
    most = least + collection.hidden_positions
    known = by_laplace(np.asarray(noisy.value), collection.noise_constants * answered)

    def intervals(level: float) -> Limits:
        low, high = known(level)
        return np.where(absent, least, low), np.where(absent, most, high)

    found = SimultaneousDegrees(np.asarray(noisy.value), least, most, intervals)
    return _estimate(asked, found, collection.view.names)


def _estimate(asked: Statistic, degrees: SimultaneousDegrees, names: Any) -> Estimate:
    """All of them, or the K largest where the statistic has a K."""
    if asked.parameter is None:
        value, limits, labels = degrees.value, degrees.limits, names
    else:
        largest = degrees.largest(asked.parameter)
        value, limits, labels = largest.value, largest.limits, largest.labels(names)
    nothing = np.full(value.size, np.nan)  # cut at what is possible, they have no standard error
    return Estimate(asked.name, value, nothing, labels=labels, unbiased=False, limits=limits, conservative=True)
