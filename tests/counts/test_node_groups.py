"""Scores by kinds of nodes against the same scores as planes."""

from __future__ import annotations

import numpy as np
import pytest

from support.grouped_scores import POLICIES, collected
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
from visibility_aware_edge_ldp.counts import stars
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.plane_products import PlaneMatrix
from visibility_aware_edge_ldp.counts.scores import Scores, score, spread, square
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

PUBLIC, FRIENDS, PRIVATE = Visibility


def test_sums_over_nodes_and_stars_are_those_of_planes(two_ways: tuple[Scores, GroupScores]) -> None:
    planes, kinds = two_ways
    for function in (score, spread, square):
        np.testing.assert_allclose(kinds.node_sums(function), planes.node_sums(function), rtol=1e-9, atol=1e-9)
    for k in (2, 3):
        np.testing.assert_allclose(stars.stars(kinds, k), stars.stars(planes, k), rtol=1e-8)


def test_rows_and_products_of_the_matrix_are_those_of_planes(two_ways: tuple[Scores, GroupScores]) -> None:
    planes, kinds = two_ways
    chosen, matrix, in_slots = np.arange(0, 700, 13), PlaneMatrix(planes), kinds.matrix
    slots, rows = in_slots.places(np.arange(700)), in_slots.rows(chosen)
    np.testing.assert_allclose(rows[:, slots], matrix.rows(chosen), rtol=1e-5, atol=1e-5)
    paths, found = matrix.two_paths(chosen, matrix.rows(chosen)), in_slots.two_paths(chosen, rows)
    np.testing.assert_allclose(found[:, slots], paths, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(in_slots.times(found)[:, slots], matrix.times(paths), rtol=1e-3, atol=0.2)
    nobody = np.setdiff1d(np.arange(rows.shape[1]), slots)
    assert not rows[:, nobody].any()
    assert not found[:, nobody].any()


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_estimates_by_kinds_are_those_by_planes(monkeypatch: pytest.MonkeyPatch, policy: VisibilityPolicy) -> None:
    collection = collected(300, policy)
    wanted = ["edges", "degrees", "triangles", "transitivity", "four_cycles", "stars:2", "stars:3"]
    found = estimate(collection, wanted)
    monkeypatch.setattr(PositionCollection, "group_scores", lambda self: None)
    expected = estimate(collection, wanted)
    for name in wanted:
        np.testing.assert_allclose(found[name].value, expected[name].value, rtol=1e-7)
        np.testing.assert_allclose(
            found[name].standard_error, expected[name].standard_error, rtol=0.1 if name == "four_cycles" else 1e-6
        )


def test_other_policies_rounds_and_missing_answers_are_kept_as_planes() -> None:
    world = VisibilityAwareGraph(erdos_renyi(30, 60), VisibilityPolicy("0.3", "0.3"))
    assert collect(world, position_survey(world.public, 1), 1).group_scores() is None
    private = VisibilityAwareGraph(erdos_renyi(30, 60), VisibilityPolicy.nothing())
    assert collect(private, position_survey(private.public, 1, rounds=2), 1).group_scores() is None
    assert collect(private, position_survey(private.public, 1), 1, dropout=0.5).group_scores() is None
    assert collect(private, position_survey(private.public, 1), 1).group_scores() is not None


def test_the_variance_from_a_sample_of_rows_is_near_that_of_all() -> None:
    collection = collected(1500, POLICIES["nothing"])
    sampled, whole = (estimate(collection, ["triangles"], WorkBudget(share))["triangles"] for share in (None, 1.0))
    assert sampled.value == pytest.approx(whole.value, rel=1e-9)
    assert sampled.standard_error == pytest.approx(whole.standard_error, rel=0.03)


def test_part_of_the_work_widens_the_interval_and_keeps_the_mean() -> None:
    collection = collected(1500, POLICIES["both"])
    part, whole = (estimate(collection, ["triangles", "four_cycles"], WorkBudget(share)) for share in (0.4, 1.0))
    for name in ("triangles", "four_cycles"):
        assert part[name].standard_error > 1.03 * whole[name].standard_error
        assert abs(part[name].value - whole[name].value) < 4 * part[name].standard_error


def test_a_share_of_the_work_is_between_nothing_and_all() -> None:
    for share in (0, -0.5, 1.5):
        with pytest.raises(BadInput, match="share of the work"):
            WorkBudget(share)
    world = VisibilityAwareGraph(erdos_renyi(30, 60), VisibilityPolicy("0.3", "0.3"))
    with pytest.raises(BadInput, match="kinds of nodes"):
        estimate(collect(world, position_survey(world.public, 1), 1), ["triangles"], WorkBudget(0.5))


def test_counts_between_groups_are_those_of_planes(two_ways: tuple[Scores, GroupScores]) -> None:
    planes, kinds = two_ways
    members = np.arange(700) % 7 // 2
    expected = dict(zip(planes.values.tolist(), planes.counts_between(members, 4), strict=True))
    for value, found in zip(kinds.values.tolist(), kinds.counts_between(members, 4), strict=True):
        assert (found == sum(each for other, each in expected.items() if other == value)).all()
