"""The statistical audits of the real clients: every one holds, and says what it did."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.evaluation.audit.statistical_audits import AUDITS, FEWEST, Pace, audits

RUNS = 40_000


@pytest.mark.parametrize("each", audits(RUNS), ids=[each.name for each in AUDITS])
def test_every_real_client_keeps_its_claim(each: Audit) -> None:
    finding = each.run()
    assert finding.holds
    assert finding.way == "statistical"
    assert f"{finding.cases:,} runs a side" in finding.about
    # Fewer runs than were asked for are explained.
    assert (finding.cases < RUNS) == ("runs a side (" in finding.about)


def test_the_audits_differ_in_name() -> None:
    assert len({each.name for each in AUDITS}) == len(AUDITS)
    assert not any(each.broken for each in AUDITS)


def test_a_pace_never_leaves_too_few_runs() -> None:
    assert Pace(1000).of(10**6) == 1000
    assert Pace(1000).of(1000) == FEWEST
