"""Degree distribution, largest degree and degree histogram from one noisy degree per node.

Every function takes the same four arrays, one entry per node: ``noisy`` (unbiased noisy degree), ``variance``
(its known noise variance; 0 means exact), and the public bounds ``low <= degree <= high``. Nothing here draws
random numbers: all uncertainty comes from closed forms and quadrature. Reasoning: ``degree_distribution.md``.

``skew`` is the third cumulant of the noise divided by its variance. Left out, it is that of randomized response,
1 - 2 (density of the hidden positions) [NOISE.1]; 0 means symmetric noise.
"""

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_NORMAL = NormalDist()
_ONE_SIGMA = 2.0 * _NORMAL.cdf(1.0) - 1.0
_Z = np.linspace(-9.0, 9.0, 9001)
_CDF = np.array([0.5 * math.erfc(-z / math.sqrt(2.0)) for z in _Z])  # NumPy has no erf; error < 2e-7

_COARSE_CELLS = 64  # cells of the fitted log density, even on the asinh scale
_BASIS = 36  # cosines beyond the straight line and the parabola
_POLYNOMIAL_SCALE = 60.0  # prior standard deviation of line and parabola: wide, so that narrow graphs fit
_ROUGHNESS = (3.0, 10.0, 30.0, 100.0, 300.0)  # prior scales of the cosines; the evidence chooses among them
_TRUST_PLAIN = 6.0  # spread-to-noise variance ratio at which plain maximum and posterior weigh the same
_RIVAL_FLOOR = 0.1  # part of the rivals' influence that is not believed, since their degrees are estimated
_BIN_WIDTH = 2.0  # histogram bins, in noise standard deviations
_SKEWNESS_CAP = 0.3
_TINY = 1e-300


@dataclass(frozen=True)
class _Sample:
    """Nodes in groups: `count` share a noisy degree `x` and a variance `t`; those in `exact` are known."""

    x: Floats
    t: Floats
    count: Floats
    exact: NDArray[np.int64]
    ceiling: int
    skew: float

    @property
    def noisy_nodes(self) -> int:
        return round(float(self.count.sum()))


@dataclass(frozen=True)
class _Fit:
    """A smooth prior `weight` on the cells between `edges`, and the covariance of its coefficients."""

    edges: Floats
    basis: Floats
    likelihood: Floats
    weight: Floats
    covariance: Floats
    evidence: float


@dataclass(frozen=True)
class MaxDegree:
    """The largest degree: `value`, `standard_error`, and `interval` at any level.

    The interval inverts the test of "the largest degree is m" that looks at the largest noisy degree [MAX.2],
    sharpened by two bounds that hold for every graph [MAX.3].
    """

    value: float
    standard_error: float
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
        single_below, single_above = _single_node_bounds(self._x, self._t, self._skew, error)
        below = max(below, single_below, _moment_bound(self._x, self._t, error), self._floor)
        below = min(below, self._ceiling)
        return below, min(max(min(above, single_above), below), self._ceiling)


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


def deconvolve(
    noisy: ArrayLike, variance: ArrayLike, low: ArrayLike, high: ArrayLike, skew: float | None = None
) -> Floats:
    """Estimated share of the nodes with degree 0, 1, ..., n - 1."""
    nodes = np.asarray(noisy).size
    sample = _group(noisy, variance, low, high, skew)
    shares = np.bincount(sample.exact, minlength=nodes).astype(np.float64)
    if sample.noisy_nodes:
        fit = _best(_fits(sample))
        cell = np.searchsorted(fit.edges, np.arange(nodes), side="right") - 1
        inside = cell < fit.weight.size
        density = fit.weight / np.diff(fit.edges)
        shares[inside] += sample.noisy_nodes * density[cell[inside]]
    return np.asarray(shares / shares.sum())


def max_degree(
    noisy: ArrayLike, variance: ArrayLike, low: ArrayLike, high: ArrayLike, skew: float | None = None
) -> MaxDegree:
    """The largest degree, corrected for the upward bias of the largest noisy degree [MAX.1].

    The value lies between the median of the posterior of the maximum (best when noise hides the order of the
    nodes) and the plain maximum (best when it does not); the ratio of spread to noise sets the mixture.
    """
    sample = _group(noisy, variance, low, high, skew)
    floor = float(max(sample.exact.max(initial=0), np.max(low)))
    if not sample.noisy_nodes:
        none = np.empty(0)
        return MaxDegree(floor, 0.0, none, none, none, none, none, floor, floor)
    fit = _best(_fits(sample))
    # The grouped degrees are rounded; the extreme itself must not be.
    top = float(np.max(np.asarray(noisy, dtype=np.float64)[np.asarray(variance, dtype=np.float64) > 0]))
    plain = _plain_weight(sample)
    value = plain * top + (1.0 - plain) * _posterior_median(sample, fit)
    value = min(max(value, floor), float(sample.ceiling))
    candidates = _candidates(sample, fit, top)
    crowded = _tail_probability(sample, fit, top, candidates, 1.0, 0.0)
    alone = _tail_probability(sample, fit, top, candidates, 1.0 - 1.0 / sample.noisy_nodes, _RIVAL_FLOOR)
    x, t = _sorted(noisy, variance)
    draft = MaxDegree(value, 0.0, x, t, candidates, crowded, alone, floor, float(sample.ceiling), sample.skew)
    below, above = draft.interval(_ONE_SIGMA)
    return replace(draft, standard_error=(above - below) / 2.0)


def bin_edges(nodes: int, variance: ArrayLike) -> NDArray[np.int64]:
    """Histogram edges: a function of public things only, single degrees when there is no noise."""
    deviation = math.sqrt(float(np.mean(np.sort(np.asarray(variance, dtype=np.float64)))))
    width = max(1, round(_BIN_WIDTH * deviation))
    return np.append(np.arange(0, nodes, width), nodes).astype(np.int64)


def histogram(
    noisy: ArrayLike, variance: ArrayLike, low: ArrayLike, high: ArrayLike, skew: float | None = None
) -> DegreeHistogram:
    """Estimated number of nodes per degree bin; non-negative, summing to the number of nodes [HIST.1]."""
    nodes = np.asarray(noisy).size
    edges = bin_edges(nodes, variance)
    sample = _group(noisy, variance, low, high, skew)
    counts = np.histogram(sample.exact, edges)[0].astype(np.float64)
    errors = np.zeros_like(counts)
    if sample.noisy_nodes:
        fits = _fits(sample)
        estimate, variances = _bin_counts(sample, _best(fits), edges)
        # What a rougher prior would have said measures what the smoothing may have hidden.
        hidden = estimate - _bin_counts(sample, fits[-1], edges)[0]
        counts, errors = counts + estimate, np.sqrt(np.maximum(variances, 0.0) + hidden**2)
    return DegreeHistogram(edges, counts, errors)


def _group(noisy: ArrayLike, variance: ArrayLike, low: ArrayLike, high: ArrayLike, skew: float | None) -> _Sample:
    x, t, lo, hi = (np.asarray(a, dtype=np.float64) for a in (noisy, variance, low, high))
    known = (t <= 0) | (lo == hi)
    exact = np.sort(np.rint(np.where(t <= 0, x, lo)[known]).astype(np.int64))
    if skew is None:
        skew = 1.0 - 2.0 * _hidden_density(x, lo, hi)
    x, t = _sorted(x[~known], t[~known])
    # Variances within 10 % and degrees within an eighth of their noise share a group: far fewer rows.
    family = np.floor(np.log(np.maximum(t, _TINY)) / math.log(1.1))
    mean_t = np.empty_like(t)
    for name in np.unique(family):
        mean_t[family == name] = t[family == name].mean()
    step = np.maximum(np.sqrt(mean_t), 0.5) / 8.0  # whole degrees need no finer step
    keys, count = np.unique(np.stack([mean_t, np.rint(x / step) * step]), axis=1, return_counts=True)
    return _Sample(keys[1], keys[0], count.astype(np.float64), exact, int(hi.max()), skew)


def _sorted(noisy: ArrayLike, variance: ArrayLike) -> tuple[Floats, Floats]:
    """Sums must not depend on the order in which the nodes are named, not even in the last bit."""
    x, t = np.asarray(noisy, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    order = np.lexsort((x, t))
    return x[order], t[order]


def _hidden_density(noisy: Floats, low: Floats, high: Floats) -> float:
    positions = math.fsum(high - low)
    return min(max(math.fsum(noisy - low) / positions, 0.0), 1.0) if positions else 0.0


def _skewness(t: Floats, skew: float) -> Floats:
    """Beyond the cap the correction would cease to be monotone on the table (it needs |z| < 3 / skewness)."""
    return np.asarray(np.clip(skew / np.sqrt(np.maximum(t, _TINY)), -_SKEWNESS_CAP, _SKEWNESS_CAP))


def _phi(z: Floats, skewness: Floats) -> Floats:
    """P(standardised noise <= z): normal, with the first skewness correction [NOISE.1]."""
    z = np.clip(z, -9.0, 9.0)
    return np.asarray(np.interp(z - skewness * (z**2 - 1.0) / 6.0, _Z, _CDF))


def _cells(sample: _Sample) -> tuple[Floats, float]:
    """Edges at half-integers: even in asinh(degree / scale), and fine where the maximum can be."""
    top = int(np.argmax(sample.x))
    deviation = math.sqrt(sample.t[top])
    end = min(sample.ceiling, math.ceil(float(np.max(sample.x + 5.0 * np.sqrt(sample.t))))) + 1.0
    end = max(end, 2.0)
    noise, mean = np.average(np.stack([sample.t, sample.x]), axis=1, weights=sample.count)
    scale = math.hypot(max(math.sqrt(noise), 1.0), mean)
    coarse = scale * np.sinh(np.linspace(0.0, math.asinh(end / scale), _COARSE_CELLS + 1))
    fine = np.arange(max(sample.x[top] - 6.0 * deviation, 0.0), end, max(deviation / 6.0, 1.0))
    edges = np.unique(np.rint(np.concatenate([coarse, fine, [0.0, end]])))
    return edges[(edges >= 0.0) & (edges <= end)] - 0.5, scale


def _likelihood(sample: _Sample, edges: Floats) -> Floats:
    """Mean normal density over each cell, each row scaled to a largest entry of one."""
    z = (sample.x[:, None] - edges) / np.sqrt(sample.t)[:, None]
    below = _phi(z, _skewness(sample.t, sample.skew)[:, None])
    rows = (-np.diff(below, axis=1) + _TINY) / np.diff(edges)
    return np.asarray(rows / rows.max(axis=1, keepdims=True))


def _basis(edges: Floats, scale: float) -> Floats:
    w = np.arcsinh((edges[1:] + edges[:-1]) / 2.0 / scale)
    u = (w - w[0]) / (w[-1] - w[0])
    waves = [np.cos(np.pi * k * u) for k in range(2, _BASIS + 1)]
    return np.stack([2.0 * u - 1.0, 1.5 * (2.0 * u - 1.0) ** 2 - 0.5, *waves], axis=1)


def _fits(sample: _Sample) -> list[_Fit]:
    """One penalised maximum-likelihood fit per roughness, each started from the smoother one before it."""
    edges, scale = _cells(sample)
    basis, likelihood = _basis(edges, scale), _likelihood(sample, edges)
    theta = np.zeros(basis.shape[1])
    fits = []
    for roughness in _ROUGHNESS:
        waves = (np.arange(2.0, _BASIS + 1) ** 2 / roughness) ** 2
        precision = np.concatenate([np.full(2, _POLYNOMIAL_SCALE**-2.0), waves])
        theta, fit = _maximise(sample, edges, basis, likelihood, precision, theta)
        fits.append(fit)
    return fits


def _best(fits: list[_Fit]) -> _Fit:
    return max(fits, key=lambda fit: fit.evidence)


def _prior(edges: Floats, basis: Floats, theta: Floats) -> Floats:
    log_weight = np.log(np.diff(edges)) + basis @ theta
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(weight / weight.sum())


def _maximise(
    sample: _Sample, edges: Floats, basis: Floats, likelihood: Floats, precision: Floats, theta: Floats
) -> tuple[Floats, _Fit]:
    """Damped scoring; the empirical information keeps every step an ascent."""

    def objective(theta: Floats) -> tuple[float, Floats, Floats]:
        weight = _prior(edges, basis, theta)
        density = likelihood @ weight
        return float(sample.count @ np.log(density) - precision @ theta**2 / 2.0), weight, density

    def scores(weight: Floats, density: Floats) -> Floats:
        return np.asarray((likelihood @ (weight[:, None] * basis)) / density[:, None] - weight @ basis)

    value, weight, density = objective(theta)
    for _ in range(60):
        rows = scores(weight, density)
        gradient = sample.count @ rows - precision * theta
        step = np.linalg.solve((rows.T * sample.count) @ rows + np.diag(precision), gradient)
        gain = float(gradient @ step)
        length = 1.0
        trial = objective(theta + step)
        while trial[0] < value + 1e-4 * length * gain and length > 1e-4:
            length /= 2.0
            trial = objective(theta + length * step)
        if gain < 1e-2 or length <= 1e-4:
            break
        theta, (value, weight, density) = theta + length * step, trial
    rows = scores(weight, density)
    information = (rows.T * sample.count) @ rows + np.diag(precision)
    evidence = value + (float(np.log(precision).sum()) - float(np.linalg.slogdet(information)[1])) / 2.0
    covariance = np.asarray(np.linalg.inv(information))
    return theta, _Fit(edges, basis, likelihood, weight, covariance, evidence)


def _posterior_median(sample: _Sample, fit: _Fit) -> float:
    """Median of the maximum: its distribution function is the product of the nodes' posterior ones."""
    joint = fit.likelihood * fit.weight
    above = np.cumsum(joint[:, ::-1], axis=1)[:, ::-1] / joint.sum(axis=1, keepdims=True)
    cdf = np.exp(sample.count @ np.log(np.maximum(1.0 - above, _TINY)))
    return float(np.interp(0.5, np.maximum.accumulate(np.append(cdf, 1.0)), fit.edges))


def _plain_weight(sample: _Sample) -> float:
    """Near 1 when degrees spread far wider than the noise, so that the right node shows the largest."""
    noise = float(sample.t.max())
    mean = np.average(sample.x, weights=sample.count)
    spread = float(np.average((sample.x - mean) ** 2 - sample.t, weights=sample.count))
    ratio = max(spread, 0.0) / noise
    return ratio**2 / (ratio**2 + _TRUST_PLAIN**2)


def _candidates(sample: _Sample, fit: _Fit, top: float) -> Floats:
    near = top + math.sqrt(sample.t.max()) * np.linspace(-6.0, 6.0, 97)
    return np.unique(np.clip(np.concatenate([fit.edges, near]), 0.0, float(sample.ceiling)))


def _tail_probability(
    sample: _Sample, fit: _Fit, top: float, candidates: Floats, rivals: float, doubt: float
) -> Floats:
    """P(largest noisy degree >= top | largest degree is m), for each candidate m [MAX.2].

    The share `rivals` of the fitted distribution, from below, competes with the node under test; the part
    `doubt` of their influence is not believed.
    """
    nodes = sample.noisy_nodes
    families, inverse = np.unique(sample.t, return_inverse=True)
    share = np.bincount(inverse, weights=sample.count) / nodes

    def log_stays_below(degree: Floats) -> Floats:
        z = (top - degree) / np.sqrt(families)[:, None]
        return np.asarray(share @ np.log(np.maximum(_phi(z, _skewness(families, sample.skew)[:, None]), _TINY)))

    shares = np.minimum(np.append(0.0, np.cumsum(fit.weight)), rivals)
    terms = np.diff(shares) * log_stays_below((fit.edges[1:] + fit.edges[:-1]) / 2.0)
    log_below = np.interp(candidates, fit.edges, np.append(0.0, np.cumsum(terms)))
    clipped = rivals - np.interp(candidates, fit.edges, shares)
    quiet = np.exp(nodes * (log_below + clipped * log_stays_below(candidates)))
    quiet = doubt + (1.0 - doubt) * quiet
    z = (top - candidates) / math.sqrt(families[-1])
    tail = 1.0 - _phi(z, _skewness(families[-1:], sample.skew)) * quiet
    return np.asarray(np.maximum.accumulate(tail))


def _single_node_bounds(x: Floats, t: Floats, skew: float, error: float) -> tuple[float, float]:
    """Limits that need no model of the rivals; they bite when nodes differ much in noise [MAX.3].

    Below: no node lies above the maximum, so no node's lower limit does (union bound, a tenth of the error).
    Above: the maximum is one of the nodes, so it lies below the largest of their upper limits.
    """
    skewness, deviation = _skewness(t, skew), np.sqrt(t)
    high, low = _NORMAL.inv_cdf(1.0 - error / (10.0 * x.size)), _NORMAL.inv_cdf(error)
    most, least = (z + skewness * (z * z - 1.0) / 6.0 for z in (high, low))
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


def _bin_counts(sample: _Sample, fit: _Fit, edges: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Expected bin counts given the data; variance from unknown nodes and unknown prior (delta method)."""
    inner = edges[(edges - 0.5 > fit.edges[0]) & (edges - 0.5 < fit.edges[-1])] - 0.5
    union = np.unique(np.concatenate([fit.edges, inner]))
    middle = (union[1:] + union[:-1]) / 2.0
    cell = np.searchsorted(fit.edges, middle) - 1
    weight = (fit.weight / np.diff(fit.edges))[cell] * np.diff(union)
    joint = _likelihood(sample, union) * weight
    posterior = joint / joint.sum(axis=1, keepdims=True)
    starts, home = np.unique(np.searchsorted(edges - 0.5, middle) - 1, return_index=True)
    shares = np.add.reduceat(posterior, home, axis=1)
    basis = fit.basis[cell]
    moved = np.add.reduceat((sample.count @ posterior)[:, None] * basis, home, axis=0)
    slope = moved - (shares.T * sample.count) @ (posterior @ basis)
    counts, variances = np.zeros(edges.size - 1), np.zeros(edges.size - 1)
    counts[starts] = sample.count @ shares
    variances[starts] = sample.count @ (shares * (1.0 - shares))
    variances[starts] += np.sum((slope @ fit.covariance) * slope, axis=1)
    return counts, variances
