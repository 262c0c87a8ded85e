"""The audit of public hubs: both kinds, and the twins that it must catch."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.exact_hubs import AUDITS, SETTINGS, TWINS, check_hubs, real_hub
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Overheard
from visibility_aware_edge_ldp.public.hub_survey import hub_survey


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


def test_a_hub_that_halves_its_noise_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = SETTINGS["one hub of four"]
    survey = setting.survey(4, "shared")
    check_hubs(setting, survey)
    honest = Overheard.sample
    monkeypatch.setattr(Overheard, "sample", lambda self, bound, coins: honest(self, bound, coins) // 2)
    with pytest.raises(ProtocolViolation, match="another noise"):
        check_hubs(setting, survey)


def test_twins_are_caught() -> None:
    """By the same function as the real code, and each says what is wrong with it."""
    for twin in TWINS:
        assert not twin.run().holds, twin.broken
        assert twin.broken
