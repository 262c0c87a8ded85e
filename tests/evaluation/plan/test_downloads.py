"""Predicted errors of triangles against what each user downloads.  [PARTS.8]"""

from __future__ import annotations

import math

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from support.command import run_main
from visibility_aware_edge_ldp.aggregator.node_statistics.row_parts import part_triangles
from visibility_aware_edge_ldp.aggregator.rows import cycles as count_cycles
from visibility_aware_edge_ldp.counts.exact import cycles, triangles
from visibility_aware_edge_ldp.evaluation.plan.downloads import MEAN, download_error, downloads, smallest_download
from visibility_aware_edge_ldp.public.surveys.row_parts import cycle_part_survey, part_survey
from visibility_aware_edge_ldp.simulation.row_parts import collect_parts
from visibility_aware_edge_ldp.simulation.rows import collect_rows
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(600, 6000, 1)
WORLD = va.VisibilityAwareGraph(GRAPH, va.VisibilityPolicy.nothing())
TRUE = triangles(GRAPH)


def test_predicted_is_what_estimates_say_of_themselves() -> None:
    for groups in (8, 30):
        found = [
            part_triangles(collect_parts(WORLD, {"t": part_survey(WORLD.public, 4, groups, str(seed))}, seed)["t"])
            for seed in range(3)
        ]
        told = np.mean([float(each.standard_error) for each in found]) / TRUE
        assert download_error(WORLD, 4, groups, TRUE).relative_standard_error == pytest.approx(told, rel=0.15)


def test_the_smallest_download_reaches_the_target_and_a_smaller_one_does_not() -> None:
    curve = downloads(WORLD, TRUE, 4)
    octets = [each.octets for each in curve]
    assert octets == sorted(octets)
    target = curve[-2].mean_error * 1.2
    best = smallest_download(WORLD, TRUE, 4, target)
    assert best is not None
    assert best.mean_error <= target < download_error(WORLD, 4, best.groups + best.groups // 50 + 2, TRUE).mean_error
    assert smallest_download(WORLD, TRUE, 4, 1e-9) is None


def test_without_triangles_there_is_no_relative_error() -> None:
    found = download_error(WORLD, 4, 8, 0.0)
    assert math.isinf(found.relative_standard_error)
    assert found.as_dict()["relative_standard_error"] is None
    assert found.texts()[-1] == "none"
    assert pytest.approx(0.798, abs=1e-3) == MEAN


def test_a_plan_tells_them() -> None:
    plan = va.plan(family=GRAPH, epsilons=[4], trust=("user",), statistics="triangles", target_error=0.5)
    assert [each.groups for each in plan.downloads(4)] == [each.groups for each in downloads(WORLD, TRUE, 4)]
    best = plan.smallest_download(4)
    assert best is not None
    assert best.mean_error <= 0.5


def test_the_command_prints_and_writes_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["plan", "--nodes", "600", "--edges", "6000", "--epsilons", "4", "--trust", "user", "--statistic"]
    shown = run_main(monkeypatch, capsys, *asked, "triangles", "--downloads")
    assert "by what each user downloads" in shown.out
    told = run_main(monkeypatch, capsys, *asked, "triangles", "--downloads", "--json")
    assert told.json["downloads"][0]["rows"][0]["octets"] > 0


def test_4_cycles_are_predicted_as_estimates_say_of_themselves() -> None:
    """[PARTS.13]"""
    plan = va.plan(family=GRAPH, epsilons=[4], trust=("user",), statistics="four_cycles", target_error=0.5)
    true, curve = cycles(GRAPH), {each.groups: each for each in plan.downloads(4)}
    for groups in (6, 20):
        found = [
            count_cycles(collect_rows(WORLD, {"c": cycle_part_survey(WORLD.public, 4, groups, str(seed))}, seed)["c"])
            for seed in range(3)
        ]
        told = np.mean([float(each.standard_error) for each in found]) / true
        assert curve[groups].relative_standard_error == pytest.approx(told, rel=0.2)
    assert [each.octets for each in plan.downloads(4)] == sorted(each.octets for each in plan.downloads(4))
    best = plan.smallest_download(4)
    assert best is not None
    assert best.mean_error <= 0.5
    assert best.texts()[1].endswith("%")
    assert "statistic" not in best.as_dict()
