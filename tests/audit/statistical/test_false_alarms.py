"""The auditor's own false alarms: as seldom as it says, and counted by something that can see too many.  [SHOWN.4]"""

from __future__ import annotations

import pytest
from scipy.stats import binom

from visibility_aware_edge_ldp.audit.statistical.audits import CORRECT, FalseAlarms, false_alarms


@pytest.mark.long
def test_correct_mechanisms_hardly_ever_ring() -> None:
    for found in false_alarms(150, 1000):
        assert found.holds
        assert found.rang == 0
        assert found.mechanism in CORRECT


@pytest.mark.long
def test_an_auditor_that_allows_itself_more_rings_more_and_not_too_often() -> None:
    """At half, a fair auditor must ring now and then; one that never rings could not tell anything."""
    for found in false_alarms(120, 1000, 0.5):
        assert found.rang > 0
        assert found.at_most < 0.5
        assert found.holds


@pytest.mark.parametrize(("rang", "holds"), [(0, True), (1, True), (4, True), (6, False), (1000, False)])
def test_too_many_rings_are_no_chance(rang: int, holds: bool) -> None:
    found = FalseAlarms("x", 0.001, 1000, rang, 1.0)
    assert found.holds is holds
    assert bool(binom.sf(rang - 1, 1000, 0.001) >= 0.001) is holds
    assert found.rate == rang / 1000
    assert found.as_dict()["holds"] is holds
