"""What a gain is made of, where there is a scope: one small panel per trust model, one bar per lever."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from visibility_aware_edge_ldp.evaluation.gains import LEVERS, Split
from visibility_aware_edge_ldp.evaluation.results import Comparison
from visibility_aware_edge_ldp.presentation.drawing import Panel, Point, drawable, log_axes, plain_ticks, tags, together
from visibility_aware_edge_ldp.presentation.labels import BLUE, GREEN, INK, THEME, VERMILION, Look, factor, label

X_LABEL = "gain: uniform error / error"
COLOURS = dict(zip(LEVERS, (VERMILION, BLUE, GREEN), strict=True))
LEVER_LOOKS = {name: Look(colour, "s", "-") for name, colour in COLOURS.items()}
LEVER_THEME = {name: THEME[colour] for name, colour in COLOURS.items()}
# Bars of one statistic stand below each other, each from where the one before it ends.
STEP, HEIGHT = 0.24, 0.2


def splits_by_model(comparison: Comparison, epsilon: float) -> dict[str, list[Split]]:
    """For each trust model the splits at one epsilon that can be drawn."""
    found: dict[str, list[Split]] = {}
    for split in comparison.splits:
        if split.epsilon == epsilon and all(drawable(each) for each in split.factors.values()):
            found.setdefault(split.trust, []).append(split)
    return found


def lever_panels(comparison: Comparison, epsilon: float) -> dict[str, Panel]:
    """One panel per trust model; none where there is no scope."""
    found = splits_by_model(comparison, epsilon)
    rows = max(map(len, found.values()), default=0)
    size = (3.3, 1.3 + 0.5 * rows)
    return {trust: Panel(trust, X_LABEL, "", partial(_draw, own), size) for trust, own in found.items()}


def lever_files(comparison: Comparison, epsilon: float) -> dict[str, tuple[str, bytes]]:
    """Name → (SVG, PNG) of the figure; nothing where there is no scope."""
    panels = list(lever_panels(comparison, epsilon).values())
    return {"levers": together("What the gain is made of", panels, LEVER_LOOKS)} if panels else {}


def described_levers(comparison: Comparison, epsilon: float) -> Iterator[tuple[str, Panel, str, str]]:
    """For each trust model its panel, the panel's title, and the panel in words."""
    splits = splits_by_model(comparison, epsilon)
    for trust, panel in lever_panels(comparison, epsilon).items():
        yield trust, panel, f"What the gain is made of, {trust}", describe_levers(trust, splits[trust])


def describe_levers(trust: str, splits: Sequence[Split]) -> str:
    """The panel in words."""
    parts = (
        f"{label(split.statistic)}: "
        + ", ".join(f"{name} {factor(each, each)}×" for name, each in split.factors.items())
        for split in splits
    )
    return f"What the gain is made of, {trust.upper()}, at ε = {splits[0].epsilon:g}. {'; '.join(parts)}."


def _draw(splits: Sequence[Split], axes: Any) -> list[Point]:
    """Statistics below each other; a lever's bar begins where the one before it ends, and the last ends at the gain."""
    log_axes(axes)
    axes.set_yscale("linear")
    points, ends = [], [1.0]
    for row, split in enumerate(reversed(splits)):
        end = 1.0
        for place, (name, gain) in enumerate(split.factors.items()):
            begin, end, y = end, end * gain, row + STEP * (1 - place)
            about = {"trust": split.trust, "statistic": split.statistic, "epsilon": f"{split.epsilon:g}"}
            axes.barh(y, abs(end - begin), HEIGHT, min(begin, end), color=COLOURS[name], gid=tags(about))
            words = f"{name.capitalize()}: error {factor(gain, gain)}× smaller, {label(split.statistic)}"
            points.append(Point(end, y, f"{words} at ε = {split.epsilon:g}, {split.trust.upper()}", about))
            ends.append(end)
    low, high = min(ends) / 1.3, max(ends) * 1.3
    axes.set_xlim(low, high)
    axes.set_xticks(ticks := plain_ticks(low, high), [f"{tick:g}×" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(splits)), [label(split.statistic) for split in reversed(splits)])
    axes.set_ylim(-0.6, len(splits) - 0.2)
    axes.axvline(1, color=INK, linewidth=0.8, linestyle=":", zorder=1)
    return points
