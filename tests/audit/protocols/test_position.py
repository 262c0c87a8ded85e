"""The audit of POSITION holds for the real client and for no twin.  [AUDIT.2], [AUDIT.9]

All of it, pattern by pattern, is in ``tests/client/test_position_exact.py``.
"""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.engine.small_worlds import neighbours, patterns_up_to_names
from visibility_aware_edge_ldp.audit.protocols.position import (
    AUDITS,
    LONG,
    MUTANTS,
    ONE_SECRET,
    Stage,
    audit_position,
    conversation,
)
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


@pytest.mark.parametrize("asked", [(1,), (1, 1), (1, 2), (1, 2, 2)], ids=str)
def test_the_real_client_holds_and_uses_its_claim_up(asked: tuple[int, ...]) -> None:
    stages = [Stage(pattern, 3, asked=asked) for pattern in patterns_up_to_names(3)]
    finding = audit_position("real", stages, "three nodes")
    assert finding.holds
    assert finding.cases == sum(len(list(neighbours(stage.pattern))) for stage in stages)
    assert [loss.kind for loss in finding.losses] == ["PRIVATE", "FRIEND_VISIBLE"]
    for loss in finding.losses:
        assert loss.found >= 0.999 * loss.claimed


def test_four_nodes_up_to_names_find_what_all_pairs_find() -> None:
    pattern = (PRIVATE, PRIVATE, PUBLIC, FRIEND_VISIBLE, PUBLIC, PUBLIC)
    every, fewer = (
        audit_position("four", [Stage(pattern, 4, asked=(1, 2), up_to_names=only)], "") for only in (False, True)
    )
    assert every.losses == fewer.losses
    assert fewer.cases <= every.cases


def test_the_audits_are_named() -> None:
    assert [audit.name for audit in AUDITS] == ["position, one round", "position, two rounds"]
    assert [audit.name for audit in LONG] == ["position, two rounds"]
    assert {audit.way for audit in (*AUDITS, *LONG, *MUTANTS)} == {"exact"}


@pytest.mark.parametrize("audit", MUTANTS, ids=lambda audit: audit.name)
def test_every_twin_is_caught(audit: Audit) -> None:
    finding = audit.run()
    assert audit.broken
    assert not finding.holds


def test_the_twins_lose_what_they_must() -> None:
    found = {audit.name: audit.run().losses[0].found for audit in MUTANTS}
    assert found == {
        "position, ε × 1.1": pytest.approx(1.1),
        "position, one bit not randomized": math.inf,
        "position, an edge re-asked per triangle": pytest.approx(1.5),
        "position, one uniform reused at two ε": math.inf,
        "position, a client that forgets its answer": pytest.approx(2),
    }


def test_public_bits_are_not_told() -> None:
    laws = [conversation(Stage(ONE_SECRET, 4), (1, *[bit] * 5)) for bit in (0, 1)]
    assert laws[0] == laws[1]
