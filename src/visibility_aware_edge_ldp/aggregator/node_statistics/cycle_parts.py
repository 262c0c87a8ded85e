"""USER 4-cycles where each user read one part of the first answers: what the coin adds.  [PARTS.10-12]"""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import Estimators
from visibility_aware_edge_ldp.aggregator.round_noise import Counted
from visibility_aware_edge_ldp.aggregator.rows import RowCollection, cycles
from visibility_aware_edge_ldp.counts.nonresponse import Spread, believed
from visibility_aware_edge_ldp.counts.row_cycles import Rates, largest_path, part_paths
from visibility_aware_edge_ldp.counts.row_noise import Opposite, Shape, opposite_sums
from visibility_aware_edge_ldp.counts.scores import Floats, Scores
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES
from visibility_aware_edge_ldp.public.surveys.row_parts import CyclePartSurvey
from visibility_aware_edge_ldp.public.transcript import response_rate

# For numbers given without regard to friendship: of Σ C(c, 2)² over pairs of users the part that first vertices own,
# of Σ c²(d_i + d_l) what one noisy side more adds, and of pairs of friends the mean of ω².  [PARTS.11]
SQUARES, LISTS, TWO_SIDES = 23 / 90, 19 / 120, 5 / 8
# Pairs with common neighbours as if there were half as many as edges.  [PARTS.12]
FEW = 2.0
# How far power sums of noise alone are off, in fourth powers of one pair's noise: the root of 36/24.
FOURTH = 1.5**0.5


class CyclePartCollection(RowCollection):
    """Both rounds of a survey of 4-cycles by parts.

    ``most`` is M by part where somebody worked these public numbers out already.
    """

    most: Mapping[int, float] = MappingProxyType({})
    estimators: ClassVar[Estimators] = {FOUR_CYCLES.name: lambda given, asked: cycles(given)}
    survey: CyclePartSurvey

    def most_paths(self, scores: Scores, rates: Rates) -> Floats:
        """M of the part of each user who answered twice."""
        mine, factor = self.survey.part_of(np.flatnonzero(self.answered)), float(self.survey.groups)
        each = np.zeros(self.survey.parts)
        for part in np.unique(mine).tolist():
            if part in self.most:
                each[part] = self.most[part]
                continue
            paths = part_paths(scores, self.survey.members(part), factor, rates)
            each[part] = largest_path(paths, scores, factor) or 1.0
        found: Floats = each[mine]
        return found

    @cached_property
    def _opposite(self) -> Opposite:
        return opposite_sums(self.reported_scores)

    def by_coin(self, shape: Shape, counted: Counted) -> Spread:
        """(G − 1)·Σ Y_il² over first vertices i and opposite ones l, each sum of a user by itself.  [PARTS.11-12]"""
        (asked, first, second), n = self.counts, self.view.n
        rate, kept, variance = response_rate(asked, first), shape.kept, shape.variance
        heard = heard_in_all(kept)
        noise = FOURTH * (variance * kept) ** 4 * n**2 * n / 2**0.5
        measured = Spread(max(self._opposite.squares, 0.0) / heard, noise / heard)
        guessed = FEW * 4 * counted.beyond(0.0) / shape.edges
        squares = believed(measured, Spread(guessed, guessed), 0.0)
        one_side = LISTS * variance * max(self._opposite.lists, 0.0) / heard**0.5 / rate
        two_sides = TWO_SIDES * n * (variance / rate) ** 2 * shape.stars / 3
        scale = asked / second * (self.survey.groups - 1)
        known = (SQUARES * squares.variance + one_side) / rate + two_sides
        return Spread(scale * known, scale * SQUARES * squares.doubt / rate)


def heard_in_all(kept: float) -> float:
    """Of four common neighbours of two users the mean chance that all eight sides were answered.  [PARTS.12]

    Users are asked in a numbering without regard to friendship: the neighbours before both answer themselves, those
    between by themselves and the first of the two, and those after both by the two.
    """
    away = 1 - kept
    both = 1 - 8 * away / 3 + 3 * away**2 - 8 * away**3 / 5 + away**4 / 3
    return kept**4 * (away / 15 + kept * away / 3) + kept**2 * both
