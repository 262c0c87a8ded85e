"""A run's figures: how far each target was reached, and the growth with the nodes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from benchmarks.growth import GOAL_NODES, GOAL_SECONDS, Growth, fitted
from benchmarks.registry import Measured, Verdict
from benchmarks.report import Run
from visibility_aware_edge_ldp.presentation.drawing import matplotlib_figure, svg_of
from visibility_aware_edge_ldp.presentation.labels import BLUE, INK, VERMILION


def write_figures(run: Run, folder: Path) -> None:
    """bench-targets.svg, and bench-growth.svg where there is something to show."""
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib_figure() as figure_class:
        bars = [(label(each, one), progress(one)) for each in run.measured for one in each.verdicts if one.found]
        if bars:
            (folder / "bench-targets.svg").write_text(svg_of(draw_targets(figure_class, bars)), encoding="utf-8")
        if len(run.growth.points) > 1:
            (folder / "bench-growth.svg").write_text(svg_of(draw_growth(figure_class, run.growth)), encoding="utf-8")


def label(measured: Measured, verdict: Verdict) -> str:
    """What a bar is called: its name among the comparisons, and the target."""
    against = f" {verdict.against}" if verdict.against else ""
    return f"{measured.name}: {verdict.target}{against}"


def progress(verdict: Verdict) -> float:
    """What was reached in units of the target: 1 is met, more is better."""
    wanted = float(verdict.target.split()[1].rstrip("×").replace(",", ""))
    found = verdict.found or math.nan
    return found / wanted if verdict.target.startswith("≥") else wanted / found


def draw_targets(figure_class: Any, bars: list[tuple[str, float]]) -> Any:
    """A bar for each target, to the right of the line where it is met."""
    figure = figure_class(figsize=(8, 0.8 + 0.26 * len(bars)), layout="constrained")
    axes = figure.subplots()
    names, values = zip(*bars[::-1], strict=True)
    axes.barh(names, [value - 1 for value in values], left=1, color=[BLUE if v >= 1 else VERMILION for v in values])
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_xscale("log")
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.set_xlabel("reached / target: met to the right of the line")
    return figure


def draw_growth(figure_class: Any, growth: Growth) -> Any:
    """Seconds against nodes with the fitted line, and the target."""
    figure = figure_class(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    nodes = [point.nodes for point in growth.points]
    exponent, constant = fitted(growth.points)
    ends = [nodes[0], max(GOAL_NODES, nodes[-1])]
    line = [math.exp(constant) * end**exponent for end in ends]
    axes.plot(ends, line, "--", color=INK, linewidth=1, label=f"fitted: n to the {exponent:.2f}")
    axes.plot(nodes, [point.seconds for point in growth.points], "o", color=BLUE, label="measured")
    axes.plot([GOAL_NODES], [GOAL_SECONDS], "x", color=VERMILION, label="target")
    axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="seconds")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    axes.legend()
    return figure
