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
from visibility_aware_edge_ldp.evaluation.trials import TrialRow
from visibility_aware_edge_ldp.subgraphs.statistic import star_size

INK, FAINT, BLUE, VERMILION = "#1b1f24", "#c9ced6", "#0072b2", "#d55e00"
THEME = {INK: "var(--ink)", FAINT: "var(--line)", BLUE: "var(--aware)", VERMILION: "var(--uniform)"}
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
    """How a line is told from the other one: by colour, marker and dashes."""

    colour: str
    marker: str
    line: str


LOOKS = {UNIFORM: Look(VERMILION, "s", "--"), AWARE: Look(BLUE, "o", "-")}
Series = dict[str, list[TrialRow]]


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
    with _matplotlib() as figure_class:
        figure = _all_panels(figure_class, comparison)
        return _svg(figure, Title=f"{Y_LABEL} against ε".capitalize()), _png(figure)


def panels(comparison: Comparison) -> dict[str, str]:
    """One ``<svg>`` element per statistic for use inside one HTML page, in the page's own colours."""
    with _matplotlib() as figure_class:
        return {
            statistic: _inline(_one_panel(figure_class, statistic, series), f"panel{number}-")
            for number, (statistic, series) in enumerate(series_of(comparison).items())
        }


def series_of(comparison: Comparison) -> dict[str, Series]:
    """For each statistic its rows under both policies, by growing epsilon."""
    both = {UNIFORM: comparison.uniform, AWARE: comparison.aware}
    names = dict.fromkeys(row.statistic for row in comparison.aware)
    return {
        name: {
            policy: sorted((row for row in rows if row.statistic == name), key=lambda row: row.epsilon)
            for policy, rows in both.items()
        }
        for name in names
    }


@contextmanager
def _matplotlib() -> Iterator[Any]:
    """The class Figure, with our settings on top of the library's own defaults, for a while."""
    try:
        import matplotlib.style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPart("matplotlib", "plot", "A figure") from error
    with matplotlib.style.context(["default", SETTINGS]):
        yield Figure


def _all_panels(figure_class: Any, comparison: Comparison) -> Any:
    every = series_of(comparison)
    columns = 2 if len(every) in (2, 4) else min(3, len(every))
    rows = math.ceil(len(every) / columns)
    figure = figure_class(figsize=(3.1 * columns + 0.3, 2.5 * rows + 0.7), layout="constrained")
    for place, (statistic, series) in enumerate(every.items()):
        axes = figure.add_subplot(rows, columns, place + 1)
        _draw(axes, series)
        axes.set_title(label(statistic), loc="left", fontweight="bold")
    figure.supxlabel(X_LABEL, fontsize=9)
    figure.supylabel(Y_LABEL, fontsize=9)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=2)
    return figure


def _one_panel(figure_class: Any, statistic: str, series: Series) -> Any:
    figure = figure_class(figsize=(3.3, 2.5), layout="constrained", facecolor="none")
    axes = figure.add_subplot(facecolor="none")
    _draw(axes, series)
    axes.set_title(label(statistic), loc="left", fontweight="bold")
    axes.set_xlabel(X_LABEL)
    axes.set_ylabel(Y_LABEL)
    return figure


def _draw(axes: Any, series: Series) -> None:
    """Both lines and their bands on logarithmic axes."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = limits(series)
    for policy, rows in series.items():
        _line(axes, policy, rows, low)
    axes.set_ylim(low, high)
    axes.set_yticks(ticks := percent_ticks(low, high), [percent_label(tick) for tick in ticks])
    _epsilon_axis(axes, sorted({row.epsilon for rows in series.values() for row in rows}))
    axes.minorticks_off()
    if crosses_all(series):
        axes.axhline(1, color=INK, linewidth=0.8, linestyle=":", zorder=1)


def _line(axes: Any, policy: str, rows: Sequence[TrialRow], floor: float) -> None:
    look = LOOKS[policy]
    shown = [row for row in rows if _drawable(row)]
    x, y = [row.epsilon for row in shown], [row.mean_relative_error for row in shown]
    axes.plot(x, y, look.line, marker=look.marker, color=look.colour, label=policy, markersize=4.5, linewidth=1.5)
    spread = [0.0 if math.isnan(row.error_uncertainty) else 2 * row.error_uncertainty for row in shown]
    lower = [max(middle - s, floor) for middle, s in zip(y, spread, strict=True)]
    upper = [middle + s for middle, s in zip(y, spread, strict=True)]
    axes.fill_between(x, lower, upper, color=look.colour, alpha=0.18, linewidth=0)


def _epsilon_axis(axes: Any, epsilons: Sequence[float]) -> None:
    axes.set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
    ticks = apart(epsilons)
    axes.set_xticks(ticks, [f"{epsilon:g}" for epsilon in ticks])


def _drawable(row: TrialRow) -> bool:
    """A logarithmic axis has no place for 0 and none for infinity."""
    return math.isfinite(row.mean_relative_error) and row.mean_relative_error > 0


def left_out(series: Series) -> bool:
    """Whether a point of these rows has no place on the axes."""
    return not all(_drawable(row) for rows in series.values() for row in rows)


def crosses_all(series: Series) -> bool:
    """Whether the axes show 100 %, where an estimate is as far off as the answer 0."""
    low, high = limits(series)
    return low < 1 < high


def limits(series: Series) -> tuple[float, float]:
    """A range that holds all points and bands, but no band's way down to 0."""
    shown = [row for rows in series.values() for row in rows if _drawable(row)]
    if not shown:
        return 0.01, 1.0
    means = [row.mean_relative_error for row in shown]
    spreads = [0.0 if math.isnan(row.error_uncertainty) else 2 * row.error_uncertainty for row in shown]
    low = min(max(mean - spread, mean / 2) for mean, spread in zip(means, spreads, strict=True))
    high = max(mean + spread for mean, spread in zip(means, spreads, strict=True))
    return low / 1.25, high * 1.25


def percent_ticks(low: float, high: float) -> list[float]:
    """Round numbers, at most six of them: 1-2-5, else 1-3, else powers of ten."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= 6:
            return inside
    return inside[:: math.ceil(len(inside) / 6)]


def percent_label(share: float) -> str:
    """0.02 is "2%"; very large and very small ones are written as powers of ten."""
    percent = float(f"{share * 100:.6g}")
    if 1e-3 <= percent < 1e6:
        return f"{percent:,g}%" if percent < 1000 else f"{percent:,.0f}%"
    digit, _, power = f"{percent:.0e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}%" if digit == "1" else f"{digit}·10{raised}%"


def apart(values: Sequence[float]) -> list[float]:
    """Those of the sorted values whose labels do not run into each other on a logarithmic axis."""
    least = math.log(values[-1] / values[0]) / 7
    kept = [values[0]]
    for value in values[1:]:
        if math.log(value / kept[-1]) >= least:
            kept.append(value)
    return kept


def _svg(figure: Any, **metadata: str) -> str:
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata={**nothing, **metadata})
    return buffer.getvalue()


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": None})
    return buffer.getvalue()


def _inline(figure: Any, prefix: str) -> str:
    """The ``<svg>`` element alone: with identifiers of its own, the page's colours and the page's width."""
    text = _svg(figure)
    text = re.sub(r"<style\b.*?</style>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'((?: id|xlink:href)="#?|url\(#)', rf"\g<1>{prefix}", text)
    text = re.sub(r'^<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 aria-hidden="true" focusable="false">', text)
    for colour, name in THEME.items():
        text = text.replace(colour, name)
    return re.sub(r"'DejaVu Sans'[^;\"]*", "sans-serif", re.sub(r"\s*\n\s*", "\n", text)).strip()
