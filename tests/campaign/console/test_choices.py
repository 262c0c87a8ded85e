"""What an operator chooses, as forms send it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from support.console_visitor import CHOICES
from visibility_aware_edge_ldp.campaign.console.choices import (
    ANY,
    ASKED,
    BOTH,
    Choices,
    deadlines_of,
    groups_of,
    moment,
    policy_of,
    public_pairs,
    whole_number,
)
from visibility_aware_edge_ldp.campaign.console.people import read_people
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.view import PublicView

PEOPLE = read_people("name,group,list\nann,north,public\nbob,south,public\ncyd,north,private\ndan,,private\n")
DRAFT = Choices("Friends", "2036")


def test_a_form_is_kept_and_comes_back() -> None:
    found = DRAFT.given(CHOICES)
    assert (found.question, found.fewest, found.chosen) == ("degrees", "3", True)
    assert found.page == "http://127.0.0.1:18000/take-part/"
    assert Choices.from_content(found.content) == found
    assert Choices.from_content({**DRAFT.content, "unknown": 1}) == DRAFT


def test_public_edges_stay_until_others_are_uploaded() -> None:
    first = DRAFT.given({**CHOICES, "edges": "ann,bob"})
    assert first.given(CHOICES).edges == "ann,bob"
    assert first.given({**CHOICES, "edges": "ann,cyd"}).edges == "ann,cyd"


@pytest.mark.parametrize("changed", [{"question": "hubs"}, {"question": "nonsense"}, {"policy": "everything"}])
def test_what_no_form_offers_is_refused(changed: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        DRAFT.given(CHOICES | changed)


def test_every_question_that_people_can_answer_is_offered() -> None:
    assert ASKED == ("position", "degrees", "groups", "triangles")


@pytest.mark.parametrize(
    ("question", "second", "rounds"),
    [("position", "", 1), ("position", "2036-02-01", 2), ("degrees", "2036-02-01", 1), ("triangles", "2036-02-01", 2)],
)
def test_deadlines_say_how_many_rounds_there_are(question: str, second: str, rounds: int) -> None:
    found = DRAFT.given({**CHOICES, "question": question, "closes_2": second})
    assert len(deadlines_of(found)) == rounds


def test_a_round_without_a_deadline_is_refused() -> None:
    with pytest.raises(BadInput, match="2 rounds"):
        deadlines_of(DRAFT.given({**CHOICES, "question": "triangles"}))
    with pytest.raises(BadInput, match="is written"):
        deadlines_of(DRAFT.given({**CHOICES, "closes_1": "tomorrow"}))


def test_dates_are_of_utc_unless_they_say_otherwise() -> None:
    noon = int(datetime(2036, 1, 1, 12, tzinfo=UTC).timestamp())
    assert moment("2036-01-01T12:00") == moment("2036-01-01T13:00+01:00") == noon


def test_public_lists_make_positions_public() -> None:
    both, either = (policy_of(DRAFT.given({**CHOICES, "policy": rule}), PEOPLE) for rule in (BOTH, ANY))
    sizes = [PublicView(tuple(PEOPLE.roster), rule, []).inside_sizes for rule in (both, either)]
    assert [{str(kind): size for kind, size in each.items()}["PUBLIC"] for each in sizes] == [1, 5]
    with pytest.raises(BadInput, match="Nobody's list"):
        policy_of(DRAFT.given({**CHOICES, "policy": BOTH}), read_people("ann\nbob"))


def test_groups_are_those_of_the_list_and_the_rest() -> None:
    groups = groups_of(PEOPLE)
    assert groups.labels == ("north", "south", "the rest")
    assert groups.members.tolist() == [0, 1, 0, 2]
    with pytest.raises(BadInput, match="needs the people's groups"):
        groups_of(read_people("ann\nbob"))


def test_public_edges_are_pairs_of_the_roster() -> None:
    assert public_pairs("from,to\nann,bob\n\n cyd , ann \n", PEOPLE) == [(0, 1), (2, 0)]
    assert public_pairs("ann;bob", PEOPLE) == [(0, 1)]
    assert public_pairs("", PEOPLE) == []
    for wrong in ("ann,bob\nann,zoe", "ann", "ann,bob,cyd", "ann,ann"):
        with pytest.raises(BadInput, match=r"Line [12]"):
            public_pairs(wrong, PEOPLE)


@pytest.mark.parametrize("text", ["", "-1", "1.5", "x", "²", "1" * 12])
def test_whole_numbers_only(text: str) -> None:
    assert whole_number("12", "It") == 12
    with pytest.raises(BadInput, match="whole number"):
        whole_number(text, "It")
