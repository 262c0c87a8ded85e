"""4-cycles by parts hold in an exact walk, and broken twins are caught.  [PARTS.9]"""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit import cycle_parts
from visibility_aware_edge_ldp.audit.cycle_parts import audit_cycle_parts, long_rows, part_stages


def test_the_real_clients_hold_and_hardly_waste_anything() -> None:
    found = audit_cycle_parts("parts", part_stages(everything=False)[1:2], long_rows())
    assert found.holds
    assert max(loss.found / loss.claimed for loss in found.losses) > 0.85


def test_all_choices_of_four_users_are_walked_by_the_long_audit() -> None:
    (short,), (long,) = cycle_parts.AUDITS, cycle_parts.LONG
    assert short.name == long.name == cycle_parts.NAME
    assert len({stage.inside for stage in part_stages(everything=True)}) == 16


@pytest.mark.long
def test_with_all_first_answers_and_classes_they_hold() -> None:
    (audit,) = cycle_parts.AUDITS
    assert audit.run().holds


@pytest.mark.parametrize("mutant", cycle_parts.MUTANTS, ids=lambda audit: audit.broken)
def test_twins_are_caught(mutant: cycle_parts.Audit) -> None:
    assert mutant.run().caught


def test_where_mutants_are_caught_the_real_client_holds() -> None:
    assert audit_cycle_parts("parts", [], long_rows()[:1]).holds
