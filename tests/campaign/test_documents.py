"""The documents, and the order of the roster.  [CHARTER.4-5]"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign_vectors import CASES, EPOCH, NAMES, charter_for, documents_of
from visibility_aware_edge_ldp.campaign.documents import Documents, checked_names, in_order, renumbered
from visibility_aware_edge_ldp.campaign.new import drafted
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

people = st.lists(
    st.integers(-50, 50) | st.text("abcdef", min_size=1, max_size=3), min_size=2, max_size=12, unique=True
)


@pytest.mark.parametrize("case", CASES)
def test_documents_come_back(case: str) -> None:
    made = documents_of(case)
    charter = charter_for(case, made)
    back = Documents.from_bytes(charter, made.roster_bytes, made.policy_bytes, made.edges_bytes)
    assert back.roster == made.roster
    assert back.policy == made.policy
    assert np.array_equal(back.edges, made.edges)
    assert back.view.roster_digest == made.view.roster_digest
    assert (back.roster_bytes, back.policy_bytes, back.edges_bytes) == (
        made.roster_bytes,
        made.policy_bytes,
        made.edges_bytes,
    )


@given(people, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_who_wrote_the_roster(names: list[str | int], chance: object) -> None:
    shuffled = list(names)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert in_order(shuffled, "e") == in_order(names, "e")


@given(people, st.data())
def test_in_one_epoch_a_position_has_one_holder(names: list[str | int], data: st.DataObject) -> None:
    """Whoever else is on the roster, of two people the same one comes first."""
    few = data.draw(st.lists(st.sampled_from(names), unique=True))
    assert [name for name in in_order(names, "e") if name in few] == in_order(few, "e")


def test_the_order_is_the_hash_of_epoch_and_name() -> None:
    expected = sorted(["a", "b", 7], key=lambda name: hashlib.sha256(f'["e","{name}"]'.encode()).digest())
    assert in_order(["a", "b", 7], "e") == expected
    many = [f"p{i}" for i in range(30)]
    assert in_order(many, "e") != in_order(many, "another")


def test_edges_go_with_their_people() -> None:
    policy = VisibilityPolicy.of(VisibilityPolicy.from_profiles({}).rule) | VisibilityPolicy.from_positions(
        public=[("Ada", "Bea"), ("Eve", 9)]
    )
    made = drafted(NAMES, policy, [(1, 0), (4, 8), (0, 1)], EPOCH)
    told = {frozenset(made.roster[end] for end in edge) for edge in made.edges}
    assert told == {frozenset({"Ada", "Bea"}), frozenset({"Eve", 9})}
    assert made.edges.dtype == np.int32
    assert (made.edges[:, 0] < made.edges[:, 1]).all()
    made.view.classes  # noqa: B018 - they are at public positions


def test_no_edges_are_no_edges() -> None:
    assert renumbered([], [1, 0]).shape == (0, 2)


@pytest.mark.parametrize(
    "names",
    [["a", "a"], [1, "1"], ["a", ""], ["a", "b\tc"], ["a", "\x7f"], ["a", 1.5], ["a", None], ["a", (1,)], ["a", True]],
    ids=str,
)
def test_names_that_cannot_be_told_apart_are_refused(names: list[object]) -> None:
    with pytest.raises(BadInput, match="name"):
        checked_names(names)


def test_a_roster_stays_small() -> None:
    assert checked_names(["a", "é" * 200]) == ["a", "é" * 200]
    with pytest.raises(BadInput, match=r"200 characters.*has 201"):
        checked_names(["a", "é" * 201])


def test_a_name_has_one_place_in_an_epoch_whether_it_is_a_number_or_its_digits() -> None:
    """[CHARTER.5] Otherwise an issuer could make both ends of a position hold it, in two campaigns of one epoch."""
    for epoch in ("2026", "2027"):
        texts = [str(name) for name in in_order(range(40), epoch)]
        assert texts == in_order([str(number) for number in range(40)], epoch)
