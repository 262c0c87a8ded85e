"""Error against epsilon, one small panel per statistic."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from visibility_aware_edge_ldp.evaluation.gains import Gain
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM, Comparison, DrawnHistogram, TrialRow
from visibility_aware_edge_ldp.presentation import drawing, labels

X_LABEL, Y_LABEL = "ε per PRIVATE edge", "expected relative error"
Key = tuple[str, str]
Series = dict[Key, list[TrialRow]]
GAIN_LABEL = "gain: uniform / aware error"
DEGREE_LABEL, NODES_LABEL = "degree", "nodes per degree"


def error_file(comparison: Comparison) -> tuple[str, bytes]:
    """The SVG and the PNG of all panels."""
    title = f"{Y_LABEL} against ε".capitalize()
    return drawing.together(title, list(error_panels(comparison).values()), drawing.looks_of(comparison.models))


def error_panels(comparison: Comparison) -> dict[str, drawing.Panel]:
    """One panel per statistic."""
    return against_epsilon(Y_LABEL, partial(_draw, is_alone(comparison)), series_of(comparison))


def against_epsilon(
    y_label: str, draw: Callable[..., list[drawing.Point]], found: Mapping[str, Any]
) -> dict[str, drawing.Panel]:
    """What was found of each statistic, in a panel of its own."""
    return {
        statistic: drawing.Panel(labels.label(statistic), X_LABEL, y_label, partial(draw, own))
        for statistic, own in found.items()
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
    return not all(drawing.drawable(row.error) for rows in series.values() for row in rows)


def crosses_all(series: Series) -> bool:
    """Whether the axes show 100 %, where an estimate is as far off as the answer 0."""
    low, high = limits(series)
    return low < 1 < high


def limits(series: Series) -> tuple[float, float]:
    """A range that holds all points and bands, but no band's way down to 0."""
    shown = [row for rows in series.values() for row in rows if drawing.drawable(row.error)]
    if not shown:
        return 0.01, 1.0
    low = min(max(row.error - _reach(row), row.error / 2) for row in shown)
    high = max(row.error + _reach(row) for row in shown)
    return low / 1.25, high * 1.25


def error_words(policy: str, row: TrialRow) -> str:
    """What is told at a point."""
    doubt = "" if math.isnan(row.figure.uncertainty) else f" ± {labels.percent(row.figure.uncertainty)}"
    of = f"{labels.label(row.statistic)} at ε = {row.epsilon:g}, {row.trust.upper()}, {policy}"
    return f"Error {labels.percent(row.error)}{doubt}: {of}"


def _draw(alone: bool, series: Series, axes: Any) -> list[drawing.Point]:
    """All lines and their bands on logarithmic axes."""
    drawing.log_axes(axes)
    low, high = limits(series)
    points = [
        point
        for (trust, policy), rows in series.items()
        for point in _line(axes, labels.look_of(trust, policy, alone), policy, rows, low)
    ]
    axes.set_ylim(low, high)
    axes.set_yticks(ticks := drawing.percent_ticks(low, high), [drawing.percent_label(tick) for tick in ticks])
    drawing.epsilon_axis(axes, sorted({row.epsilon for rows in series.values() for row in rows}))
    if crosses_all(series):
        axes.axhline(1, color=labels.INK, linewidth=0.8, linestyle=":", zorder=1)
    return points


def _line(axes: Any, look: Any, policy: str, rows: Sequence[TrialRow], floor: float) -> list[drawing.Point]:
    shown = [row for row in rows if drawing.drawable(row.error)]
    points = [_point(policy, row) for row in shown]
    lower = [max(row.error - _reach(row), floor) for row in shown]
    drawing.line_with_band(axes, look, points, lower, [row.error + _reach(row) for row in shown])
    seen = [(row.epsilon, error) for row in shown for error in row.errors if drawing.drawable(error)]
    name = drawing.tags({"trust": rows[0].trust}) if rows else None
    axes.plot(*zip(*seen, strict=True), ".", color=look.colour, markersize=2.5, alpha=0.35, gid=name) if seen else None
    return points


def _point(policy: str, row: TrialRow) -> drawing.Point:
    about = {"trust": row.trust, "epsilon": f"{row.epsilon:g}"}
    return drawing.Point(row.epsilon, row.error, error_words(policy, row), about)


def _reach(row: TrialRow) -> float:
    """Two standard errors; none where one trial cannot tell."""
    return 0.0 if math.isnan(row.figure.uncertainty) else 2 * row.figure.uncertainty


def more_files(comparison: Comparison) -> dict[str, tuple[str, bytes]]:
    """Name → (SVG, PNG) of each further figure that there is something to draw for."""
    models, gains = comparison.models, list(gain_panels(comparison).values())
    middle = statistic_panels(comparison)[middle_epsilon(comparison)]
    alone = replace(middle, size=(6.3, middle.size[1] + 0.4))
    files = {
        "gain": drawing.together("Gain from visibility", gains, drawing.looks_of(models, (AWARE,))),
        "statistics": drawing.together("Error by statistic", [alone], drawing.looks_of(models)),
    }
    if comparison.histograms:
        files["degrees"] = drawing.together("Degree histogram, true and estimated", histogram_panels(comparison), {})
    return files


def gain_panels(comparison: Comparison) -> dict[str, drawing.Panel]:
    """One panel per statistic: the gain against epsilon."""
    return against_epsilon(GAIN_LABEL, partial(_draw_gains, is_alone(comparison)), gains_by_statistic(comparison))


def statistic_panels(comparison: Comparison) -> dict[float, drawing.Panel]:
    """One panel per epsilon: every statistic's error."""
    size = (3.3, 1.1 + 0.32 * len({row.statistic for row in comparison.aware}))
    return {
        epsilon: drawing.Panel(f"ε = {epsilon:g}", Y_LABEL, "", partial(_draw_statistics, comparison, epsilon), size)
        for epsilon in dict.fromkeys(row.epsilon for row in comparison.aware)
    }


def histogram_panels(comparison: Comparison) -> list[drawing.Panel]:
    """One panel per degree histogram."""
    alone = is_alone(comparison)
    return [
        drawing.Panel(
            f"{found.trust}, {found.policy}", DEGREE_LABEL, NODES_LABEL, partial(_draw_histogram, found, alone)
        )
        for found in comparison.histograms
    ]


def middle_epsilon(comparison: Comparison) -> float:
    """The epsilon nearest to 1, which is shown where only one can be."""
    return min((row.epsilon for row in comparison.aware), key=lambda epsilon: abs(math.log(epsilon)))


def gains_by_statistic(comparison: Comparison) -> dict[str, list[Gain]]:
    """By growing epsilon."""
    found: dict[str, list[Gain]] = {row.statistic: [] for row in comparison.aware}
    for gain in sorted(comparison.gains, key=lambda gain: gain.aware.epsilon):
        found[gain.aware.statistic].append(gain)
    return found


def _draw_gains(alone: bool, gains: Sequence[Gain], axes: Any) -> list[drawing.Point]:
    """A line for each model, ± 2 standard errors, and a dotted line where visibility changes nothing."""
    drawing.log_axes(axes)
    shown = [gain for gain in gains if drawing.drawable(gain.factor)]
    points = [
        point
        for trust in dict.fromkeys(gain.aware.trust for gain in shown)
        for point in _gain_line(axes, [g for g in shown if g.aware.trust == trust], labels.look_of(trust, AWARE, alone))
    ]
    factors = [1.0, *(gain.factor for gain in shown)]
    low, high = min(factors) / 1.5, max(factors) * 1.5
    axes.set_ylim(low, high)
    axes.set_yticks(ticks := drawing.plain_ticks(low, high), [f"{tick:g}×" for tick in ticks])
    drawing.epsilon_axis(axes, sorted({gain.aware.epsilon for gain in gains}))
    axes.axhline(1, color=labels.INK, linewidth=0.8, linestyle=":", zorder=1)
    return points


def _gain_line(axes: Any, gains: Sequence[Gain], look: labels.Look) -> list[drawing.Point]:
    # The band is one of the logarithm, as the axis is: it never reaches 0.
    spread = [1.0 if math.isnan(g.uncertainty) else math.exp(2 * g.uncertainty / g.factor) for g in gains]
    points = [_gain_point(gain) for gain in gains]
    lower = [point.y / s for point, s in zip(points, spread, strict=True)]
    upper = [point.y * s for point, s in zip(points, spread, strict=True)]
    drawing.line_with_band(axes, look, points, lower, upper)
    return points


def _gain_point(gain: Gain) -> drawing.Point:
    row, size = gain.aware, gain.factor
    doubt = "" if math.isnan(gain.uncertainty) else f" ± {labels.factor(gain.uncertainty, size)}"
    asked = f"{labels.label(row.statistic)} at ε = {row.epsilon:g}, {row.trust.upper()}"
    words = f"Gain {labels.factor(size, size)}×{doubt}: {asked}"
    return drawing.Point(row.epsilon, size, words, {"trust": row.trust, "epsilon": f"{row.epsilon:g}"})


def _draw_statistics(comparison: Comparison, epsilon: float, axes: Any) -> list[drawing.Point]:
    """Statistics below each other, errors from left to right; hollow marks where all is private."""
    rows = [(AWARE, row) for row in comparison.aware] + [(UNIFORM, row) for row in comparison.uniform]
    shown = [(policy, row) for policy, row in rows if row.epsilon == epsilon and drawing.drawable(row.error)]
    names = list(dict.fromkeys(row.statistic for row in comparison.aware))[::-1]
    axes.set_xscale("log")
    points = [_mark(axes, comparison, policy, row, names.index(row.statistic)) for policy, row in shown]
    _percent_axis(axes, [row.error for _, row in rows if drawing.drawable(row.error)])
    axes.set_yticks(range(len(names)), [labels.label(name) for name in names])
    axes.set_ylim(-0.6, len(names) - 0.4)
    return points


def _mark(axes: Any, comparison: Comparison, policy: str, row: TrialRow, place: int) -> drawing.Point:
    """One error; models stand a little apart from each other."""
    models, about = comparison.models, {"trust": row.trust, "statistic": row.statistic}
    shift = 0.16 * ((len(models) - 1) / 2 - models.index(row.trust))
    look = {
        **labels.style(labels.look_of(row.trust, policy, is_alone(comparison))),
        "linestyle": "none",
        "markersize": 6,
    }
    axes.plot([row.error], [place + shift], gid=drawing.tags(about), **look)
    return drawing.Point(row.error, place + shift, error_words(policy, row), about)


def _percent_axis(axes: Any, errors: Sequence[float]) -> None:
    low, high = (min(errors) / 1.5, max(errors) * 1.5) if errors else (0.01, 1.0)
    axes.set_xlim(low, high)
    axes.set_xticks(ticks := drawing.percent_ticks(low, high), [drawing.percent_label(tick) for tick in ticks])
    axes.minorticks_off()


def _draw_histogram(found: DrawnHistogram, alone: bool, axes: Any) -> list[drawing.Point]:
    """The truth as an area, the estimate as steps, both over the estimate's bins."""
    drawing.log_axes(axes)
    colour = labels.ALONE[found.policy].colour if alone else labels.COLOURS[found.trust]
    # Degree d is drawn from d to d + 1; degree 0 begins at 1/2, because a logarithm has no 0.
    edges = [max(first, 0.5) for first, _ in found.drawn.bins] + [found.drawn.bins[-1][1] + 1]
    widths = [last - first + 1 for first, last in found.drawn.bins]
    truth, drawn = ([n / w for n, w in zip(nodes, widths, strict=True)] for nodes in (found.truth, found.drawn.nodes))
    floor = 0.5 / max(widths)  # half a node in the widest bin; less than that is no node
    axes.stairs([max(t, floor) for t in truth], edges, baseline=floor, fill=True, color=labels.FAINT, label="true")
    axes.stairs([max(d, floor) for d in drawn], edges, baseline=floor, color=colour, linewidth=1.5, label="estimated")
    top = max(*truth, *drawn, floor) * 8
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(floor, top)
    axes.set_xticks(ticks := drawing.powers_of_ten(edges[0], edges[-1]), [f"{tick:g}" for tick in ticks])
    axes.set_yticks(ticks := drawing.powers_of_ten(floor, top), [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.legend(loc="upper right", handlelength=1.2, ncols=2)
    return []
