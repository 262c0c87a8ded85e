"""Plans: rows, targets, costs, and what is said where nothing can be predicted."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import visibility_aware_edge_ldp.evaluation.plan as package
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.plan.by_others import mean_size
from visibility_aware_edge_ldp.evaluation.plan.planner import Plan, plan
from visibility_aware_edge_ldp.evaluation.plan.predicted import Prediction, predictions
from visibility_aware_edge_ldp.evaluation.plan.publicity import POLICIES
from visibility_aware_edge_ldp.evaluation.plan.words import answer
from visibility_aware_edge_ldp.evaluation.trials import evaluate
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)
HUBS = VisibilityPolicy.public_profiles("0.4")


@pytest.fixture(scope="module")
def made() -> Plan:
    return plan(family=GRAPH, epsilons=[1, "2"], target_error=0.05)


def test_a_plan_prints_and_becomes_json(made: Plan) -> None:
    assert package.plan is plan
    content = json.loads(json.dumps(made.as_dict(), allow_nan=False))
    assert content["assumed"]["nodes"] == 200
    assert {row["trust"] for row in content["predictions"]} == {"position", "user", "neighbourhood", "curator"}
    assert content["answer"] == answer(made)
    text = str(made)
    assert "every position is PRIVATE" in text
    assert text.splitlines()[: len(answer(made))] == answer(made)
    with pytest.raises(BadInput, match="no row"):
        made.row("neighbourhood", "edges", 1)


@pytest.mark.parametrize("trust", ["position", "user", "neighbourhood", "curator"])
def test_errors_fall_with_epsilon_and_are_above_the_least(made: Plan, trust: str) -> None:
    for statistic in {row.statistic for row in made.predictions if row.trust == trust}:
        one, two = (made.row(trust, statistic, epsilon) for epsilon in (1, 2))
        assert two.standard_error < one.standard_error
        assert not one.standard_error < one.least * (1 - 1e-9)


@pytest.mark.parametrize("trust", ["position", "user"])
def test_mean_errors_are_those_of_many_runs(trust: str) -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy("0.3"))
    names = ["edges", "stars:2"]
    found = evaluate(world, trust, epsilons=[1], trials=40, statistics=names, seed=f"{trust} 1")
    predicted = plan(family=GRAPH, policy=VisibilityPolicy("0.3"), epsilons=[1], statistics=names, trust=[trust])
    for name in names:
        row = found.row(1, name)
        assert predicted.row(trust, name, 1).mean_relative_error == pytest.approx(
            row.mean_relative_error, abs=3 * row.error_uncertainty
        )


@pytest.mark.parametrize("policy", ["users", "hubs"])
def test_the_neighbourhood_knows_its_noise(policy: str) -> None:
    world = VisibilityAwareGraph(GRAPH, HUBS if policy == "hubs" else VisibilityPolicy.nothing())
    row = plan(family=GRAPH, policy=world.policy, epsilons=[2], statistics="triangles", trust=["neighbourhood"])
    errors = [estimate(world, "neighbourhood", 2, ["triangles"], seed=i)["triangles"].standard_error for i in range(3)]
    assert row.predictions[0].standard_error == pytest.approx(float(np.mean(errors)), rel=0.05)


def size(row: Prediction) -> float:
    return row.mean_relative_error if row.holds else row.standard_error / row.value


def test_the_smallest_epsilon_is_just_enough(made: Plan) -> None:
    for target in made.targets:
        for trust, epsilon in target.epsilons.items():
            if epsilon is not None and epsilon > 0.02:
                names = ["edges", "degrees", "stars:2", "stars:3", "triangles", "transitivity"]
                at, below = (
                    predictions(
                        made._moments, trust, Fraction(e).limit_denominator(1000), names, shown=[target.statistic]
                    )
                    for e in (epsilon, epsilon * 0.95)
                )
                assert size(at[0]) <= 0.05
                assert size(below[0]) > 0.05
    edges = made.targets[0]
    assert edges.least_epsilon == "user"
    assert edges.least_trust is not None


def test_notes_in_place_of_false_figures() -> None:
    noisy = plan(family=GRAPH, epsilons=["0.1"], statistics="triangles,max_degree", trust=["position"])
    assert math.isnan(noisy.row("position", "triangles", "0.1").mean_relative_error)
    assert "mostly noise" in noisy.row("position", "triangles", "0.1").note
    assert "simulate" in noisy.row("position", "max_degree", "0.1").note
    quiet = plan(family=GRAPH, epsilons=[8], statistics="edges", trust=["position"])
    assert "answers will be wrong" in quiet.row("position", "edges", 8).note
    empty = plan(10, 3, epsilons=[4], statistics="four_cycles", trust=["position"])
    assert "has none" in empty.row("position", "four_cycles", 4).note


def test_everything_public_is_exact() -> None:
    found = plan(family=GRAPH, policy=VisibilityPolicy(1), epsilons=[1], statistics="edges,triangles")
    assert all(row.standard_error == 0 for row in found.predictions)


def test_more_public_profiles_help(made: Plan) -> None:
    rows = made.more_public("triangles", 2, trust=["position"])
    by_what = {row.public: row.relative_standard_error for row in rows}
    assert len(by_what) == POLICIES
    assert by_what["50% of the profiles"] < by_what["10% of the profiles"] < by_what["nothing"]
    assert by_what["the largest 10% of the profiles"] < by_what["10% of the profiles"]
    # Noise comes from places without an edge: telling true edges alone helps far less.
    assert by_what["50% of all positions"] < by_what["50% of the true edges"] < by_what["nothing"]


def test_costs(made: Plan) -> None:
    position, user, neighbourhood, curator = made.costs
    assert position.bytes_up >= 199 // 16
    assert user.bytes_down > 200 * 199 // 8
    assert curator.reporters == 1
    assert neighbourhood.reporters == 200
    assert "bytes" in str(user)


def test_what_is_refused() -> None:
    with pytest.raises(BadInput, match="target error"):
        plan(20, 40, target_error=5)
    with pytest.raises(BadInput, match="trust model"):
        plan(20, 40, trust=["positon"])


def test_the_mean_size_of_power_noise() -> None:
    noise = SmoothPower(Fraction(1), Fraction(1, 6))
    z = np.linspace(0, 400, 400_001)
    assert mean_size(noise) == pytest.approx(2 * float(np.trapezoid(noise._tail(z), z)), rel=1e-3)


def test_a_centre_gives_everything_to_one_question_and_shares_it_among_several() -> None:
    alone = plan(family=GRAPH, epsilons=[1], statistics="edges", trust=["curator"])
    shared = plan(family=GRAPH, epsilons=[1], statistics="edges,triangles,stars:2", trust=["curator"])
    one, several = (each.row("curator", "edges", 1).standard_error for each in (alone, shared))
    assert one == pytest.approx(2**0.5, rel=0.1)
    assert several > 1 / 0.9 * one
