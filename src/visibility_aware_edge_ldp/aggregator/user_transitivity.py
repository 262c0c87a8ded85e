"""USER transitivity: triangles from rows over 2-stars from degrees.  [RATIO.1-2]"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate, share_limits
from visibility_aware_edge_ldp.aggregator.row_absence import TRIANGLE_PLACES
from visibility_aware_edge_ldp.aggregator.user_degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.user_triangles import TriangleCollection, hidden_share
from visibility_aware_edge_ldp.subgraphs import degree_functions


def transitivity(
    triangle: Estimate, wedge: Estimate, rows: TriangleCollection | None = None, degrees: DegreeCollection | None = None
) -> Estimate:
    """3T/S₂; with the collections behind the two, what they have in common by who stayed away is taken out.

    [RATIO.1-2]
    """
    releases = tuple(dict.fromkeys((*triangle.releases, *wedge.releases)))
    stars = float(wedge.value)
    known = math.isfinite(float(triangle.variance) + float(wedge.variance))
    if stars <= 0 or not known:
        return Estimate("transitivity", 0.0, np.inf, releases, unbiased=False, limits=lambda level: (0.0, 1.0))
    value = 3 * float(triangle.value) / stars
    shared = covariance(rows, degrees) if rows is not None and degrees is not None else 0.0

    def variance(share: float) -> float:
        """Of the error, if this were the truth."""
        apart = 9 * float(triangle.variance) + share**2 * float(wedge.variance)
        # The covariance is an estimate too; it never takes away more than nine tenths.
        return max(apart - 6 * share * shared, apart / 10) / stars**2

    def error(share: float) -> Estimate:
        """What lies between the estimate and this share; so much of it are the triangles, which lean."""
        here = variance(share)
        of_triangles = min(9 * float(triangle.variance) / (stars**2 * here), 1.0) if here else 0.0
        return replace(found, value=value - share, variance=here, skew=triangle.skew * of_triangles**1.5)

    found = Estimate("transitivity", value, variance(value), releases, unbiased=False, freedom=triangle.freedom)
    return replace(found, limits=partial(share_limits, found, error))


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
