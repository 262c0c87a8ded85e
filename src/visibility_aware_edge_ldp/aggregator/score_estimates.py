"""POSITION: every statistic from one collection, and how much counting it is worth.

[AGGREGATE.1-3, KINDS.3, KINDS.5]
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import (
    Estimators,
    Ints,
    positions_of,
    public_graph,
    public_positions,
)
from visibility_aware_edge_ldp.aggregator.derived import from_cells, scored_triangles_by_group
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, leaning, unknown_share
from visibility_aware_edge_ldp.aggregator.node_statistics import simultaneous_degrees
from visibility_aware_edge_ldp.compute.engines import Engine, on_threads
from visibility_aware_edge_ldp.compute.plain.bitset import word_count
from visibility_aware_edge_ldp.compute.threads import beside
from visibility_aware_edge_ldp.counts import cycles, stars, triangles
from visibility_aware_edge_ldp.counts.degrees.degree_histogram import histogram
from visibility_aware_edge_ldp.counts.degrees.max_degree import max_degree
from visibility_aware_edge_ldp.counts.graphlets import sampled as graphlets
from visibility_aware_edge_ldp.counts.graphlets.exact import copies
from visibility_aware_edge_ldp.counts.group_pairs import PairSums, drawn_rows, rows_by_group, sum_pairs
from visibility_aware_edge_ldp.counts.group_planes import ScopeScores
from visibility_aware_edge_ldp.counts.group_triangles import sampled_total, triangle_total
from visibility_aware_edge_ldp.counts.mixing import LINEAR, RATIOS, ScoredCells
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.plane_products import dense
from visibility_aware_edge_ldp.counts.scope_triangles import scope_triangle_sums
from visibility_aware_edge_ldp.counts.scores import Floats, Scores, spread
from visibility_aware_edge_ldp.counts.sparse_scores import ListedScores
from visibility_aware_edge_ldp.counts.spectrum import APART, PART, Spectrum, refuse_uneven, spectrum
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic
from visibility_aware_edge_ldp.public.groups import groups_of
from visibility_aware_edge_ldp.public.statistic import (
    AT_ONCE,
    BUTTERFLIES,
    FOUR_CYCLES,
    GRAPHLETS,
    TRIANGLES_BY_GROUP,
    Statistic,
    statistic,
)
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

# What has to be summed over pairs: for 4-cycles, and for everything else that is counted over pairs.
CYCLE_SUMS, TRIANGLE_SUMS = "cycles", "triangles"
_SUMMED = {TRIANGLE_SUMS: triangles.triangle_sums, CYCLE_SUMS: cycles.cycle_sums}
Progress = Callable[[float, float], None]
# Words that may be compared for sums over pairs: some seconds. All pairs of nearly 14,000 nodes are within it.
PAIR_WORDS = 2 * 10**10
# Rows that are enough for the variance of triangles, and the nodes below which all are taken.
VARIANCE_ROWS, FEW_NODES = 512, 1024
# With fewer of the positions, intervals of few triangles and 4-cycles hold less often than they say.  [AGGREGATE.7]
FEW_ANSWERED = 0.6
_IF_MANY_ARE_SEEN = (
    "many triangles or 4-cycles were seen whole; of few, 95 % intervals held the truth 89 to 94 % of the time"
)


@dataclass(frozen=True)
class WorkBudget:
    """What share of the pairs of rows and of the triples of tiles is worked through, and by which engine.

    None takes all triples, and as many rows as some seconds allow: sampled rows tell the standard error of triangles
    well, and cost 4-cycles accuracy, which their standard error says.
    """

    share: float | None = None
    engine: Engine = on_threads
    progress: Mapping[str, Progress] = field(default_factory=dict)
    """Who is told of "rows" and of "paths", the two long works beside triangles."""

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < self.share <= 1:
            raise BadInput(f"The share of the work is above 0 and at most 1; got {self.share:g}.")

    def rows(self, n: int, with_cycles: bool) -> int:
        """How many rows are worked through."""
        if self.share is not None:
            return n if self.share == 1 else min(n, max(VARIANCE_ROWS, round(self.share * n)))
        if not with_cycles:
            return n if n <= FEW_NODES else VARIANCE_ROWS
        if n * n * word_count(n) <= 2 * PAIR_WORDS:
            return n
        return max(VARIANCE_ROWS, PAIR_WORDS // (n * word_count(n)))

    def pair_sums(self, scores: GroupScores, names: Collection[str], coin: str) -> PairSums:
        """The sums behind triangles and 4-cycles, by "statistic/name"; samples are drawn by this public coin."""
        with_cycles = CYCLE_SUMS in names
        sample = drawn_rows(scores, self.rows(scores.n, with_cycles), coin)
        sums, rows = sum_pairs(scores, with_cycles, sample, self.steps("rows", self.rows(scores.n, with_cycles)))
        if sample is not None and TRIANGLE_SUMS in names:
            share = 1.0 if self.share is None else self.share
            total = (
                triangle_total(scores, self.engine) if share == 1 else sampled_total(scores, share, coin, self.engine)
            )
            sums |= {"triangles/count": 3 * total.value, "triangles/sampling": 9 * total.sampling}
        return PairSums(sums, rows)

    def scope_sums(self, scores: ScopeScores, coin: str) -> triangles.Sums:
        """The sums behind triangles where answers go by groups of nodes; rows are drawn by this public coin."""
        self.refuse_sampling()
        nodes, weights = rows_by_group(scores, self.rows(scores.n, False), coin)
        return scope_triangle_sums(scores, nodes, weights, self.engine)

    def steps(self, work: str, total: float) -> Callable[[float], None] | None:
        """For one of the long works: is told how much more of it is done; threads may call it at once."""
        if work not in self.progress:
            return None
        done, lock, progress = 0.0, Lock(), self.progress[work]

        def step(more: float) -> None:
            nonlocal done
            with lock:
                done += more
                progress(done, total)

        return step

    def refuse_sampling(self) -> None:
        """Where scores do not go by kinds of nodes, everything is counted."""
        if self.share not in (None, 1):
            raise BadInput(
                "Only a part of the work was asked for, which needs a policy that goes by kinds of nodes (everything "
                "private, or profiles), one round, and answers from everybody. Leave it out."
            )


@dataclass(frozen=True, eq=False)
class ScoreEstimates:
    """Estimates from unbiased scores; the scores and the sums over pairs are shared between statistics."""

    collection: ScoredCollection
    wanted: tuple[str, ...]
    budget: WorkBudget
    made: GroupScores | None = None
    _star_sums: dict[int, tuple[float, float]] = field(default_factory=dict, init=False)

    def counted_cycles(self) -> tuple[float, float]:
        """The number of 4-cycles and its variance."""
        sums, rows = self.pair_sums[CYCLE_SUMS], self._pairs[1]
        bipartite = self.collection.view.people is not None
        return cycles.cycles(self.scores, sums, rows, self.budget.steps("paths", 1.0), bipartite)

    @cached_property
    def rate_variance(self) -> float:
        return self.collection.rate_variance()

    @cached_property
    def scores(self) -> Any:
        """The scores of all positions."""
        return self.made if self.made is not None else self.collection.best_scores(CYCLE_SUMS in self._summed)

    @property
    def _summed(self) -> set[str]:
        """What has to be summed over pairs."""
        return {
            CYCLE_SUMS if each.sides == FOUR_CYCLES.sides else TRIANGLE_SUMS
            for each in map(statistic, self.wanted)
            if each.over_pairs
        }

    @property
    def pair_sums(self) -> dict[str, triangles.Sums]:
        """The sums over pairs of each statistic that needs some."""
        return self._pairs[0]

    @cached_property
    def _pairs(self) -> tuple[dict[str, triangles.Sums], cycles.Rows | None]:
        """One pass over all pairs, or a sample of them, for everything that needs it; and what is known of rows."""
        if isinstance(self.scores, ListedScores):
            return {"triangles": self.scores.triangle_sums()}, None
        rows: cycles.Rows | None = None
        names = self._summed
        if isinstance(self.scores, GroupScores):
            flat, rows = self.budget.pair_sums(self.scores, names, self.collection.survey.identity)
        elif isinstance(self.scores, ScopeScores):
            found = self.budget.scope_sums(self.scores, self.collection.survey.identity)
            flat = {f"{TRIANGLE_SUMS}/{key}": value for key, value in found.items()}
        else:
            self.budget.refuse_sampling()
            squares = np.zeros(self.scores.n)
            flat = triangles.sum_over_pairs(
                self.scores,
                lambda block: {f"{n}/{key}": value for n in sorted(names) for key, value in _SUMMED[n](block).items()},
                scored_only=CYCLE_SUMS not in names,
                squares=squares,
            )
            if self.scores.is_counted and CYCLE_SUMS in names:
                rows = cycles.Rows(np.arange(squares.size), np.ones(squares.size), squares)
        sums: dict[str, triangles.Sums] = {
            name: {key.partition("/")[2]: value for key, value in flat.items() if key.startswith(f"{name}/")}
            for name in names
        }
        return sums, rows

    def counted(self, asked: Statistic, value: float, variance: float) -> Estimate:
        """A count of subgraphs with a normal interval.  [AGGREGATE.5]"""
        return self._normal(asked.name, asked.sides, value, variance)

    def closed(self, asked: Statistic, value: float, variance: float) -> Estimate:
        """A count of triangles or 4-cycles."""
        return self._if_many(self.counted(asked, value, variance))

    def _if_many(self, found: Estimate) -> Estimate:
        """The same, which says so where most positions did not answer.  [AGGREGATE.7]"""
        few = min(self.collection.response_rates().values(), default=1.0) < FEW_ANSWERED
        return replace(found, holds_if=_IF_MANY_ARE_SEEN if few else "")

    def _normal(self, name: str, sides: int, value: float, variance: float, unbiased: bool = True) -> Estimate:
        """An estimate with a normal interval; ``sides`` is how many positions its subgraph has.  [AGGREGATE.5]"""
        saved = (sides * value) ** 2 * self.rate_variance
        # The saving is itself an estimate; it is never believed to be more than half.
        return Estimate(name, value, max(variance - saved, variance / 2, 0.0), unbiased=unbiased)

    def combined(self, name: str, weights: Mapping[str, float]) -> Estimate:
        """A weighted sum of edges and k-stars, with what they share.  [DERIVED.2]"""
        parts = [(weight, statistic(each), *self._sum_of(each)) for each, weight in weights.items()]
        variance = sum(weight**2 * own for weight, _, _, own in parts)
        for i, (one, edges, *_) in enumerate(parts):
            for two, others, *_ in parts[i + 1 :]:
                sides = max(edges.sides, others.sides)
                if min(edges.sides, others.sides) != 1:
                    raise BadStatistic(f"{name}: what {edges.name} and {others.name} share is not known.")
                variance += 2 * one * two * stars.covariance_with_edges(self.scores, sides)
        value = sum(weight * own for weight, _, own, _ in parts)
        by_rates = sum(weight * each.sides * own for weight, each, own, _ in parts) ** 2 * self.rate_variance
        return Estimate(name, value, max(variance - by_rates, variance / 2, 0.0))

    def _sum_of(self, name: str) -> tuple[float, float]:
        k = statistic(name).sides
        return stars.edges(self.scores) if k == 1 else self._star_sum(k)

    def _star_sum(self, k: int) -> tuple[float, float]:
        """The number of k-stars and its variance; several statistics ask for the same."""
        if k not in self._star_sums:
            self._star_sums[k] = stars.stars(self.scores, k)
        return self._star_sums[k]

    def stars(self, asked: Statistic) -> Estimate:
        """The number of stars; noise that lowers it lowers its variance, too.  [AGGREGATE.6]"""
        k, found = asked.sides, self.counted(asked, *self._star_sum(asked.sides))
        noise, variance = np.maximum(self.scores.node_sums(spread), 0.0), float(found.variance)
        moving = max(variance - float((noise**k).sum()) / math.factorial(k), 0.0)
        return replace(found, skew=leaning(float(found.value), variance, (1 - 1 / k) * moving)) if moving else found

    def degrees(self, asked: Statistic) -> Estimate:
        """Everybody's degree."""
        value, variance = self.noisy_degrees
        return Estimate(asked.name, value, variance, labels=self.collection.view.names)

    @cached_property
    def noisy_degrees(self) -> tuple[Floats, Floats]:
        """Everybody's degree without bias, and its variance."""
        value, variance = stars.degrees(self.scores)
        return value, np.maximum(variance, 0.0)

    def max_degree(self, asked: Statistic) -> Estimate:
        """The largest degree."""
        known = (*self.noisy_degrees, *self.collection.degree_bounds)
        waiting = beside(lambda: max_degree(*known))
        if self._summed:
            _ = self._pairs  # which is worked out at the same time, since a fit takes one core
        found = waiting()
        variance = 0.0 if found.is_exact else math.nan
        return Estimate(asked.name, found.value, variance, unbiased=False, limits=found.interval, conservative=True)

    def histogram(self, asked: Statistic) -> Estimate:
        """How many nodes have a degree in each bin."""
        found = histogram(*self.noisy_degrees, *self.collection.degree_bounds)
        told = Estimate(asked.name, found.counts, found.variances, labels=found.bins, limits=found.interval)
        return replace(told, unbiased=False, conservative=True)

    def graphlet(self, asked: Statistic) -> Estimate:
        """Subgraphs of four nodes; noise that lowers their number lowers its variance, too.  [GRAPHLET.1-4]"""
        n, k, per_four = self.scores.n, asked.sides, len(copies(asked.name))
        graphlets.refuse_many(n, asked.name)
        value, variance = graphlets.counted(self.matrix, asked.name, self.collection.survey.identity)
        mean = max(float(self.scores.node_sums(spread).sum()), 0.0) / max(n * (n - 1), 1)
        # The term in which all sides are noisy; the whole variance is at least about that.
        floor = per_four * math.comb(n, 4) * mean**k
        found = self.counted(asked, value, max(variance, floor))
        moving = max(float(found.variance) - floor, 0.0)
        return replace(found, skew=leaning(value, float(found.variance), (1 - 1 / k) * moving)) if moving else found

    def butterflies(self, asked: Statistic) -> Estimate:
        """4-cycles of people and places; noise that lowers their number lowers its variance, too.  [BIPARTITE.4]"""
        (value, variance), people = self.counted_cycles(), self.collection.view.people or 0
        places = self.collection.view.n - people
        mean = max(float(self.scores.node_sums(spread).sum()), 0.0) / max(2 * people * places, 1)
        # The term in which all four sides are noisy: in the mean over fours it is no less than for equal variances.
        floor = math.comb(people, 2) * math.comb(places, 2) * mean**asked.sides
        found = self.counted(asked, value, max(variance, floor))
        moving = max(float(found.variance) - floor, 0.0)
        skew = leaning(value, float(found.variance), (1 - 1 / asked.sides) * moving) if moving else 0.0
        return replace(found, skew=skew)

    @property
    def matrix(self) -> Floats:
        """All scores as a matrix."""
        return dense(self.collection.scores() if isinstance(self.scores, ScopeScores) else self.scores)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The largest eigenvalue and its eigenvector.  [SPECTRUM.1-2]"""
        noise = refuse_uneven(self.scores.node_sums(spread), "The spectral radius")
        return spectrum(self.matrix, noise)

    def radius(self, asked: Statistic) -> Estimate:
        """The spectral radius; refused where noise hides it."""
        self.spectrum.refuse_hidden("The spectral radius", APART * self.spectrum.noise)
        return Estimate(asked.name, self.spectrum.radius, self.spectrum.variance, unbiased=False)

    def centrality(self, asked: Statistic) -> Estimate:
        """Everybody's entry in the eigenvector of the largest eigenvalue."""
        self.spectrum.refuse_hidden("The eigenvector centrality", PART * self.spectrum.seen)
        value, variance = self.spectrum.centralities
        labels = self.collection.view.names
        return Estimate(asked.name, value, np.full(value.size, variance), labels=labels, unbiased=False)

    @cached_property
    def cells(self) -> ScoredCells:
        """The mixing matrix, and how it varies.  [MIXING.7]"""
        groups = groups_of(self.collection.view)
        counts = self.scores.counts_between(groups.members, groups.count)
        return ScoredCells.of(self.scores.values, counts, self.rate_variance)

    def transitivity(self, asked: Statistic) -> Estimate:
        """3T/S₂ with the delta method.  [AGGREGATE.3]"""
        triangle, triangle_variance = triangles.triangles(self.pair_sums["triangles"])
        wedge, wedge_variance = self._star_sum(2)
        if wedge <= 0:
            return unknown_share(asked.name)
        shared = triangles.covariance_with_two_stars(self.pair_sums["triangles"])
        ratio = triangle / wedge
        # Var(T/S) ≈ (Var T − 2(T/S)·Cov(T, S) + (T/S)²·Var S)/S², and transitivity is three times the ratio.
        variance = 9 * (triangle_variance - 2 * ratio * shared + ratio**2 * wedge_variance) / wedge**2
        if variance <= 0:
            # The covariance is an estimate too; without it the variance is what the triangles alone have.
            variance = 9 * triangle_variance / wedge**2
        return self._if_many(self._normal(asked.name, 1, 3 * ratio, variance, unbiased=False))


ESTIMATORS: dict[str, Callable[[ScoreEstimates, Statistic], Estimate]] = {
    "edges": lambda given, asked: given.counted(asked, *stars.edges(given.scores)),
    "degrees": ScoreEstimates.degrees,
    **dict.fromkeys(AT_ONCE, simultaneous_degrees.from_scores),
    "max_degree": ScoreEstimates.max_degree,
    "degree_histogram": ScoreEstimates.histogram,
    "triangles": lambda given, asked: given.closed(asked, *triangles.triangles(given.pair_sums["triangles"])),
    "transitivity": ScoreEstimates.transitivity,
    FOUR_CYCLES.name: lambda given, asked: given.closed(asked, *given.counted_cycles()),
    "stars": lambda given, asked: given.stars(asked),
    BUTTERFLIES.name: ScoreEstimates.butterflies,
    **dict.fromkeys(GRAPHLETS, ScoreEstimates.graphlet),
    "spectral_radius": ScoreEstimates.radius,
    "eigenvector_centrality": ScoreEstimates.centrality,
    TRIANGLES_BY_GROUP.name: scored_triangles_by_group,
    **dict.fromkeys((*LINEAR, *RATIOS), from_cells),
}
"""How each statistic is estimated from scores, by its name without a parameter."""


class ScoredCollection(ABC):
    """A collection of answers for positions, however it keeps them: every statistic comes from their scores."""

    estimators: ClassVar[Estimators] = ESTIMATORS
    survey: PositionSurvey
    view: PublicView

    @abstractmethod
    def best_scores(self, with_cycles: bool = True) -> Any:
        """The unbiased score of every position, in the form that is quickest to count in.  [AGGREGATE.1]"""

    def scores(self) -> Scores:
        """The same scores as planes, where all answers are in memory."""
        raise BadStatistic("This takes all answers in memory; ask fewer people, or every position and not a sample.")

    @abstractmethod
    def response_rates(self) -> Mapping[Visibility, float]:
        """The share of what is asked of each non-public class that took part in every round; 1 for an empty class."""

    @abstractmethod
    def rate_variance(self) -> float:
        """Relative variance per (sides)² that dividing by observed response rates removes.  [AGGREGATE.5]"""

    @property
    def degree_bounds(self) -> tuple[Floats, Floats]:
        """Between its public edges and those plus its non-public positions: what everybody knows of a degree."""
        low = public_graph(self.view).degrees.astype(np.float64)
        return low, low + (self.view.n - 1 - public_positions(self.view))

    def positions_of(self, kind: Visibility) -> Ints:
        """How many positions of a class each node has, edges or not."""
        return positions_of(self.view, kind)

    def prepared(self, wanted: tuple[str, ...], budget: WorkBudget | None, made: GroupScores | None) -> ScoreEstimates:
        """The scores and what is counted in them, shared by all statistics."""
        return ScoreEstimates(self, wanted, budget or WorkBudget(), made)


def rate_variance(
    rates: Mapping[Visibility, float], sizes: Mapping[Visibility, int], edges: Mapping[Visibility, float], public: int
) -> float:
    """Relative variance of a count per (positions in its subgraph)², that dividing by observed rates removes.

    ``edges`` are about those of each class that has answered, and ``public`` the public ones.  [AGGREGATE.5]
    """
    total = public + sum(edges.values())
    if total <= 0:
        return 0.0
    partly = {kind: rate for kind, rate in rates.items() if kind in edges and rate < 1}
    return sum((1 - rate) / (rate * sizes[kind]) * (edges[kind] / total) ** 2 for kind, rate in partly.items())
