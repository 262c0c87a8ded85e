"""Figures: the same every time, letters that stay letters, a line for each model."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import matplotlib
import pytest

from support.comparison_reports import SMALL, made_of, row
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM, Comparison
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.presentation import (
    comparison_figures,
    drawing,
)
from visibility_aware_edge_ldp.presentation import (
    comparison_figures as more_figures,
)
from visibility_aware_edge_ldp.presentation import labels as looks
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


def test_points_stand_on_the_marks() -> None:
    panel = comparison_figures.error_panels(SMALL)["edges"]
    svg = drawing.on_its_own(panel, "")
    circles = set(re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', svg))
    marks = re.findall(
        r'<use xlink:href="[^"]*" x="([\d.]+)" y="([\d.]+)" style="fill: var\(--(?:aware|uniform)\); stroke', svg
    )
    assert len(marks) == 4
    assert {(f"{float(x):.1f}", f"{float(y):.1f}") for x, y in marks} == circles


def drawn(comparison: Comparison) -> tuple[object, ...]:
    panels = [*comparison_figures.error_panels(comparison).values(), *more_figures.gain_panels(comparison).values()]
    inline = [drawing.on_its_own(panel, "") for panel in panels]
    return comparison_figures.error_file(comparison), more_figures.more_files(comparison), *inline


@pytest.mark.long
def test_figures_are_the_same_every_time_and_change_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(matplotlib.rcParams, "lines.linewidth", 7.0)
    before = dict(matplotlib.rcParams)
    first = drawn(SMALL)
    assert dict(matplotlib.rcParams) == before
    monkeypatch.undo()
    assert drawn(SMALL) == first


def test_rows_are_drawn_by_growing_epsilon() -> None:
    mixed = made_of([row(0.1, epsilon=4), row(0.2)], [row(0.1, epsilon=4), row(0.2)])
    assert [r.epsilon for r in comparison_figures.series_of(mixed)["edges"]["position", AWARE]] == [1.0, 4]


@pytest.fixture(scope="module")
def every_model() -> Comparison:
    return compare(erdos_renyi(40, 200), VisibilityPolicy("0.5"), (0.5, 1), 2, trust="all", seed=1)


def test_models_are_told_apart_by_colour_and_marker_and_policies_by_dashes() -> None:
    every = [looks.look_of(trust, AWARE, False) for trust in looks.COLOURS]
    assert len({look.colour for look in every}) == len({look.marker for look in every}) == 4
    assert all(
        (looks.look_of(trust, policy, False).line, looks.look_of(trust, policy, False).hollow) == way
        for trust in looks.COLOURS
        for policy, way in ((AWARE, ("-", False)), (UNIFORM, ("--", True)))
    )


@pytest.mark.long
def test_the_legend_names_all_models(every_model: Comparison) -> None:
    svg, _ = comparison_figures.error_file(every_model)
    root = ElementTree.fromstring(svg)
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"position", "user", "neighbourhood", "curator", UNIFORM, AWARE} <= set(texts)
    assert not any("$" in text for text in texts)


@pytest.mark.long
def test_histograms_are_beside_the_truth(every_model: Comparison) -> None:
    assert [(h.trust, h.policy) for h in every_model.histograms] == [
        (trust, policy) for trust in ("position", "user") for policy in (AWARE, UNIFORM)
    ]
    for found in every_model.histograms:
        assert found.epsilon == 1
        assert sum(found.truth) == 40
        assert found.drawn.bins[0][0] == 0
        assert len(found.truth) == len(found.drawn.nodes) == len(found.drawn.bins)
    svg, png = more_figures.more_files(every_model)["degrees"]
    assert "estimated" in svg
    assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize("most", [3, 4])
@pytest.mark.parametrize("panels", range(1, 41))
def test_no_panel_stands_alone_below_others_and_no_row_is_half_empty(panels: int, most: int) -> None:
    rows = drawing.row_lengths(panels, most)
    assert sum(rows) == panels
    assert max(rows) <= most
    assert max(rows) - min(rows) <= 1
    assert panels == 1 or min(rows) > 1
    assert drawing.beside(panels, most) == [length for length in rows for _ in range(length)]


def test_seven_panels_fill_both_rows() -> None:
    panels = [drawing.Panel(str(each), "x", "y", lambda axes: [], (2.0, 1.0)) for each in range(7)]
    seen: list[tuple[float, float]] = []
    fill = drawing._fill

    def watched(axes: Any, panel: drawing.Panel) -> Any:
        columns = axes.get_subplotspec().colspan
        seen.append((columns.start / 12, columns.stop / 12))
        return fill(axes, panel)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(drawing, "_fill", watched)
        drawing.together("seven", panels, {})
    assert [round(stop - start, 3) for start, stop in seen] == [0.25] * 4 + [0.333] * 3
    assert seen[3][1] == seen[6][1] == 1
