"""Sums that campaigns upload in the second round of triangles."""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.audit.campaigns import sums
from visibility_aware_edge_ldp.audit.campaigns.numbers import PRIVATE, Setting, known_to_all
from visibility_aware_edge_ldp.audit.campaigns.sums import TWO_CLASSES
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS
from visibility_aware_edge_ldp.campaign.terms import refuse_unfit
from visibility_aware_edge_ldp.errors import ProtocolViolation


def test_a_sum_is_over_friends_with_the_noise_of_its_row() -> None:
    setting = Setting("triangles", "1", 4, TWO_CLASSES)
    survey = setting.context(0).terms.survey
    value = float(survey.first.channel(PRIVATE).scores[1])
    _, alone = sums.sums_of(setting, frozenset({(0, 2)}), (1, 1, 1), 1)
    _, both = sums.sums_of(setting, frozenset({(0, 2), (0, 3)}), (1, 1, 1), 1)
    assert alone.number == 0
    assert both.number == pytest.approx(value * 2**survey.fineness, abs=1)
    assert both.bound >= alone.bound > 0


def test_coins_that_all_know_are_caught() -> None:
    setting = Setting("triangles", "1", 3, coins=known_to_all)
    assert sums.audit_measured("known", [setting], "-").losses[0].found == math.inf


@pytest.mark.parametrize("twin", sums.MUTANTS, ids=lambda twin: twin.name)
def test_twins_are_caught(twin: sums.findings.Audit) -> None:
    assert twin.run().caught


@pytest.mark.long
@pytest.mark.parametrize("audit", sums.AUDITS, ids=lambda audit: audit.name)
def test_uploads_lose_what_was_agreed_to(audit: sums.findings.Audit) -> None:
    assert audit.run().holds


def test_campaigns_inside_a_scope_ask_and_charge_nothing_outside() -> None:
    assert sums.audit_inside("inside", sums.HOUSES, "-").holds
    asked = [context.terms.asks(context.number, 1) for context in sums.inside("degrees", sums.HOUSES)]
    assert all(asked)


def test_hubs_take_no_scope() -> None:
    """So there is nothing of them to audit inside one."""
    with pytest.raises(ProtocolViolation, match="'hubs' takes no scope"):
        refuse_unfit(QUESTIONS["hubs"], sums.inside("degrees", sums.HOUSES)[0].view)
