"""When uploads leave: at its pace the program tells nothing, and its twins are caught.  [PACE.2-5]"""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.timing import campaign as timed
from visibility_aware_edge_ldp.audit.timing.campaign import AUDITS, MUTANTS, as_due, find


def test_the_program_tells_nothing_at_its_pace() -> None:
    finding = find("campaign rows, paced", 12, as_due)
    assert finding.holds, finding
    assert [loss.kind for loss in finding.losses] == ["time", "slowest", "overruns", "length"]


@pytest.mark.long
@pytest.mark.parametrize("twin", MUTANTS, ids=[twin.name for twin in MUTANTS])
def test_twins_are_caught(twin: Audit) -> None:
    finding = twin.run()
    assert finding.caught, finding
    assert finding.losses[0].found > 10, finding


def test_the_clock_runs_from_the_last_reply_to_the_upload() -> None:
    with timed.at_home() as home:
        watch = timed.watched(0, home, 0.05)
    assert 0.05e9 <= watch.waited < 5e9
    assert len(watch.upload) == timed._context().terms.upload_size(0, 1)


def test_both_sides_are_what_they_say() -> None:
    assert [len(timed.brought(side)) for side in (0, 1)] == [0, timed.PEOPLE - 1]


def test_names() -> None:
    assert {audit.way for audit in (*AUDITS, *MUTANTS)} == {"time"}
    assert all(twin.broken for twin in MUTANTS)
    assert not any(audit.broken for audit in AUDITS)
