"""The documents of a campaign come back as they were written, with or without a scope.  [CHARTER.4-5]"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.campaign_vectors import CASES, CLOSES, EPOCH, KEY, NAMES, charter_for, documents_of, upload
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.campaign import signed_documents as signing
from visibility_aware_edge_ldp.campaign.charter import Charter, Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import (
    Documents,
    checked_names,
    document_bytes,
    document_from_bytes,
    drafted,
    in_order,
    renumbered,
)
from visibility_aware_edge_ldp.campaign.participant.accounts import account_of
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.reports import REPORTS, Making, ParticipantContext
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import SALT
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge, Release
from visibility_aware_edge_ldp.public.groups import group_by
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.private_hub_selection import hub_policy
from visibility_aware_edge_ldp.public.scope_words import ScopeWords
from visibility_aware_edge_ldp.public.surveys import position
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

people = st.lists(
    st.integers(-50, 50) | st.text("abcdef", min_size=1, max_size=3), min_size=2, max_size=12, unique=True
)
# Two people publish their lists; everybody lives in a ward but for Ivo.
LISTS = VisibilityPolicy.from_profiles({"Ada": True, "Gül": True}, "any")
KNOWN = [*((0, friend) for friend in (1, 2, 4, 7, 9, 10)), (6, 4), (6, 9), (6, 10)]
WARDS = {str(name): place % 3 for place, name in enumerate(NAMES[:-1])}
SCOPES = {
    "lists": ScopeWords("lists"),
    "groups": ScopeWords("group:ward", {"ward": WARDS}),
    "both": ScopeWords("lists & group:ward | public", {"ward": WARDS}),
    "a file": ScopeWords(
        "file:pairs.csv",
        {},
        {"pairs.csv": [("Eve", "Bea"), ("9", "10"), ("Bea", "Eve"), ("Hal", "11"), ("Finn", "Ivo")]},
    ),
}


def scoped(name: str) -> Documents:
    return drafted(NAMES, LISTS, KNOWN, EPOCH, SCOPES[name])


def charter_in(documents: Documents, question: str = "position", statistics: tuple[str, ...] = ("edges",)) -> Charter:
    rounds = 2 if question == "triangles" else 1
    closing, split = tuple(Round(when, 2) for when in CLOSES[:rounds]), (Fraction(1),) if question == "position" else ()
    issuer = signing.fingerprint(KEY)
    return charter_of(documents, issuer, question, "1", statistics, closing, "Inside", EPOCH, 0, split)


@pytest.mark.parametrize("case", CASES)
def test_documents_come_back(case: str) -> None:
    made = documents_of(case)
    charter = charter_for(case, made)
    back = Documents.from_bytes(charter, **made.data)
    assert back.roster == made.roster
    assert back.policy == made.policy
    assert np.array_equal(back.edges, made.edges)
    assert back.view.roster_digest == made.view.roster_digest
    assert back.data == made.data


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


@pytest.mark.parametrize("name", SCOPES)
def test_a_scope_comes_back_and_is_worked_out_anew(name: str) -> None:
    made = scoped(name)
    charter = charter_in(made)
    back = Documents.from_bytes(charter, **made.data)
    assert back.data == made.data
    assert back.view.policy == made.view.policy
    assert 0 < back.view.outside < back.view.positions
    assert Terms(charter, back.view).survey.identity == charter.survey


def test_without_a_scope_the_document_is_the_policy_s() -> None:
    made = drafted(NAMES, LISTS, KNOWN, EPOCH)
    assert "scope" not in json.loads(made.data["policy"])
    assert document_from_bytes(made.data["policy"]) == (LISTS, None, None)
    assert made.data["edges"] == scoped("both").data["edges"]


def test_lists_are_not_written_down_but_worked_out_from_public_edges() -> None:
    text = json.loads(scoped("lists").data["policy"])
    assert text["scope"] == {"words": "lists", "columns": {}, "files": {}}
    fewer = drafted(NAMES, LISTS, KNOWN[1:], EPOCH, SCOPES["lists"])
    assert fewer.data["policy"] == scoped("lists").data["policy"]
    assert fewer.view.policy != scoped("lists").view.policy


@pytest.mark.parametrize(
    "change",
    [
        {"words": "lists &"},
        {"words": "group:other"},
        {"columns": {}},
        {"columns": []},
        {"files": {"pairs.csv": []}},
        {"more": 1},
        {"columns": {"ward": [["Ada", 0], ["Ada", 1]]}},
        {"columns": {"ward": [["Bea", 0], ["Ada", 1]]}},
        {"columns": {"ward": [["Ada", {"float": "1.50"}]]}},
    ],
    ids=str,
)
def test_another_text_of_a_scope_is_refused(change: dict[str, object]) -> None:
    text = json.loads(scoped("groups").data["policy"])
    text["scope"] |= change
    with pytest.raises(ProtocolViolation):
        document_from_bytes(signing.encode(text))


@pytest.mark.parametrize("attribute", ["ward\x1b[8m", "ward\nPublic", "w" * 201], ids=repr)
def test_words_that_could_change_what_else_is_shown_are_refused(attribute: str) -> None:
    text = json.loads(scoped("groups").data["policy"])
    (column,) = text["scope"]["columns"].values()
    text["scope"] |= {"words": f"group:{attribute}", "columns": {attribute: column}}
    with pytest.raises(ProtocolViolation, match="printable characters"):
        document_from_bytes(signing.encode(text))


def test_a_charter_for_another_scope_is_refused() -> None:
    made, other = scoped("groups"), replace(scoped("groups"), scope=SCOPES["groups"].for_roster(NAMES[:-1]))
    moved = ScopeWords("group:ward", {"ward": {**other.scope.columns["ward"], "Ada": 1}})  # type: ignore[union-attr]
    charter = charter_in(made)
    with pytest.raises(ProtocolViolation, match="another survey"):
        Terms(charter, replace(made, scope=moved).view)
    with pytest.raises(ProtocolViolation, match="policy document is not the one"):
        Documents.from_bytes(charter, **{**made.data, "policy": document_bytes(LISTS, moved)})


def test_a_participant_answers_less_and_is_told_why() -> None:
    made = scoped("groups")
    context = ParticipantContext(charter_in(made), made, made.roster.index("Bea"))
    asked = sum(int(places.sum()) for places in context.request(1).places.values())
    others = sum(int(places.sum()) for places in context.others(1).places.values())
    # Three more live in Bea's ward.
    assert (asked + others, context.outside) == (3, 8)
    (line,) = context.policy_lines
    assert "only positions where both ends have the same ward" in line
    assert "your answer covers 27% of your positions" in line
    assert (
        ParticipantContext(charter_for("degrees", documents_of("degrees")), documents_of("degrees"), 0).policy_lines
        == []
    )


@pytest.mark.parametrize("question", ["position", "degrees", "triangles"])
def test_a_friend_outside_changes_no_byte_of_a_report(question: str) -> None:
    """[SCOPE.2]"""
    made, statistics = scoped("groups"), ("triangles",) if question == "triangles" else ("edges",)
    charter = charter_in(made, question, statistics)
    context = ParticipantContext(charter, made, made.roster.index("Bea"))
    coins = keyed_random_bytes(seeded_key("outside", 1))
    drawn = [coins(1 << 12)]

    def again() -> RandomBytes:
        left = bytearray(drawn[0])

        def take(count: int) -> bytes:
            found = bytes(left[:count])
            del left[:count]
            return found

        return take

    def sent(*friends: int) -> list[bytes]:
        bits = np.isin(np.arange(12), [made.roster.index(NAMES[friend]) for friend in friends])
        make = partial(Making, context, account_of([], context.names), Friends(bits, ()))
        first = REPORTS[question][0](make(again())).report
        if question != "triangles":
            return [first]
        transcript = PositionCollection(context.terms.row_survey, made.view)
        transcript.absorb(position.decode(first))
        heard = transcript.transcript.broadcast(made.view)
        return [first, REPORTS[question][1](make(again(), first, heard)).report]

    # 4, 7 and 10 live in Bea's ward, 2 and 5 do not.
    assert sent(4, 2, 5) == sent(4) == sent(4, 8)
    asked = next(f for f in (4, 7, 10) if question == "degrees" or made.roster.index(NAMES[f]) > context.number)
    assert sent(asked) != sent()


def test_the_server_takes_rows_inside_the_scope_and_no_other() -> None:
    made = scoped("groups")
    terms = Terms(charter_in(made), made.view)
    participant = int(np.flatnonzero(terms.asked(1))[0])
    sent = upload(terms, participant, 1)
    report = terms.check_upload(participant, 1, sent)
    row = made.view.classes.of(np.full(11 - participant, participant), np.arange(participant + 1, 12))
    asked = np.unpackbits(np.frombuffer(report.answered, np.uint8), count=row.size, bitorder="little")
    assert asked.tolist() == (row != Visibility.PUBLIC).astype(int).tolist()
    whole = Terms(charter_in(drafted(NAMES, LISTS, KNOWN, EPOCH)), drafted(NAMES, LISTS, KNOWN, EPOCH).view)
    beyond = bytearray(upload(whole, participant, 1))
    beyond[SALT:] = beyond[SALT:].replace(bytes.fromhex(whole.survey.identity), bytes.fromhex(terms.survey.identity))
    with pytest.raises(ProtocolViolation, match="and no other"):
        terms.check_upload(participant, 1, bytes(beyond))


def test_hubs_take_no_scope() -> None:
    with pytest.raises(BadInput, match="hubs count inside their own public lists already"):
        charter_in(scoped("lists"), "hubs", ("triangles",))


def test_strangers_in_a_scope_are_refused() -> None:
    stranger = ScopeWords("group:ward", {"ward": {"Nobody": 1}})
    with pytest.raises(BadPolicy, match="'Nobody', who is not in the roster"):
        drafted(NAMES, LISTS, KNOWN, EPOCH, stranger)


def test_a_participant_sees_what_choosing_the_policy_has_cost() -> None:
    price = ((Visibility.PRIVATE, Guarantee(OneEdge, Fraction(1, 4))),)
    nobody = PublicView(NAMES, VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
    bought = hub_policy(nobody, range(len(NAMES)), 2, [Release("ab" * 32, 1, price, "cd" * 32)])
    made = drafted(NAMES, bought, [], EPOCH)
    (line,) = ParticipantContext(charter_in(made), made, 0).policy_lines
    assert line == (
        "Before     choosing who is public has cost ε = 0.25 for each PRIVATE edge, "
        "ε = 0.25 for each FRIEND_VISIBLE edge already"
    )


BY_WARD = group_by(NAMES, "ward", WARDS)


def grouped() -> Documents:
    return drafted(NAMES, LISTS, KNOWN, EPOCH, groups=BY_WARD)


def test_groups_come_back_in_the_roster_s_order() -> None:
    """[GROUPS.0]"""
    made = grouped()
    charter = charter_in(made, "groups", ("mixing",))
    back = Documents.from_bytes(charter, **made.data)
    groups = back.view.groups
    assert groups is not None
    assert groups.labels == BY_WARD.labels
    told = dict(zip(made.roster, groups.members.tolist(), strict=True))
    assert told == dict(zip(NAMES, BY_WARD.members.tolist(), strict=True))
    assert Terms(charter, back.view).survey.identity == charter.survey


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["0", "0", "1", "2"]},
        {"labels": ["0"]},
        {"labels": "0"},
        {"labels": ["0", "1", "2", "the\x1brest"]},
        {"members": [0] * 11},
        {"members": ["0"] * 12},
        {"members": [-1] * 12},
        {"attribute": ""},
        {"more": 1},
    ],
    ids=str,
)
def test_other_groups_are_refused(change: dict[str, object]) -> None:
    made = grouped()
    charter, text = charter_in(made, "groups", ("mixing",)), json.loads(made.data["policy"])
    text["groups"] |= change
    data = signing.encode(text)
    with pytest.raises(ProtocolViolation):
        Documents.from_bytes(replace(charter, policy=signing.digest(data)), **{**made.data, "policy": data})


def test_groups_of_another_charter_are_another_survey() -> None:
    made = grouped()
    moved = replace(made, groups=replace(BY_WARD, members=np.roll(BY_WARD.members, 1)))
    with pytest.raises(ProtocolViolation, match="another survey"):
        Terms(charter_in(made, "groups", ("mixing",)), moved.view)


def test_a_question_by_groups_needs_some() -> None:
    with pytest.raises(BadInput, match="asks by public groups, and the documents have none"):
        charter_in(drafted(NAMES, LISTS, KNOWN, EPOCH), "groups", ("mixing",))


def test_a_participant_is_told_of_its_group() -> None:
    made = grouped()
    (line,) = ParticipantContext(charter_in(made, "groups", ("mixing",)), made, made.roster.index("Bea")).policy_lines
    assert line == "Groups     everybody is in one of 4 by ward, as all can see; you in 1"
    assert ParticipantContext(charter_in(made, "degrees"), made, 0).policy_lines == []
