"""Plans: rows, targets, costs, and what is said where nothing can be predicted."""

from __future__ import annotations

import json

import pytest

import visibility_aware_edge_ldp as package
from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter
from visibility_aware_edge_ldp.evaluation.plan.planner import Plan, plan
from visibility_aware_edge_ldp.evaluation.plan.summary import answer
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)


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


def test_consent_of_both_ends_has_a_price(made: Plan) -> None:
    """Of a share q of people, about q² of the edges and q³ of the triangles are left, and errors grow."""
    less = plan(family=GRAPH, epsilons=[1], trust=["position"], statistics=["edges", "triangles"], consent_share=0.7)
    assert "both ends consented" in str(less)
    assert 0.3 < less.inside["edges"] < 0.7
    assert 0.15 < less.inside["triangles"] < less.inside["edges"]
    for name in ("edges", "triangles"):
        before, after = made.row("position", name, 1), less.row("position", name, 1)
        assert after.standard_error < before.standard_error, "fewer positions are asked"
        assert after.error > before.error, "of less"
    with pytest.raises(BadPrivacyParameter, match="share of people who consent"):
        plan(family=GRAPH, consent_share=2)
