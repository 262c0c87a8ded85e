"""Simple pictures as SVG: places across are percentages, so that the same drawing fits a phone and a desk."""

from __future__ import annotations

import math
from collections.abc import Sequence

from visibility_aware_edge_ldp.campaign.server.front import words
from visibility_aware_edge_ldp.campaign.server.front.markup import Markup, tag

# Bars that still can be told apart on a phone.
MOST_BARS = 60
_MARGIN = 5.0


def ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Round numbers between two ends, at most so many: steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step for factor in (1, 2, 5, 10, 20) if (high - low) / (step := factor * power) <= most)
    first = math.ceil(low / step)
    return [float(f"{(first + i) * step:.12g}") for i in range(most + 1) if (first + i) * step <= high]


def strip(name: str, value: float, ends: tuple[float, float], away: tuple[float, float] | None) -> Markup:
    """An estimate with its interval and, below, what selective dropout could make of it."""
    known = [value, *ends, *(away or ())]
    low, high = min(known), max(known)
    room = (high - low) / 20 or abs(value) / 10 or 1.0
    low, high = low - room, high + room

    def at(amount: float) -> str:
        return f"{_MARGIN + (100 - 2 * _MARGIN) * (amount - low) / (high - low):.2f}%"

    said = f"{words.statistic(name)}: {words.value(value)}, 95 % interval {words.interval(ends)}"
    shown = f"; by selective dropout {words.value(away[0])} to {words.value(away[1])}" if away else ""
    return tag(
        "svg",
        [_tick(at(each), words.value(each)) for each in ticks(low, high)],
        tag("line", x1=at(ends[0]), x2=at(ends[1]), y1=16, y2=16, class_="interval"),
        [tag("line", x1=at(end), x2=at(end), y1=9, y2=23, class_="end") for end in ends],
        tag("circle", cx=at(value), cy=16, r=5, class_="dot"),
        tag("line", x1=at(away[0]), x2=at(away[1]), y1=34, y2=34, class_="away") if away else None,
        role="img",
        aria_label=said + shown,
        width="100%",
        height=66,
        class_="strip",
    )


def _tick(place: str, text: str) -> Markup:
    line = tag("line", x1=place, x2=place, y1=2, y2=46, class_="grid")
    return tag("g", line, tag("text", text, x=place, y=62, text_anchor="middle"))


def bars(
    names: Sequence[str], values: Sequence[float], lows: Sequence[float], highs: Sequence[float], said: str
) -> Markup:
    """Bars with their intervals, drawn from 0 up; as many of them are named as have room."""
    width, height, top = 100 / len(values), 150.0, max(1.0, *values, *highs)

    def up(amount: float) -> float:
        return round(height * (1 - max(amount, 0.0) / top) + 18, 2)

    def middle(place: int) -> str:
        return f"{(place + 0.5) * width:.2f}%"

    step, floor = math.ceil(len(values) / 8), up(0)
    drawn = [
        tag(
            "rect",
            x=f"{(i + 0.1) * width:.2f}%",
            width=f"{0.8 * width:.2f}%",
            y=up(v),
            height=floor - up(v),
            class_="fill",
        )
        for i, v in enumerate(values)
    ]
    ends = zip(lows, highs, strict=True)
    return tag(
        "svg",
        [_level(up(each), words.value(each)) for each in ticks(0, top, 3)],
        drawn,
        [_whisker(middle(i), up(high), up(low)) for i, (low, high) in enumerate(ends)],
        [tag("text", names[i], x=middle(i), y=floor + 18, text_anchor="middle") for i in range(0, len(names), step)],
        role="img",
        aria_label=said,
        width="100%",
        height=height + 42,
        class_="bars",
    )


def _level(place: float, text: str) -> Markup:
    line = tag("line", x1=0, x2="100%", y1=place, y2=place, class_="grid")
    return tag("g", line, tag("text", text, x=0, y=place - 4))


def _whisker(place: str, top: float, bottom: float) -> Markup:
    return tag("line", x1=place, x2=place, y1=top, y2=bottom, class_="whisker")
