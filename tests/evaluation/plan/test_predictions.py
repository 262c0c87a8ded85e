"""Predicted errors: those of many runs, notes where they cannot be known, and 0 where all is public."""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.evaluation.plan.planner import plan
from visibility_aware_edge_ldp.evaluation.plan.predictions import PREDICTIONS, only_noise
from visibility_aware_edge_ldp.evaluation.trials import evaluate
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)


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


def test_every_trust_model_is_predicted() -> None:
    assert PREDICTIONS.keys() == TRUSTS.keys()
    assert all(PREDICTIONS[name].trust is trust for name, trust in TRUSTS.items())


def test_a_plan_has_rows_for_what_a_model_answers() -> None:
    names = ("edges", "triangles", "tail:3", "stars:2")
    rows = {trust: [name for name in names if model.offers(name)] for trust, model in PREDICTIONS.items()}
    assert rows["user"] == rows["position"] == list(names)
    assert rows["neighbourhood"] == ["triangles"]
    assert rows["curator"] == ["edges", "triangles", "stars:2"]


def test_a_scope_without_a_hidden_position_needs_no_prediction() -> None:
    """PRIVATE is a class of the policy, and none of its positions lies inside."""
    policy = VisibilityPolicy.from_profiles({"c": "public"}, rule="any")
    world = VisibilityAwareGraph([("a", "b"), ("b", "c"), ("c", "d")], policy)
    assert only_noise(world.inside("public"), "user", 1, None) == []
