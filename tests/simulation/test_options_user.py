"""USER as it is asked for: what is spent on what, what the certificate says, and that 4-cycles and ratios are right."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.rows import cycles
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic
from visibility_aware_edge_ldp.evaluation.trials import evaluate
from visibility_aware_edge_ldp.model import Visibility, VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.rows import row_surveys
from visibility_aware_edge_ldp.public.trust import USER
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.options import plan_for
from visibility_aware_edge_ldp.simulation.rows import collect_rows
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

MIXED = VisibilityPolicy("0.15", "0.35", "0.5")


@pytest.fixture(scope="module")
def world() -> VisibilityAwareGraph:
    return VisibilityAwareGraph(powerlaw(60, 300, seed=5), VisibilityPolicy.nothing())


@pytest.mark.parametrize(
    "statistics",
    [
        ("edges",),
        ("triangles",),
        ("four_cycles",),
        ("transitivity",),
        ("tail:3", "triangles", "four_cycles"),
        USER.defaults,
    ],
)
@pytest.mark.parametrize(
    "policy", [VisibilityPolicy.nothing(), MIXED.guarded(friend_visible=3)], ids=["private", "mixed"]
)
def test_everything_together_costs_what_was_asked(statistics: tuple[str, ...], policy: VisibilityPolicy) -> None:
    world = VisibilityAwareGraph(powerlaw(30, 110, seed=5), policy)
    answers = estimate(world, "user", "0.7", statistics, seed=1)
    assert tuple(answers) == statistics
    for bill in (answers.bill, answers.certificate.bill):
        assert bill["PRIVATE"].epsilon == Fraction("0.7")
        assert bill["FRIEND_VISIBLE"].epsilon == Fraction("0.7") * policy.multiplier(Visibility.FRIEND_VISIBLE)
    assert sum(answers.certificate.spent.values()) == pytest.approx(0.7)


def test_one_question_gets_all_of_epsilon() -> None:
    assert plan_for(("edges", "stars:2"), 1, 100).degree_epsilon == 1
    assert plan_for(("triangles",), 1, 100).row_epsilon == 1
    both = plan_for(("edges", "triangles"), 1, 100)
    assert both.degree_epsilon + both.row_epsilon == 1
    assert min(both.degree_epsilon, both.row_epsilon) > 0


def test_the_loss_per_list_is_printed_too(world: VisibilityAwareGraph) -> None:
    degrees = estimate(world, "user", 1, ["edges"], seed=1).certificate
    assert degrees.per_list["PRIVATE"].epsilon == Fraction(1, 2)
    assert "one entry of that user's list" in str(degrees)
    assert "PRIVATE ε = 0.5." in str(degrees)
    rows = estimate(world, "user", 1, ["triangles"], seed=1).certificate
    assert rows.per_list["PRIVATE"].epsilon == 1


def renumbered(graph: Graph, seed: int) -> Graph:
    """The same graph, numbered without regard to friendship."""
    ends = np.sort(np.random.default_rng(seed).permutation(graph.n)[graph.edges], axis=1)
    return Graph(range(graph.n), ends[np.lexsort((ends[:, 1], ends[:, 0]))].astype(np.int32))


@pytest.mark.long
@pytest.mark.parametrize("dropout", [0.0, 0.3], ids=["everybody", "30 % stay away"])
@pytest.mark.parametrize("policy", [VisibilityPolicy.nothing(), MIXED], ids=["private", "mixed"])
def test_4_cycles_in_two_rounds_are_unbiased_and_covered(policy: VisibilityPolicy, dropout: float) -> None:
    """[CYCLE.1-2]"""
    world = VisibilityAwareGraph(renumbered(powerlaw(100, 900, seed=3), 1), policy)
    surveys, truth = row_surveys(world.public, 8, ["four_cycles"]), exact(world.graph, "four_cycles")
    found = [cycles(collect_rows(world, surveys, seed, dropout)["four_cycles"]) for seed in range(200)]
    values, errors = (np.array([getattr(one, name) for one in found]) for name in ("value", "standard_error"))
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(len(found))
    assert 0.93 <= np.mean([low <= truth <= high for low, high in (one.interval() for one in found)]) <= 0.97
    # The check can fail: intervals of half the length do not cover.
    assert np.mean(np.abs(values - truth) < 0.98 * errors) < 0.93


@pytest.mark.long
@pytest.mark.parametrize("dropout", [0.0, 0.3], ids=["everybody", "30 % stay away"])
@pytest.mark.parametrize("statistic", ["four_cycles", "transitivity"])
def test_4_cycles_and_transitivity_as_they_are_asked_for(statistic: str, dropout: float) -> None:
    world = VisibilityAwareGraph(renumbered(powerlaw(100, 900, seed=3), 1), MIXED)
    (row,) = evaluate(world, "user", [6], 400, [statistic], seed=4, dropout=dropout)
    bias = 0.02 if statistic == "transitivity" and dropout else 0.002
    assert abs(row.mean_estimate - row.truth) < 4 * row.standard_deviation / np.sqrt(row.trials) + bias * row.truth
    assert 0.93 <= row.coverage <= 0.97


def test_two_rounds_are_asked_for_where_they_pay() -> None:
    assert plan_for(("four_cycles",), 1, 4039).summed == ("four_cycles",)
    assert plan_for(("four_cycles",), 1, 300).summed == ()
    assert plan_for(("four_cycles", "triangles"), 4, 4039).summed == ("triangles",)
    assert plan_for(("four_cycles",), 1, 300, absent=True).summed == ("four_cycles",)


def test_everything_public_is_exact() -> None:
    world = VisibilityAwareGraph(powerlaw(30, 110, seed=5), VisibilityPolicy(1, 0, 0))
    answers = estimate(world, "user", 1, ["edges", "triangles", "four_cycles", "stars:2", "tail:4"], seed=1)
    for name, found in answers.items():
        assert found.value == pytest.approx(float(exact(world.graph, name)))
        assert found.standard_error == 0


def test_whole_degrees_have_a_promise_of_their_own(world: VisibilityAwareGraph) -> None:
    answers = estimate(world, "user", 1, ["degree_histogram"], hide="degree", seed=1)
    assert answers.bill["PRIVATE"].epsilon == 2
    assert "Promise too, per degree" in str(answers.certificate)
    assert answers.certificate.as_dict()["loss_OneDegree"] == 1
    assert np.sum(answers["degree_histogram"].value) == pytest.approx(world.graph.n)
    with pytest.raises(BadInput, match="alone"):
        estimate(world, "user", 1, ["edges"], hide="degree")
    with pytest.raises(BadInput, match="hide is"):
        estimate(world, "position", 1, ["edges"], hide="degree")


def test_tail_counts_are_the_users(world: VisibilityAwareGraph) -> None:
    found = estimate(world, "user", 20, ["tail:6"], seed=1)["tail:6"]
    assert found.value == pytest.approx(exact(world.graph, "tail:6"), abs=1)
    for trust in ("position", "curator", "neighbourhood"):
        with pytest.raises(BadStatistic, match="trust user"):
            estimate(world, trust, 1, ["tail:6"])
