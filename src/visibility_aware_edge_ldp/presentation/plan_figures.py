"""A plan's figures: error against ε with the lower bounds, and what more publicity buys; drawn with matplotlib.

Nothing is drawn on a screen, no setting of matplotlib outlives a call, and the same plan gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from visibility_aware_edge_ldp.presentation import drawing
from visibility_aware_edge_ldp.presentation.labels import BLUE, COLOURS, FAINT, GREEN, MARKERS, VERMILION
from visibility_aware_edge_ldp.public.statistic import statistic

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.evaluation.plan.planner import Plan
    from visibility_aware_edge_ldp.evaluation.plan.predictions import Prediction
    from visibility_aware_edge_ldp.evaluation.plan.scenarios import Publicity

Files = dict[str, bytes]
BOUND = "#6b7280"
KIND_LOOKS = {
    "edges": (BOUND, "x"),
    "positions": (BLUE, "o"),
    "profiles": (VERMILION, "s"),
    "hubs": (GREEN, "^"),
}
KIND_WORDS = {
    "edges": "true edges, told one by one",
    "positions": "positions, edge or not",
    "profiles": "profiles, by lot",
    "hubs": "profiles, largest first",
}
HERE = "position, user: least of unbiased estimates, this graph"
HARDEST = "position, user: least of any, hardest graph of this size"


def figure_files(plan: Plan, rows: Sequence[Publicity] = ()) -> Files:
    """error.svg and error.png; public.svg and public.png where the effect of publicity is given."""
    with drawing.matplotlib_figure() as figure_class:
        files = _saved("error", _errors(figure_class, plan))
        return files | (_saved("public", _publicity(figure_class, rows)) if rows else {})


def _errors(figure_class: Any, plan: Plan) -> Any:
    """A panel for each statistic with a closed form: one line a trust model, and the bounds in grey."""
    names = [
        name for name in plan.statistics if any(_drawable(row) for row in plan.predictions if row.statistic == name)
    ]
    figure, panels = _grid(figure_class, [statistic(name).phrase.capitalize() for name in names])
    for name, axes in zip(names, panels, strict=True):
        rows = [row for row in plan.predictions if row.statistic == name and _drawable(row)]
        for trust in (model for model in COLOURS if any(row.trust == model for row in rows)):
            _line(axes, trust, [row for row in rows if row.trust == trust])
        _bounds(axes, rows)
        _axes(axes, sorted({row.epsilon for row in rows}))
    figure.supxlabel("ε per PRIVATE edge", fontsize=9)
    figure.supylabel("standard error / value", fontsize=9)
    _legend(figure, panels)
    return figure


def _drawable(row: Prediction) -> bool:
    return math.isfinite(row.standard_error) and row.standard_error > 0 and row.value > 0


def _line(axes: Any, trust: str, rows: Sequence[Prediction]) -> None:
    """Filled marks where the normal approximation holds, hollow ones where it does not."""
    losses, sizes = [row.epsilon for row in rows], [row.standard_error / row.value for row in rows]
    axes.plot(losses, sizes, color=COLOURS[trust], linewidth=1.4, label=trust, marker=MARKERS[trust], markersize=4)
    doubtful = [(e, size) for e, size, row in zip(losses, sizes, rows, strict=True) if not row.holds]
    if doubtful:
        axes.plot(
            *zip(*doubtful, strict=True),
            linestyle="",
            marker=MARKERS[trust],
            markersize=4,
            color=COLOURS[trust],
            mfc="white",
        )


def _bounds(axes: Any, rows: Sequence[Prediction]) -> None:
    local = {row.epsilon: row for row in rows if not math.isnan(row.least)}
    losses = sorted(local)
    if not losses:
        return
    here = [local[e].least / local[e].value for e in losses]
    hardest = [local[e].least_on_the_hardest / local[e].value for e in losses]
    if any(x > 0 for x in here):
        axes.fill_between(losses, [x / 1e6 for x in here], here, color=FAINT, alpha=0.5, linewidth=0)
        axes.plot(losses, here, color=BOUND, linewidth=1.2, label=HERE)
    axes.plot(losses, hardest, color=BOUND, linewidth=1.0, linestyle=":", label=HARDEST)


def _axes(axes: Any, losses: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xticks(losses, [f"{loss:g}" for loss in losses])
    sizes = [y for line in axes.get_lines() for y in line.get_ydata() if y > 0]
    low, high = min(sizes) / 1.5, max(sizes) * 1.5
    axes.set_ylim(low, high)
    ticks = drawing.percent_ticks(low, high)
    axes.set_yticks(ticks, [drawing.percent_label(tick) for tick in ticks])


def _publicity(figure_class: Any, rows: Sequence[Publicity]) -> Any:
    """A panel for each trust model: one line for each way of making more public."""
    models = list(dict.fromkeys(row.trust for row in rows))
    figure, panels = _grid(figure_class, models)
    for model, axes in zip(models, panels, strict=True):
        mine = [row for row in rows if row.trust == model]
        nothing = [row.relative_standard_error for row in mine if not row.share]
        for kind, (colour, marker) in KIND_LOOKS.items():
            points = [(row.share, row.relative_standard_error) for row in mine if row.kind == kind and row.share]
            points = [(0.0, size) for size in nothing] + points
            drawn = [(100 * share, size) for share, size in points if math.isfinite(size) and size > 0]
            axes.plot(*zip(*drawn, strict=True), color=colour, marker=marker, markersize=4, label=KIND_WORDS[kind])
        axes.set_yscale("log")
        axes.minorticks_off()
        low, high = axes.get_ylim()
        ticks = drawing.percent_ticks(low, high)
        axes.set_yticks(ticks, [drawing.percent_label(tick) for tick in ticks])
    figure.supxlabel("% made public", fontsize=9)
    figure.supylabel("standard error / value", fontsize=9)
    _legend(figure, panels)
    return figure


def _grid(figure_class: Any, titles: Sequence[str]) -> tuple[Any, list[Any]]:
    columns = 2 if len(titles) in (2, 4) else min(3, max(len(titles), 1))
    lines = math.ceil(len(titles) / columns)
    figure = figure_class(figsize=(max(3.1 * columns + 0.3, 5.2), 2.4 * lines + 1.3), layout="constrained")
    panels = [figure.add_subplot(lines, columns, place + 1) for place in range(len(titles))]
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title)
    return figure, panels


def _legend(figure: Any, panels: Sequence[Any]) -> None:
    found = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    order = sorted(found, key=lambda label: label in (HERE, HARDEST))
    figure.legend([found[label] for label in order], order, loc="outside upper center", ncols=2, fontsize=8)


def _saved(name: str, figure: Any) -> Files:
    return {f"{name}.svg": drawing.svg_of(figure).encode(), f"{name}.png": drawing.png_of(figure)}
