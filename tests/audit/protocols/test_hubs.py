"""The audit of public hubs: both kinds, and the twins that it must catch."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.engine.noise_laws import RecordingPower
from visibility_aware_edge_ldp.audit.protocols.hubs import (
    AUDITS,
    MUTANTS,
    SETTINGS,
    all_said,
    audit_hubs,
    check_hubs,
    real_hub,
)
from visibility_aware_edge_ldp.client.hubs import HubClient, Territory
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.surveys import hubs as surveys
from visibility_aware_edge_ldp.public.surveys.hubs import HubReport, HubSurvey, hub_survey


@pytest.mark.long
@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.name)
def test_hubs_keep_their_claim(audit: Audit) -> None:
    finding = audit.run()
    assert finding.holds
    assert finding.name == audit.name
    assert not audit.broken
    assert finding.losses[0].found > 0.7 * finding.losses[0].claimed
    assert {loss.kind for loss in finding.losses} == {"PRIVATE", "FRIEND_VISIBLE"}


def test_a_survey_with_ears_is_the_same_survey() -> None:
    setting = SETTINGS["two hubs sharing two"]
    survey = setting.survey(4, "plain")
    plain = hub_survey(setting.view, 4, "plain", survey.plan)
    assert survey.identity == plain.identity
    assert survey.floors("inside").tolist() == plain.floors("inside").tolist()
    said = real_hub(survey, setting.view, setting.whole(setting.worlds()[-1]), 1)
    floors = [int(plain.floors(number)[1]) for number in plain.numbers]
    assert all(each.bound >= floor for each, floor in zip(said.numbers, floors, strict=True))


def check(kind: str = "shared") -> None:
    setting = SETTINGS["one hub of four"]
    survey = setting.survey(4, kind)
    check_hubs(survey, all_said(setting, survey).values())


def test_a_hub_that_halves_its_noise_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    honest = RecordingPower.sample
    monkeypatch.setattr(RecordingPower, "sample", lambda self, bound, coins: honest(self, bound, coins) // 2)
    with pytest.raises(ProtocolViolation, match="another noise"):
        check()


def test_a_hub_that_adds_two_noises_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = RecordingPower.sample

    def twice(self: RecordingPower, bound: int, coins: RandomBytes) -> int:
        return honest(self, bound, coins) + honest(self, bound, coins)

    monkeypatch.setattr(RecordingPower, "sample", twice)
    with pytest.raises(ProtocolViolation, match="another noise"):
        check()


@pytest.mark.parametrize("kind", ["shared", "plain"])
@pytest.mark.parametrize("draws", [False, True])
def test_the_hub_broken_where_it_has_nothing_to_count_is_caught(
    kind: str, draws: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it draws the noise that it does not add, or never asks for it."""

    def broken(self: HubClient, survey: HubSurvey, round_number: int, coins: RandomBytes, present: None) -> HubReport:
        place = survey.plan.hubs.index(self._view.start)
        counts = [Territory.of(self._view.edges, self._public, survey.plan, place).count(n) for n in survey.numbers]
        if not draws and not any(counts):
            return HubReport(survey.identity, place, tuple(counts))
        report = honest(self, survey, round_number, coins, present)
        return replace(report, values=tuple(v if n else 0 for v, n in zip(report.values, counts, strict=True)))

    honest = HubClient.randomize
    monkeypatch.setattr(HubClient, "randomize", broken)
    assert audit_hubs("broken", [("one hub of four", 4)], kind).losses[0].found == math.inf


def test_a_bill_above_what_was_asked_for_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveys, "least_loss", lambda epsilon, *rest: 2 * epsilon)
    assert not audit_hubs("dear", [("one hub of four", 4)], "shared").holds


def test_the_real_hubs_are_audited_wherever_a_twin_is() -> None:
    cases = set(AUDITS[0].run.args[1])
    assert all(set(twin.run.args[1]) <= cases for twin in MUTANTS)
    assert {twin.name for twin in MUTANTS} == {audit.name for audit in AUDITS}
