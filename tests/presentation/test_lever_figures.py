"""What a gain is made of, in the report: a bar for each lever, and files that there are only where there is a scope."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.gains import LEVERS
from visibility_aware_edge_ldp.evaluation.results import Comparison
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.presentation.comparison_page import page
from visibility_aware_edge_ldp.presentation.drawing import matplotlib_figure
from visibility_aware_edge_ldp.presentation.lever_figures import describe_levers, lever_panels, splits_by_model
from visibility_aware_edge_ldp.presentation.result_files import write_results
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture(scope="module")
def inside() -> Comparison:
    """Two models inside public friend lists."""
    graph = powerlaw(50, 150)
    policy = VisibilityAwareGraph(graph, "profiles:0.2").inside("lists").policy
    return compare(graph, policy, [1, 2], 2, ["edges", "triangles"], trust=["position", "curator"], seed=1)


def test_a_bar_begins_where_the_one_before_it_ends_and_the_last_at_the_gain(inside: Comparison) -> None:
    panels, splits = lever_panels(inside, 1.0), splits_by_model(inside, 1.0)
    assert list(panels) == ["position", "curator"]
    with matplotlib_figure() as figure:
        axes = figure().subplots()
        points = panels["position"].draw(axes)
    gains = {(gain.aware.trust, gain.aware.statistic): gain.factor for gain in inside.gains if gain.aware.epsilon == 1}
    for place, split in enumerate(reversed(splits["position"])):
        own = points[place * len(LEVERS) : (place + 1) * len(LEVERS)]
        ends = [1.0, *(point.x for point in own)]
        found = [after / before for before, after in pairwise(ends)]
        assert found == pytest.approx(list(split.factors.values()))
        assert ends[-1] == pytest.approx(gains["position", split.statistic])
        assert own[1].words.startswith("Scope: error ")
    words = describe_levers("position", splits["position"])
    assert all(f"{name} " in words for name in LEVERS)


def test_the_report_has_the_picture_and_the_share_that_is_asked(inside: Comparison, tmp_path: Path) -> None:
    written = {path.name for path in write_results(inside, tmp_path, "command")}
    assert {"levers.svg", "levers.png", "degrees.svg"} <= written
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "What the gain is made of" in html
    assert "The scope asks " in html
    assert html.count("What the gain is made of, POSITION") == 1
    assert {found.policy for found in inside.histograms} == {"visibility-aware", "uniform"}


def test_without_a_scope_there_is_no_such_picture(comparison: Comparison) -> None:
    assert lever_panels(comparison, 1.0) == {}
    assert "What the gain is made of" not in page(comparison, "command")
