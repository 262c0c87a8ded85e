"""Parts of the first answers hold in an exact walk, and broken twins are caught.  [PARTS.0]"""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit import row_parts
from visibility_aware_edge_ldp.audit.row_parts import NONE_OR_ALL, PartStage, audit_parts, partitions


def test_four_users_are_put_into_groups_in_fifteen_ways() -> None:
    assert len(list(partitions(4))) == 15


def test_the_real_clients_hold_and_hardly_waste_anything() -> None:
    found = audit_parts("parts", PartStage(answers=NONE_OR_ALL))
    assert found.holds
    (loss,) = found.losses
    assert 0.9 * loss.claimed < loss.found <= loss.claimed


@pytest.mark.long
def test_with_all_first_answers_and_classes_they_hold() -> None:
    (audit,) = row_parts.AUDITS
    assert audit.run().holds


@pytest.mark.parametrize("mutant", row_parts.MUTANTS, ids=lambda audit: audit.broken)
def test_twins_are_caught(mutant: row_parts.Audit) -> None:
    assert mutant.run().caught


def test_a_client_that_sends_something_else_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PartStage.sums
    monkeypatch.setattr(
        PartStage, "sums", lambda *case: [each._replace(length=each.length + 1) for each in honest(*case)]
    )
    with pytest.raises(row_parts.ProtocolViolation, match="other numbers"):
        audit_parts("parts", PartStage(answers=NONE_OR_ALL))
