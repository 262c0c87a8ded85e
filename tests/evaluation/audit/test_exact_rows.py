"""The audit of USER triangles and 4-cycles: what it finds, and the twins that it must catch.

``tests/client/test_user_triangles_exact.py`` runs the same machinery on more surveys and policies.
"""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.client.user_triangles import RowHolders
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.exact_rows import (
    CYCLES,
    FOUR,
    TRIANGLES,
    TWINS,
    USUAL,
    as_bytes,
    audit_rows,
    check_client,
    client,
    cycle_stages,
    first_law,
    triangle_stages,
)
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import no_noise
from visibility_aware_edge_ldp.evaluation.audit.row_stage import Stage
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


def test_the_stages_are_all_policies_of_three_users_and_some_of_four() -> None:
    stages = triangle_stages()
    three = {stage.pattern for stage in stages if stage.n == 3}
    assert len(three) == 26
    assert {stage.pattern for stage in stages if stage.n == 4} == set(FOUR.values())
    assert all(stage.split == USUAL for stage in stages)
    assert all(stage.survey.statistic == "four_cycles" for stage in cycle_stages())


def test_triangles_keep_their_claim_and_nearly_use_it_up() -> None:
    finding = audit_rows(
        TRIANGLES, [Stage((PRIVATE,) * 3, 3, USUAL, dropout=True), Stage(FOUR["two classes"], 4, USUAL)]
    )
    assert finding.holds
    assert finding.way == "exact"
    private, friend_visible = finding.losses
    assert (private.kind, private.claimed, friend_visible.claimed) == ("PRIVATE", 1, 2)
    assert private.found > 0.9
    assert friend_visible.found > 1.4
    assert finding.cases > 500


def test_cycles_keep_their_claim() -> None:
    finding = audit_rows("cycles", cycle_stages()[1:])
    assert finding.holds
    assert finding.losses[0].found > 0.6
    assert CYCLES.statistic == "four_cycles"


def test_the_law_of_first_answers_is_that_of_independent_flips() -> None:
    stage = Stage((PRIVATE, FRIEND_VISIBLE, PRIVATE), 3, USUAL)
    law = first_law(stage, 0, (1,))
    assert sum(law.values()) == 1
    keeps = [stage.survey.first.mechanism(kind, 1).keep for kind in (PRIVATE, FRIEND_VISIBLE)]
    assert law[as_bytes((1, 0))] == math.prod(keeps)
    assert law[as_bytes((0, 0))] == (1 - keeps[0]) * keeps[1]


def test_a_client_that_halves_its_noise_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """With coins that mean no noise it would look honest."""
    stage = Stage((PRIVATE,) * 3, 3, USUAL)
    check_client(stage)
    honest = type(stage.survey.total_noise).sample_each
    monkeypatch.setattr(
        type(stage.survey.total_noise), "sample_each", lambda self, bounds, coins: honest(self, bounds, coins) // 2
    )
    with pytest.raises(ProtocolViolation, match="another noise"):
        check_client(stage)


def test_a_client_that_skips_round_1_is_not_walked() -> None:
    stage = Stage((PRIVATE,) * 3, 3, USUAL)
    first = stage.first_round(next(stage.transcripts(0)))
    with pytest.raises(ProtocolViolation, match="before round 1"):
        client(stage, 0, (1,), RowHolders).total(stage.survey, first, no_noise)


def test_twins_are_caught() -> None:
    """By the same function as the real code, and each says what is wrong with it."""
    for twin in TWINS:
        assert not twin.run().holds, twin.broken
        assert twin.broken
