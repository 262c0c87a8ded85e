"""The audit of owned triangles: plans, both rounds, deltas, and the twins that it must catch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.client import neighbourhood
from visibility_aware_edge_ldp.client.neighbourhood import Neighbourhoods
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.two_hop import two_hop
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit import exact_believed, exact_owned
from visibility_aware_edge_ldp.evaluation.audit.exact_believed import REAL, BelievedStage, audit_believed
from visibility_aware_edge_ldp.evaluation.audit.exact_owned import (
    OwnedStage,
    audit_owned,
    check_users,
    edges_of,
    plan_of,
    pure_stages,
    real_users,
)
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import no_noise
from visibility_aware_edge_ldp.public.owner_plan import CLIPPED, WEIGHTED, believed_margin, believed_plan, tails
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE = Visibility.PRIVATE
TWINS = (*exact_owned.TWINS, *exact_believed.TWINS)


@pytest.mark.parametrize(("guard", "first"), [(WEIGHTED, "1/4"), (CLIPPED, "")])
def test_pure_guards_keep_the_claim_under_every_plan_of_four_users(guard: str, first: str) -> None:
    stages = [stage for stage in pure_stages(guard, first) if stage.n == 4]
    assert {tuple(s.plan.bounds) for s in stages} >= {(1, 1, 1, 1), (1, 2, 3, 4), (4, 4, 4, 4)}
    finding = audit_owned(guard, stages)
    assert finding.holds
    assert {loss.kind for loss in finding.losses} == {"PRIVATE", "FRIEND_VISIBLE"}
    assert max(loss.found / loss.claimed for loss in finding.losses) > 0.3


def test_both_rounds_are_in_the_sum() -> None:
    stage = OwnedStage((PRIVATE,) * 6, 4, plan_of(WEIGHTED, 3, 3, 3, 3), "1/4", "3/4")
    first, second = stage.first_losses(0), stage.second_losses(0)
    assert first == pytest.approx(np.full(32, 0.25))
    assert 0 < second.max() < 0.75
    assert stage.claim(PRIVATE) == 1


def test_one_call_for_all_says_what_separate_users_say() -> None:
    """Each with the two steps that it sees alone."""
    stage = OwnedStage((PRIVATE,) * 10, 5, plan_of(WEIGHTED, 1, 2, 2, 3, 4))
    purse = {kind: price.epsilon for kind, price in stage.survey.price.items()}
    for world in stage.worlds[::37]:
        edges = edges_of(world, 5)
        together = real_users(stage.survey, stage.view, edges).counts
        for user in range(5):
            alone = Neighbourhoods(two_hop(5, edges, user), stage.view, Purse(purse)).owned(stage.survey, no_noise)
            assert alone.values.tolist() == [together[user]]


def test_a_client_that_draws_less_noise_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = OwnedStage((PRIVATE,) * 6, 4, plan_of(CLIPPED, 1, 2, 2, 3))
    check_users(stage)
    honest = neighbourhood.sample_each
    monkeypatch.setattr(neighbourhood, "sample_each", lambda loss, scales, coins: honest(loss, scales // 2, coins))
    with pytest.raises(ProtocolViolation, match="another noise"):
        check_users(stage)


def test_believed_bounds_spend_a_good_part_of_their_delta() -> None:
    finding = audit_believed("believed", REAL)
    (loss,) = finding.losses
    assert finding.holds
    assert 0.4 * loss.claimed_delta < loss.found_delta <= loss.claimed_delta
    assert loss.found == pytest.approx(loss.claimed)
    assert not audit_believed("believed", REAL, claimed_delta="1/200").holds


def test_chances_of_bounds_are_those_of_the_real_plan() -> None:
    """All bounds and sides together are certain; a low bound has the chance that the theorem gives it."""
    stage = BelievedStage(first="2", delta="1e-3")
    margin = believed_margin(stage.degree_survey, Fraction("1e-3"))
    for degree in range(5):
        assert sum(stage.chance(degree, bound) for bound in stage.ranges) == pytest.approx(1)
        parts = [stage.chance(degree, bound, side, 2) for bound in stage.ranges for side in (-1, 1)]
        assert sum(parts) == pytest.approx(1)
    assert stage.chance(3, 2) == pytest.approx(float(tails((stage.noise,), margin + 1)), rel=1e-6)
    heard = np.ones(5, np.bool_)
    made = believed_plan(stage.degree_survey, np.array([-50, 2 - margin, 3 - margin, 4, 50]), heard, Fraction("1e-3"))
    assert made.bounds.tolist() == [2, 2, 3, 3, 3]


def test_twins_are_caught() -> None:
    """By the same function as the real code, and each says what is wrong with it."""
    for twin in TWINS:
        assert not twin.run().holds, twin.broken
        assert twin.broken
