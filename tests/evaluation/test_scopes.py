"""Plans and comparisons know scopes: what is asked, what lies inside, and what each lever does."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.cli import app
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.compare.design import designed
from visibility_aware_edge_ldp.evaluation.gains import LEVERS, Split, levers
from visibility_aware_edge_ldp.evaluation.plan.planner import plan
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

N = 300
GRAPH = powerlaw(N, 3000, seed=3)
HUBS = {name: name in set(GRAPH.degrees.argsort()[-6:].tolist()) for name in range(N)}
INSIDE = VisibilityAwareGraph(GRAPH, VisibilityPolicy.from_profiles(HUBS, "any")).inside("lists")


def test_levers_lead_from_public_positions_to_the_policy() -> None:
    steps = levers(INSIDE.policy)
    assert tuple(steps) == LEVERS
    assert steps["classes"] is INSIDE.policy
    assert steps["public positions"].scope is None
    assert steps["scope"].scope is INSIDE.policy.scope
    assert steps["scope"].multiplier(Visibility.FRIEND_VISIBLE) == 1
    assert levers(INSIDE.policy.without_scope) == {}


def test_factors_multiply_to_the_whole_gain() -> None:
    split = Split("position", "triangles", 1.0, ((UNIFORM, 0.6), ("public positions", 0.5), ("scope", 0.1)))
    assert split.factors == pytest.approx({"public positions": 1.2, "scope": 5.0})
    assert math.prod(split.factors.values()) == pytest.approx(6)
    assert split.texts() == ("position", "1", "triangles", "1.20×", "5.00×")


@pytest.mark.long
def test_a_plan_in_a_scope_predicts_what_runs_find() -> None:
    found = plan(family=GRAPH, policy=INSIDE.policy.without_scope, scope="lists", epsilons=[2], trust=["position"])
    private = INSIDE.public.class_sizes[Visibility.PRIVATE]
    assert 1 - found.public_share == pytest.approx(private / INSIDE.public.positions)
    for name in ("edges", "triangles"):
        inside = exact(INSIDE.graph, name)
        assert found.inside[name] == pytest.approx(inside / exact(GRAPH, name))
        assert found.row("position", name, 2).value == inside
    runs = compare(GRAPH, INSIDE.policy, [2], 25, ["edges", "triangles"], seed=2)
    for row in runs.aware:
        assert found.row("position", row.statistic, 2).likely_relative_error == pytest.approx(row.error, rel=0.15)
    (split,) = found.splits
    assert split.factors["scope"] > 1.5
    assert split.factors["classes"] == pytest.approx(1)
    (measured,) = (each for each in runs.splits if each.statistic == split.statistic)
    assert math.prod(split.factors.values()) == pytest.approx(math.prod(measured.factors.values()), rel=0.25)


def test_a_comparison_in_a_scope_says_what_is_inside_and_splits_the_gain() -> None:
    found = compare(GRAPH, INSIDE.policy, [1], 3, ["edges", "triangles"], seed=1)
    assert [each.statistic for each in found.splits] == [row.statistic for row in found.aware]
    for split, gain in zip(found.splits, found.gains, strict=True):
        assert tuple(split.factors) == LEVERS
        assert math.prod(split.factors.values()) == pytest.approx(gain.factor)
        assert split.factors["classes"] == 1
    told = json.loads(json.dumps(found.as_dict()))["scope"]
    assert told["positions_asked"] == pytest.approx(found.asked) != 1
    assert told["part_inside"] == pytest.approx(found.inside)
    assert "of triangles" in found.scope_words[0]


def test_without_a_scope_nothing_is_split() -> None:
    design = designed(GRAPH, INSIDE.policy.without_scope, [1], 2, ["edges"], "position")
    assert set(design.policies) == {AWARE, UNIFORM}
    found = compare(GRAPH, INSIDE.policy.without_scope, [1], 2, ["edges"], seed=1)
    assert not found.splits
    assert not found.scope_words
    assert "scope" not in found.as_dict()


def test_classes_are_a_lever_where_there_are_some() -> None:
    policy = VisibilityPolicy("0.2", "0.4", "0.4").within(INSIDE.policy.scope)
    design = designed(GRAPH, policy, [1], 2, ["edges"], "position")
    assert set(design.policies) == {AWARE, UNIFORM, "public positions", "scope"}
    (split,) = compare(GRAPH, policy, [1], 2, ["edges"], seed=1).splits
    assert split.factors["classes"] > 1.1


def test_a_plan_counts_the_cost_of_what_is_asked_alone() -> None:
    asked = {"family": GRAPH, "epsilons": [1], "statistics": ["triangles"], "trust": ["position", "user"]}
    whole, inside = (
        {cost.trust: cost for cost in plan(policy=policy, **asked).costs}
        for policy in (INSIDE.policy.without_scope, INSIDE.policy)
    )
    sizes = INSIDE.public.class_sizes
    private = sizes[Visibility.PRIVATE] + sizes[Visibility.FRIEND_VISIBLE]
    for trust in ("position", "user"):
        assert inside[trust].words == pytest.approx(whole[trust].words * private / INSIDE.public.positions, rel=1e-3)
        assert inside[trust].reporters <= whole[trust].reporters
    heard = 2 * (INSIDE.public.positions // 8 + 1)  # who answered, and what: one bit each for every position
    question = whole["user"].bytes_down - heard
    assert inside["user"].bytes_down - question == pytest.approx((N + private) / 8, abs=3)


def test_both_commands_take_a_scope(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = tmp_path / "people.csv"
    names.write_text("id,half\n" + "".join(f"{name},{name % 2}\n" for name in range(N)))
    edges = tmp_path / "edges.csv"
    edges.write_text("".join(f"{u},{v}\n" for u, v in GRAPH.edges.tolist()))
    scope = ["--scope", "group:half", "--attributes", str(names), "--trust", "position"]
    asked = ["plan", "--graph", str(edges), *scope, "--statistic", "edges", "--epsilons", "1"]
    app(asked, standalone_mode=False)
    assert "The scope asks" in capsys.readouterr().out
    app(
        ["compare", str(edges), *scope, "--statistics", "edges", "--epsilons", "1", "--trials", "2", "--cores", "1"],
        standalone_mode=False,
    )
    shown = capsys.readouterr().out
    assert "What the gain is made of" in shown
    assert "The scope asks" in shown
