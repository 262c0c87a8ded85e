"""How lines are told apart: by colour, marker and dashes; and what statistics are called."""

import math
from dataclasses import dataclass
from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM
from visibility_aware_edge_ldp.public.statistic import statistic
from visibility_aware_edge_ldp.public.trust import TRUSTS

INK, FAINT, BLUE, VERMILION, GREEN, PINK = "#1b1f24", "#c9ced6", "#0072b2", "#d55e00", "#0e4d2a", "#c8648f"
THEME = {
    INK: "var(--ink)",
    FAINT: "var(--line)",
    BLUE: "var(--aware)",
    VERMILION: "var(--uniform)",
    GREEN: "var(--third)",
    PINK: "var(--fourth)",
}
DASH = "–"


"""What a page's style sheet calls the colours, so that a page can be light or dark."""


@dataclass(frozen=True)
class Look:
    """How a line is told from the others."""

    colour: str
    marker: str
    line: str
    hollow: bool = False


ALONE = {UNIFORM: Look(VERMILION, "s", "--"), AWARE: Look(BLUE, "o", "-")}


# In the order of the trust models: a colour, matplotlib's marker, and the same marker as a path in a box of 38 × 16.
COLOURS = dict(zip(TRUSTS, (BLUE, VERMILION, GREEN, PINK), strict=True))


MARKERS = dict(zip(TRUSTS, ("o", "s", "^", "D"), strict=True))


_PATHS = (
    "M14.5 8a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "M15 4h8v8h-8z",
    "M19 3l5 9h-10z",
    "M19 2.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
)


MARKER_PATHS = dict(zip(TRUSTS, _PATHS, strict=True))


def look_of(trust: str, policy: str, alone: bool) -> Look:
    """One model: a colour for each policy. Several: a colour for each model, and hollow dashes where all is private."""
    if alone:
        return ALONE[policy]
    uniform = policy == UNIFORM
    return Look(COLOURS[trust], MARKERS[trust], "--" if uniform else "-", hollow=uniform)


def style(look: Look) -> dict[str, Any]:
    """A look in matplotlib's words."""
    face = {"markerfacecolor": "none"} if look.hollow else {}
    shape = {"linestyle": look.line, "marker": look.marker, "markersize": 4.5, "linewidth": 1.5}
    return {"color": look.colour, **shape, **face}


def label(name: str) -> str:
    """A statistic as tables and figures call it: "stars:2" is "2-stars"."""
    return statistic(name).label


def percent(share: float) -> str:
    """A share as people read it: 1,375%, 20.1%, 0.0023%; a dash when there is none."""
    if not math.isfinite(share):
        return "∞" if share > 0 else DASH
    if share >= 1 or share == 0:
        return f"{share:,.0%}"
    return f"{share:.1%}" if share >= 0.01 else f"{share * 100:.2g}%"


def value(amount: float) -> str:
    """A number as people read it; a dash when there is none."""
    if not math.isfinite(amount):
        return DASH
    return f"{amount:,.0f}" if amount.is_integer() else number(amount).replace("-", "−")


def spread(amount: float) -> str:
    """A standard deviation: three digits of it say enough."""
    return value(amount) if amount >= 1000 else f"{amount:.3g}"


def factor(amount: float, beside: float) -> str:
    """A gain or its uncertainty, with as many decimals as a gain of that size deserves."""
    if not math.isfinite(amount):
        return "∞" if amount > 0 else DASH
    return f"{amount:,.{2 if beside < 10 else 1 if beside < 100 else 0}f}"
