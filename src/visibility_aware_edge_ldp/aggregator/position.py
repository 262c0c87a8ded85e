"""POSITION: every statistic from one collection.  [AGGREGATE.1-3]"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.effort import AUTOMATIC, Effort
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.tiled import TiledCollection
from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import row_sums
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.subgraphs import cycles, edges, pairs, stars, triangles
from visibility_aware_edge_ldp.subgraphs.degree_histogram import histogram
from visibility_aware_edge_ldp.subgraphs.kinds import KindScores
from visibility_aware_edge_ldp.subgraphs.max_degree import max_degree
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores
from visibility_aware_edge_ldp.subgraphs.statistic import check_statistics, star_size

_NEEDS_PAIRS = {"triangles": triangles.triangle_sums, "four_cycles": cycles.cycle_sums}


def estimate(
    collection: PositionCollection | TiledCollection,
    statistics: Sequence[str],
    effort: Effort = AUTOMATIC,
    made: KindScores | None = None,
) -> dict[str, Estimate]:
    """Estimates of these statistics, all from the same reports: one price for all.  [POSITION.4]

    ``effort`` says how much of the counting is done, and where; ``made`` are the scores, where they are there already.
    """
    wanted = check_statistics(statistics, collection.view.n)
    estimator = Estimator(collection, wanted, effort, made)
    return {statistic: estimator.one(statistic) for statistic in wanted}


@dataclass(frozen=True, eq=False)
class Estimator:
    """Shares the scores and the sums over pairs between statistics."""

    collection: PositionCollection | TiledCollection
    wanted: tuple[str, ...]
    effort: Effort
    made: KindScores | None = None

    def one(self, statistic: str) -> Estimate:
        k = star_size(statistic)
        if k is not None:
            return self._normal(statistic, k, *stars.stars(self.scores, k))
        special = {
            "degrees": self._degrees,
            "max_degree": self._max_degree,
            "degree_histogram": self._histogram,
            "transitivity": self._transitivity,
        }
        if statistic in special:
            return special[statistic]()
        plain: dict[str, tuple[int, Callable[[], tuple[float, float]]]] = {
            "edges": (1, lambda: edges.edges(self.scores)),
            "triangles": (3, lambda: triangles.triangles(self.pair_sums["triangles"])),
            "four_cycles": (4, self._cycles),
        }
        sides, compute = plain[statistic]
        return self._normal(statistic, sides, *compute())

    def _cycles(self) -> tuple[float, float]:
        sums, rows = self.pair_sums["four_cycles"], self._pairs[1]
        return cycles.four_cycles(self.scores, sums, rows, self.effort.steps("paths", 1.0))

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        return self.collection.releases

    @cached_property
    def rate_variance(self) -> float:
        return self.collection.rate_variance()

    @cached_property
    def scores(self) -> Scores | KindScores:
        if self.made is not None:
            return self.made
        if isinstance(self.collection, TiledCollection):
            return self.collection.kind_scores()
        return self.collection.kind_scores() or self.collection.scores()

    @property
    def pair_sums(self) -> dict[str, pairs.Sums]:
        """The sums over pairs of each statistic that needs some."""
        return self._pairs[0]

    @cached_property
    def _pairs(self) -> tuple[dict[str, pairs.Sums], cycles.Rows | None]:
        """One pass over all pairs, or a sample of them, for everything that needs it; and what is known of rows."""
        rows: cycles.Rows | None = None
        names = {"triangles" if name == "transitivity" else name for name in self.wanted} & _NEEDS_PAIRS.keys()
        if isinstance(self.scores, KindScores):
            flat, rows = self.effort.pair_sums(self.scores, names, self.collection.survey.identity)
        else:
            self.effort.refuse_sampling()
            flat = pairs.sum_over_pairs(
                self.scores,
                lambda block: {f"{n}/{key}": value for n in names for key, value in _NEEDS_PAIRS[n](block).items()},
            )
        sums: dict[str, pairs.Sums] = {
            name: {key.partition("/")[2]: value for key, value in flat.items() if key.startswith(f"{name}/")}
            for name in names
        }
        return sums, rows

    def _normal(self, statistic: str, sides: int, value: float, variance: float, unbiased: bool = True) -> Estimate:
        """An estimate with a normal interval; ``sides`` is how many positions its subgraph has.  [AGGREGATE.5]"""
        saved = (sides * value) ** 2 * self.rate_variance
        # The saving is itself an estimate; it is never believed to be more than half.
        return Estimate(statistic, value, max(variance - saved, variance / 2, 0.0), self.releases, unbiased=unbiased)

    def _degrees(self) -> Estimate:
        value, variance = edges.degrees(self.scores)
        names = self.collection.view.names
        return Estimate("degrees", value, np.maximum(variance, 0.0), self.releases, labels=names)

    @cached_property
    def degree_bounds(self) -> tuple[Floats, Floats]:
        """Between its public edges and those plus its non-public positions: what everybody knows of a degree."""
        view = self.collection.view
        public_degree = np.bincount(view.edges.ravel(), minlength=view.n).astype(np.float64)
        return public_degree, public_degree + (view.n - 1 - public_positions(view))

    def _max_degree(self) -> Estimate:
        noisy, variance = edges.degrees(self.scores)
        found = max_degree(noisy, np.maximum(variance, 0.0), *self.degree_bounds)
        error = found.standard_error**2
        return Estimate("max_degree", found.value, error, self.releases, unbiased=False, limits=found.interval)

    def _histogram(self) -> Estimate:
        noisy, variance = edges.degrees(self.scores)
        found = histogram(noisy, np.maximum(variance, 0.0), *self.degree_bounds)
        bins = [(int(low), int(high) - 1) for low, high in zip(found.edges[:-1], found.edges[1:], strict=True)]
        return Estimate(
            "degree_histogram",
            found.counts,
            found.standard_errors**2,
            self.releases,
            labels=bins,
            unbiased=False,
            limits=found.interval,
        )

    def _transitivity(self) -> Estimate:
        """3T/S₂ with the delta method.  [AGGREGATE.3]"""
        triangle, triangle_variance = triangles.triangles(self.pair_sums["triangles"])
        wedge, wedge_variance = stars.stars(self.scores, 2)
        if wedge <= 0:
            return Estimate("transitivity", 0.0, np.inf, self.releases, unbiased=False, limits=lambda level: (0.0, 1.0))
        shared = triangles.covariance_with_two_stars(self.pair_sums["triangles"])
        ratio = triangle / wedge
        variance = 9 * (triangle_variance - 2 * ratio * shared + ratio**2 * wedge_variance) / wedge**2
        if variance <= 0:
            # The covariance is an estimate too; without it the variance is what the triangles alone have.
            variance = 9 * triangle_variance / wedge**2
        return self._normal("transitivity", 1, 3 * ratio, variance, unbiased=False)


def public_positions(view: PublicView) -> npt.NDArray[np.int64]:
    """How many public positions each node has, edges or not."""
    bound = view.classes.by_kinds
    if bound is not None:
        public, sizes = np.asarray(bound.table) == Visibility.PUBLIC, np.bincount(bound.kinds)
        by_kind: npt.NDArray[np.int64] = public @ sizes - np.diagonal(public)
        return by_kind[bound.kinds]
    if not view.class_sizes[Visibility.PUBLIC]:
        return np.zeros(view.n, dtype=np.int64)
    return row_sums(choice.plane_of()(view.class_bits[Visibility.PUBLIC], view.n))
