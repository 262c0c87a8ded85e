"""Broken twins of the trusted centre: the real one with one thing wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.two_hop import Edges
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.exact_sampling import IntegerLaw
from visibility_aware_edge_ldp.public.curator_survey import CuratorQuery


def existing_edges_only(n: int, edges: Edges) -> int:
    """The source documents' local sensitivity: the most common neighbours over edges that are there."""
    matrix = np.zeros((n, n), np.int64)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    return int(((matrix @ matrix) * matrix).max())


class OverExistingEdges(Curator):
    """The largest change over edges that are there, grown by 1 a step up to n − 2."""

    def law(self, query: CuratorQuery) -> IntegerLaw:
        n, noise = self._view.n, query.smooth_noise
        local = existing_edges_only(n, self._view.edges)
        bound = max(math.exp(-float(noise.beta) * t) * min(local + t, n - 2) for t in range(n))
        return noise.law(Fraction(bound))


class NotSmoothed(Curator):
    """The local sensitivity of the graph at hand, over all positions, as if it could not move."""

    def law(self, query: CuratorQuery) -> IntegerLaw:
        return query.smooth_noise.law(self.profile(query.statistic).local(0))


class HalfTheNoise(Curator):
    """Noise of half the width that it must have."""

    def law(self, query: CuratorQuery) -> IntegerLaw | None:
        if query.has_constant_sensitivity:
            noise = query.constant_noise(self._public)
            return DiscreteLaplace(2 * noise.rate).law if noise is not None else None
        smooth = query.smooth_noise
        return smooth.law(self.profile(query.statistic).smooth(smooth.beta) / 2)


class SureOfNothing(Curator):
    """A graph without edges is told without noise."""

    def _noise(self, query: CuratorQuery, coins: Coins) -> int:
        return super()._noise(query, coins) if len(self._view.edges) else 0
