"""USER triangles and 4-cycles before anybody is asked: errors against downloads.  [PARTS.8, PARTS.13]"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.node_statistics.row_parts import Sizes, list_law
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.user import cycles_by_parts
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES, TRIANGLES
from visibility_aware_edge_ldp.public.surveys.row_parts import (
    CyclePartSurvey,
    cycle_part_survey,
    fewest_groups,
    part_share,
    part_size,
    part_survey,
)
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.simulation.memory import size

HEAD = ("download", "share", "mean error")
# The mean of |error| over the standard error, of a normal law.
MEAN = math.sqrt(2 / math.pi)
# The least group of users that is shown has about so many members.
_FEWEST = 4


@dataclass(frozen=True)
class Download:
    """So many octets for each user, one part of all first answers by so many groups, and the predicted error."""

    octets: float
    groups: int
    relative_standard_error: float
    statistic: str = TRIANGLES.name

    @property
    def mean_error(self) -> float:
        """The mean relative error."""
        return MEAN * self.relative_standard_error

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON and CSV."""
        error = self.relative_standard_error
        told = None if math.isinf(error) or math.isnan(error) else error
        octets, share = self.octets, float(part_share(self.groups, self.statistic))
        return {"octets": octets, "groups": self.groups, "share": share, "relative_standard_error": told}

    def texts(self) -> tuple[str, ...]:
        """As a row of a table."""
        octets = size(self.octets) if self.octets >= 1e6 else f"{self.octets / 1000:,.0f} kB"
        share = f"1/{self.groups:,}"
        if self.statistic != TRIANGLES.name:
            share = _percent(float(part_share(self.groups, self.statistic)))
        return octets, share, _percent(self.mean_error)


def _percent(share: float) -> str:
    return f"{100 * share:,.3g} %" if math.isfinite(share) else "none"


def download_error(world: VisibilityAwareGraph, epsilon: Number, groups: int, triangles: float) -> Download:
    """The predicted error where users download one part of so many groups; ``triangles`` is how many there are.

    [PARTS.8]
    """
    survey, graph = part_survey(world.public, epsilon, groups), world.graph
    law = list_law(survey, world.public)
    lengths = np.bincount(np.sort(graph.edges, axis=1)[:, 0], minlength=graph.n)
    pairs = float((lengths * (lengths - 1.0)).sum() / 2)
    sizes = Sizes(float(graph.m), pairs, triangles)
    lengths = lengths[holders(world.public)]
    closed = sizes.density * lengths * (lengths - 1.0) / 2
    lists = law.second(lengths, sizes.density) + law.first(lengths) + law.weights(lengths) * closed
    variance = float(lists.sum()) + sizes.in_common(law, survey.parts)
    error = math.sqrt(variance) / triangles if triangles else math.inf
    return Download(part_size(graph.n, groups), groups, error)


Predicted = Callable[[int], Download]
"""From a number of groups to the predicted error."""


@dataclass(frozen=True)
class Curve:
    """Errors against downloads of one statistic: what is predicted, and which numbers of groups are shown, falling."""

    predicted: Predicted
    shown: Sequence[int]

    def all(self) -> list[Download]:
        """Rising downloads."""
        return [self.predicted(groups) for groups in self.shown]

    def smallest(self, target: float) -> Download | None:
        """The smallest download whose predicted mean error is at most the target; None where none is."""
        before = 0
        for groups in self.shown:
            best = self.predicted(groups)
            if best.mean_error <= target:
                break
            before = groups
        else:
            return None
        low, high = best.groups, before or best.groups
        while high - low > max(low // 100, 1):
            middle = (low + high) // 2
            found = self.predicted(middle)
            if found.mean_error <= target:
                low, best = middle, found
            else:
                high = middle
        return best


def downloads(world: VisibilityAwareGraph, triangles: float, epsilon: Number) -> list[Download]:
    """Errors of rising downloads, each about three times the one before, up to the largest share that there is."""
    return triangle_curve(world, triangles, epsilon).all()


def smallest_download(world: VisibilityAwareGraph, triangles: float, epsilon: Number, target: float) -> Download | None:
    """The smallest download whose predicted mean error is at most the target; None where none is.  [PARTS.8]"""
    return triangle_curve(world, triangles, epsilon).smallest(target)


def triangle_curve(world: VisibilityAwareGraph, triangles: float, epsilon: Number) -> Curve:
    """Of triangles."""
    shown = _falling(fewest_groups(world.public, parse_epsilon(epsilon)), world.graph.n)
    return Curve(lambda groups: download_error(world, epsilon, groups, triangles), shown)


def cycle_curve(moments: Moments, epsilon: Number) -> Curve:
    """Of 4-cycles.  [PARTS.13]"""
    world, counted = moments.world, float(moments.value(FOUR_CYCLES.name))

    def predicted(groups: int) -> Download:
        variance = cycles_by_parts(moments, cycle_part_survey(world.public, epsilon, groups))
        error = math.sqrt(variance) / counted if counted else math.inf
        return Download(part_size(world.graph.n, groups, FOUR_CYCLES.name), groups, error, FOUR_CYCLES.name)

    return Curve(predicted, _falling(CyclePartSurvey.fewest, world.graph.n))


def _falling(least: int, nodes: int) -> list[int]:
    """Falling numbers of groups, to the fewest that there may be."""
    steps = round(math.log(max(nodes // _FEWEST / least, 1)) / math.log(10**0.5))
    return [round(least * 10 ** (step / 2)) for step in range(steps, -1, -1)]
