"""The distribution of degrees behind one noisy degree per node.

Every function takes the same four arrays, one entry per node: ``noisy`` (unbiased noisy degree), ``variance``
(its known noise variance; 0 means exact), and the public bounds ``low <= degree <= high``. Nothing here draws
random numbers: all uncertainty comes from closed forms and quadrature. Reasoning: ``degree_distribution.md``.

``skew`` is the third cumulant of the noise divided by its variance. Left out, it is that of randomized response,
1 - 2 (density of the hidden positions) [NOISE.1]; 0 means symmetric noise. ``law`` is the noise's shape: about
normal, as a sum over many positions is, or that of one Laplace draw [NOISE.2].
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.reproducible_math import (
    Rows,
    arcsinh,
    cos_pi,
    dot,
    exp,
    inner,
    log,
    sinh,
    weighted,
)

Floats = NDArray[np.float64]

TINY = 1e-300
_Z = np.linspace(-9.0, 9.0, 9001)
_CDF = np.array([0.5 * math.erfc(-z / math.sqrt(2.0)) for z in _Z])  # NumPy has no erf; error < 2e-7


@dataclass(frozen=True)
class Law:
    """The shape of a noise of variance 1: the chance of at most z, and the z of a chance."""

    below: Callable[[Floats], Floats]
    quantile: Callable[[float], float]


def _normal_below(z: Floats) -> Floats:
    return np.asarray(np.interp(z, _Z, _CDF))


def _laplace_below(z: Floats) -> Floats:
    tail = exp(-math.sqrt(2.0) * np.abs(z)) / 2.0
    return np.where(z < 0.0, tail, 1.0 - tail)


def _laplace_quantile(chance: float) -> float:
    return math.copysign(math.log(2.0 * min(chance, 1.0 - chance)) / math.sqrt(2.0), chance - 0.5)


NORMAL = Law(_normal_below, NormalDist().inv_cdf)
LAPLACE = Law(_laplace_below, _laplace_quantile)

_COARSE_CELLS = 64  # cells of the fitted log density, even on the asinh scale
_BASIS = 36  # cosines beyond the straight line and the parabola
_POLYNOMIAL_SCALE = 60.0  # prior standard deviation of line and parabola: wide, so that narrow graphs fit
_ROUGHNESS = (3.0, 10.0, 30.0, 100.0, 300.0)  # prior scales of the cosines; the evidence chooses among them
_SKEWNESS_CAP = 0.3
_FARTHEST = 40.0  # deviations beyond the possible degrees: noise goes there less than once in 10^24 draws


@dataclass(frozen=True)
class Sample:
    """Nodes in groups: `count` share a noisy degree `x` and a variance `t`; those in `exact` are known."""

    x: Floats
    t: Floats
    count: Floats
    exact: NDArray[np.int64]
    ceiling: int
    skew: float
    law: Law = NORMAL

    @property
    def noisy_nodes(self) -> int:
        return round(float(self.count.sum()))


@dataclass(frozen=True)
class Fit:
    """A smooth prior `weight` on the cells between `edges`, and the covariance of its coefficients."""

    edges: Floats
    basis: Floats
    likelihood: Floats
    weight: Floats
    covariance: Floats
    evidence: float


def deconvolve(
    noisy: ArrayLike, variance: ArrayLike, low: ArrayLike, high: ArrayLike, skew: float | None = None, law: Law = NORMAL
) -> Floats:
    """Estimated share of the nodes with degree 0, 1, ..., n - 1."""
    nodes = np.asarray(noisy).size
    sample = group(noisy, variance, low, high, skew, law)
    shares = np.bincount(sample.exact, minlength=nodes).astype(np.float64)
    if sample.noisy_nodes:
        fit = best(fits(sample))
        cell = np.searchsorted(fit.edges, np.arange(nodes), side="right") - 1
        inside = cell < fit.weight.size
        density = fit.weight / np.diff(fit.edges)
        shares[inside] += sample.noisy_nodes * density[cell[inside]]
    return np.asarray(shares / shares.sum())


def group(
    noisy: ArrayLike, variance: ArrayLike, low: ArrayLike, high: ArrayLike, skew: float | None, law: Law = NORMAL
) -> Sample:
    x, t, lo, hi = (np.asarray(a, dtype=np.float64) for a in (noisy, variance, low, high))
    x = _within_reach(x, t, lo, hi)
    known = (t <= 0) | (lo == hi)
    exact = np.sort(np.rint(np.where(t <= 0, x, lo)[known]).astype(np.int64))
    if skew is None:
        skew = 1.0 - 2.0 * _hidden_density(x, lo, hi)
    x, t = sorted_nodes(x[~known], t[~known])
    # Variances within 10 % and degrees within an eighth of their noise share a group: far fewer rows.
    firsts = np.flatnonzero(np.diff(t, prepend=-1.0))  # variances are sorted: each is looked at once
    _, of_each = np.unique(np.floor(log(np.maximum(t[firsts], TINY)) / math.log(1.1)), return_inverse=True)
    family = np.repeat(of_each, np.diff(firsts, append=t.size))
    means = np.bincount(family, weights=t) / np.maximum(np.bincount(family), 1)
    steps = np.maximum(np.sqrt(means), 0.5) / 8.0  # whole degrees need no finer step
    rung = np.rint(x / steps[family]).astype(np.int64)
    lowest = rung.min(initial=0)
    # One number for family and rung: sorting pairs takes ten times as long.
    keys, count = np.unique(family * (1 << 40) + (rung - lowest), return_counts=True)
    of, rung = keys >> 40, (keys & ((1 << 40) - 1)) + lowest
    return Sample(rung * steps[of], means[of], count.astype(np.float64), exact, int(hi.max()), skew, law)


def _within_reach(x: Floats, t: Floats, low: Floats, high: Floats) -> Floats:
    """The noisy degrees, moved to where noise can have brought them: a lie of 2^62 would leave no room for the rest."""
    reach = _FARTHEST * np.sqrt(np.maximum(t, 0.0))
    return np.asarray(np.where(t > 0, np.clip(x, low - reach, high + reach), x))


def sorted_nodes(noisy: ArrayLike, variance: ArrayLike) -> tuple[Floats, Floats]:
    """Sums must not depend on the order in which the nodes are named, not even in the last bit."""
    x, t = np.asarray(noisy, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    if (t == t[:1]).all():  # one noise for all, the usual case: a plain sort takes a fifth of the time
        return np.sort(x), t
    order = np.lexsort((x, t))
    return x[order], t[order]


def _hidden_density(noisy: Floats, low: Floats, high: Floats) -> float:
    positions = math.fsum(high - low)
    return min(max(math.fsum(noisy - low) / positions, 0.0), 1.0) if positions else 0.0


def skewness(t: Floats, skew: float) -> Floats:
    """Beyond the cap the correction would cease to be monotone on the table (it needs |z| < 3 / skewness)."""
    return np.asarray(np.clip(skew / np.sqrt(np.maximum(t, TINY)), -_SKEWNESS_CAP, _SKEWNESS_CAP))


def phi(z: Floats, skew: Floats, law: Law = NORMAL) -> Floats:
    """P(standardised noise <= z): the law, with the first skewness correction [NOISE.1]."""
    z = np.clip(z, -9.0, 9.0) if law is NORMAL else z
    return law.below(z - skew * (z**2 - 1.0) / 6.0)


def _cells(sample: Sample) -> tuple[Floats, float]:
    """Edges at half-integers: even in asinh(degree / scale), and fine where the maximum can be."""
    top = int(np.argmax(sample.x))
    deviation = math.sqrt(sample.t[top])
    end = min(sample.ceiling, math.ceil(float(np.max(sample.x + 5.0 * np.sqrt(sample.t))))) + 1.0
    end = max(end, 2.0)
    noise, mean = np.average(np.stack([sample.t, sample.x]), axis=1, weights=sample.count)
    scale = math.hypot(max(math.sqrt(noise), 1.0), mean)
    coarse = scale * sinh(np.linspace(0.0, math.asinh(end / scale), _COARSE_CELLS + 1))
    fine = np.arange(max(sample.x[top] - 6.0 * deviation, 0.0), end, max(deviation / 6.0, 1.0))
    edges = np.unique(np.rint(np.concatenate([coarse, fine, [0.0, end]])))
    return edges[(edges >= 0.0) & (edges <= end)] - 0.5, scale


def likelihood(sample: Sample, edges: Floats) -> Floats:
    """Mean normal density over each cell, each row scaled to a largest entry of one."""
    z = (sample.x[:, None] - edges) / np.sqrt(sample.t)[:, None]
    below = phi(z, skewness(sample.t, sample.skew)[:, None], sample.law)
    rows = (-np.diff(below, axis=1) + TINY) / np.diff(edges)
    return np.asarray(rows / rows.max(axis=1, keepdims=True))


def _basis(edges: Floats, scale: float) -> Floats:
    w = arcsinh((edges[1:] + edges[:-1]) / 2.0 / scale)
    u = (w - w[0]) / (w[-1] - w[0])
    waves = [cos_pi(k * u) for k in range(2, _BASIS + 1)]
    return np.stack([2.0 * u - 1.0, 1.5 * (2.0 * u - 1.0) ** 2 - 0.5, *waves], axis=1)


def fits(sample: Sample) -> list[Fit]:
    """One penalised maximum-likelihood fit per roughness, each started from the smoother one before it.

    Maximum and histogram ask for the same ones, one after the other: the last are remembered.
    """
    numbers = (sample.x.tobytes(), sample.t.tobytes(), sample.count.tobytes(), sample.exact.tobytes())
    return list(_fits(*numbers, sample.ceiling, sample.skew, sample.law))


@lru_cache(maxsize=1)
def _fits(x: bytes, t: bytes, count: bytes, exact: bytes, ceiling: int, skew: float, law: Law) -> tuple[Fit, ...]:
    noisy, variances, counts = (np.frombuffer(each) for each in (x, t, count))
    sample = Sample(noisy, variances, counts, np.frombuffer(exact, np.int64), ceiling, skew, law)
    edges, scale = _cells(sample)
    basis, densities = _basis(edges, scale), likelihood(sample, edges)
    model = _Model(sample, edges, basis, densities, Rows(basis), Rows(densities))
    point = _Point(model, np.zeros(basis.shape[1]))
    found = []
    for roughness in _ROUGHNESS:
        waves = (np.arange(2.0, _BASIS + 1) ** 2 / roughness) ** 2
        precision = np.concatenate([np.full(2, _POLYNOMIAL_SCALE**-2.0), waves])
        point, fit = _maximise(model, precision, point)
        found.append(fit)
    return tuple(found)


def best(candidates: list[Fit]) -> Fit:
    """The fit with the largest evidence."""
    return max(candidates, key=lambda fit: fit.evidence)


@dataclass(frozen=True, eq=False)
class _Model:
    """What all fits share; the matrices are cut up once for the many products of a fit."""

    sample: Sample
    edges: Floats
    basis: Floats
    likelihood: Floats
    basis_rows: Rows
    likelihood_rows: Rows

    @cached_property
    def log_widths(self) -> Floats:
        return log(np.diff(self.edges))


@dataclass(frozen=True, eq=False)
class _Point:
    """Parameters of the prior, and what follows from them whatever the roughness; each worked out once."""

    model: _Model
    theta: Floats

    @cached_property
    def weight(self) -> Floats:
        """The prior of each cell."""
        model = self.model
        weight = backend.kernels("fits").exponentials(model.basis_rows, self.theta, model.log_widths)
        return np.asarray(weight / weight.sum())

    @property
    def density(self) -> Floats:
        return self._densities[0]

    @cached_property
    def _densities(self) -> tuple[Floats, Floats]:
        """Those of the groups of nodes, and their logarithms."""
        found: tuple[Floats, Floats] = backend.kernels("fits").logarithms(self.model.likelihood_rows, self.weight)
        return found

    @cached_property
    def _log_likelihood(self) -> float:
        return dot(self.model.sample.count, self._densities[1])

    def value(self, precision: Floats) -> float:
        """What is maximised: the logarithm of the likelihood, less the penalty for roughness."""
        return self._log_likelihood - dot(precision, self.theta**2) / 2.0

    @cached_property
    def scores(self) -> Floats:
        moved = self.model.likelihood_rows.times(self.weight[:, None] * self.model.basis)
        return np.asarray(moved / self.density[:, None] - weighted(self.weight, self.model.basis))

    @cached_property
    def gradient(self) -> Floats:
        return weighted(self.model.sample.count, self.scores)

    @cached_property
    def information(self) -> Floats:
        return inner(self.scores, self.model.sample.count)


def _maximise(model: _Model, precision: Floats, point: _Point) -> tuple[_Point, Fit]:
    """Damped scoring; the empirical information keeps every step an ascent."""
    linear = backend.kernels("pair_sums")
    for _ in range(60):
        gradient = point.gradient - precision * point.theta
        step = linear.solved(linear.cholesky(point.information + np.diag(precision)), gradient)
        gain, value = dot(gradient, step), point.value(precision)
        length = 1.0
        trial = _Point(model, point.theta + step)
        while trial.value(precision) < value + 1e-4 * length * gain and length > 1e-4:
            length /= 2.0
            trial = _Point(model, point.theta + length * step)
        if gain < 1e-2 or length <= 1e-4:
            break
        point = trial
    root = linear.cholesky(point.information + np.diag(precision))
    half_determinant = float(log(np.diag(root)).sum())
    evidence = point.value(precision) + float(log(precision).sum()) / 2.0 - half_determinant
    covariance = linear.solved(root, np.eye(len(root)))
    return point, Fit(model.edges, model.basis, model.likelihood, point.weight, covariance, evidence)
