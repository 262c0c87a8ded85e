"""The participant's program against a server that remembers: what leaves, what it costs, and what is declined."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from campaign.conftest import QUICK, TOWN
from support.campaign_people import FRIEND_VISIBLE, PRIVATE, Ask, bits, by_name, join, reply, who
from support.campaign_stub import Stub
from visibility_aware_edge_ldp.campaign.participant import program
from visibility_aware_edge_ldp.campaign.participant.server_checks import status
from visibility_aware_edge_ldp.campaign.wire_format import Receipt
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy


def test_one_round_of_positions(ask: Ask, tmp_path: Path) -> None:
    served, home, shown = ask(), tmp_path / "home", list[str]()
    join(served, home)

    def consent(lines: list[str]) -> bool:
        shown.extend(lines)
        return True

    done = reply(served, home, [who(served, 3)], consent=consent)
    assert done.receipt == Receipt(done.campaign, 1, 0, sha256(served.kept[1, 0]).hexdigest())
    assert "ε = 1 now (1 by all rounds of the campaign)" in shown[-1]
    assert "0 so far, 1 after, 1 allowed" in shown[-1]
    assert any("11 positions" in line for line in shown)
    assert [len(each[2]) for each in served.heard] == [served.terms.upload_size(0, 1)]


def test_asked_again_the_same_bytes_leave(ask: Ask, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    join(served, home)
    for friends in ([who(served, 3)], [who(served, 4)], lambda: 1 / 0):
        reply(served, home, friends)
    assert len({body for _, _, body in served.heard}) == 1
    assert len(served.heard) == 3


def test_another_campaign_at_the_same_threshold_hears_the_same_bits_for_nothing(ask: Ask, tmp_path: Path) -> None:
    first, second, home = ask(), ask(title="The same under another name"), tmp_path / "home"
    join(first, home)
    join(second, home)
    reply(first, home, TOWN[:0])
    shown: list[str] = []
    reply(second, home, consent=lambda lines: not shown.extend(lines))
    assert (bits(first) == bits(second)).all()
    assert "ε = 0 now" in shown[-1]


def test_another_roster_hears_the_same_bits_for_the_same_people(ask: Ask, tmp_path: Path) -> None:
    first = ask()
    own = who(first)
    fewer = ask(names=[name for name in TOWN if name != who(first, 5)] + ["person 77", "person 78"])
    home = tmp_path / "home"
    join(first, home)
    join(fewer, home, own)
    reply(first, home, TOWN[:0])
    reply(fewer, home, TOWN[:0])
    place = [str(name) for name in fewer.campaign.documents.roster].index(own)
    before, after = by_name(first), by_name(fewer, place)
    common = before.keys() & after.keys()
    assert len(common) >= 5
    assert all(before[name] == after[name] for name in common)


def test_a_larger_and_a_smaller_epsilon_cost_the_larger(ask: Ask, tmp_path: Path) -> None:
    low, high, between, home = ask(epsilon="1/2"), ask(epsilon=2), ask(epsilon=1), tmp_path / "home"
    for served in (low, high, between):
        join(served, home, caps={PRIVATE: 2})
        reply(served, home)
    assert [each.lost[PRIVATE] for each in status(home)] == [2, 2, 2]
    third = ask(epsilon="5/2")
    join(third, home)
    with pytest.raises(Refused, match=r"lost ε = 2\.5 in this epoch, and you allowed 2"):
        reply(third, home)
    assert not third.heard


def test_over_the_cap_nothing_is_read_and_nothing_leaves(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    served, home = ask(epsilon="1.01"), tmp_path / "home"
    join(served, home)
    with pytest.raises(Refused, match="you allowed 1"):
        reply(served, home, lambda: 1 / 0)
    assert not served.heard
    assert "PUT" not in {method for method, _ in stub.requests}


def test_without_consent_nothing_is_read_and_nothing_leaves(ask: Ask, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    join(served, home)
    with pytest.raises(Refused, match="You declined"):
        reply(served, home, lambda: 1 / 0, consent=lambda lines: False)
    assert not served.heard
    assert status(home)[0].answered == ()


def test_two_classes_are_asked_at_their_own_thresholds(ask: Ask, tmp_path: Path) -> None:
    served, home = ask(policy=VisibilityPolicy(0.2, 0.4)), tmp_path / "home"
    join(served, home)
    reply(served, home, TOWN[3:4] if who(served) != TOWN[3] else TOWN[4:5])
    found = status(home)[0].lost
    assert found == {FRIEND_VISIBLE: 2, PRIVATE: 1}


def test_nothing_is_asked_of_the_last(ask: Ask, tmp_path: Path) -> None:
    served, home, lines = ask(), tmp_path / "home", list[str]()
    join(served, home, who(served, 11))
    assert reply(served, home, lambda: 1 / 0, say=lines.append).receipt is None
    assert "Nothing is asked of you" in lines[0]


def test_unknown_names_are_said_and_left_out(ask: Ask, tmp_path: Path) -> None:
    served, home, lines = ask(), tmp_path / "home", list[str]()
    join(served, home)
    reply(served, home, ["nobody", who(served, 2)], say=lines.append)
    assert lines[0] == "Not in the roster, and left out: 'nobody'."


def test_ones_own_name_is_refused_and_nothing_leaves(ask: Ask, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    join(served, home)
    with pytest.raises(BadInput, match="its own holder"):
        reply(served, home, [who(served)])
    assert status(home)[0].answered == ()
    assert not served.heard


def test_a_list_that_changes_within_an_epoch_does_not_change_the_answers(ask: Ask, tmp_path: Path) -> None:
    """At so large an ε answers are the bits: those of the first list."""
    first, second, home, lines = ask(epsilon=40), ask(epsilon=50), tmp_path / "home", list[str]()
    for served in (first, second):
        join(served, home, caps={PRIVATE: 100})
    reply(first, home, [who(first, 3)])
    reply(second, home, [who(first, 4)], say=lines.append)
    assert by_name(first)[who(first, 3)]
    assert by_name(second) == by_name(first)
    assert lines[0].startswith("2 friendships differ")


def test_two_homes_draw_their_own_random_bytes(ask: Ask, tmp_path: Path) -> None:
    served, found = ask(epsilon="1/10", names=[f"p{number}" for number in range(200)]), []
    for number in range(2):
        home = tmp_path / f"home {number}"
        join(served, home)
        served.kept.clear()
        reply(served, home)
        found.append(bits(served))
    assert (found[0] != found[1]).any()


def test_random_bytes_are_drawn_anew_for_every_answer(ask: Ask, tmp_path: Path) -> None:
    made: list[RandomBytes] = []

    def fresh() -> RandomBytes:
        made.append(keyed_random_bytes(seeded_key("fresh", len(made))))
        return made[-1]

    served, other, home = ask("degrees"), ask("degrees", epsilon="1/2"), tmp_path / "home"
    for each in (served, other):
        join(each, home, caps={PRIVATE: 2})
        reply(each, home, [], replace(QUICK, random_bytes=fresh))
    assert len(made) == 2


def test_kernels_are_settled_before_a_list_is_read(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which kernels run must not follow from the list: when an answer leaves would tell of it.  [PACE.1]"""
    served, home, order = ask(), tmp_path / "home", list[str]()
    paced = program.paced
    monkeypatch.setattr(program, "settle", lambda: order.append("settled"))
    monkeypatch.setattr(program, "paced", lambda *given: (order.append("paced"), paced(*given))[1])
    join(served, home)
    reply(served, home, [])
    assert order == ["settled", "paced"]
