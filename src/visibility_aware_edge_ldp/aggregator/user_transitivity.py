"""USER transitivity: triangles from rows over 2-stars from degrees.  [RATIO.1]"""

from __future__ import annotations

import math

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.row_absence import TRIANGLE_PLACES
from visibility_aware_edge_ldp.aggregator.user_degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.user_triangles import TriangleCollection, hidden_share
from visibility_aware_edge_ldp.subgraphs import degree_functions


def transitivity(
    triangle: Estimate, wedge: Estimate, rows: TriangleCollection | None = None, degrees: DegreeCollection | None = None
) -> Estimate:
    """3T/S₂; with the collections behind the two, what they have in common by who stayed away is taken out."""
    releases = tuple(dict.fromkeys((*triangle.releases, *wedge.releases)))
    stars = float(wedge.value)
    known = math.isfinite(float(triangle.variance) + float(wedge.variance))
    if stars <= 0 or not known:
        return Estimate("transitivity", 0.0, np.inf, releases, unbiased=False, limits=lambda level: (0.0, 1.0))
    ratio = float(triangle.value) / stars
    shared = covariance(rows, degrees) if rows is not None and degrees is not None else 0.0
    apart = float(triangle.variance) + ratio**2 * float(wedge.variance)
    # The covariance is an estimate too; it never takes away more than nine tenths.
    variance = 9 * max(apart - 2 * ratio * shared, apart / 10) / stars**2
    return Estimate("transitivity", 3 * ratio, variance, releases, unbiased=False, freedom=triangle.freedom)


def covariance(rows: TriangleCollection, degrees: DegreeCollection) -> float:
    """Of the triangles' and the 2-stars' estimates, because users who stay away are missed in both.  [RATIO.1]"""
    asked, _, second = rows.counts
    both = rows.answered & degrees.answered
    answered, together = int(degrees.answered.sum()), int(both.sum())
    if together < 2 or second == asked:
        return 0.0
    wedges, _ = degree_functions.per_answer(degrees.noisy_degrees(), lambda d: degree_functions.binomial(d, 2))
    owned = rows.totals[both] / 2.0**rows.survey.fineness
    spread = float(np.cov(owned, wedges[both[degrees.answered]])[0, 1])
    overlap = asked**2 * (together / (second * answered) - 1 / asked)
    return (1 + TRIANGLE_PLACES.hidden(hidden_share(rows)).mean) * overlap * spread
