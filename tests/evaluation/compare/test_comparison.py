"""Comparisons over all trust models: equal loss, fresh noise, every core, and nothing lost when stopped."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from support.comparisons import GRAPH, POLICY, small
from visibility_aware_edge_ldp.evaluation.compare import runner
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.compare.design import (
    UNIFORM,
    Cell,
    designed,
    questions_for,
)
from visibility_aware_edge_ldp.evaluation.results import AWARE
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.curator import ask_within
from visibility_aware_edge_ldp.simulation.estimate import estimate


def test_every_model_under_both_policies_at_every_epsilon() -> None:
    found = compare(GRAPH, POLICY, (1, 2), 1, trust="all", seed=1)
    assert found.models == list(TRUSTS)
    assert len(found.aware) == 2 * (7 + 6 + 1 + 5)
    assert [(r.trust, r.epsilon, r.statistic) for r in found.aware] == [
        (r.trust, r.epsilon, r.statistic) for r in found.uniform
    ]
    assert found.aware.row(2, "triangles", "curator").trust == "curator"
    assert found.aware.row(2, "triangles").trust == "position"
    assert len(found.notes) == 4


@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", 0), ("4", "1e-3")])
def test_no_model_loses_more_than_epsilon_per_edge(
    epsilon: str, delta: str | int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bills: dict[str, Bill] = {}

    def watched_centre(*given: Any, **more: Any) -> Any:
        answers, surveys = ask_within(*given, **more)
        bills["curator"] = Bill([release for survey in surveys for release in survey.releases])
        return answers, surveys

    def watched(world: VisibilityAwareGraph, trust: str, *given: Any, **more: Any) -> Any:
        answers = estimate(world, trust, *given, **more)
        bills[trust] = answers.bill
        return answers

    monkeypatch.setattr(runner, "ask_within", watched_centre)
    monkeypatch.setattr(runner, "estimate", watched)
    design = designed(GRAPH, POLICY, [epsilon], 1, None, "all", 1, {"delta": delta})
    for policy in (AWARE, UNIFORM):
        bills.clear()
        for trust in TRUSTS:
            runner.run_cell(design, Cell(trust, policy, Fraction(epsilon), 1))
        assert bills.keys() == set(TRUSTS)
        for trust, bill in bills.items():
            loss = bill[Visibility.PRIVATE]
            assert Fraction(epsilon) * Fraction(9, 10) <= loss.epsilon <= Fraction(epsilon), trust
            assert loss.delta <= Fraction(delta), trust
            friends = bill.get(Visibility.FRIEND_VISIBLE)
            assert friends is None or friends.epsilon <= 2 * Fraction(epsilon), trust


def test_a_centre_that_pays_for_each_question_would_be_caught() -> None:
    """The broken twin: what ``estimate`` does costs five times as much."""
    bill = estimate(small().worlds[AWARE], "curator", 1, questions_for(tuple(TRUSTS), None, 40)["curator"]).bill
    assert bill[Visibility.PRIVATE].epsilon == 5


def test_what_is_all_public_is_exact_without_a_centre_too() -> None:
    found = compare(GRAPH, VisibilityPolicy(1), (1,), 1, ("edges", "triangles"), trust="all", seed=1)
    assert all(row.mean_relative_error == 0 for row in found.aware)
