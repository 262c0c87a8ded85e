"""Degrees and groups from a sample of the roster with survey weights: unbiased for the whole roster.  [WEIGHTS.1-5]"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import Estimators, UserCollection
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection, sum_of_stars
from visibility_aware_edge_ldp.aggregator.derived import linear, ratios
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, estimate_of
from visibility_aware_edge_ldp.aggregator.groups import GroupCollection
from visibility_aware_edge_ldp.counts.degrees import degree_functions
from visibility_aware_edge_ldp.counts.mixing import LINEAR, RATIOS
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.view import PublicView

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_NOT_DRAWN = "This is a report of somebody who was not drawn for the survey; leave it out."


@dataclass(frozen=True)
class SurveyWeights:
    """What everybody on a roster stands for, which everybody may know; 0 for those who were not drawn.

    ``scaled`` says that weights are scaled so that they add up to the roster, or to each group of it; else each is one
    over the chance of being drawn.
    """

    each: Floats = field(repr=False)
    scaled: bool = True


@dataclass(frozen=True, eq=False)
class WeightedSample:
    """Those who answered, what each stands for, and the strata they are in, of known sizes.  [WEIGHTS.2-3]"""

    weights: Floats = field(repr=False)
    strata: Ints = field(repr=False)
    sizes: Ints = field(repr=False)
    scaled: bool = True

    @cached_property
    def stands_for(self) -> Floats:
        """How many people of the roster each answer stands for."""
        if not self.scaled:
            return self.weights
        sums = np.bincount(self.strata, self.weights, self.sizes.size)
        return np.asarray(self.weights * (self.sizes / np.where(sums > 0, sums, 1.0))[self.strata])

    def total(self, each: Floats, noise: Floats | float) -> tuple[float, Spread]:
        """The sum over the roster of what each answer says, from unbiased answers with noise of this variance."""
        stands = self.stands_for
        residual, several = (self._residuals(each), self._several) if self.scaled else (each, 1.0)
        # π = 1/g is the chance of being drawn; it is never above 1.
        away = np.maximum(1 - 1 / stands, 0.0)
        with np.errstate(invalid="ignore"):
            terms = np.where(away > 0, away * stands**2 * residual**2 * several, 0.0)
        own = float((np.minimum(stands, stands**2) * noise).sum())
        drawn, third = float(terms.sum()), float((away**2 * stands**3 * residual**3).sum())
        if not math.isfinite(drawn):
            return float((stands * each).sum()), Spread(math.inf)
        doubt = math.sqrt(float(np.square(terms - terms.mean()).sum())) if terms.size else 0.0
        return float((stands * each).sum()), Spread(drawn + own, doubt, third)

    @property
    def counts(self) -> Ints:
        """How many answered in each stratum."""
        return np.bincount(self.strata, minlength=self.sizes.size)

    @property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """Of which strata enough answered: two, or all; where weights are not scaled, any number.  [WEIGHTS.4]"""
        return (not self.scaled) | (self.counts >= 2) | (self.counts >= self.sizes)

    @property
    def _several(self) -> Floats:
        """n/(n − 1) of each answer's stratum, without bound where one answer alone stands for others."""
        with np.errstate(divide="ignore"):
            return np.asarray((self.counts / (self.counts - 1.0))[self.strata])

    def _residuals(self, each: Floats) -> Floats:
        stands = self.stands_for
        sums, sizes = np.bincount(self.strata, stands * each, self.sizes.size), np.maximum(self.sizes, 1)
        found = each - (sums / sizes)[self.strata]
        return np.where((self.counts == 1)[self.strata], 1.0, found)


class _Drawn(UserCollection[Any, Any]):
    """Reports from those of a roster who were drawn, and their weights."""

    def __init__(self, survey: Any, view: PublicView, weights: SurveyWeights) -> None:
        super().__init__(survey, view)
        self.weights = weights

    def validate(self, users: slice, answered: Any, numbers: Any) -> None:
        """Refuse reports of those who were not drawn."""
        super().validate(users, answered, numbers)
        if (answered & ~(self.weights.each[users] > 0)).any():
            raise ProtocolViolation(_NOT_DRAWN)


class WeightedDegrees(_Drawn, DegreeCollection):
    """Reports of degrees from those of a roster who were drawn."""

    estimators: ClassVar[Estimators] = {
        "edges": lambda given, asked: given.combined(asked.name, {asked.name: 1.0}),
        "stars": lambda given, asked: given.combined(asked.name, {asked.name: 1.0}),
        "tail": lambda given, asked: given.tail(asked.name, asked.parameter or 0),
    }

    def cannot_estimate(self, name: str) -> str:
        """The sentence that refuses a statistic which takes more than a weighted sample of degrees."""
        return f"{name!r} is not told by a sample with weights; ask for {', '.join(self.estimators)}."

    def prepared(self, wanted: tuple[str, ...], budget: Any, made: Any) -> _Degrees:
        """The sample and its noisy degrees, once for all statistics."""
        return _Degrees(self)


class _Degrees:
    """What the estimators of a weighted sample of degrees share."""

    def __init__(self, collection: WeightedDegrees) -> None:
        answered, weights = collection.answered, collection.weights
        if not answered.any():
            raise BadStatistic("Nobody has answered yet, so nothing can be estimated.")
        self._lists, self._degrees = collection.survey.lists, collection.noisy_degrees()
        strata = np.zeros(int(answered.sum()), np.int64)
        self._sample = WeightedSample(weights.each[answered], strata, np.array([collection.view.n]), weights.scaled)

    def combined(self, name: str, weights: Mapping[str, float]) -> Estimate:
        """A weighted sum of edges and k-stars.  [WEIGHTS.2-3]"""
        orders = {1 if each == "edges" else int(each.partition(":")[2]): weight for each, weight in weights.items()}
        return self._sum(name, sum_of_stars(orders, self._lists))

    def tail(self, name: str, threshold: int) -> Estimate:
        """How many of the roster have at least this degree."""
        return self._sum(name, lambda degrees: degrees >= threshold, clamped=True)

    def _sum(self, name: str, function: degree_functions.DegreeFunction, clamped: bool = False) -> Estimate:
        each, noise = degree_functions.per_answer(self._degrees, function, clamped)
        found = estimate_of(name, *self._sample.total(each, noise))
        return replace(found, unbiased=not self._sample.scaled)


class WeightedGroups(_Drawn, GroupCollection):
    """Reports of friends by group from those of a roster who were drawn."""

    estimators: ClassVar[Estimators] = {
        **dict.fromkeys(LINEAR, lambda given, asked: given.marked(linear(given, given.groups, asked))),
        **dict.fromkeys(RATIOS, lambda given, asked: ratios(given, given.groups, asked)),
    }

    def prepared(self, wanted: tuple[str, ...], budget: Any, made: Any) -> WeightedCells:
        """The mixing matrix by weights, once for all statistics."""
        known, members = self.known, self.groups.members
        answered = self.took_part & self.hiding.any(axis=0)
        if not answered.any():
            raise BadStatistic("Nobody has answered yet, so nothing can be estimated.")
        order = np.concatenate([np.flatnonzero(answered & (members == a)) for a in range(self.groups.count)])
        sample = WeightedSample(self.weights.each[order], members[order], self.groups.sizes, self.weights.scaled)
        return WeightedCells(self.groups, sample, np.concatenate(known.counts), np.concatenate(known.noise))


@dataclass(frozen=True, eq=False)
class WeightedCells:
    """The mixing matrix from a weighted sample: what members of each group said of each, by strata.  [WEIGHTS.5]

    Parameters
    ----------
    counts
        (answers, groups): what each answer says.
    noise
        The variance of each number of each answer.
    """

    groups: Groups
    sample: WeightedSample
    counts: Floats = field(repr=False)
    noise: Floats = field(repr=False)

    @cached_property
    def _shares(self) -> Floats:
        """(groups, groups): how much of what a said of b goes into their cell: half, or all where b is not known."""
        known = self.sample.is_known
        share = np.where(known[:, None] & ~known[None], 1.0, 0.5)
        return np.where(known[None] & ~known[:, None], 0.0, np.where(np.eye(len(known), dtype=np.bool_), 0.5, share))

    @cached_property
    def cells(self) -> Floats:
        """The mixing matrix."""
        each, many = self.sample.stands_for[:, None] * self.counts, self.groups.count
        sums = np.array([each[self.sample.strata == a].sum(axis=0) for a in range(many)]).reshape(many, many)
        found = self._shares * sums
        return np.asarray(found + np.where(np.eye(many, dtype=np.bool_), 0.0, found.T))

    def spread(self, gradient: Floats) -> Spread:
        """How a linear function of the cells varies, by who was drawn and by noise."""
        upper = np.triu(gradient)
        factors = self._shares * (upper + np.triu(upper, 1).T)
        if (factors[~self.sample.is_known] != 0).any():
            return Spread(math.inf)
        used = (factors != 0).any(axis=1)[self.sample.strata]
        sample = replace(self.sample, weights=self.sample.weights[used], strata=self.sample.strata[used])
        mine = factors[sample.strata]
        said = (mine * self.counts[used]).sum(axis=1)
        return sample.total(said, (mine**2).sum(axis=1) * self.noise[used])[1]

    def variance(self, gradient: Floats) -> float:
        """The variance alone."""
        return self.spread(gradient).variance

    def marked(self, found: Estimate) -> Estimate:
        """The estimate; with scaled weights it is unbiased to the order 1/n, and does not say so.  [WEIGHTS.3]"""
        return replace(found, unbiased=found.unbiased and not self.sample.scaled)
