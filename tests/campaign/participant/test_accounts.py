"""What answers have cost each position: rosters that differ, levels, charges, pairs and caps."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from visibility_aware_edge_ldp.campaign.participant.accounts import (
    DEFAULT_CAPS,
    ONE,
    Account,
    Request,
    account_of,
    caps_entry,
    caps_in,
    checked_caps,
    units,
)
from visibility_aware_edge_ldp.campaign.participant.friend_lists import roster_entry
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, UnusableLedger, create_ledger
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.mechanisms.chain import Level
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
HALF, ONE_, TWO = (RandomizedResponse(Fraction(each)).threshold for each in ("1/2", "1", "2"))
OLD, NEW = ("me", "ann", "bob", "cat"), ("dan", "cat", "me", "ann")


def bits(*values: int) -> np.ndarray:
    return np.array(values, np.bool_)


def empty(names: tuple[str, ...] = OLD) -> Account:
    return account_of([], names)


def request(private: np.ndarray, friends: np.ndarray | None = None, **more: object) -> Request:
    places = {PRIVATE: private, FRIEND_VISIBLE: np.zeros_like(private) if friends is None else friends}
    return Request(places, **more)  # type: ignore[arg-type]


def test_units_round_up() -> None:
    assert units(Fraction(1)) == ONE
    assert units(Fraction(1, 3)) == ONE // 3 + 1
    assert units(Fraction(0)) == 0


def test_another_roster_reads_the_same_people() -> None:
    account = empty()
    kept = account.list_entries("spring", bits(0, 1, 0, 1), 0)
    levels = account.level_entries("spring", [Level(TWO, bits(0, 1, 1, 0), bits(0, 1, 0, 0))])
    charges = account.charge_entries("spring", request(bits(0, 0, 1, 1), charges={PRIVATE: Fraction(1, 4)}))
    assert len(kept) == 1
    entries = [roster_entry(OLD), *kept, *levels, *charges]
    found = account_of(entries, NEW)
    assert found.known.tolist() == [False, True, False, True]  # dan is new; of oneself there is nothing to know
    assert found.friends.tolist() == [False, True, False, True]
    assert found.levels[0].known.tolist() == [False, False, False, True]
    assert found.levels[0].ones.tolist() == [False, False, False, True]
    assert found.lost.tolist() == [0, ONE // 4, 0, 2 * ONE]
    assert (account_of(entries, OLD).lost / ONE).tolist() == [0, 2, 2.25, 0.25]


def test_only_what_is_new_is_written() -> None:
    account = empty()
    first = account.level_entries("spring", [Level(ONE_, bits(0, 1, 0, 0), bits(0, 1, 0, 0))])
    kept = account.list_entries("spring", bits(0, 1, 0, 0), 0)
    assert len(kept) == 1
    later = account_of([roster_entry(OLD), *kept, *first], OLD)
    assert later.list_entries("spring", bits(0, 0, 1, 1), 0) == []
    assert later.level_entries("spring", [Level(ONE_, bits(0, 1, 0, 0), bits(0, 1, 0, 0))]) == []
    more = later.level_entries("spring", [Level(ONE_, bits(0, 1, 1, 0), bits(0, 1, 1, 0))])
    assert account_of([roster_entry(OLD), *first, *more], OLD).levels[0].ones.tolist() == [False, True, True, False]


def test_a_chain_loses_its_best_and_charges_add() -> None:
    both = bits(0, 1, 1, 0)
    account = Account(OLD, both, both, (Level(HALF, both, both),), np.array([0, ONE, 0, 0]), 0)
    after = account.lost_after([request(bits(0, 1, 0, 0), thresholds={PRIVATE: TWO})])
    assert (after / ONE).tolist() == [0, 3, 0.5, 0]
    worse = account.lost_after([request(bits(0, 1, 1, 1), thresholds={PRIVATE: HALF})])
    assert (worse / ONE).tolist() == [0, 1.5, 0.5, 0.5]
    twice = request(bits(0, 0, 1, 0), charges={PRIVATE: Fraction(1, 4)})
    assert (account.lost_after([twice, twice]) / ONE).tolist() == [0, 1.5, 1, 0]


def test_caps_are_per_class_and_reached_exactly() -> None:
    ask = request(bits(0, 1, 0, 0), bits(0, 0, 1, 0), thresholds={PRIVATE: ONE_, FRIEND_VISIBLE: TWO})
    empty().refuse_beyond(DEFAULT_CAPS, [ask])
    with pytest.raises(Refused, match="PRIVATE edge would have lost ε = 1 in this epoch, and you allowed 0"):
        empty().refuse_beyond({**DEFAULT_CAPS, PRIVATE: Fraction("0.999999999999")}, [ask])
    with pytest.raises(Refused, match="FRIEND_VISIBLE edge would have lost ε = 2"):
        empty().refuse_beyond({**DEFAULT_CAPS, FRIEND_VISIBLE: Fraction(1)}, [ask])


def test_a_class_that_is_not_asked_now_does_not_stop_the_other() -> None:
    """A position may have been dearer under another policy; it is not asked about now."""
    spent = Account(OLD, bits(0, 0, 0, 0), bits(0, 0, 0, 0), (), np.array([0, 0, 5 * ONE, 0]), 0)
    spent.refuse_beyond(DEFAULT_CAPS, [request(bits(0, 1, 0, 0), thresholds={PRIVATE: ONE_})])
    with pytest.raises(Refused, match="ε = 6"):
        spent.refuse_beyond(DEFAULT_CAPS, [request(bits(0, 1, 1, 0), thresholds={PRIVATE: ONE_})])


def test_the_rounds_that_follow_are_counted_before_the_first() -> None:
    first = request(bits(0, 1, 1, 1), thresholds={PRIVATE: HALF})
    second = request(bits(0, 1, 1, 1), charges={PRIVATE: Fraction(3, 4)})
    empty().refuse_beyond(DEFAULT_CAPS, [first])
    with pytest.raises(Refused, match=r"ε = 1\.25"):
        empty().refuse_beyond(DEFAULT_CAPS, [first, second])


def test_pairs_have_an_account_of_their_own() -> None:
    ask = request(bits(0, 0, 0, 0), pairs={PRIVATE: Fraction(3, 5)})
    (entry,) = empty().charge_entries("spring", ask)
    later = account_of([entry], OLD)
    assert later.lost.tolist() == [0, 0, 0, 0]
    assert later.pairs_after([ask]) == 12 * ONE // 10
    with pytest.raises(Refused, match=r"ε = 1\.2"):
        later.refuse_beyond(DEFAULT_CAPS, [ask])
    later.refuse_beyond({**DEFAULT_CAPS, PRIVATE: Fraction(2)}, [ask])


def test_pairs_keep_the_strictest_class() -> None:
    private, relabelled = (
        request(bits(0, 0, 0, 0), pairs={kind: Fraction(3, 5)}) for kind in (PRIVATE, FRIEND_VISIBLE)
    )
    later = account_of(empty().charge_entries("spring", private), OLD)
    with pytest.raises(Refused, match=r"A PRIVATE edge would have lost ε = 1\.2"):
        later.refuse_beyond(DEFAULT_CAPS, [relabelled])
    account_of(empty().charge_entries("spring", relabelled), OLD).refuse_beyond(DEFAULT_CAPS, [relabelled])


def test_a_position_is_held_to_every_cap_of_a_class_that_it_was_asked_as() -> None:
    ask = request(bits(0, 1, 0, 0), bits(0, 0, 1, 0), thresholds={PRIVATE: ONE_, FRIEND_VISIBLE: TWO})
    later = account_of([roster_entry(OLD), *empty().class_entries("spring", [ask])], NEW)
    assert later.held_as(PRIVATE).tolist() == [False, False, False, True]
    assert later.class_entries("spring", [request(bits(0, 0, 0, 1))]) == []
    relabelled = request(bits(0, 0, 0, 0), bits(0, 0, 0, 1), thresholds={FRIEND_VISIBLE: TWO})
    with pytest.raises(Refused, match="A PRIVATE edge would have lost ε = 2 in this epoch, and you allowed 1"):
        later.refuse_beyond(DEFAULT_CAPS, [relabelled])
    low = {**DEFAULT_CAPS, FRIEND_VISIBLE: Fraction(1, 2)}
    stricter = account_of([roster_entry(OLD), *empty().class_entries("spring", [ask])], OLD)
    with pytest.raises(
        Refused, match=r"A FRIEND_VISIBLE edge would have lost ε = 1 in this epoch, and you allowed 0\.5"
    ):
        stricter.refuse_beyond(low, [request(bits(0, 0, 1, 0), thresholds={PRIVATE: ONE_})])


def test_others_answers_cost_their_best_and_are_written_once() -> None:
    ask = request(bits(0, 1, 1, 0), bits(0, 0, 0, 1), thresholds={PRIVATE: HALF, FRIEND_VISIBLE: HALF})
    entries = [roster_entry(OLD), *empty().other_entries("spring", ask)]
    later = account_of(entries, OLD)
    assert (later.lost / ONE).tolist() == [0, 0.5, 0.5, 0.5]
    assert later.levels == ()
    assert later.other_entries("spring", ask) == []
    better = later.other_entries("spring", request(bits(0, 1, 0, 0), thresholds={PRIVATE: TWO}))
    assert (account_of([*entries, *better], OLD).lost / ONE).tolist() == [0, 2, 0.5, 0.5]


def test_two_answers_for_one_position_are_recognised() -> None:
    entries = [
        roster_entry(OLD),
        *empty().level_entries("spring", [Level(ONE_, bits(0, 1, 0, 0), bits(0, 1, 0, 0))]),
        *empty().level_entries("spring", [Level(ONE_, bits(0, 1, 0, 0), bits(0, 0, 0, 0))]),
    ]
    with pytest.raises(UnusableLedger, match="two answers for one position"):
        account_of(entries, OLD)


def test_bits_of_an_unknown_roster_are_recognised() -> None:
    entry = Entry("level", "spring", str(ONE_), "nobody's", b"\0\0")
    with pytest.raises(UnusableLedger, match="a roster that it does not hold"):
        account_of([entry], OLD)


def test_caps(tmp_path: Path) -> None:
    ledger = create_ledger(tmp_path / "ledger.db", caps_entry({}))
    with ledger.writing() as page:
        assert caps_in(page) == dict(DEFAULT_CAPS) == {PRIVATE: 1, FRIEND_VISIBLE: 2}
        page.append(caps_entry({PRIVATE: 0.1}))
        assert caps_in(page)[PRIVATE] == Fraction(1, 10)


@pytest.mark.parametrize(("entry", "said"), [(Entry("epoch"), "holds no caps"), (Entry("caps", content=b"[]"), "read")])
def test_a_ledger_without_caps_is_not_used(tmp_path: Path, entry: Entry, said: str) -> None:
    with (
        create_ledger(tmp_path / "ledger.db", entry).reading() as page,
        pytest.raises(UnusableLedger, match=said),
    ):
        caps_in(page)


@pytest.mark.parametrize(
    "caps", [{PRIVATE: "1/3"}, {PRIVATE: -1}, {PRIVATE: 1001}, {PUBLIC: 1}, {FRIEND_VISIBLE: "1e-13"}], ids=str
)
def test_caps_that_cannot_be_kept(caps: dict[Visibility, str]) -> None:
    with pytest.raises(BadInput, match="A cap is a number from 0 to 1000"):
        checked_caps(caps)
