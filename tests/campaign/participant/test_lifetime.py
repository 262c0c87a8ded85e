"""Twelve monthly campaigns: what they cost a tie in all is shown before each answer, and capped.  [LEDGER.4]"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from campaign.conftest import TOWN
from support.campaign_people import Ask, join, reply
from visibility_aware_edge_ldp.campaign.participant import lifetime
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.campaign.participant.program import LEDGER
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE = Visibility.PRIVATE


def answer_in(ask: Ask, home: Path, month: int) -> list[str]:
    """What is shown of all epochs before an answer about this month, which is given."""
    served, shown = ask(question="degrees", epoch=f"month {month}", epsilon="1"), list[str]()
    join(served, home, name=TOWN[0], new_epoch=True)
    reply(served, home, consent=lambda lines: not shown.extend(lines))
    return [line.strip() for line in shown if "in all epochs together" in line]


def test_waves_are_added_up_shown_and_capped(ask: Ask, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert answer_in(ask, home, 0) == []
    for month in (1, 2, 3):
        said = f"in all epochs together {month} so far, {month + 1} after, 4 allowed"
        assert answer_in(ask, home, month) == [said]
    for month in range(4, 12):
        with pytest.raises(Refused, match=r"ε = 5 in all epochs together, and you allowed 4.*--lifetime-cap PRIVATE=5"):
            answer_in(ask, home, month)


def test_only_its_owner_allows_more(ask: Ask, tmp_path: Path) -> None:
    home, served = tmp_path / "home", ask(question="degrees", epoch="before", epsilon="1")
    join(served, home, name=TOWN[0], lifetime_caps={PRIVATE: "12"})
    for month in range(12):
        assert answer_in(ask, home, month)[-1:] == (
            [f"in all epochs together {month} so far, {month + 1} after, 12 allowed"] if month else []
        )
    with pytest.raises(Refused, match="ε = 13 in all epochs together, and you allowed 12"):
        answer_in(ask, home, 12)


def test_caps_of_a_lifetime_follow_those_of_an_epoch_until_they_are_chosen(ask: Ask, tmp_path: Path) -> None:
    home, served = tmp_path / "home", ask(question="degrees")
    join(served, home, name=TOWN[0], caps={PRIVATE: "3/2"})
    with Ledger(home / LEDGER).reading() as page:
        assert lifetime.caps_in(page) == {Visibility.FRIEND_VISIBLE: 8, PRIVATE: 6}
    join(served, home, name=TOWN[0], lifetime_caps={PRIVATE: "2"})
    join(served, home, name=TOWN[0], caps={PRIVATE: "1"})
    with Ledger(home / LEDGER).reading() as page:
        assert lifetime.caps_in(page) == {Visibility.FRIEND_VISIBLE: 8, PRIVATE: Fraction(2)}
    with pytest.raises(BadInput, match="A cap is a number"):
        join(served, home, name=TOWN[0], lifetime_caps={PRIVATE: "-1"})
