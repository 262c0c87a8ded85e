"""Transitivity from the rows that were heard: triangles over 2-stars, with what the two have in common.  [HOLDERS.6]"""

from __future__ import annotations

import math

import numpy as np

from visibility_aware_edge_ldp.aggregator.heard_rows import HeardRows, Parts
from visibility_aware_edge_ldp.aggregator.heard_stars import Leaves, star_parts
from visibility_aware_edge_ldp.aggregator.heard_triangles import ByPosition, triangles_and_wedges


def transitivity_parts(rows: HeardRows) -> Parts:
    """3T/S₂ and how it varies, to first order; without bound where there seem to be no 2-stars.  [HOLDERS.6]"""
    wedge = star_parts(rows, 2)
    if wedge.value <= 0:
        return Parts(0.0, math.inf, math.inf, np.zeros(rows.scores.n), 0.0)
    triangle, noise, pull_noise = triangles_and_wedges(rows, by_position(rows))
    ratio, scale = triangle.value / wedge.value, 3 / wedge.value
    return Parts(
        scale * triangle.value,
        scale**2 * (triangle.noise - 2 * ratio * noise + ratio**2 * wedge.noise),
        scale**2 * triangle.floor,
        scale * (triangle.pulls - ratio * wedge.pulls),
        scale**2 * (triangle.pull_noise - 2 * ratio * pull_noise + ratio**2 * wedge.pull_noise),
    )


def by_position(rows: HeardRows) -> ByPosition:
    """How the number of 2-stars changes with each score.  [HOLDERS.6]"""
    _, one, two = rows.weights(2).tolist()
    public, later, earlier = (each[1] for each in Leaves.of(rows, 1))
    first, second = one * (public + later) + two * earlier, one * public + two * (later + earlier)
    return ByPosition(np.asarray(first), np.asarray(second), one + two, later)
