"""Error against epsilon, one small panel per statistic, drawn with matplotlib.

Nothing is drawn on a screen and no setting of matplotlib outlives a call. The same comparison gives
the same bytes: no date, no random identifiers, and no settings of the person who runs it.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from visibility_aware_edge_ldp.errors import MissingPart
from visibility_aware_edge_ldp.evaluation.comparison import AWARE, UNIFORM, Comparison
from visibility_aware_edge_ldp.evaluation.report.axes import apart, percent_label, percent_ticks
from visibility_aware_edge_ldp.evaluation.trials import TrialRow
from visibility_aware_edge_ldp.subgraphs.statistic import star_size

INK, FAINT, BLUE, VERMILION, GREEN, PURPLE = "#1b1f24", "#c9ced6", "#0072b2", "#d55e00", "#009e73", "#aa4499"
THEME = {
    INK: "var(--ink)",
    FAINT: "var(--line)",
    BLUE: "var(--aware)",
    VERMILION: "var(--uniform)",
    GREEN: "var(--third)",
    PURPLE: "var(--fourth)",
}
"""What a page's style sheet calls the colours, so that a page can be light or dark."""

WORDS = {
    "degrees": "all degrees",
    "max_degree": "largest degree",
    "degree_histogram": "degree histogram",
    "four_cycles": "4-cycles",
}
X_LABEL, Y_LABEL = "ε per PRIVATE edge", "mean relative error"
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "va-edge-ldp",
    "text.parse_math": False,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Look:
    """How a line is told from the others: by colour, marker and dashes."""

    colour: str
    marker: str
    line: str
    hollow: bool = False


Key = tuple[str, str]
Series = dict[Key, list[TrialRow]]
ALONE = {UNIFORM: Look(VERMILION, "s", "--"), AWARE: Look(BLUE, "o", "-")}
COLOURS = {"position": BLUE, "user": VERMILION, "neighbourhood": GREEN, "curator": PURPLE}
MARKERS = {"position": "o", "user": "s", "neighbourhood": "^", "curator": "D"}


def look_of(trust: str, policy: str, alone: bool) -> Look:
    """One model: a colour for each policy. Several: a colour for each model, and hollow dashes where all is private."""
    if alone:
        return ALONE[policy]
    uniform = policy == UNIFORM
    return Look(COLOURS[trust], MARKERS[trust], "--" if uniform else "-", hollow=uniform)


def label(statistic: str) -> str:
    """A statistic as people say it: "stars:2" is "2-stars"."""
    k = star_size(statistic)
    return f"{k}-stars" if k else WORDS.get(statistic, statistic)


def figure_files(comparison: Comparison) -> tuple[str, bytes]:
    """All panels in one figure with a legend, on white.

    Returns
    -------
    tuple[str, bytes]
        The SVG's text, whose letters stay letters, and the PNG.
    """
    with matplotlib_figure() as figure_class:
        figure = _all_panels(figure_class, comparison)
        return svg_of(figure, Title=f"{Y_LABEL} against ε".capitalize()), png_of(figure)


def panels(comparison: Comparison) -> dict[str, str]:
    """One ``<svg>`` element per statistic for use inside one HTML page, in the page's own colours."""
    with matplotlib_figure() as figure_class:
        return {
            statistic: inline(_one_panel(figure_class, statistic, series, is_alone(comparison)), f"panel{number}-")
            for number, (statistic, series) in enumerate(series_of(comparison).items())
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


@contextmanager
def matplotlib_figure() -> Iterator[Any]:
    """The class Figure, with our settings on top of the library's own defaults, for a while."""
    try:
        import matplotlib.style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPart("matplotlib", "plot", "A figure") from error
    with matplotlib.style.context(["default", SETTINGS]):
        yield Figure


def grid(figure_class: Any, names: Sequence[str]) -> tuple[Any, list[Any]]:
    """A figure with a titled panel for each name."""
    columns = 2 if len(names) in (2, 4) else min(3, len(names))
    rows = math.ceil(len(names) / columns)
    figure = figure_class(figsize=(3.1 * columns + 0.3, 2.5 * rows + 0.7), layout="constrained")
    places = [figure.add_subplot(rows, columns, place + 1) for place in range(len(names))]
    for axes, name in zip(places, names, strict=True):
        axes.set_title(name, loc="left", fontweight="bold")
    return figure, places


def single(figure_class: Any, title: str) -> tuple[Any, Any]:
    """A small figure with one panel, for a page."""
    figure = figure_class(figsize=(3.3, 2.5), layout="constrained", facecolor="none")
    axes = figure.add_subplot(facecolor="none")
    axes.set_title(title, loc="left", fontweight="bold")
    return figure, axes


def _all_panels(figure_class: Any, comparison: Comparison) -> Any:
    every = series_of(comparison)
    figure, places = grid(figure_class, [label(name) for name in every])
    for axes, series in zip(places, every.values(), strict=True):
        _draw(axes, series, is_alone(comparison))
    figure.supxlabel(X_LABEL, fontsize=9)
    figure.supylabel(Y_LABEL, fontsize=9)
    legend(figure, comparison.models)
    return figure


def legend(figure: Any, models: Sequence[str], policies: Sequence[str] = (UNIFORM, AWARE)) -> None:
    """Above the panels: what colours, markers and dashes stand for."""
    from matplotlib.lines import Line2D

    alone = len(models) == 1
    drawn = {policy: ALONE[policy] for policy in policies} if alone else {m: look_of(m, AWARE, False) for m in models}
    if not alone and len(policies) > 1:
        drawn |= {UNIFORM: Look(INK, "o", "--", hollow=True), AWARE: Look(INK, "o", "-")}
    lines = [Line2D([], [], **style(look)) for look in drawn.values()]
    figure.legend(lines, list(drawn), loc="outside upper left", ncols=min(len(drawn), 3))


def style(look: Look) -> dict[str, Any]:
    """A look in matplotlib's words."""
    face = {"markerfacecolor": "none"} if look.hollow else {}
    shape = {"linestyle": look.line, "marker": look.marker, "markersize": 4.5, "linewidth": 1.5}
    return {"color": look.colour, **shape, **face}


def _one_panel(figure_class: Any, statistic: str, series: Series, alone: bool) -> Any:
    figure, axes = single(figure_class, label(statistic))
    _draw(axes, series, alone)
    axes.set_xlabel(X_LABEL)
    axes.set_ylabel(Y_LABEL)
    return figure


def _draw(axes: Any, series: Series, alone: bool) -> None:
    """All lines and their bands on logarithmic axes."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = limits(series)
    for (trust, policy), rows in series.items():
        _line(axes, look_of(trust, policy, alone), rows, low)
    axes.set_ylim(low, high)
    axes.set_yticks(ticks := percent_ticks(low, high), [percent_label(tick) for tick in ticks])
    epsilon_axis(axes, sorted({row.epsilon for rows in series.values() for row in rows}))
    axes.minorticks_off()
    if crosses_all(series):
        axes.axhline(1, color=INK, linewidth=0.8, linestyle=":", zorder=1)


def _line(axes: Any, look: Look, rows: Sequence[TrialRow], floor: float) -> None:
    shown = [row for row in rows if drawable(row.mean_relative_error)]
    x, y = [row.epsilon for row in shown], [row.mean_relative_error for row in shown]
    axes.plot(x, y, **style(look))
    spread = [0.0 if math.isnan(row.error_uncertainty) else 2 * row.error_uncertainty for row in shown]
    lower = [max(middle - s, floor) for middle, s in zip(y, spread, strict=True)]
    upper = [middle + s for middle, s in zip(y, spread, strict=True)]
    axes.fill_between(x, lower, upper, color=look.colour, alpha=0.15, linewidth=0)


def epsilon_axis(axes: Any, epsilons: Sequence[float]) -> None:
    axes.set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
    ticks = apart(epsilons)
    axes.set_xticks(ticks, [f"{epsilon:g}" for epsilon in ticks])


def drawable(amount: float) -> bool:
    """A logarithmic axis has no place for 0 and none for infinity."""
    return math.isfinite(amount) and amount > 0


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
    means = [row.mean_relative_error for row in shown]
    spreads = [0.0 if math.isnan(row.error_uncertainty) else 2 * row.error_uncertainty for row in shown]
    low = min(max(mean - spread, mean / 2) for mean, spread in zip(means, spreads, strict=True))
    high = max(mean + spread for mean, spread in zip(means, spreads, strict=True))
    return low / 1.25, high * 1.25


def svg_of(figure: Any, **metadata: str) -> str:
    """The text of an SVG with nothing in it that changes from day to day."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata={**nothing, **metadata})
    return buffer.getvalue()


def png_of(figure: Any) -> bytes:
    """A figure that ``svg_of`` has drawn before: everything has found its place."""
    figure.set_layout_engine("none")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": None})
    return buffer.getvalue()


def inline(figure: Any, prefix: str) -> str:
    """The ``<svg>`` element alone: with identifiers of its own, the page's colours and the page's width."""
    text = svg_of(figure)
    text = re.sub(r"<style\b.*?</style>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'((?: id|xlink:href)="#?|url\(#)', rf"\g<1>{prefix}", text)
    text = re.sub(r'^<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 aria-hidden="true" focusable="false">', text)
    for colour, name in THEME.items():
        text = text.replace(colour, name)
    return re.sub(r"'DejaVu Sans'[^;\"]*", "sans-serif", re.sub(r"\s*\n\s*", "\n", text)).strip()
