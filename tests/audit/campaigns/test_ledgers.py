"""Real ledgers and both rounds of positions pass, and their broken twins are caught."""

from __future__ import annotations

from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.audit.campaigns import ledgers
from visibility_aware_edge_ldp.audit.campaigns.ledgers import LOW, ONE, Rounds
from visibility_aware_edge_ldp.audit.campaigns.model import FRIEND_VISIBLE, PRIVATE, TWICE
from visibility_aware_edge_ldp.campaign.participant import reports


def test_both_rounds_together_lose_what_was_agreed_to() -> None:
    found = ledgers.audit_rounds("both", [Rounds((PRIVATE,), (ONE,)), Rounds((PRIVATE,), (LOW, ONE))], "-")
    assert found.holds
    assert [loss.found for loss in found.losses] == pytest.approx([1], abs=1e-9)


def test_what_is_agreed_to_is_the_dearest_first_round_and_every_second_one() -> None:
    asked = (LOW, ONE, ONE, (TWICE, "1/2"))
    assert Rounds((PRIVATE,), asked).agreed(PRIVATE) == Fraction(3, 4) + Fraction(1, 4) + Fraction(1, 8)
    assert Rounds((PRIVATE,), (LOW,)).agreed(FRIEND_VISIBLE) == 1


def test_a_second_round_by_the_list_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = reports.randomize

    def by_the_list(bits, due, *given):  # type: ignore[no-untyped-def]
        return real(bits, {kind: places & bits for kind, places in due.items()}, *given)

    monkeypatch.setattr(reports, "randomize", by_the_list)
    assert ledgers.audit_rounds("by the list", [Rounds((PRIVATE,), (ONE,))], "-").caught


def test_every_upload_has_a_salt_of_its_own() -> None:
    assert ledgers.audit_salt("salt", 3, "-").holds


def test_real_ledgers_count_what_was_lost() -> None:
    found = ledgers.audit_ledgers("a few towns", range(3), "-")
    assert found.holds, found.losses
    assert {loss.kind for loss in found.losses} >= {"PRIVATE", "FRIEND_VISIBLE", "uncounted", "beyond a cap"}
    assert found.cases > 100


@pytest.mark.parametrize("twin", ledgers.MUTANTS, ids=lambda twin: twin.name)
def test_a_broken_ledger_is_caught(twin: ledgers.findings.Audit) -> None:
    assert twin.run().caught


@pytest.mark.long
@pytest.mark.parametrize("part", range(3))
def test_many_towns(part: int) -> None:
    """All of the long audit, of which the shorter one's towns are the first; a third at a time, for several cores."""
    towns = ledgers.LONG[0].run.args[1]
    assert set(towns) >= set(ledgers.AUDITS[-1].run.args[1])
    third = len(towns) // 3
    assert ledgers.audit_ledgers("many towns", towns[part * third : (part + 1) * third], "-").holds
