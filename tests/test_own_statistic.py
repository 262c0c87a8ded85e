"""CONTRIBUTING's "Add a statistic", followed to the letter by a program outside the package.

The toy: the mean degree, 2m/n. All that it needs is one registered value: its exact count, an estimator for each kind
of reports that tell it, and a prediction for the planner. No report changes for it, so it costs nothing beside what its
reports cost, and no audit is due: whatever is made of randomized reports alone is post-processing.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.aggregator.collection import Collection
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.audit.catalogue import STAGES
from visibility_aware_edge_ldp.cli import app
from visibility_aware_edge_ldp.counts.exact import Graph
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.evaluation.compare import runner
from visibility_aware_edge_ldp.evaluation.compare.design import designed
from visibility_aware_edge_ldp.public import protocol, statistic
from visibility_aware_edge_ldp.public.statistic import EDGES, Statistic, register
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

NAME = "mean_friends"
WORLD = va.VisibilityAwareGraph(erdos_renyi(60, 240, 1), va.VisibilityPolicy.nothing())
TRUTH = 8.0

# 1. The exact count, from a graph.


def exact(graph: Graph) -> float:
    return 2 * len(graph.edges) / graph.n


# 2. From what a collection has prepared to an estimate: here both times from the estimated number of edges.


def scaled(collection: type[Collection[Any, Any]], given: Any, asked: Statistic) -> Estimate:
    edges = collection.estimators[EDGES.name](given, EDGES)
    factor = 2 / given.collection.view.n
    return replace(edges, statistic=asked.name, value=factor * edges.value, variance=factor**2 * edges.variance)


def from_scores(given: Any, asked: Statistic) -> Estimate:
    return scaled(PositionCollection, given, asked)


def from_degrees(given: Any, asked: Statistic) -> Estimate:
    return scaled(DegreeCollection, given, asked)


# 3. The planner's standard error, from that of other statistics.


def predicted(question: Any, standard_error: Callable[[str], float]) -> float:
    return 2 * standard_error(EDGES.name) / question.moments.n


# 4. One value with all of it.

MEAN_DEGREE = Statistic(
    NAME,
    "mean degree",
    "how many friends participants have on average",
    exact,
    article=True,
    estimators={"position": from_scores, "sample": from_scores, "degrees": from_degrees},
    predictions={"position": predicted, "degrees": predicted},
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The statistic is known within a test, and unknown after it."""
    before = dict(statistic.STATISTICS)
    register(MEAN_DEGREE)
    yield
    statistic.STATISTICS.clear()
    statistic.STATISTICS.update(before)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(BadStatistic, match="is there already"):
        register(MEAN_DEGREE)


@pytest.mark.parametrize("trust", ["position", "user"])
@pytest.mark.parametrize("beside", [(), ("edges",), ("triangles",), ("edges", "triangles", "transitivity")])
def test_it_is_estimated_from_the_same_reports_at_no_further_loss(trust: str, beside: tuple[str, ...]) -> None:
    answers = va.estimate(WORLD, trust, 4, (*beside, NAME), seed=1)
    edges = va.estimate(WORLD, trust, 4, tuple(dict.fromkeys((*beside, "edges"))), seed=1)
    assert answers[NAME].value == pytest.approx(2 * float(edges["edges"].value) / 60)
    assert answers[NAME].standard_error == pytest.approx(2 * float(edges["edges"].standard_error) / 60)
    # Post-processing: the bill is that of the reports, with or without it, and the audit of their protocol is enough.
    assert answers.bill == edges.bill
    low, high = answers[NAME].interval(0.9999)
    assert low <= TRUTH <= high
    assert "mean_friends" in str(answers)
    assert answers.as_dict()["estimates"][NAME]["value"] == answers[NAME].value


@pytest.mark.parametrize(
    "options", [{"sample_positions": 0.1}, {"sample_positions": 0.9}, {"rounds": 2}, {"dropout": 0.2}, {"work": 0.5}]
)
def test_it_goes_with_every_option_of_its_reports(options: dict[str, Any]) -> None:
    assert va.estimate(WORLD, "position", 4, [NAME], seed=1, **options)[NAME].standard_error > 0


@pytest.mark.parametrize("trust", ["neighbourhood", "curator"])
def test_a_model_without_an_estimator_says_who_has_one(trust: str) -> None:
    with pytest.raises(BadStatistic, match=f"{NAME} has no estimator in the {trust} model; use position or user"):
        va.estimate(WORLD, trust, 1, [NAME], seed=1)


def test_an_estimator_under_an_unknown_name_is_told_what_protocols_there_are() -> None:
    statistic.STATISTICS[NAME] = replace(MEAN_DEGREE, estimators={"degree": from_degrees})
    with pytest.raises(
        BadStatistic, match=r"no estimator in the user model; estimators are named by protocol: .*degrees"
    ):
        va.estimate(WORLD, "user", 1, [NAME], seed=1)


def test_protocols_and_trust_models_know_whose_reports_tell_it() -> None:
    assert {each.name for each in TRUSTS.values() if protocol.answers(each, NAME)} == {"position", "user"}
    assert {name for name, each in protocol.PROTOCOLS.items() if each.answers(NAME)} == {
        "position",
        "sample",
        "degrees",
    }


def test_no_audit_is_added_for_it() -> None:
    """An audit is of a protocol's reports, and statistics are made of reports that were audited."""
    stages = set(STAGES)
    va.estimate(WORLD, "user", 1, [NAME], seed=1)
    assert set(STAGES) == stages
    assert NAME not in stages


def test_evaluate_repeats_it() -> None:
    found = va.evaluate(WORLD, "user", [4], trials=3, statistics=[NAME], seed=1)
    assert [(row.statistic, row.truth) for row in found] == [(NAME, TRUTH)]


def test_compare_writes_its_table_its_page_and_its_json(tmp_path: Path) -> None:
    words = [
        "compare",
        "random:30,60",
        "--epsilons",
        "2",
        "--trials",
        "2",
        "--seed",
        "3",
        "--statistics",
        f"edges,{NAME}",
    ]
    done = CliRunner().invoke(app, [*words, "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    rows = [line for line in done.output.splitlines() if NAME in line and line.startswith(" ") and "×" in line]
    assert len(rows) == 2  # of the position and the user model
    (page,) = tmp_path.glob("*.html")
    assert "mean degree" in page.read_text(encoding="utf-8")
    said = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert {row["statistic"] for row in said["uniform"]} == {"edges", NAME}
    assert {row["trust"] for row in said["uniform"] if row["statistic"] == NAME} == {"position", "user"}


def test_other_processes_are_told_of_it_where_its_functions_can_be_sent() -> None:
    design = designed(WORLD.graph, WORLD.policy, [1], 2, [NAME, "edges"], "user", seed=1)
    assert design.own_statistics == (MEAN_DEGREE,)
    sent = pickle.loads(pickle.dumps(design.own_statistics))
    del statistic.STATISTICS[NAME]
    runner.STATISTICS.update({each.name: each for each in sent})
    assert runner.run_cell(design, design.cells[0]).found[NAME].value > 0
    assert not runner._can_be_sent([replace(MEAN_DEGREE, exact=lambda graph: 8.0)])


def test_a_plan_predicts_its_error_and_what_it_costs() -> None:
    plan = va.plan(family=WORLD.graph, statistics=["edges", NAME], epsilons=[2], target_error=0.1)
    for trust in ("position", "user"):
        row, edges = plan.row(trust, NAME, 2), plan.row(trust, "edges", 2)
        assert row.value == TRUTH
        assert row.standard_error == pytest.approx(2 * edges.standard_error / 60)
        assert row.mean_relative_error == pytest.approx(edges.mean_relative_error)
    assert {row.trust for row in plan.predictions if row.statistic == NAME} == {"position", "user"}
    (target,) = (each for each in plan.targets if each.statistic == NAME)
    assert set(target.epsilons) == {"position", "user"}
    assert NAME in str(plan)
    assert json.dumps(plan.as_dict())


def test_without_a_prediction_a_plan_says_that_there_is_none() -> None:
    statistic.STATISTICS[NAME] = replace(MEAN_DEGREE, predictions={})
    row = va.plan(family=WORLD.graph, statistics=[NAME], epsilons=[2]).row("position", NAME, 2)
    assert "no closed form" in row.note


def test_predictions_are_as_good_as_its_standard_errors() -> None:
    plan = va.plan(family=WORLD.graph, statistics=[NAME], epsilons=[2])
    for trust in ("position", "user"):
        found = va.estimate(WORLD, trust, 2, [NAME], seed=1)[NAME]
        assert plan.row(trust, NAME, 2).standard_error == pytest.approx(float(found.standard_error), rel=0.1)


def test_reports_that_nobody_asks_for_are_named() -> None:
    statistic.STATISTICS[NAME] = replace(MEAN_DEGREE, estimators={"histogram": from_degrees})
    with pytest.raises(BadStatistic, match="takes reports that `estimate` does not ask for"):
        va.estimate(WORLD, "user", 1, [NAME], seed=1)
