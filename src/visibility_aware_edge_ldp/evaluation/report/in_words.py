"""Figures in words, for those who do not see them."""

from __future__ import annotations

from collections.abc import Sequence

from visibility_aware_edge_ldp.evaluation.comparison import AWARE, UNIFORM, Comparison, DrawnHistogram, Gain
from visibility_aware_edge_ldp.evaluation.report.figures import Series
from visibility_aware_edge_ldp.evaluation.report.looks import label
from visibility_aware_edge_ldp.evaluation.report.numbers import factor, percent
from visibility_aware_edge_ldp.evaluation.trials import relative_error


def describe(statistic: str, series: Series) -> str:
    """A panel in words, for those who do not see it."""
    models = dict.fromkeys(trust for trust, _ in series)
    lines = (f"{trust}: {_points(series, trust)}" if len(models) > 1 else _points(series, trust) for trust in models)
    return f"Mean relative error of {label(statistic)} against ε: {'. '.join(lines)}."


def _points(series: Series, trust: str) -> str:
    return "; ".join(
        f"at ε = {u.epsilon:g}, {UNIFORM} {percent(u.mean_relative_error)}, {AWARE} {percent(a.mean_relative_error)}"
        for u, a in zip(series[trust, UNIFORM], series[trust, AWARE], strict=True)
    )


def describe_gains(statistic: str, gains: Sequence[Gain]) -> str:
    """How many times smaller the error is, for each model and epsilon."""
    points = (f"{g.aware.trust} at ε = {g.aware.epsilon:g}, {factor(g.factor, g.factor)}" for g in gains)
    return f"Gain from visibility for {label(statistic)} against ε: {'; '.join(points)}."


def describe_statistics(comparison: Comparison, epsilon: float) -> str:
    """All errors at one epsilon."""
    points = (
        f"{gain.aware.trust}, {label(gain.aware.statistic)}: {UNIFORM} {percent(gain.uniform.mean_relative_error)}, "
        f"{AWARE} {percent(gain.aware.mean_relative_error)}"
        for gain in comparison.gains
        if gain.aware.epsilon == epsilon
    )
    return f"Mean relative error by statistic at ε = {epsilon:g}. {'; '.join(points)}."


def describe_histogram(found: DrawnHistogram) -> str:
    """How far the drawn bins are from the true ones."""
    off = percent(relative_error(found.drawn.nodes, found.truth))
    return (
        f"Degree histogram, {found.trust}, {found.policy}, at ε = {found.epsilon:g}, in {len(found.drawn.bins)} bins: "
        f"estimated and true numbers of nodes differ by {off} of all nodes in all."
    )
