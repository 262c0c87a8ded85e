"""How lines are told apart: by colour, marker and dashes; and what statistics are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from visibility_aware_edge_ldp.evaluation.comparison import AWARE, UNIFORM
from visibility_aware_edge_ldp.subgraphs.statistic import star_size

INK, FAINT, BLUE, VERMILION, GREEN, PINK = "#1b1f24", "#c9ced6", "#0072b2", "#d55e00", "#0e4d2a", "#c8648f"
THEME = {
    INK: "var(--ink)",
    FAINT: "var(--line)",
    BLUE: "var(--aware)",
    VERMILION: "var(--uniform)",
    GREEN: "var(--third)",
    PINK: "var(--fourth)",
}
"""What a page's style sheet calls the colours, so that a page can be light or dark."""

WORDS = {
    "degrees": "all degrees",
    "max_degree": "largest degree",
    "degree_histogram": "degree histogram",
    "four_cycles": "4-cycles",
}


@dataclass(frozen=True)
class Look:
    """How a line is told from the others."""

    colour: str
    marker: str
    line: str
    hollow: bool = False


ALONE = {UNIFORM: Look(VERMILION, "s", "--"), AWARE: Look(BLUE, "o", "-")}
COLOURS = {"position": BLUE, "user": VERMILION, "neighbourhood": GREEN, "curator": PINK}
MARKERS = {"position": "o", "user": "s", "neighbourhood": "^", "curator": "D"}


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


def label(statistic: str) -> str:
    """A statistic as people say it: "stars:2" is "2-stars"."""
    k = star_size(statistic)
    return f"{k}-stars" if k else WORDS.get(statistic, statistic)
