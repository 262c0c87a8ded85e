"""An edge has two ends and one cap: what others answer about it counts, and so does what it was called before.

[LEDGER.2]
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from campaign.conftest import TOWN
from support.campaign_people import FRIEND_VISIBLE, PRIVATE, Ask, join, reply, who
from visibility_aware_edge_ldp.campaign.participant.server_checks import status
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

ALL_FRIEND_VISIBLE = VisibilityPolicy("0", "1", salt="x")


def lost(home: Path, place: int = 0) -> dict[object, Fraction]:
    return dict(status(home)[place].lost)


def test_a_position_keeps_the_strictest_class_that_it_was_asked_as(ask: Ask, tmp_path: Path) -> None:
    private, relabelled, home = ask(), ask(policy=ALL_FRIEND_VISIBLE, title="Relabelled"), tmp_path / "home"
    for served in (private, relabelled):
        join(served, home)
    reply(private, home)
    with pytest.raises(Refused, match="A PRIVATE edge would have lost ε = 2 in this epoch, and you allowed 1"):
        reply(relabelled, home, lambda: 1 / 0)
    assert not relabelled.heard
    assert lost(home, 0) == lost(home, 1) == {PRIVATE: 1, FRIEND_VISIBLE: 0}


def test_a_relabelled_position_may_be_asked_within_its_own_cap(ask: Ask, tmp_path: Path) -> None:
    private, home, shown = ask(epsilon="1/2"), tmp_path / "home", list[str]()
    relabelled = ask(epsilon="1/2", policy=ALL_FRIEND_VISIBLE, title="Relabelled")
    for served in (private, relabelled):
        join(served, home)
    reply(private, home)
    reply(relabelled, home, consent=lambda lines: not shown.extend(lines))
    assert "11 of these were of a stricter class before, and keep its cap" in shown[-1]
    assert lost(home)[PRIVATE] == 1


def test_the_order_does_not_matter(ask: Ask, tmp_path: Path) -> None:
    private, relabelled, home = ask(epsilon="1/2"), ask(policy=ALL_FRIEND_VISIBLE), tmp_path / "home"
    for served in (private, relabelled):
        join(served, home)
    reply(relabelled, home)
    with pytest.raises(Refused, match="PRIVATE edge would have lost ε = 2"):
        reply(private, home)


def test_both_ends_count_what_the_holder_answers(ask: Ask, tmp_path: Path) -> None:
    """The one in the middle answers for those after it; those before it answer for their edge with it."""
    rows, degrees, home, shown = ask(), ask("degrees", epsilon="1/100"), tmp_path / "home", list[str]()
    own = who(rows, 6)
    for served in (rows, degrees):
        join(served, home, own)
    reply(rows, home, consent=lambda lines: not shown.extend(lines))
    assert any(line.startswith("Others     6 people answer for their edge with you") for line in shown)
    assert "5 positions: ε = 1 now" in shown[-1]
    # All eleven edges are at the cap now; nothing may be said about any of them, whoever holds it.
    with pytest.raises(Refused, match=r"ε = 1\.01"):
        reply(degrees, home)
    only_before = ask("degrees", epsilon="1/100", names=[who(rows, place) for place in range(7)])
    join(only_before, home, own)
    with pytest.raises(Refused, match=r"ε = 1\.01"):
        reply(only_before, home)


def test_an_end_of_whom_nothing_is_asked_counts_what_the_others_answer(ask: Ask, tmp_path: Path) -> None:
    """Without this an edge would lose 1 in the holder's row and 1/2 in the other end's degree."""
    rows, degrees, home = ask(), ask("degrees"), tmp_path / "home"
    last = who(rows, 11)
    for served in (rows, degrees):
        join(served, home, last)
    for _ in range(2):
        assert reply(rows, home, lambda: 1 / 0).receipt is None
    assert lost(home)[PRIVATE] == 1
    with pytest.raises(Refused, match="ε = 2 in this epoch, and you allowed 1"):
        reply(degrees, home)
    assert not degrees.heard


def test_what_others_do_beyond_the_cap_is_charged_and_said(ask: Ask, tmp_path: Path) -> None:
    rows, degrees, home, lines = ask(), ask("degrees", epsilon="1/2"), tmp_path / "home", list[str]()
    last = who(rows, 11)
    for served in (rows, degrees):
        join(served, home, last)
    reply(degrees, home)
    reply(rows, home, say=lines.append)
    assert lines[0].startswith("Nothing is asked of you")
    assert "a PRIVATE edge of yours may have lost ε = 1.5 in this epoch, more than you allowed" in lines[1]
    assert lost(home)[PRIVATE] == Fraction(3, 2)


def test_what_others_answer_in_later_rounds_is_charged_at_once(ask: Ask, tmp_path: Path) -> None:
    """They answer the second round whether this one does or not."""
    served, home = ask(rounds=2), tmp_path / "home"
    again = ask(rounds=2, title="Again")
    join(served, home, who(served, 6))
    reply(served, home)
    only_before = ask("degrees", epsilon="1/100", names=[who(served, place) for place in range(7)])
    join(only_before, home, who(served, 6))
    with pytest.raises(Refused, match=r"ε = 1\.01"):
        reply(only_before, home)
    join(again, home, who(served, 6))
    reply(again, home)  # the same survey: everybody repeats itself, and nothing is charged twice
    assert {each.lost[PRIVATE] for each in status(home)} == {1}


def test_thresholds_of_others_cost_the_best_and_not_the_sum(ask: Ask, tmp_path: Path) -> None:
    low, high, home = ask(epsilon="1/2"), ask(epsilon=1), tmp_path / "home"
    last = who(low, 11)
    for served in (low, high, ask(epsilon="1/4")):
        join(served, home, last)
        reply(served, home)
    assert {each.lost[PRIVATE] for each in status(home)} == {1}


def test_triangles_charge_others_once_a_campaign(ask: Ask, tmp_path: Path) -> None:
    first, second, home = ask("triangles"), ask("triangles", title="Again"), tmp_path / "home"
    for served in (first, second):
        join(served, home, who(first, 11), caps={PRIVATE: 2})
        for _ in range(2):
            reply(served, home)
    charge = first.terms.round_losses(2)[PRIVATE]
    # The first rounds are one chain; each campaign has a transcript of its own, and a sum on it.
    assert lost(home)[PRIVATE] == pytest.approx(float(1 + charge), abs=1e-9)


def test_what_hubs_count_is_charged_to_those_they_count(ask: Ask, tmp_path: Path) -> None:
    policy = VisibilityPolicy.from_profiles({TOWN[0]: "public"}, "any")
    hubs = ask("hubs", policy=policy, edges=[(0, other) for other in range(1, 5)])
    rows, home = ask(), tmp_path / "home"
    for served in (hubs, rows):
        join(served, home, TOWN[5])
    for _ in range(2):
        assert reply(hubs, home, lambda: 1 / 0).receipt is None
    loss = hubs.terms.losses[PRIVATE]
    assert max(each.lost[PRIVATE] for each in status(home)) == loss
    with pytest.raises(Refused, match="and you allowed 1"):
        reply(rows, home)


def test_caps_that_are_not_named_stay(ask: Ask, tmp_path: Path) -> None:
    first, second, home = ask(), ask(title="Another"), tmp_path / "home"
    join(first, home, caps={PRIVATE: "1/2"})
    join(second, home, caps={FRIEND_VISIBLE: "0.7"})
    assert status(home)[0].caps == {PRIVATE: Fraction(1, 2), FRIEND_VISIBLE: Fraction(7, 10)}
    with pytest.raises(Refused, match=r"you allowed 0\.5"):
        reply(first, home)
