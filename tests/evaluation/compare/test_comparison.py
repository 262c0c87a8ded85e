"""Comparisons over all trust models: equal loss, fresh noise, every core, and nothing lost when stopped."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.comparisons import GRAPH, POLICY, small
from visibility_aware_edge_ldp.errors import BadStatistic
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
from visibility_aware_edge_ldp.simulation.curator import ask_within, survey_for
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


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
    """The broken twin: a survey with all of epsilon for each question costs five times as much."""
    asked = questions_for(tuple(TRUSTS), None, 40)["curator"]
    assert Bill(survey_for(small().worlds[AWARE], 1, 0, asked).releases)[Visibility.PRIVATE].epsilon == 5
    assert estimate(small().worlds[AWARE], "curator", 1, asked).bill[Visibility.PRIVATE].epsilon == 1


def test_what_is_all_public_is_exact_without_a_centre_too() -> None:
    found = compare(GRAPH, VisibilityPolicy(1), (1,), 1, ("edges", "triangles"), trust="all", seed=1)
    assert all(row.mean_relative_error == 0 for row in found.aware)


def test_groups_are_compared_cell_by_cell(tmp_path: Path) -> None:
    """Both trust models under both policies; a comparison that was kept has the same matrices."""
    graph = erdos_renyi(40, 200, 1)
    groups = {node: f"{int(node) % 2}" for node in graph.names}
    run = partial(compare, graph, "profiles:0.5", [1, 4], 2, seed=1, folder=tmp_path)
    asked = {"statistics": "mixing,contacts,triangles_by_group", "trust": "position,user", "groups": groups}
    found = run(**asked)
    assert [(each.trust, each.policy, each.statistic) for each in found.matrices] == [
        (trust, policy, name)
        for trust in ("position", "user")
        for policy in (AWARE, UNIFORM)
        for name in ("mixing", "contacts")
    ]
    first = found.matrices[0]
    assert first.epsilon == 1
    assert first.drawn.pairs == (("0", "0"), ("0", "1"), ("1", "1"))
    assert sum(first.truth) == 200
    assert all(
        low <= value <= high
        for low, value, high in zip(first.drawn.lows, first.drawn.values, first.drawn.highs, strict=True)
    )
    assert {row.trust for row in found.aware if row.statistic == "triangles_by_group"} == {"position"}
    assert run(**asked).matrices == found.matrices
    others = run(trust="user", statistics="mixing,contacts", groups=dict.fromkeys(graph.names, "all"))
    assert others.matrices[0].truth == (200.0,)  # trials of other groups are not taken
    with pytest.raises(BadStatistic, match="about public groups"):
        run(trust="user", statistics="mixing")
