"""Panels, drawn with matplotlib: several in one figure for a file, or each on its own for a page.

Nothing is drawn on a screen and no setting of matplotlib outlives a call. The same comparison gives
the same bytes: no date, no random identifiers, and no settings of the person who runs it.
"""

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

from visibility_aware_edge_ldp.errors import MissingPart
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM
from visibility_aware_edge_ldp.presentation.labels import ALONE, FAINT, INK, THEME, Look, look_of, style

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
POINTS_PER_INCH = 72
TAGGED = "only "


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


def plain_ticks(low: float, high: float) -> list[float]:
    """As ``percent_ticks``; where few round numbers fall between the limits, finer ones, and always 1."""
    ticks = percent_ticks(low, high)
    if len(ticks) < 3:
        ticks = sorted({tick for tick in (0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 3) if low <= tick <= high} | set(ticks))
    return ticks


def powers_of_ten(low: float, high: float) -> list[float]:
    """Those between the limits."""
    return [float(f"1e{power}") for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


@dataclass(frozen=True)
class Point:
    """A place in a panel that a reader can point at, what is told there, and what it is about."""

    x: float
    y: float
    words: str
    about: Mapping[str, str]


@dataclass(frozen=True)
class Panel:
    """A small plot: ``draw`` fills axes and says where the points are."""

    title: str
    x_label: str
    y_label: str
    draw: Callable[[Any], Sequence[Point]]
    size: tuple[float, float] = (3.3, 2.5)


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


def together(title: str, panels: Sequence[Panel], looks: Mapping[str, Look]) -> tuple[str, bytes]:
    """All panels in one figure with a legend, on white.

    Returns
    -------
    tuple[str, bytes]
        The SVG's text, whose letters stay letters, and the PNG.
    """
    rows = row_lengths(len(panels))
    (width, height), most, cells = panels[0].size, max(rows), math.lcm(*rows)
    with matplotlib_figure() as figure_class:
        figure = figure_class(figsize=((width - 0.2) * most + 0.3, height * len(rows) + 0.7), layout="constrained")
        grid, left = figure.add_gridspec(len(rows), cells), iter(panels)
        for place, length in enumerate(rows):
            for start in range(0, cells, cells // length):
                _fill(figure.add_subplot(grid[place, start : start + cells // length]), next(left))
        figure.supxlabel(panels[0].x_label, fontsize=9)
        figure.supylabel(panels[0].y_label, fontsize=9)
        _legend(figure, looks)
        return svg_of(figure, title), png_of(figure)


def row_lengths(panels: int, most: int = 4) -> list[int]:
    """How many panels stand in each row, so that every row fills the width and none has one below several."""
    rows = 2 if panels == 4 else math.ceil(panels / most)
    return [panels // rows + (place < panels % rows) for place in range(rows)]


def beside(panels: int, most: int) -> list[int]:
    """For each panel, how many stand in its row."""
    return [length for length in row_lengths(panels, most) for _ in range(length)]


def on_its_own(panel: Panel, prefix: str) -> str:
    """An ``<svg>`` element for use inside an HTML page: in the page's own colours, with points to point at."""
    with matplotlib_figure() as figure_class:
        figure = figure_class(figsize=panel.size, layout="constrained", facecolor="none")
        axes = figure.add_subplot(facecolor="none")
        points = _fill(axes, panel)
        axes.set_xlabel(panel.x_label)
        axes.set_ylabel(panel.y_label)
        drawn = inline(svg_of(figure), prefix)
        return drawn.removesuffix("</svg>") + "".join(_circle(axes, point) for point in points) + "</svg>"


def tags(about: Mapping[str, str]) -> str:
    """What a line is about, as matplotlib's group identifier; ``inline`` turns it into attributes."""
    return TAGGED + " ".join(f"{name}={value}" for name, value in about.items())


def attributes(about: Mapping[str, str]) -> str:
    """The same for an element of a page, whose script shows and hides by it."""
    return " ".join(f'data-{name}="{escape(value)}"' for name, value in about.items())


def looks_of(models: Sequence[str], policies: Sequence[str] = (UNIFORM, AWARE)) -> dict[str, Look]:
    """What a legend has to explain."""
    if len(models) == 1:
        return {policy: ALONE[policy] for policy in policies}
    drawn = {model: look_of(model, AWARE, False) for model in models}
    if len(policies) > 1:
        drawn |= {UNIFORM: Look(INK, "o", "--", hollow=True), AWARE: Look(INK, "o", "-")}
    return drawn


def log_axes(axes: Any) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")


def line_with_band(
    axes: Any, look: Look, middle: Sequence[Point], lower: Sequence[float], upper: Sequence[float]
) -> None:
    """The points joined by a line, and how uncertain they are."""
    x, name = [point.x for point in middle], tags({"trust": middle[0].about["trust"]}) if middle else None
    axes.plot(x, [point.y for point in middle], gid=name, **style(look))
    axes.fill_between(x, lower, upper, color=look.colour, alpha=0.15, linewidth=0, gid=name)


def epsilon_axis(axes: Any, epsilons: Sequence[float]) -> None:
    axes.set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
    ticks = apart(epsilons)
    axes.set_xticks(ticks, [f"{epsilon:g}" for epsilon in ticks])
    axes.minorticks_off()


def drawable(amount: float) -> bool:
    """A logarithmic axis has no place for 0 and none for infinity."""
    return math.isfinite(amount) and amount > 0


def svg_of(figure: Any, title: str | None = None) -> str:
    """The text of an SVG with nothing in it that changes from day to day."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata={**nothing, **({"Title": title} if title else {})})
    return buffer.getvalue()


def png_of(figure: Any) -> bytes:
    """A figure that ``svg_of`` has drawn before: everything has found its place."""
    figure.set_layout_engine("none")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": None})
    return buffer.getvalue()


def inline(text: str, prefix: str) -> str:
    """The ``<svg>`` element alone: with identifiers of its own, the page's colours and the page's width."""
    text = re.sub(r"<style\b.*?</style>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(rf'<g id="{TAGGED}([^"]*)"', lambda found: f"<g {attributes(_about(found[1]))}", text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'((?: id|xlink:href)="#?|url\(#)', rf"\g<1>{prefix}", text)
    text = re.sub(r'^<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 aria-hidden="true" focusable="false">', text)
    for colour, name in THEME.items():
        text = text.replace(colour, name)
    return re.sub(r"'DejaVu Sans'[^;\"]*", "sans-serif", re.sub(r"\s*\n\s*", "\n", text)).strip()


def _about(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split())


def _fill(axes: Any, panel: Panel) -> Sequence[Point]:
    axes.set_title(panel.title, loc="left", fontweight="bold")
    return panel.draw(axes)


def _circle(axes: Any, point: Point) -> str:
    """Where a drawn point came to stand, in the units of the SVG; its title is a hint even without a script."""
    figure = axes.figure
    x, y = axes.transData.transform((point.x, point.y)) * POINTS_PER_INCH / figure.dpi
    down = figure.get_figheight() * POINTS_PER_INCH - y
    title = f"<title>{escape(point.words)}</title>"
    return f'<circle class="point" {attributes(point.about)} cx="{x:.1f}" cy="{down:.1f}" r="6">{title}</circle>'


def _legend(figure: Any, looks: Mapping[str, Look]) -> None:
    """Above the panels: what colours, markers and dashes stand for."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], **style(look)) for look in looks.values()]
    if lines:
        figure.legend(lines, list(looks), loc="outside upper left", ncols=min(len(lines), 3))
