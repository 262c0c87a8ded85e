"""Triangles from parts: unbiased, with standard errors that are true, and what is refused.  [PARTS.4-6]"""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.node_statistics.row_parts import (
    PartCollection,
    PartPoisoning,
    class_shares,
    part_triangles,
    public_pairs,
)
from visibility_aware_edge_ldp.counts.exact import triangles as count
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.row_parts import part_survey
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.simulation.row_parts import collect_parts
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(150, 2800, seed=6)
NOTHING = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
PROFILES = VisibilityPolicy.from_profiles({u: "public" if u % 3 else "private" for u in range(150)}, rule="both")


def errors(world: VisibilityAwareGraph, epsilon: float, groups: int, runs: int, dropout: float = 0.0) -> np.ndarray:
    """(estimate − truth) over its standard error, of each run."""
    truth, found = count(world.graph), []
    for seed in range(runs):
        survey = part_survey(world.public, epsilon, groups, f"coin {seed}")
        each = part_triangles(collect_parts(world, {"t": survey}, seed, dropout)["t"])
        found.append((each.value - truth) / each.standard_error)
    return np.array(found)


@pytest.mark.long
@pytest.mark.parametrize(
    ("world", "dropout"), [(NOTHING, 0.0), (NOTHING, 0.3), (VisibilityAwareGraph(GRAPH, PROFILES), 0.0)]
)
def test_estimates_are_unbiased_with_true_standard_errors(world: VisibilityAwareGraph, dropout: float) -> None:
    """Fixed seeds. The mean of 80 is off by 4.5/√80 with chance 1e-5; their spread is between 0.75 and 1.25."""
    found = errors(world, 4, 8, 80, dropout)
    assert abs(found.mean()) < 4.5 / np.sqrt(found.size)
    assert 0.75 < found.std() < 1.25


def test_a_few_runs_are_near_the_truth() -> None:
    found = errors(NOTHING, 4, 8, 8)
    assert np.abs(found).max() < 4.5
    assert found.std() > 0.1


def test_without_the_weights_of_short_lists_the_estimate_is_low(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: pairs alone in a group are rarer than pairs in one group, and count for more."""
    import visibility_aware_edge_ldp.client.row_parts as client

    honest = client.short_weights
    monkeypatch.setattr(client, "short_weights", lambda lengths, groups, last: honest(lengths * 0 + 2, groups, last))
    world = VisibilityAwareGraph(erdos_renyi(60, 700, seed=6), VisibilityPolicy.nothing())
    values = []
    for seed in range(30):
        survey = part_survey(world.public, 12, 30, f"coin {seed}")
        values.append(part_triangles(collect_parts(world, {"t": survey}, seed)["t"]).value)
    off = (np.mean(values) - count(world.graph)) / (np.std(values) / np.sqrt(len(values)))
    assert off < -4.5


def test_where_everything_is_public_triangles_are_exact() -> None:
    everybody = VisibilityPolicy.from_profiles(dict.fromkeys(range(150), "public"), rule="both")
    world = VisibilityAwareGraph(GRAPH, everybody)
    survey = part_survey(world.public, 1, 15)
    found = part_triangles(collect_parts(world, {"t": survey}, 1)["t"])
    assert (found.value, found.standard_error) == (count(GRAPH), 0)


def test_public_rows_are_added_up_from_all_answers() -> None:
    world = VisibilityAwareGraph(GRAPH, PROFILES)
    asked = holders(world.public)
    pairs = public_pairs(world.public, asked)
    assert not asked[pairs.owner].any()
    lengths = np.bincount(np.sort(world.public.edges, axis=1)[:, 0], minlength=150)[~asked]
    assert pairs.owner.size == (lengths * (lengths - 1) // 2).sum()


def test_shares_of_classes_are_those_of_all_positions() -> None:
    for policy in (PROFILES, VisibilityPolicy(public_fraction=0.2, friend_visible_fraction=0.3, private_fraction=0.5)):
        view = VisibilityAwareGraph(GRAPH, policy).public
        expected = [view.class_sizes[kind] / view.positions for kind in view.non_public]
        assert class_shares(view) == pytest.approx(expected)
    assert class_shares(NOTHING.public) == [1.0]


def of_everybody(runs: int = 1, dropout: float = 0.0) -> PartCollection:
    return collect_parts(NOTHING, {"t": part_survey(NOTHING.public, 4, 8, f"coin {runs}")}, runs, dropout)["t"]


def test_honest_reports_are_not_flagged_and_numbers_that_nobody_honest_sends_are() -> None:
    for seed in range(4):
        assert PartPoisoning(of_everybody(seed, 0.2)).flagged() == []
    told = of_everybody()
    lies = PartPoisoning(told)
    told.numbers[1, 5], told.numbers[0, 9] = int(lies.sums[5]) + 1, GRAPH.n + int(lies.reach)
    assert [(flag.participant, flag.what) for flag in PartPoisoning(told).flagged()] == [(5, "sum"), (9, "reach")]
    # The twin: an ordinary sum is far below, and is told from a large one.
    assert np.abs(of_everybody().totals).max() < lies.sums.min() * 10
    assert (np.abs(of_everybody().totals) < lies.sums).all()


def test_unflagged_sums_move_the_estimate_by_no_more_than_the_bound() -> None:
    told = of_everybody(dropout=0.2)
    lies, before = PartPoisoning(told), part_triangles(told).value
    liars = np.flatnonzero(told.answered)[[0, 30, 60]]
    told.numbers[1, liars] = lies.sums[liars].astype(np.int64)
    high = part_triangles(told).value
    told.numbers[1, liars] = -lies.sums[liars].astype(np.int64)
    assert PartPoisoning(told).flagged() == []
    assert abs(before) < high - part_triangles(told).value <= lies.bound(3)
    assert lies.bound(1) < lies.bound(3)


def test_whose_pairs_an_answer_may_be_in_are_counted() -> None:
    told = of_everybody()
    survey, lies, n = told.survey, PartPoisoning(told), GRAPH.n
    parts = survey.part_of(np.arange(n))
    groups = np.stack([survey.group_of(np.full(n, part), np.arange(n)) for part in parts])
    for user in (0, 20, 77, n - 1):
        expected = sum(int((groups[k, user] == groups[k, user + 1 :]).sum()) for k in range(user))
        assert lies._with[0][user] == expected
        assert lies._with[1][user] == np.bincount(groups[user]).max()
    assert (lies.told >= lies._with[0] * survey.groups * 0.9).all()


def test_the_first_round_has_the_name_that_it_was_broadcast_under() -> None:
    survey = part_survey(NOTHING.public, 1, 15)
    assert (
        PartCollection(survey, NOTHING.public, named=lambda answers: "ab" * 32).close_first_round().digest == "ab" * 32
    )


def test_nothing_is_estimated_before_anybody_answered_twice() -> None:
    survey = part_survey(NOTHING.public, 1, 15)
    with pytest.raises(BadStatistic, match="more are needed"):
        part_triangles(PartCollection(survey, NOTHING.public))
