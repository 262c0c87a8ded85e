"""The audit of a sample of positions: drawn ones keep their claim, others lose nothing.  [SAMPLE.2]"""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.protocols.position import Stage
from visibility_aware_edge_ldp.audit.protocols.sample import AUDITS, MUTANTS, audit_sample, conversation, sampled
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE = Visibility.PRIVATE


def test_every_coin_of_every_small_world() -> None:
    (audit,) = AUDITS
    finding = audit.run()
    assert finding.holds
    assert {loss.kind: round(loss.found, 9) for loss in finding.losses} == {"FRIEND_VISIBLE": 2.0, "PRIVATE": 0.7}


@pytest.mark.parametrize("twin", MUTANTS, ids=lambda twin: twin.name)
def test_broken_clients_are_caught(twin: object) -> None:
    assert twin.run().caught


def test_the_promise_is_spent_by_the_drawn_and_not_by_others() -> None:
    """Not a bound that is never reached: with everybody undrawn nothing is said, and laws are whole."""
    stage = Stage((PRIVATE,) * 3, 3, question=sampled("1/2", "heads"))
    assert sum(conversation(stage, (1, 0, 1)).values()) == 1
    rare = Stage((PRIVATE,) * 3, 3, question=sampled("1e-6", "heads"))
    finding = audit_sample("nobody", [rare], "")
    assert (finding.cases, finding.losses) == (12, ())
