"""Colours, labels and numbers as people read them."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

from visibility_aware_edge_ldp.presentation import comparison_page, labels


@pytest.mark.parametrize(
    ("share", "text"),
    [(13.75, "1,375%"), (0.2013, "20.1%"), (0.0023, "0.23%"), (0.0, "0%"), (math.nan, "–"), (math.inf, "∞")],
)
def test_percent(share: float, text: str) -> None:
    assert labels.percent(share) == text


STYLE = (Path(comparison_page.__file__).parent / "style.css").read_text(encoding="utf-8")
THEMES = dict(zip(("light", "dark", "print"), re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL), strict=True))
LINES = ("aware", "uniform", "third", "fourth")
# How red, green and blue look without one kind of cone: Machado, Oliveira and Fernandes (2009), severity 1.
SIGHTS = {
    "all cones": np.eye(3),
    "no red cones": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def colours(theme: str) -> dict[str, str]:
    found = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]+)", THEMES[theme]))
    return {
        name: text if len(text) == 7 else "#" + "".join(2 * digit for digit in text[1:]) for name, text in found.items()
    }


def light(text: str) -> np.ndarray:
    """How much red, green and blue light there is."""
    share = np.array([int(text[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As the Web Content Accessibility Guidelines define it."""
    low, high = sorted(float(light(text) @ TO_XYZ[1]) for text in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(linear: np.ndarray) -> np.ndarray:
    ratio = TO_XYZ @ np.clip(linear, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", THEMES)
def test_texts_and_lines_stand_out_from_the_paper(theme: str) -> None:
    named = colours(theme)
    for paper in ("paper", "card", "note"):
        assert min(contrast(named[text], named[paper]) for text in ("ink", "soft", "bad")) >= 4.5
        assert min(contrast(named[line], named[paper]) for line in LINES) >= 3


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", THEMES)
def test_lines_are_told_apart_without_a_kind_of_cone(theme: str, sight: str) -> None:
    seen = [lab(np.array(SIGHTS[sight]) @ light(colours(theme)[name])) for name in LINES]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) >= 20


def test_the_figures_have_the_colours_of_the_light_page() -> None:
    named = colours("light")
    assert {f"var(--{name})": named[name] for name in ("ink", "line", *LINES)} == {
        variable: colour for colour, variable in labels.THEME.items()
    }
