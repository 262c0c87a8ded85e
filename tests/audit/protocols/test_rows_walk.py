"""Both rounds of rows, walked: laws of first answers, second reports, and what they lose.  [WALK.1-3]"""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.protocols.rows import (
    CYCLES,
    FOUR,
    TRIANGLES,
    USUAL,
    cycle_stages,
)
from visibility_aware_edge_ldp.audit.protocols.rows_stage import Stage
from visibility_aware_edge_ldp.audit.protocols.rows_walk import as_bytes, audit_rows, client, first_law
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


@pytest.mark.long
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


@pytest.mark.long
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


def test_a_client_that_skips_round_1_is_not_walked() -> None:
    stage = Stage((PRIVATE,) * 3, 3, USUAL)
    first = stage.first_round(next(stage.transcripts(0)))
    with pytest.raises(ProtocolViolation, match="before round 1"):
        client(stage, 0, (1,)).total(stage.survey, first, no_noise)
