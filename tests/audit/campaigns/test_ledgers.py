"""The audit of ledgers passes the real ones, and its broken twins are caught."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.campaigns import ledgers


def test_real_ledgers_count_what_was_lost() -> None:
    found = ledgers.audit_ledgers("a few towns", range(3), "-")
    assert found.holds, found.losses
    assert {loss.kind for loss in found.losses} >= {"PRIVATE", "FRIEND_VISIBLE", "uncounted", "beyond a cap"}
    assert found.cases > 100


@pytest.mark.parametrize("twin", ledgers.MUTANTS, ids=lambda twin: twin.name)
def test_a_broken_ledger_is_caught(twin: ledgers.findings.Audit) -> None:
    assert twin.run().caught


@pytest.mark.long
@pytest.mark.parametrize("audit", [*ledgers.AUDITS, *ledgers.LONG], ids=lambda audit: audit.run.args[1])
def test_many_towns(audit: ledgers.findings.Audit) -> None:
    assert audit.run().holds
