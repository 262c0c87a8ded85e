"""What the first answers add to the variance of sums over rows: measured where they tell, guessed where they do not.

[TRIANGLE.6, CYCLE.2]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.subgraphs import cycles, pairs
from visibility_aware_edge_ldp.subgraphs import triangles as triangle_sums
from visibility_aware_edge_ldp.subgraphs.absence import Spread
from visibility_aware_edge_ldp.subgraphs.row_noise import first_vertex_noise
from visibility_aware_edge_ldp.subgraphs.rows import Step
from visibility_aware_edge_ldp.subgraphs.scores import Scores, score, spread, square

# Subgraphs beyond those that the degrees alone make add so many times what equal numbers at every edge would add.
UNEVEN = 4.0
# Of what a side of 4-cycles adds to the one-round variance, the part that it adds as a far side; and of what pairs of
# adjacent sides add, relative to the triangles' part, for numbers given without regard to friendship.  [CYCLE.2]
ONE_SIDE, TWO_SIDES = 107 / 360, 11 / 20


class Counted(NamedTuple):
    """An estimated number of subgraphs, and about the variance of it."""

    value: float
    variance: float

    def beyond(self, expected: float) -> float:
        """The square of what there is more than was expected, less what noise adds to it."""
        return max(max(self.value - expected, 0.0) ** 2 - self.variance, 0.0)


class Shape(NamedTuple):
    """What the first answers say of all users' degrees, and what a graph with these and no other order has.

    ``variance`` is that of one score, 0 where nothing was heard; ``kept`` the share of users who were heard.
    [TRIANGLE.6]
    """

    edges: float
    stars: float
    variance: float
    kept: float

    @property
    def branching(self) -> float:
        """How many further friends a friend has."""
        return self.stars / self.edges

    @property
    def triangles(self) -> float:
        return self.branching**3 / 6

    @property
    def four_cycles(self) -> float:
        return self.branching**4 / 8

    @property
    def own_noise(self) -> float:
        """The variance that first answers give to the heard rows' sums of triangles, one by one and together."""
        return self.variance * self.kept * self.stars / 3


def shape_of(scores: Scores, kept: float) -> Shape:
    """Edges and 2-stars of all users from the scores that were heard; what may be noise of the 2-stars is left out."""
    n, (heard, variance) = scores.n, size_and_spread(scores)
    edges = heard / kept
    # A 2-star is heard by one user if its middle comes first, and else by two.
    share = (kept + 2 * kept**2) / 3
    stars = float((scores.node_sums(score) ** 2 - scores.node_sums(square)).sum()) / 2 / share
    least = max(2 * edges**2 / n - edges, edges / 2)
    more, noise = max(stars - least, 0.0), (variance / kept) ** 2 * n**3 / 2 / share
    return Shape(edges, least + more * (more**2 / (more**2 + noise) if more else 0.0), variance, kept)


def size_and_spread(scores: Scores) -> tuple[float, float]:
    """About how many edges were heard, and the variance of one score."""
    n = scores.n
    edges = max(float(scores.node_sums(score).sum()) / 2, 1.0)
    return edges, float(scores.node_sums(spread).sum()) / (n * (n - 1))


def believed(measured: Spread, guess: Spread, least: float) -> Spread:
    """A mean of what was measured and of a guess, by how far either may be off."""
    doubt, off = measured.doubt, guess.doubt
    if not (doubt and off):
        return Spread(max(measured.variance, least), doubt)
    mean = (off**2 * measured.variance + doubt**2 * guess.variance) / (off**2 + doubt**2)
    return Spread(max(mean, least), off * doubt / float(np.hypot(off, doubt)))


def first_noise(measured: float, n: int, shape: Shape, found: Counted) -> Spread:
    """What the first answers that were heard add to the sum of triangles over heard rows.  [TRIANGLE.6]"""
    beyond = UNEVEN * found.beyond(shape.triangles) / shape.edges
    guessed = shape.own_noise + shape.variance * shape.kept**2 * (2 / 3 * shape.four_cycles + beyond)
    # The measured part is a sum over pairs of squares of sums of n noisy products: this is how far it may be off.
    doubt = shape.variance**3 * n**2 / np.sqrt(6) / shape.kept**1.5
    return believed(Spread(measured, doubt), Spread(guessed, guessed / 2), shape.own_noise)


def first_cycle_noise(scores: Scores, shape: Shape, found: Counted, step: Step | None = None) -> Spread:
    """What they add to the number of 4-cycles, whose two far sides are both first answers.  [CYCLE.2]"""
    kept, variance = shape.kept, shape.variance
    sums = pairs.sum_over_pairs(
        scores, lambda block: {**cycles.cycle_sums(block), "triangles": triangle_sums.triangle_sums(block)["count"] / 3}
    )
    # Of the other sides of a cycle with one side heard, so many are heard all three.
    heard = (2 * kept**2 + kept) / 3
    measured, doubt = cycles.one_side_alone(scores, sums)
    paths, joined = shape.edges * shape.branching**2, shape.branching**6 / 2
    joined += UNEVEN * 16 * found.beyond(shape.four_cycles) / shape.edges
    least, guessed = (ONE_SIDE * variance * heard * (paths + more) for more in (0.0, heard * joined))
    one_side = believed(Spread(ONE_SIDE * measured, ONE_SIDE * doubt / kept), Spread(guessed, guessed / 2), least)
    triangles = Counted(sums["triangles"] / kept**2, variance**3 * scores.n**3 / 6 / kept**5)
    two_sides = first_noise(first_vertex_noise(scores, step), scores.n, shape, triangles)
    scale = (TWO_SIDES * scores.n * variance) ** 0.5 / kept**3
    return one_side.times(1 / (kept * heard)).plus(two_sides.times(scale))
