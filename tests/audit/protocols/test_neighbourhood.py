"""The audit of owned triangles: plans, both rounds, deltas, and the twins that it must catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.protocols import neighbourhood_bounds
from visibility_aware_edge_ldp.audit.protocols.neighbourhood import audit_owned, dearest_pair, pure_stages
from visibility_aware_edge_ldp.audit.protocols.neighbourhood_bounds import BelievedStage, audit_believed
from visibility_aware_edge_ldp.audit.protocols.neighbourhood_stage import OwnedStage, check_users, plan_of
from visibility_aware_edge_ldp.client import degrees as user_degrees
from visibility_aware_edge_ldp.client import neighbourhood
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys import neighbourhood as surveys
from visibility_aware_edge_ldp.public.surveys.neighbourhood import CLIPPED, WEIGHTED, NeighbourhoodReport
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE = Visibility.PRIVATE


@pytest.mark.long
@pytest.mark.parametrize(("guard", "first"), [(WEIGHTED, "1/4"), (CLIPPED, "")])
def test_pure_guards_keep_the_claim_under_every_plan_of_four_users(guard: str, first: str) -> None:
    stages = [stage for stage in pure_stages(guard, first) if stage.n == 4]
    assert {tuple(s.plan.bounds) for s in stages} >= {(1, 1, 1, 1), (1, 2, 3, 4), (4, 4, 4, 4)}
    finding = audit_owned(guard, stages)
    assert finding.holds
    assert {loss.kind for loss in finding.losses} == {"PRIVATE", "FRIEND_VISIBLE"}
    assert max(loss.found / loss.claimed for loss in finding.losses) > 0.3


def small_stage(guard: str = WEIGHTED) -> OwnedStage:
    return OwnedStage((PRIVATE,) * 6, 4, plan_of(guard, 2, 2, 3, 3), "", "1")


def test_a_client_that_draws_less_noise_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where four users cannot tell: with half of the noise the claim is kept on them, not on more."""
    check_users(small_stage())
    honest = neighbourhood.sample_each
    monkeypatch.setattr(neighbourhood, "sample_each", lambda loss, scales, coins: honest(loss, scales // 2, coins))
    with pytest.raises(ProtocolViolation, match="another noise"):
        check_users(small_stage())
    with pytest.raises(ProtocolViolation, match="another noise"):
        audit_owned("half", [small_stage()])


@pytest.mark.parametrize("guard", [WEIGHTED, CLIPPED])
def test_the_client_broken_where_a_user_has_no_friends_is_caught(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert audit_owned("whole", [small_stage(guard)]).holds
    monkeypatch.setattr(NeighbourhoodClient, "randomize", _sure_alone(NeighbourhoodClient.randomize))
    assert audit_owned("broken", [small_stage(guard)]).losses[0].found == np.inf
    neighbourhood_bounds.second_rounds.cache_clear()
    assert not audit_believed("broken", [BelievedStage(4)]).holds
    neighbourhood_bounds.second_rounds.cache_clear()


def _sure_alone(honest: Callable[..., NeighbourhoodReport]) -> Callable[..., NeighbourhoodReport]:
    def broken(self: NeighbourhoodClient, survey: object, *rest: object) -> NeighbourhoodReport:
        report = honest(self, survey, *rest)
        friends = np.bincount(self._view.edges.ravel(), minlength=self._public.n)
        return replace(report, values=np.where(friends == 0, 0, report.values))

    return broken


def test_noise_that_is_cut_or_shared_out_is_no_noise_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = neighbourhood.sample_each
    monkeypatch.setattr(neighbourhood, "sample_each", lambda *asked: honest(*asked) // 2)
    with pytest.raises(ProtocolViolation, match="another noise"):
        audit_owned("halved", [small_stage()])


def test_degrees_that_drop_their_noise_in_one_world_stop_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = OwnedStage((PRIVATE,) * 6, 4, plan_of(WEIGHTED, 2, 2, 3, 3), "1/5", "4/5")
    honest = user_degrees.randomize

    def broken(counts: np.ndarray, *rest: object) -> np.ndarray:
        return np.where(counts == 0, 0, honest(counts, *rest))

    monkeypatch.setattr(user_degrees, "randomize", broken)
    with pytest.raises(ProtocolViolation, match="another noise"):
        audit_owned("broken", [stage])


def test_a_bill_above_what_was_asked_for_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although less is lost than billed: who asked for ε = 1 did not agree to 2."""
    monkeypatch.setattr(surveys, "least_loss", lambda epsilon, *rest: 2 * epsilon)
    (loss,) = audit_owned("dear", [small_stage()]).losses
    assert (loss.claimed, loss.holds) == (1, False)
    neighbourhood_bounds.second_rounds.cache_clear()
    assert not audit_believed("dear", [BelievedStage(4)]).holds
    neighbourhood_bounds.second_rounds.cache_clear()


@pytest.mark.parametrize(("guard", "reached"), [(WEIGHTED, 0.86), (CLIPPED, 1.0)])
@pytest.mark.parametrize("kind", [PRIVATE, Visibility.FRIEND_VISIBLE])
def test_some_pair_of_graphs_uses_the_claim_up(guard: str, reached: float, kind: Visibility) -> None:
    """With weights nearly, with caps quite; so that less noise than the plan's is seen to be too little."""
    (loss,) = audit_owned(guard, [dearest_pair(guard, kind)]).losses
    assert loss.kind == str(kind)
    assert reached <= loss.found / loss.claimed <= 1 + 1e-12
