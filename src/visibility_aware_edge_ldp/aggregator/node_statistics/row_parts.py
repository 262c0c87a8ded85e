"""USER triangles where each user read one part of the first answers: the estimate, and how it varies.  [PARTS.4-6]"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from math import comb
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import Bits, Estimators, InOrder, Ints
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, estimate_of, largest_seen, with_large_absent
from visibility_aware_edge_ldp.aggregator.report_screening import FALSE_ALARM, SumPoisoning, noise_tail
from visibility_aware_edge_ldp.aggregator.round_noise import UNEVEN, Noise, Places, nonresponse_spread, owned
from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.compute.list_groups import Pairs, pairs_in_groups, short_weights
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.counts.row_noise import ListLaw
from visibility_aware_edge_ldp.counts.rows import Step
from visibility_aware_edge_ldp.counts.scores import Floats
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.statistic import TRIANGLES
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.surveys.row_parts import PartSurvey
from visibility_aware_edge_ldp.public.transcript import response_rate
from visibility_aware_edge_ldp.public.transcript_parts import (
    AllAnswers,
    FirstAnswers,
    largest_score,
    sums_of_scores,
)
from visibility_aware_edge_ldp.public.view import PublicView

# A user is needed for triangles as a first and as a middle vertex: what a random numbering makes of it.  [PARTS.6]
PLACES = Places(1.0, 2 / 3, 1.0, 1 / 3)


class PartCollection(RowCollection):
    """Both rounds of a survey of parts.

    ``first`` takes the first answers in and looks them up, in place of a collection that keeps all of them. ``named``
    is what the first round was broadcast under, from all first answers: their digest, unless something else is given.
    """

    estimators: ClassVar[Estimators] = {TRIANGLES.name: lambda given, asked: part_triangles(given)}
    survey: PartSurvey

    def __init__(
        self,
        survey: PartSurvey,
        view: PublicView,
        first: InOrder | None = None,
        named: Callable[[AllAnswers], str] | None = None,
    ) -> None:
        self._looked_up_in, self._named = first, named
        if first is None:
            super().__init__(survey, view)
        else:
            super(RowCollection, self).__init__(survey, view, numbers=2)
            self.first = cast(Any, first)

    @cached_property
    def first_answers(self) -> FirstAnswers:
        """The first answers, as users look them up; the first round is closed by it."""
        if self._looked_up_in is not None:
            return cast(FirstAnswers, self._looked_up_in)
        found = AllAnswers(self.first.transcript, self.view)
        return found if self._named is None else replace(found, name=self._named(found))

    @cached_property
    def _closed(self) -> tuple[Any, Bits]:
        return self.first_answers, self.first_answers.answered

    def absorb_answers(self, report: PositionReport) -> None:
        """Take a first report in; refused once the first round is closed."""
        if self._looked_up_in is not None and "_closed" not in vars(self):
            self._looked_up_in.absorb(report)
        else:
            super().absorb_answers(report)

    @property
    def lengths(self) -> Ints:
        """The noisy lengths of the lists of those who answered twice."""
        return np.asarray(self.reaches[self.answered])

    @property
    def law(self) -> ListLaw:
        """How the sum of a list varies with its length."""
        asked, first, _ = self.counts
        return list_law(self.survey, self.view, response_rate(asked, first))


def list_law(survey: PartSurvey, view: PublicView, rate: float = 1.0) -> ListLaw:
    """How the sum of a list varies with its length, where this share of the rows was answered.  [PARTS.4-6]"""
    channels = [float(survey.first.channel(kind).variance(0)) for kind in view.non_public]
    shares = class_shares(view)
    variance = sum(share * each for share, each in zip(shares, channels, strict=True)) / rate
    return ListLaw(
        survey.groups, survey.longest_short, survey.last_weight, float(survey.reach_noise.rate),
        largest_score(survey, view, rate), variance, survey.pair_noise.standard_deviation(1),
        survey.total_noise.standard_deviation(1), float(survey.total_noise.beta), 2 / 2.0**survey.fineness,
    )  # fmt: skip


def class_shares(view: PublicView) -> list[float]:
    """Of all positions, the share of each non-public class; by kinds of nodes without looking at every position."""
    if len(view.non_public) <= 1 and len(view.present) == 1:
        return [1.0] * len(view.non_public)
    bound = view.classes.by_kinds
    if bound is None:
        return [view.class_sizes[kind] / view.positions for kind in view.non_public]
    table, sizes = np.asarray(bound.table), np.bincount(bound.kinds, minlength=len(bound.table))
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    return [float(pairs[table == kind].sum() / pairs.sum()) for kind in view.non_public]


def public_pairs(view: PublicView, asked: Bits) -> Pairs:
    """All pairs of friends of the users whose row is public: everybody can add them up."""
    edges = np.sort(view.edges.astype(np.int64), axis=1)
    edges = edges[~asked[edges[:, 0]]]
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(edges[:, 0], minlength=view.n))])
    return pairs_in_groups(offsets, edges[:, 1].astype(np.int32), np.zeros(len(edges), np.int64))


class PartPoisoning(SumPoisoning):
    """What users may report who read parts, and how far liars in either round move the estimate.  [LIARS.5-6]"""

    collection: PartCollection

    def __init__(self, collection: PartCollection) -> None:
        survey = collection.survey
        self.law = collection.law
        super().__init__(collection, self.law.largest)
        self._parts = survey.part_of(np.arange(collection.view.n))

    @cached_property
    def sums(self) -> Floats:
        """The largest that a sum is by either rule, up to its sign, in its unit."""
        survey, law = self.collection.survey, self.law
        s, tail = 1 / survey.groups, FALSE_ALARM / 2
        lengths = np.minimum(self.later, survey.longest_short + self.reach).astype(np.int64)
        alone = np.minimum(lengths / 2, survey.groups) * law.largest
        following = short_weights(lengths + 1, survey.groups, survey.last_weight)
        noise = noise_tail(survey.pair_noise, tail) * (law.largest * (1 + s) + s * alone)
        short = following * (alone + noise)
        crowd = np.minimum(self._with[1], self.later)
        pull = np.maximum(crowd, 1 / law.beta) * law.largest
        long = survey.groups * (self.later * crowd / 2 * law.largest + noise_tail(survey.total_noise, tail) * pull)
        most: Floats = np.maximum(short, long) * (1 + 1e-6) * 2.0**survey.fineness + 3
        return most

    @property
    def told(self) -> Floats:
        """In how many pairs of earlier users' lists the answers of a row may be, each with its mean weight."""
        weights = self.law.weights(np.arange(self.collection.view.n))
        return np.asarray(self._with[0] * float(weights.max(initial=0.0)))

    @cached_property
    def _with(self) -> tuple[Floats, Floats]:
        """Of each user: earlier users with later ones whom their parts put into its group; its own part's largest one.

        The second is the size of the largest group.
        """
        survey, users = self.collection.survey, np.arange(self.collection.view.n)
        pairs, largest = np.zeros(users.size), np.zeros(users.size)
        for part in np.unique(self._parts):
            mine = self._parts == part
            groups = survey.group_of(np.full(users.shape, part), users)
            sizes = np.bincount(groups)
            order = np.argsort(groups, kind="stable")
            after = np.empty(users.size, np.int64)
            after[order] = np.repeat(np.cumsum(sizes), sizes) - np.arange(users.size) - 1
            pairs += (np.cumsum(mine) - mine) * after
            largest[mine] = sizes.max()
        return pairs, largest


class Sizes(NamedTuple):
    """How many there are of what sums vary with: edges, pairs of friends and triangles, each over all users."""

    edges: float
    pairs: float
    value: float

    @property
    def density(self) -> float:
        """The share of pairs of friends with an edge."""
        return min(max(self.value / self.pairs, 0.0), 1.0) if self.pairs > 0 else 0.0

    @property
    def branching(self) -> float:
        """How many further friends a friend has: a third of all 2-stars have their middle first."""
        return 3 * self.pairs / self.edges if self.edges > 0 else 0.0

    @property
    def at_edges(self) -> float:
        """About Σc(c − 1) over edges, c being whose lists hold both ends.  [TRIANGLE.6]"""
        beyond = max(self.value - self.branching**3 / 6, 0.0) ** 2
        return UNEVEN * beyond / max(self.edges, 1.0)

    @property
    def shared(self) -> float:
        """About the same over all pairs of users: what degrees make of those without an edge, and the edges."""
        return self.branching**4 / 12 + self.at_edges

    def in_common(self, law: ListLaw, parts: int) -> float:
        """What lists vary by together: first answers that they share; if they share a part, its coin too.  [PARTS.5]"""
        alike = (law.groups - 1) / parts
        return law.variance * self.shared * (1 + alike) + self.at_edges * alike


def part_triangles(collection: RowCollection, step: Step | None = None) -> Estimate:
    """The triangle count, without bias, and its standard error.  [PARTS.4-6]"""
    parts = cast(PartCollection, collection)
    asked, first, second = parts.counts
    if not asked:
        return Estimate(TRIANGLES.name, _public_sum(parts, 1.0), 0.0, parts.releases)
    if not second or first < min(2, asked):
        raise BadStatistic(f"Only {second} of {asked} users have answered in both rounds; more are needed.")
    value, expansion = _public_sum(parts, first / asked), asked / second
    value += expansion * float(parts.sums.sum())
    law, sizes = parts.law, _sizes(parts, expansion, value)
    noise, answers = _variances(parts, law, sizes)
    shared = sizes.in_common(law, parts.survey.parts)
    spread = Spread(expansion**2 * (noise + answers) + shared, shared / 2)
    if second == asked:
        return estimate_of(TRIANGLES.name, value, spread, parts.releases)
    told = Noise(Spread(noise, noise / math.sqrt(second)), 0.0)
    rows = owned(parts.sums, told, answers, asked, float(parts.survey.total_noise.alpha))
    missed = nonresponse_spread(parts.sums, rows, parts.counts, PLACES)
    found = estimate_of(TRIANGLES.name, value, spread.plus(missed), parts.releases)
    seen = largest_seen(parts.sums, (noise + answers) / second)
    return with_large_absent(found, 1 - second / asked, seen, comb(parts.view.n - 1, 2))


def _public_sum(parts: PartCollection, rate: float) -> float:
    """The triangles whose first vertex has a public row, from all first answers."""
    pairs = public_pairs(parts.view, parts.asked)
    if not pairs.owner.size:
        return 0.0
    found = sums_of_scores(parts.survey, parts.view, parts.first_answers, pairs.owner, pairs.u, pairs.v, rate)
    return float(found.sum())


def _sizes(parts: PartCollection, expansion: float, value: float) -> Sizes:
    lengths, noise = parts.lengths, parts.survey.reach_noise
    pairs = noise.unbiased(lambda d: d * (d - 1.0) / 2, lengths).sum()
    return Sizes(expansion * float(lengths.sum()), expansion * float(pairs), value)


def _variances(parts: PartCollection, law: ListLaw, sizes: Sizes) -> tuple[float, float]:
    """Of those who answered twice: the variance of second-round noise, and what first answers add to their sums.

    Both are sums over users of functions of the length, which the noisy lengths tell without bias.  [PARTS.6]
    """
    lengths = parts.lengths
    longest = int(lengths.max(initial=0)) + 1
    table = np.arange(longest + 1)
    of_noise, of_answers, weights = law.second(table, sizes.density), law.first(table), law.weights(table)

    def told(values: Floats) -> float:
        # Lists with a negative noisy length have the value of an empty one.
        noise = parts.survey.reach_noise
        return float(noise.unbiased(lambda at: values[np.clip(at, 0, longest)], lengths).sum())

    triangles = float((weights[np.clip(lengths, 0, longest)] * parts.sums).sum())
    return max(told(of_noise), float(of_noise[0]) * lengths.size), max(told(of_answers), 0.0) + max(triangles, 0.0)
