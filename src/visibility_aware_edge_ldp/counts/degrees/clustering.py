"""Triangles at nodes, weighted by functions of degrees that come from other reports: clustering.  [CLUSTER.1-3]"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import dot, norm, product, weighted
from visibility_aware_edge_ldp.counts.degrees.degree_functions import NoisyDegrees, binomial, clamp, corrected
from visibility_aware_edge_ldp.counts.exact import degree_classes, local_share
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.errors import TooLarge

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Some matrices of all positions in double precision are held at once: half a gigabyte.
MOST_NODES = 3000
_SHIFTS = (-2, -1, 0, 1, 2)


def refuse_many(n: int, name: str) -> None:
    """Say that so many nodes take too much memory."""
    if n > MOST_NODES:
        raise TooLarge(
            f"{name} is worked out from matrices of all positions, on up to {MOST_NODES:,} nodes; these are {n:,}. "
            f"Choose the largest with --top {MOST_NODES}, or ask for transitivity, which takes less."
        )


@dataclass(frozen=True, eq=False)
class NodeTriangles:
    """The triangles at each node from a matrix of all scores, whose diagonal is empty.  [CLUSTER.1]"""

    scores: Floats = field(repr=False)

    @cached_property
    def value(self) -> Floats:
        """How many triangles each node is in."""
        return np.asarray((self.scores * self._paths).sum(axis=1) / 2)

    @cached_property
    def variance(self) -> Floats:
        """The variance of each of these numbers: one, two and three noisy sides, with signs in turn."""
        spread, squares = self._spread, self._squares
        one = (spread * self._paths**2).sum(axis=1) + (self._mixed * squares).sum(axis=1) / 2
        two = (self._mixed.T * spread).sum(axis=1) / 2 + (self._spread_paths * squares).sum(axis=1)
        return np.asarray(one - two + (self._spread_paths * spread).sum(axis=1) / 2)

    def variance_of_sum(self, weights: Floats) -> tuple[float, float]:
        """The variance of the weighted sum of these numbers, and the part of it with three noisy sides."""
        ends, some = weights[:, None] + weights, np.flatnonzero(weights)
        slope = ends * self._paths + product(self.scores[:, some] * weights[some], self.scores[some])
        one = float((self._spread * slope**2).sum()) / 2
        two = self._through(self._squares, self._mixed, weights) / 2
        three = self._through(self._spread, self._spread_paths, weights) / 6
        return one - two + three, three

    def _through(self, far: Floats, mixed: Floats, weights: Floats) -> float:
        """Σ over u, v, z of far_uv·s_uz·s_zv·(w_u + w_v + w_z)²; ``mixed`` is far @ s."""
        ends, middle = far * self._spread_paths, self._spread * mixed
        squares = 2 * dot(weights**2, ends.sum(axis=1)) + dot(weights**2, middle.sum(axis=0))
        products = 2 * weighted(weights, ends) + 4 * weighted(weights, middle)
        return squares + dot(weights, products)

    @cached_property
    def _squares(self) -> Floats:
        return self.scores**2

    @cached_property
    def _spread(self) -> Floats:
        return self._squares - self.scores

    @cached_property
    def _paths(self) -> Floats:
        return product(self.scores, self.scores)

    @cached_property
    def _mixed(self) -> Floats:
        return product(self._squares, self._spread)

    @cached_property
    def _spread_paths(self) -> Floats:
        return product(self._spread, self._spread)


class ByDegree(NamedTuple):
    """A function of everybody's degree without bias, and the variance of each of its values.  [DEGREESUM.1]"""

    value: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class DegreeWeights:
    """Functions of everybody's degree from noisy degrees, where all who hide something answered.  [DEGREESUM.1]

    ``hides`` says who is in ``degrees.noisy``; the others are in ``degrees.certain``.
    """

    degrees: NoisyDegrees
    hides: npt.NDArray[np.bool_] = field(repr=False)

    def of(self, function: Callable[[Ints], Floats]) -> ByDegree:
        """The function of each degree; beyond degrees that are possible it stays as it is at the last of them."""
        shifted = [function(clamp(self.degrees, shift)) for shift in _SHIFTS]
        each = corrected(self.degrees, shifted)
        value, variance = np.empty(self.hides.size), np.zeros(self.hides.size)
        value[self.hides], value[~self.hides] = each, function(self.degrees.certain)
        variance[self.hides] = each**2 - corrected(self.degrees, [g**2 for g in shifted])
        return ByDegree(value, variance)


@dataclass(frozen=True, eq=False)
class TriangleSum:
    """Σ g(d_v)·t_v over all nodes, from triangles t and a function g of the degree that are independent.  [CLUSTER.1]

    Parameters
    ----------
    value, variance
        Both without bias.
    floor
        The part of the variance with three noisy sides; all of it is at least that.
    each
        What single nodes add to the variance: where a few of them add most of it, it is known badly.
    """

    value: float
    variance: float
    floor: float
    each: Floats = field(repr=False)

    @property
    def spread(self) -> Spread:
        """The variance, and about how far it is off."""
        return believed(self.variance, self.floor, self.each)


def believed(variance: float, floor: float, each: Floats) -> Spread:
    """An estimated variance with about how far it is off; where that is more than itself, so much.  [CLUSTER.2]"""
    doubt = norm(each)
    return Spread(max(variance, floor, doubt), doubt)


def triangle_sum(triangles: NodeTriangles, weights: ByDegree) -> TriangleSum:
    """Σ g(d_v)·t_v and how it varies.  [CLUSTER.1]"""
    given_weights, floor = triangles.variance_of_sum(weights.value)
    by_weights = weights.variance * (triangles.value**2 - triangles.variance)
    each = weights.value**2 * triangles.variance + by_weights
    return TriangleSum(dot(weights.value, triangles.value), given_weights + float(by_weights.sum()), floor, each)


def local_sum(triangles: NodeTriangles, weights: DegreeWeights) -> TriangleSum:
    """The sum of everybody's own clustering coefficient, t/C(d, 2), and 0 below two friends.  [CLUSTER.2]"""
    return triangle_sum(triangles, weights.of(local_share))


@dataclass(frozen=True, eq=False)
class ClassClustering:
    """Triangles and 2-stars at the nodes of one class of degrees.  [CLUSTER.3]

    ``spreads`` and ``shared`` are of single nodes: the variance of their 2-stars, and the covariance with triangles.
    """

    triangles: TriangleSum
    wedges: float
    spreads: Floats = field(repr=False)
    shared: Floats = field(repr=False)

    def less(self, share: float) -> Spread:
        """How triangles less this share of the 2-stars vary."""
        degrees = share**2 * self.spreads - 2 * share * self.shared
        variance = self.triangles.variance + float(degrees.sum())
        return believed(variance, self.triangles.floor, self.triangles.each + degrees)


def by_class(triangles: NodeTriangles, weights: DegreeWeights) -> list[ClassClustering]:
    """For each class of degrees, the parts of its clustering.  [CLUSTER.3]"""
    return [_of_class(triangles, weights, *ends) for ends in degree_classes(weights.hides.size)]


def _of_class(triangles: NodeTriangles, weights: DegreeWeights, first: int, last: int) -> ClassClustering:
    def inside(degree: Ints) -> Floats:
        return ((first <= degree) & (degree <= last)).astype(np.float64)

    chosen, stars = weights.of(inside), weights.of(lambda degree: inside(degree) * binomial(degree, 2))
    # An indicator times the 2-stars of its class is these 2-stars; nothing is shared where nothing is noisy.
    common = np.where(weights.hides, chosen.value * stars.value - stars.value, 0.0)
    return ClassClustering(
        triangle_sum(triangles, chosen), float(stars.value.sum()), stars.variance, common * triangles.value
    )
