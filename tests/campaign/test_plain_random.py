"""A thousand reports of campaigns drawn at random: the plain program and this package's write the same bytes."""

from __future__ import annotations

import pytest

from support.random_reports import QUESTIONS, all_compared
from visibility_aware_edge_ldp.campaign.policy_text import _KINDS


def test_fifty_random_reports() -> None:
    assert len(all_compared(range(1000), 50)) >= 50


@pytest.mark.long
def test_a_thousand_random_reports_of_every_kind() -> None:
    found = all_compared(range(1000, 9000), 1000)
    assert len(found) >= 1000
    rounds = {(question, number) for question, number, _, _ in found}
    assert rounds == {("position", 2), ("triangles", 2), *((each, 1) for each in QUESTIONS)}
    assert {(rule, scoped) for _, _, rule, scoped in found} == {
        (rule, each) for rule in _KINDS for each in (True, False)
    }
