"""Intervals of an estimate that goes like the third power of what who answered decides.  [HOLDERS.8]"""

from __future__ import annotations

import math

from visibility_aware_edge_ldp.aggregator.estimate import STRAIGHT, Estimate, Interval, student


def cube_interval(found: Estimate, level: float) -> Interval:
    """The interval that covers the truth with probability ``level``; its upper end may be infinite.  [HOLDERS.8]"""
    reach, skew = student(0.5 + level / 2, found.freedom), max(found.skew, 0.0)
    # A variance that goes with the square of the estimate is, at the truth itself, below its mean.
    error = found.standard_error * math.sqrt(1 + skew**2 / 4)
    return found.value - cubed(reach, skew) * error, found.value - cubed(-reach, skew) * error


def cubed(point: float, skew: float) -> float:
    """Which (estimate − truth)/(standard error) a point of a symmetric law stands for.  [HOLDERS.8]"""
    if skew < STRAIGHT:
        return point
    root = 1 + skew * (point - skew / 6) / 6
    return 2 / skew * (1 - root**-3) if root > 0 else -math.inf
