"""How long a plan takes, and how long a run of each model would.

Whether the seconds are right within 30 % is for a quiet machine.
"""

from __future__ import annotations

import math

import pytest
from typer.testing import CliRunner

from visibility_aware_edge_ldp.cli import app
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.plan import planner, summary
from visibility_aware_edge_ldp.evaluation.plan.base import Subsample, subsample
from visibility_aware_edge_ldp.evaluation.plan.planner import plan, seconds_of_plan, seconds_of_run
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation.execution import Run
from visibility_aware_edge_ldp.simulation.runtime_forecast import Forecast, work_of_run
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

WORLD = VisibilityAwareGraph(powerlaw(300, 2000, 1), VisibilityPolicy.nothing())


@pytest.mark.parametrize("made_up", [True, False])
def test_a_law_is_carried_on(made_up: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that obeys the law, what is foretold is the law."""
    now = [0.0]
    monkeypatch.setattr(planner.time, "perf_counter", lambda: now[0])
    rows = planner.MADE_UP_ROWS if made_up else planner.ROWS

    def law(nodes: int, edges: int) -> float:
        one, m, numbers = planner._terms(nodes, edges, rows)
        return 0.2 * one + 1e-5 * m + 1e-9 * numbers

    def make(nodes: int, edges: int) -> None:
        made.append(nodes)
        now[0] += law(nodes, edges)

    made: list[int] = []
    assert seconds_of_plan(64_000, 1_280_000, made_up, make) == pytest.approx(law(64_000, 1_280_000), rel=0.1)
    assert made == [256, 256, 1024, 4000, 8000]


def test_a_small_plan_is_not_tried_out() -> None:
    assert 0 < seconds_of_plan(1000, 20_000, True, lambda *_: pytest.fail("a small plan was tried out")) < 2.5


def test_a_policy_of_named_nodes_leaves_the_time_unsaid() -> None:
    def refuse(nodes: int, edges: int) -> None:
        raise BadInput("no such node")

    assert seconds_of_plan(64_000, 1_280_000, True, refuse) == 0


def test_a_run_is_told_by_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("edges", "triangles")
    for trust in ("position", "user"):
        usual = work_of_run(Run(WORLD, trust, asked)).usual_seconds
        assert seconds_of_run(WORLD, trust, asked) == usual
    seen: list[Run] = []
    monkeypatch.setattr(planner, "is_large", lambda _: True)
    monkeypatch.setattr(planner, "forecast", lambda run, closely: seen.append(run) or Forecast(60.0, 90.0))
    assert seconds_of_run(WORLD, "position", asked, Subsample(work=0.1)) == 150
    assert seen[0].work == 0.1
    assert math.isnan(seconds_of_run(WORLD, "position", asked, subsample("0.1")))
    assert math.isnan(seconds_of_run(WORLD, "neighbourhood", ["edges"]))


def test_the_table_of_costs_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "visibility_aware_edge_ldp.evaluation.plan.planner.seconds_of_run",
        lambda world, trust, names, without: {"position": 700.0, "user": 0.2}.get(trust, math.nan),
    )
    made = plan(300, 2000, statistics="edges", epsilons=[1], trust=["position", "user", "curator"])
    head, rows = summary.cost_table(made)
    assert head[-1] == "a run here"
    assert [row[-1] for row in rows] == ["about 12 minutes", "below 1 s", "-"]
    assert [each["seconds"] for each in made.as_dict()["costs"]] == [700.0, 0.2, None]


@pytest.mark.parametrize("options", [(), ("--more-public",)], ids=["plain", "more public"])
def test_the_command_says_how_long_it_will_take(options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of an eighth of the edges is made, and said to take three seconds: this machine's clock has no say."""

    def taken(make: planner.Make, nodes: int, edges: int, size: int) -> float:
        make(size, planner._edges(nodes, edges, size))
        return 3.0

    monkeypatch.setattr(planner, "_taken", taken)
    monkeypatch.setattr(planner, "USUAL_EDGES", 1.0)
    monkeypatch.setattr(planner, "FEW", (40,))
    monkeypatch.setattr("visibility_aware_edge_ldp.simulation.runtime_forecast.LONG", 0.0)
    asked = [
        "plan",
        "--nodes",
        "320",
        "--edges",
        "1500",
        "--statistic",
        "edges",
        "--epsilons",
        "1",
        "--trust",
        "position",
    ]
    found = CliRunner().invoke(app, [*asked, *options])
    assert found.exit_code == 0, found.output
    assert "of memory (" in found.stderr
    assert "and about 24 s." in found.stderr
