"""The degree histogram from one noisy degree per node.  [HIST.1]"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visibility_aware_edge_ldp.subgraphs.degree_distribution import (
    NORMAL,
    Fit,
    Floats,
    Law,
    Sample,
    best,
    fits,
    group,
    likelihood,
)
from visibility_aware_edge_ldp.subgraphs.one_core import product, weighted

_NORMAL = NormalDist()
_BIN_WIDTH = 2.0  # histogram bins, in noise standard deviations


@dataclass(frozen=True)
class DegreeHistogram:
    """`counts[i]` nodes are estimated to have a degree in ``edges[i] <= degree < edges[i + 1]``."""

    edges: NDArray[np.int64]
    counts: Floats
    standard_errors: Floats

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Limits per bin, rounded outwards because the truth is a whole number of nodes."""
        reach = _NORMAL.inv_cdf((1.0 + level) / 2.0) * self.standard_errors
        # The tolerance keeps an exact count exact when the sum that made it is off by one rounding.
        below = np.floor(np.maximum(self.counts - reach, 0.0) + 1e-9)
        return below, np.ceil(np.minimum(self.counts + reach, self.counts.sum()) - 1e-9)


def bin_edges(nodes: int, variance: ArrayLike) -> NDArray[np.int64]:
    """Histogram edges: a function of public things only, single degrees when there is no noise."""
    deviation = math.sqrt(float(np.mean(np.sort(np.asarray(variance, dtype=np.float64)))))
    width = max(1, round(_BIN_WIDTH * deviation))
    return np.append(np.arange(0, nodes, width), nodes).astype(np.int64)


def histogram(
    noisy: ArrayLike,
    variance: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    skew: float | None = None,
    law: Law = NORMAL,
) -> DegreeHistogram:
    """Estimated number of nodes per degree bin; non-negative, summing to the number of nodes [HIST.1]."""
    nodes = np.asarray(noisy).size
    edges = bin_edges(nodes, variance)
    sample = group(noisy, variance, low, high, skew, law)
    counts = np.histogram(sample.exact, edges)[0].astype(np.float64)
    errors = np.zeros_like(counts)
    if sample.noisy_nodes:
        rough = fits(sample)
        estimate, variances = _bin_counts(sample, best(rough), edges)
        # What a rougher prior would have said measures what the smoothing may have hidden.
        hidden = estimate - _bin_counts(sample, rough[-1], edges)[0]
        counts, errors = counts + estimate, np.sqrt(np.maximum(variances, 0.0) + hidden**2)
    return DegreeHistogram(edges, counts, errors)


def _bin_counts(sample: Sample, fit: Fit, edges: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Expected bin counts given the data; variance from unknown nodes and unknown prior (delta method)."""
    inner = edges[(edges - 0.5 > fit.edges[0]) & (edges - 0.5 < fit.edges[-1])] - 0.5
    union = np.unique(np.concatenate([fit.edges, inner]))
    middle = (union[1:] + union[:-1]) / 2.0
    cell = np.searchsorted(fit.edges, middle) - 1
    weight = (fit.weight / np.diff(fit.edges))[cell] * np.diff(union)
    joint = likelihood(sample, union) * weight
    posterior = joint / joint.sum(axis=1, keepdims=True)
    starts, home = np.unique(np.searchsorted(edges - 0.5, middle) - 1, return_index=True)
    shares = np.add.reduceat(posterior, home, axis=1)
    basis = fit.basis[cell]
    moved = np.add.reduceat(weighted(sample.count, posterior)[:, None] * basis, home, axis=0)
    slope = moved - product(shares.T * sample.count, product(posterior, basis))
    counts, variances = np.zeros(edges.size - 1), np.zeros(edges.size - 1)
    counts[starts] = weighted(sample.count, shares)
    variances[starts] = weighted(sample.count, shares * (1.0 - shares))
    variances[starts] += np.sum(product(slope, fit.covariance) * slope, axis=1)
    return counts, variances
