"""Every client is audited at size, or fails by name; and what is wrong with one is noticed."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.at_size import registry
from visibility_aware_edge_ldp.audit.catalogue import catalogue
from visibility_aware_edge_ldp.audit.runner import measured
from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.client.position import PositionClient


def test_every_client_has_an_audit_at_size() -> None:
    assert CLIENTS.keys() <= registry.AT_SIZE.keys()
    assert all(audits for audits in registry.AT_SIZE.values())
    names = {audit.name for audit in catalogue(1000)}
    assert {audit.name for audit in registry.built_in()} <= names


def test_a_client_without_one_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program's, too: it runs where that client is registered, not in other processes."""
    theirs = type("Gossip", (PositionClient,), {"__module__": "gossip"})
    monkeypatch.setitem(CLIENTS, "gossip", PositionClient)
    monkeypatch.setitem(CLIENTS, "rumour", theirs)
    assert [audit.name for audit in registry.of_others()] == ["rumour, at size"]
    (missing,) = [audit for audit in registry.built_in() if audit.name == "gossip, at size"]
    outcome = measured(missing)
    assert not outcome.passed
    assert "'gossip' has no audit at size" in outcome.trouble


@pytest.mark.parametrize("audit", registry.MUTANTS, ids=lambda each: each.broken)
def test_mutants_are_caught(audit: object) -> None:
    outcome = measured(audit)  # type: ignore[arg-type]
    assert outcome.passed, outcome.trouble
