"""The flags of a bit's life keep their promise and use it up; broken ones are caught."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.campaigns import changes
from visibility_aware_edge_ldp.audit.engine.findings import Audit


def test_the_promise_is_kept_and_used_up() -> None:
    (audit,) = changes.AUDITS
    finding = audit.run()
    assert finding.holds, finding
    (worst,) = finding.losses  # of all cases, the one that comes nearest to its claim
    assert worst.found == pytest.approx(worst.claimed, rel=1e-9)
    assert finding.cases == 3 * 9 + 2 * 11**2


@pytest.mark.parametrize("audit", changes.MUTANTS, ids=lambda audit: audit.name)
def test_broken_flags_are_caught(audit: Audit) -> None:
    assert not audit.run().holds
