"""A town of real ledgers: what leaves, what is modelled, and what is found wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.audit.campaigns import ledgers, town
from visibility_aware_edge_ldp.audit.campaigns.model import NAMES, PRIVATE, Campaign, Dice
from visibility_aware_edge_ldp.campaign.participant import accounts, answering
from visibility_aware_edge_ldp.campaign.participant.accounts import Account


def a_town(folder: Path, silent: bool = False) -> town.Town:
    return town.Town(folder, ledgers.WIDE, silent, Dice("a town"), ledgers.as_it_is)


def troubles(place: town.Town) -> tuple[bool, bool, bool]:
    return place.uncounted > 0, place.beyond > 0, place.otherwise > 0


@pytest.mark.parametrize("question", ["position", "position, twice", "degrees", "triangles", "hubs"])
def test_each_question_is_counted_at_both_ends(question: str, tmp_path: Path) -> None:
    place = a_town(tmp_path)
    for title in ("One", "Two"):
        place.hold(Campaign(question, "1/2", "spring", NAMES, 0, title))
    assert troubles(place) == (False, False, False)
    assert place.cases > 0
    lost = max(each.loss for each in place.lost.values())
    # Sums are made anew for every campaign; everything else is answered once.
    assert lost > Fraction(1, 2) - Fraction(1, 1000)


def test_the_same_edge_is_counted_once_by_a_question_that_comes_again(tmp_path: Path) -> None:
    place = a_town(tmp_path)
    for number in range(12):  # some stay away each time; by now everybody has answered
        place.hold(Campaign("degrees", "1/4", "spring", NAMES, 0, f"Campaign {number}"))
    before = {where: each.loss for where, each in place.lost.items()}
    place.hold(Campaign("degrees", "1/4", "spring", NAMES, 0, "Another title"))
    assert before == {where: each.loss for where, each in place.lost.items()}


def test_a_ledger_that_charges_half_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = accounts.units
    monkeypatch.setattr(accounts, "units", lambda value: real(value) // 2)
    place = a_town(tmp_path)
    place.hold(Campaign("degrees", "1/2", "spring", NAMES, 0, "One"))
    assert troubles(place) == (True, False, False)
    assert any(not loss.holds for loss in place.losses)


def test_a_program_that_uses_the_newest_list_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Account, "list_entries", lambda *_: [])
    place = a_town(tmp_path, silent=True)
    for number, epsilon in enumerate(("1/8", "1/4", "1/2")):
        place.hold(Campaign("degrees", epsilon, "spring", NAMES, 0, f"Campaign {number}"))
    assert troubles(place) == (False, False, True)


def test_a_cap_that_is_not_held_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Account, "refuse_beyond", lambda *_: None)
    place = town.Town(tmp_path, ledgers.NARROW, False, Dice("caps"), ledgers.as_it_is)
    for epsilon in ("1/2", "1/4", "3/4"):
        place.hold(Campaign("degrees", epsilon, "spring", NAMES, 0, epsilon))
    assert place.beyond >= Fraction(1, 2)


def test_the_same_bytes_again_are_not_beyond_a_cap_and_new_ones_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hubs' counts take edges beyond their caps; then an old question comes again, and then a new one."""
    monkeypatch.setattr(town.Town, "lucky", lambda *_: [])
    monkeypatch.setattr(Dice, "chance", lambda dice, percent: percent == 50 and dice.below(2) == 1)
    place = town.Town(tmp_path, ledgers.NARROW, False, Dice("again"), ledgers.as_it_is)
    for question, epsilon, title in (("degrees", "1/2", "One"), ("hubs", "1/2", "Two"), ("degrees", "1/2", "Three")):
        place.hold(Campaign(question, epsilon, "spring", NAMES, 0, title))
        lost = max(each.loss - place.caps[max(place.asked_as[at])] for at, each in place.lost.items())
        assert (lost > 0) == (title != "One")
        assert bool(place.fresh) == (title == "One")
        assert place.beyond == 0
    monkeypatch.setattr(Account, "refuse_beyond", lambda *_: None)
    place.hold(Campaign("degrees", "1/4", "spring", NAMES, 0, "Four"))
    assert place.fresh
    assert place.beyond > 0


def test_an_older_copy_is_refused_and_one_that_is_believed_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_town(tmp_path)
    older = (tmp_path / "ann" / town.chain.LEDGER).read_bytes()
    place.hold(Campaign("degrees", "1/4", "spring", NAMES, 0, "One"))
    place.put_back("ann", older)
    assert place.otherwise == 0
    monkeypatch.setattr(town.Ledger, "_refuse_older_copy", lambda *_: None)
    place.put_back("ann", older)
    assert place.otherwise == 1


def test_who_declines_takes_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def declined(*_: object) -> None:
        raise answering.Refused("no")

    monkeypatch.setattr(answering, "quote", declined)
    place = a_town(tmp_path)
    place.hold(Campaign("degrees", "1/4", "spring", NAMES, 0, "One"))
    assert not place.lost
    assert place.cases == 0
    assert place.caps[PRIVATE] == 100
