"""Transitivity from the rows that were heard: triangles over 2-stars, with what the two have in common.  [HOLDERS.6]"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.aggregator.heard_rows import HeardRows, Parts
from visibility_aware_edge_ldp.aggregator.heard_stars import Leaves, star_parts
from visibility_aware_edge_ldp.aggregator.heard_triangles import ByPosition, Together, triangles_and_wedges


class Transitivity(NamedTuple):
    """Triangles T and 2-stars S of the rows that were heard."""

    wedges: Parts
    together: Together

    @staticmethod
    def of(rows: HeardRows) -> Transitivity:
        """Both, with what they have in common."""
        return Transitivity(star_parts(rows, 2), triangles_and_wedges(rows, by_position(rows)))

    @property
    def scale(self) -> float:
        """What makes a share of it."""
        return 3 / self.wedges.value if self.wedges.value > 0 else 0.0

    @property
    def parts(self) -> Parts:
        """3T/S and how it varies, to first order; without bound where there seem to be no 2-stars.  [HOLDERS.6]"""
        if not self.scale:
            return Parts(0.0, math.inf, math.inf, np.zeros_like(self.wedges.pulls), 0.0)
        value = self.scale * self.together.triangles.value
        return self.less(value)._replace(value=value)

    def less(self, share: float) -> Parts:
        """3T/S less a share: to first order a sum over subgraphs, whose mean is 0 for the true share.  [HOLDERS.6]"""
        triangles, wedges, scale, ratio = self.together.triangles, self.wedges, self.scale, share / 3

        def of(one: float, shared: float, other: float) -> float:
            return scale**2 * (one - 2 * ratio * shared + ratio**2 * other)

        return Parts(
            scale * (triangles.value - ratio * wedges.value),
            of(triangles.noise, self.together.noise, wedges.noise),
            scale**2 * triangles.floor,
            scale * (triangles.pulls - ratio * wedges.pulls),
            of(triangles.pull_noise, self.together.pull_noise, wedges.pull_noise),
        )


def transitivity_parts(rows: HeardRows) -> Parts:
    """3T/S and how it varies, to first order.  [HOLDERS.6]"""
    return Transitivity.of(rows).parts


def by_position(rows: HeardRows) -> ByPosition:
    """How the number of 2-stars changes with each score.  [HOLDERS.6]"""
    _, one, two = rows.weights(2).tolist()
    public, later, earlier = (each[1] for each in Leaves.of(rows, 1))
    first, second = one * (public + later) + two * earlier, one * public + two * (later + earlier)
    return ByPosition(np.asarray(first), np.asarray(second), one + two, later)
