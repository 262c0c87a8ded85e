"""Estimates of statistics that formulas make from others, or from a mixing matrix.  [DERIVED.1-3], [MIXING.3-7]"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, product
from typing import Any, Protocol

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval, Value, estimate_of, inverted, student
from visibility_aware_edge_ldp.counts.group_triples import refuse_many, triangles_by_group
from visibility_aware_edge_ldp.counts.mixing import (
    LINEAR,
    RATIOS,
    Floats,
    Ratio,
    linear_values,
)
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.counts.scores import scores_of
from visibility_aware_edge_ldp.public.derived import Derived
from visibility_aware_edge_ldp.public.groups import Groups, groups_of
from visibility_aware_edge_ldp.public.statistic import Statistic, statistic
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

# A denominator below so many standard errors might be 0, and its ratio anything.
_SURE = 3.0
_IF_NOBODY_IS_LARGER = "nobody who did not report adds more to an entry than a ninth of it or the largest of the others"
Combined = Callable[[str, Mapping[str, float]], Estimate]
"""From a name and the weight of each source to the estimate of the weighted sum, with what the sources share."""


def derived_estimate(
    name: str, formula: Derived, n: int, sources: Sequence[Estimate], combined: Combined | None = None
) -> Estimate:
    """A formula's estimate from those of its sources; without ``combined`` these have noise of their own."""
    if len(sources) == 1:
        return _of_one(name, formula, n, sources[0])
    if formula.order == 0:
        return _of_bounded(name, formula, n, sources)
    return _of_several(name, formula, n, sources, combined or independent(sources))


def with_derived(found: Mapping[str, Estimate], statistics: Sequence[str], n: int) -> dict[str, Estimate]:
    """Estimates of these statistics, those among them that are made from others by the estimates of these.

    Several sources of one formula must have noise of their own.  [DERIVED.3]
    """
    formulas = {name: statistic(name).derived for name in statistics}
    return {
        name: found[name]
        if formula is None
        else derived_estimate(name, formula, n, [found[source] for source in formula.sources])
        for name, formula in formulas.items()
    }


def of_side(name: str, source: Estimate, members: slice) -> Estimate:
    """The part of an estimate that has an entry for each node: people alone, or places.  [BIPARTITE.4]"""
    value, variance = (np.asarray(each)[members] for each in (source.value, source.variance))
    labels = None if source.labels is None else source.labels[members]
    return replace(source, statistic=name, value=value, variance=variance, labels=labels)


def _of_one(name: str, formula: Derived, n: int, source: Estimate) -> Estimate:
    """The ends of its interval go through the formula, which rises or falls throughout.  [DERIVED.1]"""
    value, step = float(source.value), float(source.standard_error)
    known = math.isfinite(step)
    (slope,) = formula.slopes(n, [value], [step if known and step else 1.0])

    def limits(level: float) -> Interval:
        low, high = sorted(formula.formula(n, float(end)) for end in source.interval(level))
        return low, high

    return replace(
        source,
        statistic=name,
        value=formula.formula(n, value),
        variance=slope**2 * float(source.variance),
        unbiased=source.unbiased and formula.order == 1,
        limits=limits,
    )


def _of_bounded(name: str, formula: Derived, n: int, sources: Sequence[Estimate]) -> Estimate:
    """All that the formula makes of the sources' intervals, with or without standard errors.  [DERIVED.4]"""

    def limits(level: float) -> Interval:
        each = [source.interval(1 - (1 - level) / len(sources)) for source in sources]
        corners = [formula.formula(n, *map(float, ends)) for ends in product(*each)]
        return min(corners), max(corners)

    value = formula.formula(n, *(float(source.value) for source in sources))
    releases = tuple(dict.fromkeys(release for source in sources for release in source.releases))
    exact = all(source.has_standard_error and not source.variance for source in sources)
    variance = 0.0 if exact else math.nan
    return Estimate(name, value, variance, releases, unbiased=False, limits=limits, conservative=True)


def _of_several(name: str, formula: Derived, n: int, sources: Sequence[Estimate], combined: Combined) -> Estimate:
    """The formula's tangent is a weighted sum of the sources; its bend is taken off the value.  [DERIVED.2]"""
    values = [float(each.value) for each in sources]
    steps = [float(each.standard_error) for each in sources]
    if math.inf in steps:  # one answer says nothing of the others
        releases = tuple(dict.fromkeys(release for source in sources for release in source.releases))
        return Estimate(name, formula.formula(n, *values), math.inf, releases, unbiased=False)
    slopes = formula.slopes(n, values, steps)
    tangent = combined(name, dict(zip(formula.sources, slopes, strict=True)))
    value = formula.formula(n, *values) - _mean_bend(formula, n, values, steps, combined)
    shift = value - float(tangent.value)

    def limits(level: float) -> Interval:
        low, high = tangent.interval(level)
        return low + shift, high + shift

    unbiased = formula.order > 0 and all(each.unbiased for each in sources)
    return replace(tangent, value=value, unbiased=unbiased, limits=None if tangent.limits is None else limits)


def _mean_bend(formula: Derived, n: int, values: Sequence[float], steps: Sequence[float], combined: Combined) -> float:
    """½ΣH·Cov: by how much the mean of a quadratic formula exceeds the formula of the means.  [DERIVED.2]"""
    names, total = formula.sources, 0.0
    for i, one in enumerate(names):
        total += formula.bend(n, values, steps, i, i) * float(combined(one, {one: 1.0}).variance) / 2
        for j in range(i):
            if bend := formula.bend(n, values, steps, i, j):
                plus, minus = (float(combined(one, {one: 1.0, names[j]: sign}).variance) for sign in (1.0, -1.0))
                total += bend * (plus - minus) / 4
    return total


def independent(sources: Sequence[Estimate]) -> Combined:
    """Weighted sums of estimates with noise of their own; the parts of an interval share what may be missed.

    [DERIVED.3]
    """
    found = {each.statistic: each for each in sources}

    def combined(name: str, weights: Mapping[str, float]) -> Estimate:
        parts = [(weight, found[each]) for each, weight in weights.items()]
        value = sum(weight * float(each.value) for weight, each in parts)

        def limits(level: float) -> Interval:
            low = high = value
            for weight, each in parts:
                ends = sorted(
                    weight * (float(end) - float(each.value)) for end in each.interval(1 - (1 - level) / len(parts))
                )
                low, high = low + ends[0], high + ends[1]
            return low, high

        return Estimate(
            name,
            value,
            sum(weight**2 * float(each.variance) for weight, each in parts),
            tuple(dict.fromkeys(release for _, each in parts for release in each.releases)),
            limits=limits,
            conservative=len(parts) > 1,
        )

    return combined


# ── from a mixing matrix


class Cells(Protocol):
    """What tells the mixing matrix: users' counts, or the scores of positions."""

    @property
    def cells(self) -> Floats:
        """The matrix, without bias."""

    def spread(self, gradient: Floats) -> Spread:
        """How a linear function of the cells varies."""

    def variance(self, gradient: Floats) -> float:
        """The variance alone."""


Allowing = Callable[[Estimate, Floats], Estimate]
"""From the estimate of a linear function of the cells and its gradient to one that allows for absent users."""


def _as_it_is(found: Estimate, gradient: Floats) -> Estimate:
    """The same estimate, where nobody is absent or the spread tells it already."""
    return found


def from_cells(given: Any, asked: Statistic) -> Estimate:
    """What follows from the mixing matrix of POSITION's scores, ``given.cells``."""
    make = linear if asked.name in LINEAR else ratios
    return make(given.cells, groups_of(given.collection.view), asked)


def linear(known: Cells, groups: Groups, asked: Statistic, allowing: Allowing = _as_it_is) -> Estimate:
    """Cells, mean contacts or mean degrees, without bias, each with its own interval.  [MIXING.3-4, MIXING.7]"""
    values = linear_values(asked.name, known.cells, groups.sizes).tolist()
    gradients = list(LINEAR[asked.name](groups.sizes))
    each = [
        allowing(estimate_of(asked.name, value, known.spread(gradient)), gradient)
        for value, gradient in zip(values, gradients, strict=True)
    ]
    return _joined(asked.name, each, groups.entries_of(asked.name))


def ratios(known: Cells, groups: Groups, asked: Statistic) -> Estimate:
    """An index of homophily, or one of each group, by the delta method.  [MIXING.5-6]"""
    found = RATIOS[asked.name](known.cells, groups.sizes, known.variance)
    each = [_ratio(known, asked, ratio) for ratio in found]
    return _joined(asked.name, each, groups.entries_of(asked.name)) if asked.per_person else each[0]


def _ratio(known: Cells, asked: Statistic, ratio: Ratio) -> Estimate:
    """A ratio with all values that it may be an estimate of; where its denominator may be 0, all there are."""
    least, most = asked.bounds
    below = known.spread(ratio.below_gradient).variance
    if not ratio.below > _SURE * math.sqrt(below) or not math.isfinite(below):
        return Estimate(asked.name, 0.0, math.nan, unbiased=False, limits=lambda level: (least, most))

    def error(value: float) -> Estimate:
        gradient = (ratio.above_gradient - value * ratio.below_gradient) / ratio.below
        return estimate_of(asked.name, ratio.value - value, known.spread(gradient))

    plain = replace(error(ratio.value), value=ratio.value)

    def limits(level: float) -> Interval:
        low, high = inverted(plain, error, level) if math.isfinite(float(plain.variance)) else (-math.inf, math.inf)
        # An estimate beyond what is possible leaves only the nearest of what is.
        return min(max(ratio.scaled(low), least), value), max(min(ratio.scaled(high), most), value)

    value = min(max(ratio.scaled(ratio.value), least), most)
    variance = float(plain.variance) * ratio.slope(ratio.value) ** 2
    return Estimate(asked.name, value, variance, unbiased=False, limits=limits)


def _joined(statistic: str, each: Sequence[Estimate], labels: Sequence[Hashable]) -> Estimate:
    """One estimate with an entry for each of several, and their intervals."""

    def limits(level: float) -> tuple[Value, Value]:
        ends = [found.interval(level) for found in each]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    value, variance = (np.array([float(getattr(found, name)) for found in each]) for name in ("value", "variance"))
    return Estimate(
        statistic,
        value,
        variance,
        labels=labels,
        unbiased=all(found.unbiased for found in each),
        limits=limits,
        conservative=any(found.conservative for found in each),
        holds_if=_IF_NOBODY_IS_LARGER if any(found.holds_if for found in each) else "",
    )


def scored_triangles_by_group(given: Any, asked: Statistic) -> Estimate:
    """Triangles by the groups of their three nodes, from POSITION's scores.  [COUNTS.8-9]"""
    groups = groups_of(given.collection.view)
    refuse_many(given.scores.n, groups.count)
    value, variance = triangles_by_group(given.collection.scores(), groups.members, groups.count)
    saved = (asked.sides * value) ** 2 * given.rate_variance
    variance = np.maximum(variance - saved, variance / 2)
    unsure = _may_be_more(given.collection.view, groups)
    least, most = (unsure * each for each in _rise_by_a_triangle(given.collection, asked))

    def limits(level: float) -> tuple[Floats, Floats]:
        point = student(0.5 + level / 2, math.inf)
        return value - _reach(variance, -least, point), value + _reach(variance, most, point)

    labels = list(combinations_with_replacement(groups.labels, 3))
    return Estimate(asked.name, value, variance, labels=labels, limits=limits, conservative=bool(np.any(least < most)))


def _reach(variance: Floats, rise: Floats, point: float) -> Floats:
    """How far from the value a truth may be, where each triangle between both makes the variance rise.  [COUNTS.9]"""
    square = point * point
    half = square * rise / 2
    return np.asarray(half + np.sqrt(half * half + square * variance))


def _may_be_more(view: PublicView, groups: Groups) -> Floats:
    """1 for entries of which not all triangles are public, and 0 for the others.  [COUNTS.9]

    Two of the groups have a position between them that is not public, and no two have nothing but public positions
    without an edge. That lets in entries where no three nodes fit: their intervals are longer than they need be.
    """
    sizes = np.bincount(groups.members, minlength=groups.count)
    bits = [([view.class_bits[Visibility.PUBLIC]], [1.0]), ([view.edge_bits], [1.0])]
    public, edges = scores_of(bits, view.n).counts_between(groups.members, groups.count)
    asked = np.outer(sizes, sizes) - np.diag(sizes) > public
    possible = asked | (edges > 0)

    def is_unsure(a: int, b: int, c: int) -> bool:
        sides = ((a, b), (b, c), (a, c))
        return (a < c or sizes[a] > 2) and any(asked[at] for at in sides) and all(possible[at] for at in sides)

    return np.array([is_unsure(*each) for each in combinations_with_replacement(range(groups.count), 3)], np.float64)


def _rise_by_a_triangle(collection: Any, asked: Statistic) -> tuple[float, float]:
    """By how much one triangle more makes the variance rise, at least and at most.  [COUNTS.9]"""
    survey, rises = collection.survey, []
    fewest = asked.sides if not len(collection.view.edges) else 1
    for kind, rate in collection.response_rates().items():
        if collection.asked_sizes[kind]:
            share, channel = rate * float(survey.rate), survey.channel(kind)
            side, empty = (float(channel.variance(1)) + 1) / share, float(channel.variance(0)) / share
            rises += [math.prod([side] * (sides - 1)) * (side - empty) - 1 for sides in (fewest, asked.sides)]
    return max(min(rises, default=0.0), 0.0), max([0.0, *rises])
