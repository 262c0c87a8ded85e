"""The gain from visibility, the errors by statistic, and degree histograms, true against estimated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from visibility_aware_edge_ldp.evaluation.comparison import AWARE, UNIFORM, Comparison, DrawnHistogram, Gain
from visibility_aware_edge_ldp.evaluation.report.axes import percent_label, percent_ticks, plain_ticks, powers_of_ten
from visibility_aware_edge_ldp.evaluation.report.figures import (
    ALONE,
    COLOURS,
    FAINT,
    INK,
    X_LABEL,
    Y_LABEL,
    drawable,
    epsilon_axis,
    grid,
    inline,
    is_alone,
    label,
    legend,
    look_of,
    matplotlib_figure,
    png_of,
    single,
    style,
    svg_of,
)

GAIN_LABEL = "gain: uniform / aware error"
DEGREE_LABEL, NODES_LABEL = "degree", "nodes per degree"
Drawn = tuple[str, bytes]


def more_files(comparison: Comparison) -> dict[str, Drawn]:
    """Name → (SVG, PNG) of each further figure that there is something to draw for."""
    with matplotlib_figure() as figure_class:
        figures = {
            "gain": (_all_gains(figure_class, comparison), "Gain from visibility"),
            "statistics": (_by_statistic(figure_class, comparison), "Error by statistic"),
        }
        if comparison.histograms:
            figures["degrees"] = (_all_histograms(figure_class, comparison), "Degree histogram, true and estimated")
        return {name: (svg_of(figure, Title=title), png_of(figure)) for name, (figure, title) in figures.items()}


def gain_panels(comparison: Comparison) -> dict[str, str]:
    """One ``<svg>`` per statistic: the gain against epsilon."""
    alone = is_alone(comparison)
    with matplotlib_figure() as figure_class:
        return {
            name: inline(_one_gain(figure_class, name, gains, alone), f"gain{number}-")
            for number, (name, gains) in enumerate(gains_by_statistic(comparison).items())
        }


def statistic_panel(comparison: Comparison) -> str:
    """An ``<svg>``: every statistic's error at one epsilon."""
    with matplotlib_figure() as figure_class:
        return inline(_by_statistic(figure_class, comparison, for_page=True), "statistics-")


def histogram_panels(comparison: Comparison) -> list[str]:
    """One ``<svg>`` per degree histogram."""
    with matplotlib_figure() as figure_class:
        return [
            inline(_one_histogram(figure_class, found, is_alone(comparison)), f"degrees{number}-")
            for number, found in enumerate(comparison.histograms)
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


def _all_gains(figure_class: Any, comparison: Comparison) -> Any:
    every = gains_by_statistic(comparison)
    figure, places = grid(figure_class, [label(name) for name in every])
    for axes, gains in zip(places, every.values(), strict=True):
        _draw_gains(axes, gains, is_alone(comparison))
    figure.supxlabel(X_LABEL, fontsize=9)
    figure.supylabel(GAIN_LABEL, fontsize=9)
    legend(figure, comparison.models, (AWARE,))
    return figure


def _one_gain(figure_class: Any, statistic: str, gains: Sequence[Gain], alone: bool) -> Any:
    figure, axes = single(figure_class, label(statistic))
    _draw_gains(axes, gains, alone)
    axes.set_xlabel(X_LABEL)
    axes.set_ylabel(GAIN_LABEL)
    return figure


def _draw_gains(axes: Any, gains: Sequence[Gain], alone: bool) -> None:
    """A line for each model, ± 2 standard errors, and a dotted line where visibility changes nothing."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    shown = [gain for gain in gains if drawable(gain.factor)]
    for trust in dict.fromkeys(gain.aware.trust for gain in shown):
        own = [gain for gain in shown if gain.aware.trust == trust]
        _gain_line(axes, own, look_of(trust, AWARE, alone))
    factors = [1.0, *(gain.factor for gain in shown)]
    low, high = min(factors) / 1.5, max(factors) * 1.5
    axes.set_ylim(low, high)
    axes.set_yticks(ticks := plain_ticks(low, high), [f"{tick:g}×" for tick in ticks])
    epsilon_axis(axes, sorted({gain.aware.epsilon for gain in gains}))
    axes.minorticks_off()
    axes.axhline(1, color=INK, linewidth=0.8, linestyle=":", zorder=1)


def _gain_line(axes: Any, gains: Sequence[Gain], look: Any) -> None:
    # The band is one of the logarithm, as the axis is: it never reaches 0.
    spread = [0.0 if math.isnan(g.uncertainty) else 2 * g.uncertainty / g.factor for g in gains]
    x, y = [gain.aware.epsilon for gain in gains], [gain.factor for gain in gains]
    axes.plot(x, y, **style(look))
    lower = [middle * math.exp(-s) for middle, s in zip(y, spread, strict=True)]
    upper = [middle * math.exp(s) for middle, s in zip(y, spread, strict=True)]
    axes.fill_between(x, lower, upper, color=look.colour, alpha=0.15, linewidth=0)


def _by_statistic(figure_class: Any, comparison: Comparison, for_page: bool = False) -> Any:
    """Statistics below each other, errors from left to right; hollow marks where all is private."""
    epsilon, alone = middle_epsilon(comparison), is_alone(comparison)
    rows = [(AWARE, row) for row in comparison.aware] + [(UNIFORM, row) for row in comparison.uniform]
    shown = [(policy, row) for policy, row in rows if row.epsilon == epsilon and drawable(row.mean_relative_error)]
    names = list(dict.fromkeys(row.statistic for row in comparison.aware))[::-1]
    # A page has a legend of its own, and may be as narrow as a phone.
    size, back = ((4.4, 1.0 + 0.4 * len(names)), "none") if for_page else ((6.4, 1.5 + 0.42 * len(names)), "white")
    figure = figure_class(figsize=size, layout="constrained", facecolor=back)
    axes = figure.add_subplot(facecolor=back)
    axes.set_xscale("log")
    for policy, row in shown:
        place = names.index(row.statistic) + _shift(row.trust, comparison.models)
        look = {**style(look_of(row.trust, policy, alone)), "linestyle": "none", "markersize": 6}
        axes.plot([row.mean_relative_error], [place], **look)
    _percent_axis(axes, [row.mean_relative_error for _, row in shown])
    axes.set_yticks(range(len(names)), [label(name) for name in names])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel(f"{Y_LABEL} at ε = {epsilon:g}")
    if not for_page:
        legend(figure, comparison.models)
    return figure


def _shift(trust: str, models: Sequence[str]) -> float:
    """Models stand a little apart from each other."""
    return 0.16 * ((len(models) - 1) / 2 - models.index(trust))


def _percent_axis(axes: Any, errors: Sequence[float]) -> None:
    low, high = (min(errors) / 1.5, max(errors) * 1.5) if errors else (0.01, 1.0)
    axes.set_xlim(low, high)
    axes.set_xticks(ticks := percent_ticks(low, high), [percent_label(tick) for tick in ticks])
    axes.minorticks_off()


def _all_histograms(figure_class: Any, comparison: Comparison) -> Any:
    every = comparison.histograms
    figure, places = grid(figure_class, [histogram_title(found) for found in every])
    for axes, found in zip(places, every, strict=True):
        _draw_histogram(axes, found, is_alone(comparison))
    figure.supxlabel(DEGREE_LABEL, fontsize=9)
    figure.supylabel(NODES_LABEL, fontsize=9)
    return figure


def _one_histogram(figure_class: Any, found: DrawnHistogram, alone: bool) -> Any:
    figure, axes = single(figure_class, histogram_title(found))
    _draw_histogram(axes, found, alone)
    axes.set_xlabel(DEGREE_LABEL)
    axes.set_ylabel(NODES_LABEL)
    return figure


def histogram_title(found: DrawnHistogram) -> str:
    """Whose histogram it is."""
    return f"{found.trust}, {found.policy}"


def _draw_histogram(axes: Any, found: DrawnHistogram, alone: bool) -> None:
    """The truth as an area, the estimate as steps, both over the estimate's bins."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    colour = ALONE[found.policy].colour if alone else COLOURS[found.trust]
    # Degree d is drawn from d to d + 1; degree 0 begins at 1/2, because a logarithm has no 0.
    edges = [max(first, 0.5) for first, _ in found.drawn.bins] + [found.drawn.bins[-1][1] + 1]
    widths = [last - first + 1 for first, last in found.drawn.bins]
    truth, drawn = ([n / w for n, w in zip(nodes, widths, strict=True)] for nodes in (found.truth, found.drawn.nodes))
    floor = 0.5 / max(widths)  # half a node in the widest bin; less than that is no node
    axes.stairs([max(t, floor) for t in truth], edges, baseline=floor, fill=True, color=FAINT, label="true")
    axes.stairs([max(d, floor) for d in drawn], edges, baseline=floor, color=colour, linewidth=1.5, label="estimated")
    top = max(*truth, *drawn, floor) * 8
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(floor, top)
    axes.set_xticks(ticks := powers_of_ten(edges[0], edges[-1]), [f"{tick:g}" for tick in ticks])
    axes.set_yticks(ticks := powers_of_ten(floor, top), [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.legend(loc="upper right", handlelength=1.2, ncols=2)
