"""What every client must refuse is tried on the real ones; broken ones are seen."""

from __future__ import annotations

from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.audit.protocols import refusals
from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.mechanisms import randomness
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS


def test_every_protocol_is_tried_and_nothing_is_answered() -> None:
    assert refusals.ASKED.keys() == PROTOCOLS.keys()
    found = refusals.audit_refusals("refusals", CLIENTS, "-")
    assert found.holds, found.losses
    assert found.cases > 60


def test_lawful_questions_are_answered() -> None:
    for name, asked in refusals.ASKED.items():
        client = CLIENTS[name](asked.held(), refusals.VIEW, Purse(refusals.ENOUGH, Fraction(1, 2)))
        assert client.answer(asked.survey, asked.first, refusals.fresh_coins("lawful")) is not None


@pytest.mark.parametrize("twin", refusals.MUTANTS, ids=lambda twin: twin.name)
def test_twins_are_caught(twin: refusals.exact) -> None:  # type: ignore[valid-type]
    assert twin.run().caught


def test_a_purse_that_never_empties_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Purse, "pay", lambda *_: None)
    assert refusals.audit_refusals("refusals", CLIENTS, "-").caught


def test_a_child_that_draws_its_parents_bytes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusals.audit_coins("coins", randomness.secure_random_bytes, "-").holds
    monkeypatch.setattr(randomness.os, "getpid", lambda: 1)
    assert refusals.audit_coins("coins", randomness.secure_random_bytes, "-").caught
