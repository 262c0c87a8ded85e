"""USER triangles before anybody is asked: the error against what each user downloads.  [PARTS.8]"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.node_statistics.row_parts import Sizes, list_law
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon
from visibility_aware_edge_ldp.public.surveys.row_parts import fewest_groups, part_size, part_survey
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.simulation.memory import size

HEAD = ("download", "share", "mean error")
# The mean of |error| over the standard error, of a normal law.
MEAN = math.sqrt(2 / math.pi)
# The least group of users that is shown has about so many members.
_FEWEST = 4


@dataclass(frozen=True)
class Download:
    """So many octets for each user, one part in ``groups`` of all first answers, and the predicted error."""

    octets: float
    groups: int
    relative_standard_error: float

    @property
    def mean_error(self) -> float:
        """The mean relative error."""
        return MEAN * self.relative_standard_error

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON and CSV."""
        error = self.relative_standard_error
        told = None if math.isinf(error) or math.isnan(error) else error
        return {**vars(self), "share": 1 / self.groups, "relative_standard_error": told}

    def texts(self) -> tuple[str, ...]:
        """As a row of a table."""
        octets = size(self.octets) if self.octets >= 1e6 else f"{self.octets / 1000:,.0f} kB"
        return octets, f"1/{self.groups:,}", _percent(self.mean_error)


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


def downloads(world: VisibilityAwareGraph, triangles: float, epsilon: Number) -> list[Download]:
    """Errors of rising downloads, each about three times the one before, up to the largest share that there is."""
    return [download_error(world, epsilon, groups, triangles) for groups in _groups(world, epsilon)]


def _groups(world: VisibilityAwareGraph, epsilon: Number) -> list[int]:
    """Falling numbers of groups, to the fewest that there may be."""
    least, most = fewest_groups(world.public, parse_epsilon(epsilon)), world.graph.n // _FEWEST
    steps = round(math.log(max(most / least, 1)) / math.log(10**0.5))
    return [round(least * 10 ** (step / 2)) for step in range(steps, -1, -1)]


def smallest_download(world: VisibilityAwareGraph, triangles: float, epsilon: Number, target: float) -> Download | None:
    """The smallest download whose predicted mean error is at most the target; None where none is.  [PARTS.8]"""
    tried, before = _groups(world, epsilon), 0
    for groups in tried:
        best = download_error(world, epsilon, groups, triangles)
        if best.mean_error <= target:
            break
        before = groups
    else:
        return None
    low, high = best.groups, before or best.groups
    while high - low > max(low // 100, 1):
        middle = (low + high) // 2
        found = download_error(world, epsilon, middle, triangles)
        if found.mean_error <= target:
            low, best = middle, found
        else:
            high = middle
    return best
