"""Estimates of statistics that formulas make from others.  [DERIVED.1-3]"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval
from visibility_aware_edge_ldp.public.derived import Derived
from visibility_aware_edge_ldp.public.statistic import statistic

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
