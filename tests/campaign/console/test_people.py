"""Lists of people as operators have them."""

from __future__ import annotations

import time

import pytest

from visibility_aware_edge_ldp.campaign.console.people import CODES, People, Person, read_people
from visibility_aware_edge_ldp.errors import BadInput


@pytest.mark.parametrize(
    "text",
    [
        "ann\nbob\n",
        "\ufeffname\nann\nbob",
        "Name;Group\nann;\n\nbob;\n",
        "id\tcontact\nann\t\nbob\t\n",
        ' "ann"\n bob ',
    ],
)
def test_names_are_read_from_many_lists(text: str) -> None:
    assert read_people(text).roster == ["ann", "bob"]


def test_every_column_is_read_by_its_name() -> None:
    people = read_people('e-mail,LIST,name,Group\na@x.org,Public,"Ng, Ann",north\nb@x.org,,bob,\n')
    assert people.listed == (
        Person("Ng, Ann", "", "north", "public", "a@x.org"),
        Person("bob", "", "", "private", "b@x.org"),
    )
    assert people.has_groups
    assert people.has_lists
    assert People.from_content(people.content) == people


def test_codes_take_the_place_of_names_and_are_made_where_they_are_missing() -> None:
    people = read_people("name,code\nann,R-1\nbob,\ncyd,\n", CODES)
    assert people.roster[0] == "R-1"
    assert len(set(people.roster)) == 3
    assert not {"ann", "bob", "cyd"} & set(people.roster)
    assert people.by_label["R-1"].name == "ann"
    assert read_people("name,code\nann,R-1\nbob,\n").roster == ["ann", "bob"]
    assert len(set(read_people("\n".join(f"p{i}" for i in range(3_000)), CODES).roster)) == 3_000


def test_a_list_of_codes_alone_needs_no_names() -> None:
    assert read_people("code\nR-1\nR-2\n", CODES).roster == ["R-1", "R-2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Nobody is in the list"),
        ("name\n", "Nobody is in the list"),
        ("ann\nann\n", "written alike"),
        ("ann,north\nbob,south\n", "begins with their names"),
        ("name,id\nann,1\n", "Two columns"),
        ("name,list\nann,maybe\n", "Line 2 says 'maybe'"),
        ("name,group\n,north\n", "Line 2 of the list has no name"),
        ("=cmd()\n", "begins as a formula"),
        ("name,contact\nann,+49 1\n", "begins as a formula"),
        ("a\u200bnn\n", "U\\+200B is not seen"),
        (f"{'x' * 201}\n", "up to 200 characters"),
    ],
)
def test_what_a_roster_cannot_hold_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        read_people(text)


def test_letters_are_composed_as_canonical_json_wants_them() -> None:
    assert read_people("Rene\u0301\n").roster == ["René"]


def test_five_thousand_people_are_read_at_once() -> None:
    text = "name,group,contact\n" + "".join(f"Person {i:04},g{i % 7},p{i}@example.org\n" for i in range(5_000))
    begun = time.perf_counter()
    people = read_people(text)
    assert len(people.by_label) == 5_000
    assert time.perf_counter() - begun < 5
