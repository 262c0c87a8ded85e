"""The largest degree from one noisy degree per node.  [MAX.1-3]"""

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from visibility_aware_edge_ldp.compute.reproducible_math import exp, log, weighted
from visibility_aware_edge_ldp.counts.degrees import degree_distribution as distribution
from visibility_aware_edge_ldp.counts.degrees.degree_distribution import Fit, Floats, Law, Sample

_NORMAL = NormalDist()
SURE = 1 - 1e-9  # how sure one is of what is called exact
_TRUST_PLAIN = 6.0  # spread-to-noise variance ratio at which plain maximum and posterior weigh the same
_RIVAL_FLOOR = 0.1  # part of the rivals' influence that is not believed, since their degrees are estimated


@dataclass(frozen=True)
class MaxDegree:
    """The largest degree: `value`, and `interval` at any level.

    The interval inverts the test of "the largest degree is m" that looks at the largest noisy degree [MAX.2],
    sharpened by two bounds that hold for every graph [MAX.3].
    """

    value: float
    _x: Floats = field(repr=False)
    _t: Floats = field(repr=False)
    _candidates: Floats = field(repr=False)
    # P(largest noisy degree >= the observed one) if the truth is the candidate: with all conceivable rivals,
    # which is cautious for the lower limit, and with as few as possible, which is cautious for the upper one.
    _tail_crowded: Floats = field(repr=False)
    _tail_alone: Floats = field(repr=False)
    _floor: float = field(repr=False)
    _ceiling: float = field(repr=False)
    _skew: float = field(default=0.0, repr=False)
    _law: Law = field(default=distribution.NORMAL, repr=False)

    @property
    def is_exact(self) -> bool:
        """Whether noise leaves no doubt about the largest degree: what may be it has none, or is far above the rest."""
        low, high = self.interval(SURE)
        return low == high

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval, equal error on both sides; it always contains `value`."""
        below, above = self._limits(level)
        return min(below, self.value), max(above, self.value)

    def _limits(self, level: float) -> tuple[float, float]:
        if not self._candidates.size:
            return self._floor, self._floor
        error = (1.0 - level) / 2.0
        below = float(np.interp(error, self._tail_crowded, self._candidates))
        above = float(np.interp(1.0 - error, self._tail_alone, self._candidates))
        single_below, single_above = _single_node_bounds(self._x, self._t, self._skew, error, self._law)
        below = max(below, single_below, _moment_bound(self._x, self._t, error), self._floor)
        below = min(below, self._ceiling)
        return below, min(max(min(above, single_above), below), self._ceiling)


def max_degree(
    noisy: ArrayLike,
    variance: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    skew: float | None = None,
    law: Law = distribution.NORMAL,
) -> MaxDegree:
    """The largest degree, corrected for the upward bias of the largest noisy degree [MAX.1].

    The value lies between the median of the posterior of the maximum (best when noise hides the order of the
    nodes) and the plain maximum (best when it does not); the ratio of spread to noise sets the mixture.
    """
    sample = distribution.group(noisy, variance, low, high, skew, law)
    floor = float(max(sample.exact.max(initial=0), np.max(low)))
    if not sample.noisy_nodes:
        none = np.empty(0)
        return MaxDegree(floor, none, none, none, none, none, floor, floor)
    fit = distribution.best(distribution.fits(sample))
    # The grouped degrees are rounded; the extreme itself must not be.
    top = float(np.max(np.asarray(noisy, dtype=np.float64)[np.asarray(variance, dtype=np.float64) > 0]))
    plain = _plain_weight(sample)
    value = plain * top + (1.0 - plain) * _posterior_median(sample, fit)
    value = min(max(value, floor), float(sample.ceiling))
    candidates = _candidates(sample, fit, top)
    crowded = _tail_probability(sample, fit, top, candidates, 1.0, 0.0)
    alone = _tail_probability(sample, fit, top, candidates, 1.0 - 1.0 / sample.noisy_nodes, _RIVAL_FLOOR)
    x, t = distribution.sorted_nodes(noisy, variance)
    return MaxDegree(value, x, t, candidates, crowded, alone, floor, float(sample.ceiling), sample.skew, law)


def _posterior_median(sample: Sample, fit: Fit) -> float:
    """Median of the maximum: its distribution function is the product of the nodes' posterior ones."""
    joint = fit.likelihood * fit.weight
    above = np.cumsum(joint[:, ::-1], axis=1)[:, ::-1] / joint.sum(axis=1, keepdims=True)
    cdf = exp(weighted(sample.count, log(np.maximum(1.0 - above, distribution.TINY))))
    return float(np.interp(0.5, np.maximum.accumulate(np.append(cdf, 1.0)), fit.edges))


def _plain_weight(sample: Sample) -> float:
    """Near 1 when degrees spread far wider than the noise, so that the right node shows the largest."""
    noise = float(sample.t.max())
    mean = np.average(sample.x, weights=sample.count)
    spread = float(np.average((sample.x - mean) ** 2 - sample.t, weights=sample.count))
    ratio = max(spread, 0.0) / noise
    return ratio**2 / (ratio**2 + _TRUST_PLAIN**2)


def _candidates(sample: Sample, fit: Fit, top: float) -> Floats:
    near = top + math.sqrt(sample.t.max()) * np.linspace(-6.0, 6.0, 97)
    return np.unique(np.clip(np.concatenate([fit.edges, near]), 0.0, float(sample.ceiling)))


def _tail_probability(sample: Sample, fit: Fit, top: float, candidates: Floats, rivals: float, doubt: float) -> Floats:
    """P(largest noisy degree >= top | largest degree is m), for each candidate m [MAX.2].

    The share `rivals` of the fitted distribution, from below, competes with the node under test; the part
    `doubt` of their influence is not believed.
    """
    nodes = sample.noisy_nodes
    families, inverse = np.unique(sample.t, return_inverse=True)
    share = np.bincount(inverse, weights=sample.count) / nodes

    def log_stays_below(degree: Floats) -> Floats:
        z = (top - degree) / np.sqrt(families)[:, None]
        below = distribution.phi(z, distribution.skewness(families, sample.skew)[:, None], sample.law)
        return weighted(share, log(np.maximum(below, distribution.TINY)))

    shares = np.minimum(np.append(0.0, np.cumsum(fit.weight)), rivals)
    terms = np.diff(shares) * log_stays_below((fit.edges[1:] + fit.edges[:-1]) / 2.0)
    log_below = np.interp(candidates, fit.edges, np.append(0.0, np.cumsum(terms)))
    clipped = rivals - np.interp(candidates, fit.edges, shares)
    quiet = exp(nodes * (log_below + clipped * log_stays_below(candidates)))
    quiet = doubt + (1.0 - doubt) * quiet
    z = (top - candidates) / math.sqrt(families[-1])
    tail = 1.0 - distribution.phi(z, distribution.skewness(families[-1:], sample.skew), sample.law) * quiet
    return np.asarray(np.maximum.accumulate(tail))


def _single_node_bounds(x: Floats, t: Floats, skew: float, error: float, law: Law) -> tuple[float, float]:
    """Limits that need no model of the rivals; they bite when nodes differ much in noise [MAX.3].

    Below: no node lies above the maximum, so no node's lower limit does (union bound, a tenth of the error).
    Above: the maximum is one of the nodes, so it lies below the largest of their upper limits.
    """
    lean, deviation = distribution.skewness(t, skew), np.sqrt(t)
    high, low = law.quantile(1.0 - error / (10.0 * x.size)), law.quantile(error)
    most, least = (z + lean * (z * z - 1.0) / 6.0 for z in (high, low))
    return float(np.max(x - most * deviation)), float(np.max(x - least * deviation))


def _moment_bound(x: Floats, t: Floats, error: float) -> float:
    """Smallest m that does not contradict sum d (m - d) >= 0, which holds for every m >= max d."""
    z = _NORMAL.inv_cdf(1.0 - error)
    first, second = float(x.sum()), float((x**2 - t).sum())
    noise = (float(t.sum()), float((t * x).sum()), float((t * (x**2 - t)).sum()), float((t**2).sum()))

    def slack(m: float) -> float:
        # Twice the independent term: each position is shared by its two ends.
        linear = 2.0 * max(m * m * noise[0] - 4.0 * m * noise[1] + 4.0 * noise[2], 0.0)
        return m * first - second + z * math.sqrt(linear + 2.0 * noise[3])

    below, above = 0.0, float(x.size)
    for _ in range(50):
        middle = (below + above) / 2.0
        below, above = (middle, above) if slack(middle) < 0.0 else (below, middle)
    return above
