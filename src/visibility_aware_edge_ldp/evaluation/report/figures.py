"""Error against epsilon, one small panel per statistic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from visibility_aware_edge_ldp.evaluation.comparison import AWARE, UNIFORM, Comparison
from visibility_aware_edge_ldp.evaluation.report.axes import percent_label, percent_ticks
from visibility_aware_edge_ldp.evaluation.report.drawing import (
    Panel,
    Point,
    drawable,
    epsilon_axis,
    line_with_band,
    log_axes,
    looks_of,
    together,
)
from visibility_aware_edge_ldp.evaluation.report.looks import INK, label, look_of
from visibility_aware_edge_ldp.evaluation.report.numbers import percent
from visibility_aware_edge_ldp.evaluation.trials import TrialRow

X_LABEL, Y_LABEL = "ε per PRIVATE edge", "mean relative error"
Key = tuple[str, str]
Series = dict[Key, list[TrialRow]]


def error_file(comparison: Comparison) -> tuple[str, bytes]:
    """The SVG and the PNG of all panels."""
    title = f"{Y_LABEL} against ε".capitalize()
    return together(title, list(error_panels(comparison).values()), looks_of(comparison.models))


def error_panels(comparison: Comparison) -> dict[str, Panel]:
    """One panel per statistic."""
    return against_epsilon(Y_LABEL, partial(_draw, is_alone(comparison)), series_of(comparison))


def against_epsilon(y_label: str, draw: Callable[..., list[Point]], found: Mapping[str, Any]) -> dict[str, Panel]:
    """What was found of each statistic, in a panel of its own."""
    return {
        statistic: Panel(label(statistic), X_LABEL, y_label, partial(draw, own)) for statistic, own in found.items()
    }


def series_of(comparison: Comparison) -> dict[str, Series]:
    """For each statistic its rows by trust model and policy, by growing epsilon."""
    every: dict[str, Series] = {}
    for policy, rows in ((UNIFORM, comparison.uniform), (AWARE, comparison.aware)):
        for row in sorted(rows, key=lambda row: row.epsilon):
            every.setdefault(row.statistic, {}).setdefault((row.trust, policy), []).append(row)
    ordered = dict.fromkeys(row.statistic for row in comparison.aware)
    models = comparison.models
    return {name: dict(sorted(every[name].items(), key=lambda item: models.index(item[0][0]))) for name in ordered}


def is_alone(comparison: Comparison) -> bool:
    """Whether only one trust model is drawn."""
    return len(comparison.models) == 1


def left_out(series: Series) -> bool:
    """Whether a point of these rows has no place on the axes."""
    return not all(drawable(row.mean_relative_error) for rows in series.values() for row in rows)


def crosses_all(series: Series) -> bool:
    """Whether the axes show 100 %, where an estimate is as far off as the answer 0."""
    low, high = limits(series)
    return low < 1 < high


def limits(series: Series) -> tuple[float, float]:
    """A range that holds all points and bands, but no band's way down to 0."""
    shown = [row for rows in series.values() for row in rows if drawable(row.mean_relative_error)]
    if not shown:
        return 0.01, 1.0
    low = min(max(row.mean_relative_error - _reach(row), row.mean_relative_error / 2) for row in shown)
    high = max(row.mean_relative_error + _reach(row) for row in shown)
    return low / 1.25, high * 1.25


def error_words(policy: str, row: TrialRow) -> str:
    """What is told at a point."""
    doubt = "" if math.isnan(row.error_uncertainty) else f" ± {percent(row.error_uncertainty)}"
    of = f"{label(row.statistic)} at ε = {row.epsilon:g}, {row.trust.upper()}, {policy}"
    return f"Error {percent(row.mean_relative_error)}{doubt}: {of}"


def _draw(alone: bool, series: Series, axes: Any) -> list[Point]:
    """All lines and their bands on logarithmic axes."""
    log_axes(axes)
    low, high = limits(series)
    points = [
        point
        for (trust, policy), rows in series.items()
        for point in _line(axes, look_of(trust, policy, alone), policy, rows, low)
    ]
    axes.set_ylim(low, high)
    axes.set_yticks(ticks := percent_ticks(low, high), [percent_label(tick) for tick in ticks])
    epsilon_axis(axes, sorted({row.epsilon for rows in series.values() for row in rows}))
    if crosses_all(series):
        axes.axhline(1, color=INK, linewidth=0.8, linestyle=":", zorder=1)
    return points


def _line(axes: Any, look: Any, policy: str, rows: Sequence[TrialRow], floor: float) -> list[Point]:
    shown = [row for row in rows if drawable(row.mean_relative_error)]
    points = [_point(policy, row) for row in shown]
    lower = [max(row.mean_relative_error - _reach(row), floor) for row in shown]
    line_with_band(axes, look, points, lower, [row.mean_relative_error + _reach(row) for row in shown])
    return points


def _point(policy: str, row: TrialRow) -> Point:
    about = {"trust": row.trust, "epsilon": f"{row.epsilon:g}"}
    return Point(row.epsilon, row.mean_relative_error, error_words(policy, row), about)


def _reach(row: TrialRow) -> float:
    """Two standard errors; none where one trial cannot tell."""
    return 0.0 if math.isnan(row.error_uncertainty) else 2 * row.error_uncertainty
