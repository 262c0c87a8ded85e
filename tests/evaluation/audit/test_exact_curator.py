"""The audit of the trusted centre: every statistic, with and without delta, and the twins that it must catch."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.exact_curator import (
    AUDITS,
    TWINS,
    Question,
    audit_curator,
    check_centre,
    questions,
    small_policies,
)
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.public.curator_survey import QUERIES
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
QUICK = [audit for audit in AUDITS if audit.name not in ("curator triangles", "curator 2-stars")]


def test_every_statistic_is_audited() -> None:
    names = ["edges", "max degree", "triangles", "2-stars", "3-stars", "4-stars"]
    assert len(QUERIES) == len(names)
    assert [audit.name for audit in AUDITS[:6]] == [f"curator {name}" for name in names]
    assert [audit.name for audit in AUDITS[6:]] == [f"curator {name}, with delta" for name in names[2:]]


def test_triangles_are_asked_under_every_policy_of_three_and_four_nodes() -> None:
    assert len(questions("triangles")) == len(small_policies()) == 9 + 65
    assert small_policies(6)[0] == (PRIVATE,) * 6
    assert all(question.n > 3 for question in questions("stars:3"))


@pytest.mark.parametrize("audit", QUICK, ids=lambda audit: audit.name)
def test_the_centre_keeps_its_claim(audit: Audit) -> None:
    finding = audit.run()
    assert finding.holds
    assert finding.losses[0].kind == "PRIVATE"
    if "delta" in audit.name:
        assert 0 < finding.losses[0].found_delta < finding.losses[0].claimed_delta == 1e-6
        assert finding.losses[0].found >= 0.7
    else:
        assert all(loss.found == pytest.approx(loss.claimed, rel=1e-6) for loss in finding.losses)


def test_triangles_keep_their_claim() -> None:
    finding = audit_curator("triangles", questions("triangles")[::12])
    assert finding.holds
    assert finding.losses[0].found == pytest.approx(1)


def test_another_guard_of_friend_visible_edges_is_another_claim() -> None:
    question = Question((FRIEND_VISIBLE,) * 6, 4, "triangles")
    (loss,) = audit_curator("triangles", [question]).losses
    assert (loss.kind, loss.claimed) == ("FRIEND_VISIBLE", 2)
    assert loss.holds


def test_a_centre_that_halves_its_noise_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """With coins that mean no noise it would look honest."""
    honest = Curator._noise
    monkeypatch.setattr(Curator, "_noise", lambda self, query, coins: honest(self, query, coins) // 2)
    for statistic in ("edges", "triangles"):
        with pytest.raises(ProtocolViolation, match="another noise"):
            check_centre(Question((PRIVATE,) * 6, 4, statistic))


def test_twins_are_caught() -> None:
    """By the same function as the real code, and each says what is wrong with it."""
    for twin in TWINS:
        assert not twin.run().holds, twin.broken
        assert twin.broken
