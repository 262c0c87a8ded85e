"""Plans that leave something out: a sample of positions, or a part of the counting.  [PLAN.13-14]"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.effort import Effort
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.plan.by_position import Floats, Parts, coin_spreads
from visibility_aware_edge_ldp.evaluation.plan.moments import CLASSES, Moments
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_share
from visibility_aware_edge_ldp.public.sample import position_sample
from visibility_aware_edge_ldp.subgraphs.kind_pairs import CERTAIN


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

    def added_to_triangles(self, moments: Moments, spread: Floats) -> float:
        """The variance that a sample of the triples of blocks adds.  [PLAN.14]"""
        share, n = self.work, moments.n
        if share is None or Effort(share).rows(n, False) >= n:
            return 0.0
        strata = moments.strata
        return float(strata.more(share) @ (strata.uneven + _noise(moments, spread)))

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


def _noise(moments: Moments, spread: Floats) -> Floats:
    """The squares of what noise adds to triples of blocks, summed over each stratum.  [PLAN.14]"""
    strata, bound = moments.strata, moments.world.public.classes.by_kinds
    table = np.full((1, 1), moments.only) if bound is None else np.asarray(bound.table)
    noise, density = spread[table], strata.edges / np.maximum(strata.pairs, 1)
    one = _one_side(moments, noise, table)
    total = np.zeros(len(strata.sizes))
    for here, there, other in ((0, 1, 2), (1, 2, 0), (0, 2, 1)):
        a, b, c = strata.kinds[:, here], strata.kinds[:, there], strata.kinds[:, other]
        total += density[a, b] * noise[a, c] * noise[b, c] * strata.nodes + one[a, b, c] * strata.nodes
    a, b, c = strata.kinds.T
    return np.asarray(total + noise[a, b] * noise[b, c] * noise[a, c] * strata.nodes)


def _one_side(moments: Moments, noise: Floats, table: npt.NDArray[np.uint8]) -> Floats:
    """(kinds, kinds, kinds): for each position of two kinds and node of a third, what one noisy side adds.

    Two common friends of one kind are in the same block by chance. How many such pairs there are is known for each
    class, and falls on kinds as the squares of 2-paths do.
    """
    strata, paths, pairs = moments.strata, moments.strata.paths, np.maximum(moments.strata.pairs, 1)
    expected = paths**2 / pairs[:, :, None]
    both = np.zeros_like(paths)
    for kind in range(CLASSES):
        here = np.triu(table == kind)
        mass = float((paths.sum(axis=2) ** 2 / pairs)[here].sum())
        if mass:
            both[here] = expected[here] * max(moments.shared_squares[kind] - moments.shared_sums[kind], 0.0) / mass
    both = np.maximum(both, both.transpose(1, 0, 2))
    counts = strata.counts.astype(np.float64)
    thirds = counts[None, None, :] - np.eye(len(counts))[:, None, :] - np.eye(len(counts))[None, :, :]
    each = (paths + strata.together * both) / (pairs[:, :, None] * np.maximum(thirds, 1))
    return np.asarray(noise[:, :, None] * each)


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
