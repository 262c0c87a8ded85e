"""Groups, hubs and a centre inside a scope: inside the claim is kept, and outside nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.scope_combinations import (
    AUDITS,
    HIDDEN,
    HUB_CASES,
    MUTANTS,
    Question,
    audit_hubs,
    group_stage,
)
from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.errors import ProtocolViolation


@pytest.mark.long
@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.name)
def test_who_is_asked_keeps_the_claim_and_others_lose_nothing(audit: Audit) -> None:
    finding = audit.run()
    assert finding.holds
    assert {loss.kind for loss in finding.losses} == {"PRIVATE", "FRIEND_VISIBLE"}
    assert all(loss.found > 0.7 * loss.claimed for loss in finding.losses)


@pytest.mark.parametrize("twin", MUTANTS, ids=lambda twin: f"{twin.name}: {twin.broken}")
def test_broken_combinations_are_caught(twin: Audit) -> None:
    assert twin.run().caught


def test_groups_hubs_and_a_centre_tell_nothing_of_what_lies_outside() -> None:
    assert audit_hubs("", HUB_CASES[:1], "").holds
    assert {loss for asked, _, loss in group_stage(HIDDEN, frozenset({0})).losses() if not asked} == {0.0}
    asked = Question(HIDDEN, 3, "triangles", inside=frozenset({0, 1}))
    assert {loss for inside, _, loss in asked.losses() if not inside} == {0.0}


def test_a_centre_refuses_edges_that_lie_outside() -> None:
    view = Question(HIDDEN, 3, "edges", inside=frozenset({0, 1})).view
    with pytest.raises(ProtocolViolation, match="PUBLIC positions"):
        Curator(WholeGraph(3, np.array([(1, 2)], np.int32)), view, Purse({}))
