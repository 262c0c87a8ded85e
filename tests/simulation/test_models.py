"""Policies that guard their classes otherwise: estimates stay unbiased, intervals cover, bills say what it cost."""

from __future__ import annotations

import numpy as np
import pytest

from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.expected_errors import covers
from visibility_aware_edge_ldp.guaranteed_dp import VAEdgeLDPSystem
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 200, 3)
POLICY = VisibilityPolicy("0.2", "0.4", "0.4")
STATISTICS = ["edges", "triangles"]


def world(friend_visible: object, private: object = 1) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(GRAPH, POLICY.guarded(friend_visible, private))  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize(("rounds", "epsilon"), [(1, 4), (2, 8)])
def test_estimates_are_unbiased_and_intervals_cover(rounds: int, epsilon: int) -> None:
    held, options = world(3, "0.5"), {"rounds": rounds, "dropout": 0.2}
    runs = [estimate(held, "position", epsilon, STATISTICS, seed=seed, **options) for seed in range(600)]  # type: ignore[arg-type]
    for name in STATISTICS:
        truth = float(exact(GRAPH, name))
        assert abs(z_of([float(run[name].value) for run in runs], truth)) < Z_LIMIT
        assert 0.93 <= np.mean([covers(run[name], truth) for run in runs]) <= 0.97


def test_a_centre_s_answers_are_unbiased() -> None:
    held = world(3, "0.5")
    runs = [estimate(held, "curator", 4, STATISTICS, seed=seed) for seed in range(40)]
    for name in STATISTICS:
        assert abs(z_of([float(run[name].value) for run in runs], float(exact(GRAPH, name)))) < Z_LIMIT


def test_a_weaker_guard_means_a_smaller_error() -> None:
    errors = [
        float(estimate(world(m), epsilon=1, statistics="edges", seed=1)["edges"].standard_error) for m in (1, 2, 4)
    ]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("trust", ["position", "curator"])
def test_the_bill_and_the_certificate_say_what_it_cost(trust: str) -> None:
    answers = estimate(world(3, "0.5"), trust, 1, STATISTICS, seed=1)
    for bill in (answers.bill, answers.certificate.bill):
        assert [float(bill[kind].epsilon) for kind in ("PRIVATE", "FRIEND_VISIBLE")] == [0.5, 3]
    text = str(answers.certificate)
    assert "an edge at a FRIEND_VISIBLE position loses at most ε = 3" in text
    assert "loss per edge: FRIEND_VISIBLE 3ε, PRIVATE 1/2·ε." in text


def test_a_curator_refuses_parts_of_steps_for_smooth_bounds_only() -> None:
    with pytest.raises(BadPolicy, match="whole number of times"):
        estimate(world("2.5"), "curator", 1, "triangles")
    assert estimate(world("2.5"), "curator", 1, "edges").bill["FRIEND_VISIBLE"].epsilon == 2.5


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_a_total_that_was_fixed_beforehand(delta: object) -> None:
    total = VAEdgeLDPSystem(total_epsilon=2, delta=delta).run_all(world("1.5", "0.5"), seed=1)["_composition"]  # type: ignore[arg-type]
    assert [total["bill"][kind]["epsilon"] for kind in ("PRIVATE", "FRIEND_VISIBLE")] == [1, 3]
    deltas = [total["bill"][kind]["delta"] for kind in ("PRIVATE", "FRIEND_VISIBLE")]
    # Three steps of loss 1: 1 + ⌈e⌉ + ⌈e²⌉.
    assert deltas[1] == pytest.approx(12 * deltas[0])


@pytest.mark.long
def test_a_comparison_is_at_equal_loss_per_private_edge() -> None:
    found = compare(GRAPH, POLICY.guarded(6, 3), [1], 100, ["edges"], seed=1)
    assert found.multipliers == POLICY.guarded(6, 3).multipliers
    assert found.as_dict()["loss_multipliers"] == {"FRIEND_VISIBLE": 6, "PRIVATE": 3}
    plain = compare(GRAPH, VisibilityPolicy.nothing(), [1, 3], 100, ["edges"], seed=1)
    spread = found.uniform.row(1, "edges").standard_deviation
    assert spread == pytest.approx(plain.uniform.row(3, "edges").standard_deviation, rel=0.3)
    assert spread < plain.uniform.row(1, "edges").standard_deviation / 2
