"""The audit of scopes: inside, everybody keeps their claim; outside nothing is lost; broken clients are caught."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit, Spoken, gap_between
from visibility_aware_edge_ldp.audit.protocols import position
from visibility_aware_edge_ldp.audit.protocols.scope import (
    AUDITS,
    MUTANTS,
    NOTHING,
    asked_classes,
    audit_position,
    owned_stage,
    position_stage,
    row_losses,
    row_stage,
    scopes,
)
from visibility_aware_edge_ldp.public.surveys.neighbourhood import WEIGHTED
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
SECRET = (PRIVATE,) * 3


@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.name)
def test_inside_the_claim_is_kept_and_outside_nothing_is_lost(audit: Audit) -> None:
    finding = audit.run()
    assert finding.holds
    assert {loss.kind for loss in finding.losses} == {"PRIVATE", "FRIEND_VISIBLE"}
    assert all(loss.found > 0.3 * loss.claimed for loss in finding.losses)


@pytest.mark.parametrize("twin", MUTANTS, ids=lambda twin: f"{twin.name}: {twin.broken}")
def test_broken_clients_and_scopes_are_caught(twin: Audit) -> None:
    assert twin.run().caught


def test_positions_use_their_promise_up_inside() -> None:
    finding = audit_position("", [position_stage(SECRET, 3, frozenset({0, 1}))], "")
    assert [(loss.claimed, round(loss.found, 9)) for loss in finding.losses] == [(1.0, 1.0)]
    alone = audit_position("", [position_stage(SECRET, 3, frozenset())], "")
    assert [(loss.claimed, loss.found) for loss in alone.losses] == [(NOTHING, 0.0)]


def test_a_bit_outside_leaves_the_very_same_law() -> None:
    stage = position_stage(SECRET, 3, frozenset({0, 1}), (1, 2))
    laws = [position.conversation(stage, (1, 0, bit)) for bit in (0, 1)]
    assert laws[0] == laws[1]
    assert sum(laws[0].values()) == 1
    other = position.conversation(stage, (0, 0, 0))
    assert gap_between(Spoken(laws[0]), Spoken(other)).epsilon == pytest.approx(1)


def test_a_bit_outside_changes_no_number_of_users() -> None:
    lost = list(row_losses(row_stage(SECRET, frozenset({0, 2}))))
    assert {loss for inside, _, loss in lost if not inside} == {0.0}
    assert max(loss for inside, _, loss in lost if inside) > 0.5
    owned = list(owned_stage(WEIGHTED, frozenset({0, 1, 3})).losses())
    assert {loss for inside, _, loss in owned if not inside} == {0.0}
    assert max(loss for inside, _, loss in owned if inside) > 0.3


def test_scopes_are_all_sets_of_positions_but_the_whole() -> None:
    assert len(scopes(3)) == 7
    assert asked_classes((PRIVATE, FRIEND_VISIBLE, PUBLIC), frozenset({1})) == (PUBLIC, FRIEND_VISIBLE, PUBLIC)
