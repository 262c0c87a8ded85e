"""Plans that leave something out: a sample of positions, or a part of the counting.  [PLAN.13-14]"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, prod

import numpy as np

from visibility_aware_edge_ldp.aggregator.effort import Effort
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.plan.by_position import Floats, Parts, coin_spreads
from visibility_aware_edge_ldp.evaluation.plan.moments import Moments
from visibility_aware_edge_ldp.kernels.tiles import SIDE
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_share
from visibility_aware_edge_ldp.public.sample import position_sample
from visibility_aware_edge_ldp.subgraphs.kind_pairs import CERTAIN
from visibility_aware_edge_ldp.subgraphs.tile_triangles import MOST_BLOCKS


@dataclass(frozen=True)
class LeftOut:
    """In the position model: the share of the positions that are asked, and the share of the counting that is done.

    ``work`` None counts all triangles, and as many rows for 4-cycles as some seconds allow.
    """

    positions: Fraction = Fraction(1)
    work: float | None = None

    @property
    def coin(self) -> Floats:
        """What the coin adds to the variance of a score at an edge, by class."""
        return coin_spreads(float(self.positions))

    def added_to_triangles(self, moments: Moments, parts: Parts, spread: Floats) -> float:
        """The variance that a sample of the triples of blocks adds.  [PLAN.14]"""
        share, n = self.work, moments.n
        if share is None or Effort(share).rows(n, False) >= n:
            return 0.0
        blocks = _blocks(moments)
        b, noise = sum(blocks.values()), float(moments.shared_sums @ spread)
        noise = parts.three + parts.two + parts.one / b + (1 - 1 / b) * noise
        return _more(blocks, share) * (noise + _unevenness(moments, b))

    def added_to_cycles(self, moments: Moments, parts: Parts) -> float:
        """The variance that a sample of rows adds.  [PLAN.14]"""
        n, rows = moments.n, Effort(self.work).rows(moments.n, True)
        if rows >= n or self.positions < 1 or moments.world.public.classes.by_kinds is None:
            return 0.0
        certain = min(CERTAIN, rows // 2)
        others, drawn = n - certain, rows - certain
        noise = 4 * (parts.four + parts.three + parts.opposite) + 3 * parts.two + 2 * parts.one
        spread = _variance_below(moments, certain) + noise / n
        return others**2 * (1 - drawn / others) * spread / drawn / 16


ALL = LeftOut()


def _blocks(moments: Moments) -> dict[int, int]:
    """How many blocks the nodes of each kind are cut into; one kind where classes do not go by kinds."""
    bound = moments.world.public.classes.by_kinds
    sizes = np.bincount(bound.kinds) if bound is not None else np.array([moments.n])
    sides = -(-sizes // SIDE)
    length = max(1, -(-int(sides.sum()) // MOST_BLOCKS))
    return {kind: max(1, round(int(each) / length)) for kind, each in enumerate(sides)}


def _more(blocks: dict[int, int], share: float) -> float:
    """What a sample of triples multiplies variances within strata by: the mean of M/R − 1 over all triples of nodes."""
    total, weights = 0.0, 0.0
    for kinds in combinations_with_replacement(blocks, 3):
        for size, weight in _strata(Counter(kinds), blocks):
            counted = min(size, max(2, round(share * size)))
            total += weight * (size / counted - 1) * size / max(size - 1, 1)
            weights += weight
    return total / weights


def _strata(kinds: Counter[int], blocks: dict[int, int]) -> list[tuple[int, float]]:
    """Of the triples of blocks of these kinds: how many are alike, and what share of the triples of nodes they have."""
    number = [blocks[kind] for kind in kinds]
    if len(kinds) == 3:
        return [(prod(number), 6.0 * prod(number))]
    if len(kinds) == 2:
        (twice, _), (once, _) = kinds.most_common()
        b, c = blocks[twice], blocks[once]
        return [(comb(b, 2) * c, 3.0 * b * (b - 1) * c), (b * c, 3.0 * b * c)]
    b = number[0]
    return [(comb(b, 3), b * (b - 1.0) * (b - 2)), *[(comb(b, 2), 1.5 * b * (b - 1))] * 2, (b, float(b))]


def _unevenness(moments: Moments, b: int) -> float:
    """How triples of blocks of shuffled nodes differ in triangles: squares about the mean, summed.  [PLAN.14]"""
    triangles, weights = moments.triangles, moments.weights
    shared = float(moments.edge_squares.sum()) - 3 * triangles
    mean = float(weights @ moments.node_triangles / weights.sum())
    around = float(weights @ (moments.node_triangles - mean) ** 2) - 3 * triangles - 2 * shared
    at_node = (1 - 1 / b) * (1 - 2 / b) * (2 / b**2 - 6 / b**3) + 3 * (1 - 1 / b) * (5 / 3 / b**3 - 3 / b**4)
    return triangles + shared / b + max(around, 0.0) * (at_node + (1 - 1 / b) / b**4)


def _variance_below(moments: Moments, certain: int) -> float:
    """Of the 4-cycles at a node, over all nodes but those of the largest degrees."""
    order = np.argsort(-moments.world.graph.degrees[moments.chosen], kind="stable")
    weights, cycles = moments.weights[order], moments.node_cycles[order]
    kept = np.cumsum(weights) > certain
    if not kept.any():
        return 0.0
    mean = np.average(cycles[kept], weights=weights[kept])
    return float(np.average((cycles[kept] - mean) ** 2, weights=weights[kept]))


def left_out(sample_positions: Number = 1, work: Number | None = None) -> LeftOut:
    """As a user says it; a sample of positions is counted whole."""
    sample = position_sample(sample_positions)
    share = None if work is None else float(exact_share(work, "the share of the work"))
    if share is not None and sample is not None and share < 1:
        raise BadInput("A sample of positions is counted whole: give sample_positions or work, not both.")
    if share == 0:
        raise BadInput("The share of the work is above 0 and at most 1; got 0.")
    return LeftOut(Fraction(1) if sample is None else sample.rate, share)
