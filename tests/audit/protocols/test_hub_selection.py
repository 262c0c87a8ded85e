"""The audit of a private choice of hubs, and the twins that it must catch."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.small_worlds import worlds
from visibility_aware_edge_ldp.audit.protocols.hub_selection import (
    AUDITS,
    REPORTS,
    Choice,
    FollowUp,
    audit_choice,
)
from visibility_aware_edge_ldp.client import degrees as user_degrees
from visibility_aware_edge_ldp.privacy import Guarantee, OneListEntry
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


def test_the_choice_keeps_its_claim_and_uses_it_up() -> None:
    """Under rule "both" positions with one hub become friend-visible; the bill adds the choice to every class."""
    finding = AUDITS[0].run()
    assert finding.holds
    assert [(loss.kind, loss.claimed) for loss in finding.losses] == [("PRIVATE", 2), ("FRIEND_VISIBLE", 3)]
    assert all(loss.found == pytest.approx(loss.claimed) for loss in finding.losses)


def test_every_user_is_chosen_by_some_reports_on_either_side_of_the_degrees() -> None:
    for low, high in ((-2, -1), (3, 5)):
        inside = [reports for reports in REPORTS if min(reports) >= low and max(reports) <= high]
        kinds = {tuple(FollowUp(choice, choice.policy(r)).kinds) for choice in (Choice("1"),) for r in inside}
        assert len(kinds) == 3


def test_answers_under_the_policy_are_walked_whole() -> None:
    choice = Choice("1", rule="both")
    after = FollowUp(choice, choice.policy((5, 0, 0)))
    assert after.kinds == [FRIEND_VISIBLE, FRIEND_VISIBLE, PRIVATE]
    for world in worlds((PRIVATE,) * 3):
        assert sum(after.law(world).values()) == 1
        assert len(after.law(world)) == 8


@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_other_epsilons(epsilon: str) -> None:
    assert audit_choice("choice", [Choice(epsilon, "1/3")]).holds


def test_the_client_broken_by_a_doubled_list_price_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DegreeSurvey.list_price
    doubled = lambda self, kind: Guarantee(OneListEntry, 2 * honest(self, kind).epsilon)  # noqa: E731
    monkeypatch.setattr(DegreeSurvey, "list_price", doubled)
    assert not audit_choice("broken", [Choice("1")]).holds


def test_the_client_broken_where_a_user_has_no_friends_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = user_degrees.randomize
    broken = lambda counts, *rest: np.where(counts == 0, 0, honest(counts, *rest))  # noqa: E731
    monkeypatch.setattr(user_degrees, "randomize", broken)
    assert not audit_choice("broken", [Choice("1")]).holds
