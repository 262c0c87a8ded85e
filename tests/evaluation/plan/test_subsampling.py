"""Plans that leave something out: what is added, what is saved, and what a person reads.  [PLAN.13-14]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pytest
from typer.testing import CliRunner

from support.prediction_check import Checked, Verdict
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
from visibility_aware_edge_ldp.cli import app
from visibility_aware_edge_ldp.counts import group_triangles
from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter
from visibility_aware_edge_ldp.evaluation.plan import subsampling as strata_module
from visibility_aware_edge_ldp.evaluation.plan import summary
from visibility_aware_edge_ldp.evaluation.plan.base import Subsample, subsample
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import moments_of
from visibility_aware_edge_ldp.evaluation.plan.planner import Plan, plan
from visibility_aware_edge_ldp.evaluation.plan.predictions import PREDICTIONS, predictions
from visibility_aware_edge_ldp.evaluation.plan.subsampling import strata_of
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.surveys.sample import SampledReport, encode_sampled
from visibility_aware_edge_ldp.simulation.estimate import estimate as simulate
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

WORLD = VisibilityAwareGraph(powerlaw(2600, 20000, 4), VisibilityPolicy.nothing())


@cache
def sums() -> Moments:
    return moments_of(WORLD, cycles=True)


def predicted(statistic: str, without: Subsample) -> float:
    (row,) = predictions(sums(), "position", Fraction(2), [statistic], bounds=False, without=without)
    return row.standard_error


@pytest.mark.parametrize("statistic", ["triangles", "four_cycles"])
def test_a_part_of_the_counting_costs_what_runs_say(statistic: str) -> None:
    survey, share = position_survey(WORLD.public, 2), 0.3
    found = [estimate(collect(WORLD, survey, seed), [statistic], WorkBudget(share))[statistic] for seed in range(3)]
    claimed = np.mean([each.variance for each in found]) ** 0.5
    assert predicted(statistic, Subsample(work=share)) == pytest.approx(claimed, rel=0.2)
    assert predicted(statistic, Subsample(work=share)) > 1.15 * predicted(statistic, Subsample())


@pytest.mark.parametrize(("policy", "epsilon"), [("profiles:0.5", 1), ("profiles:0.5", 2), ("hubs:0.1", 1)])
def test_kinds_share_the_cost_as_runs_say(policy: str, epsilon: int) -> None:
    """Each run with a survey of its own, hence a shuffle of its own; judged as every other prediction is."""
    world, share = VisibilityAwareGraph(powerlaw(2600, 20000, 4), open_policy(policy)), 0.1
    found = []
    for trial in range(12):
        survey = position_survey(world.public, epsilon + Fraction(trial, 10**6))
        found.append(estimate(collect(world, survey, trial), ["triangles"], WorkBudget(share))["triangles"])
    row, whole = (
        predictions(moments, "position", Fraction(epsilon), ["triangles"], bounds=False, without=without)[0]
        for moments in [moments_of(world)]
        for without in (Subsample(work=share), Subsample())
    )
    errors = np.array([each.value for each in found]) - exact(world.graph, "triangles")
    # Few triangles beside the noise, and still the standard error is what it is.
    checked = Checked(replace(row, mean_relative_error=0.0), errors, np.array([each.variance for each in found]))
    assert checked.verdict in (Verdict.WITHIN, Verdict.PERHAPS), (checked.by_claims, checked.by_errors)
    assert checked.by_claims is not None
    assert checked.by_claims.uncertainty < 0.15
    assert row.standard_error > 1.1 * whole.standard_error


@pytest.mark.parametrize("policy", ["nothing", "profiles:0.4", "hubs:0.1"])
def test_strata_are_those_of_the_count(policy: str) -> None:
    world = VisibilityAwareGraph(powerlaw(2600, 20000, 4), open_policy(policy))
    scores = collect(world, position_survey(world.public, 1), 1).group_scores()
    assert scores is not None
    blocks = group_triangles.Blocks(scores, group_triangles._cut(scores, group_triangles.MOST_BLOCKS))
    triples = np.array(list(combinations_with_replacement(range(len(blocks.groups)), 3)))
    counted, strata = group_triangles._strata(blocks, triples), strata_of(world)
    assert sorted(map(len, counted)) == sorted(strata.sizes.tolist())
    assert strata.nodes.sum() == pytest.approx(comb(2600, 3))
    drawn = [len(group_triangles._drawn(size, 0.3, "a coin")) for size in strata.sizes.tolist()]
    np.testing.assert_allclose(strata.more(0.3), strata.sizes / drawn - 1)
    assert strata.edges[np.triu_indices(len(strata.counts))].sum() == world.graph.m
    two_stars = exact(world.graph, "stars:2")
    assert strata.paths[np.triu_indices(len(strata.counts))].sum() == pytest.approx(two_stars)


def test_thinned_triangles_tell_the_same_unevenness(monkeypatch: pytest.MonkeyPatch) -> None:
    strata_of.cache_clear()
    whole = strata_of(WORLD).uneven
    monkeypatch.setattr(strata_module, "SOME_TRIANGLES", 1000)
    strata_of.cache_clear()
    assert strata_of(WORLD).uneven.sum() == pytest.approx(whole.sum(), rel=0.25)


@pytest.mark.parametrize("statistic", ["edges", "stars:2", "triangles"])
def test_a_sample_costs_what_runs_say(statistic: str) -> None:
    found = simulate(WORLD, "position", 2, [statistic], sample_positions="0.1", seed=1)[statistic]
    assert predicted(statistic, subsample("0.1")) == pytest.approx(found.standard_error, rel=0.1)


def test_all_of_it_changes_nothing() -> None:
    for statistic in ("edges", "triangles", "four_cycles"):
        assert predicted(statistic, subsample(1, 1)) == predicted(statistic, Subsample())


def test_few_nodes_are_counted_whole() -> None:
    small = VisibilityAwareGraph(powerlaw(300, 2000, 4), VisibilityPolicy.nothing())
    rows = [
        predictions(
            moments_of(small), "position", Fraction(1), ["triangles"], bounds=False, without=Subsample(work=work)
        )
        for work in (None, 0.1)
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        (("0.5", "0.5"), BadInput, "not both"),
        ((1, 0), BadInput, "above 0"),
        ((1, "2"), BadPrivacyParameter, "between 0 and 1"),
        (("0",), BadPrivacyParameter, "1e-6 to 1"),
    ],
)
def test_what_cannot_be_left_out_is_refused(options: tuple[object, ...], error: type, match: str) -> None:
    with pytest.raises(error, match=match):
        subsample(*options)


def test_bytes_and_work_fall() -> None:
    whole, few = (PREDICTIONS["position"].cost(WORLD, ["triangles"], subsample(share)) for share in (1, "0.1"))
    n, drawn = WORLD.graph.n, 130
    report = SampledReport("ab" * 32, 1, 0, n // 2, drawn, bytes(17), bytes(17))
    assert few.bytes_up == pytest.approx(len(encode_sampled(report)), rel=0.05)
    assert few.words < whole.words / 5
    assert PREDICTIONS["position"].cost(WORLD, ["triangles"], Subsample(work=0.1)).words == pytest.approx(
        whole.words / 10
    )


def made(nodes: int = 300, **options: object) -> Plan:
    return plan(nodes, 10 * nodes, statistics="triangles", trust=["position"], epsilons=[1], **options)  # type: ignore[arg-type]


def test_a_plan_says_what_it_leaves_out() -> None:
    whole, few = made(), made(sample_positions="0.1")
    assert (
        few.row("position", "triangles", 1).standard_error > 10 * whole.row("position", "triangles", 1).standard_error
    )
    assert "a public coin draws 10% of the positions" in str(few)
    assert "a public coin" not in str(whole)
    assert "50% of the triples and rows are counted" in made(work="0.5").assumed
    assert few.as_dict()["sample_positions"] == pytest.approx(0.1)


def test_large_plans_say_what_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a small graph on a machine that is small in proportion: making a large one takes too long for a test."""
    assert summary.too_much(made()) == []
    monkeypatch.setattr(summary, "MANY_NODES", 200)
    assert summary.too_much(made()) == []
    monkeypatch.setattr(summary, "FEW_WORDS", 1000)
    monkeypatch.setattr(summary, "MUCH_MEMORY", 1000)
    work, sample = summary.too_much(made())
    assert "--work 0.002 would do" in work
    assert "--sample-positions 0.001 would do" in sample
    assert summary.too_much(made(work="0.5")) == []


def test_the_command_takes_both_options() -> None:
    asked = [
        "plan",
        "--nodes",
        "200",
        "--edges",
        "1500",
        "--statistic",
        "edges",
        "--epsilons",
        "1",
        "--trust",
        "position",
    ]
    found = CliRunner().invoke(app, [*asked, "--sample-positions", "0.2"])
    assert found.exit_code == 0, found.output
    assert "draws 20% of the positions" in found.output
    assert CliRunner().invoke(app, [*asked, "--work", "0.5"]).exit_code == 0
