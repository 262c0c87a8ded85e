"""Names as people type them are found in a roster, and what fits two names fits none."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.name_matching import alike, key, matched, suggestions, unknown_lines

ROSTER = ("Ana Díaz", "Jean-Luc Moreau", "O’Neill, Sam", "Li Wei", "Wei Li", "Zoë Król", "person 12")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ana diaz", "Ana Díaz"),
        ("  ANA   DÍAZ ", "Ana Díaz"),
        ("Díaz, Ana", "Ana Díaz"),
        ("jean luc moreau", "Jean-Luc Moreau"),
        ("Sam O'Neill", "O’Neill, Sam"),
        ("zoe krol", "Zoë Król"),
        ("person 13", None),
        ("li wei", None),
    ],
)
def test_what_is_forgiven(typed: str, meant: str | None) -> None:
    found = matched([typed], ROSTER)
    assert (found.found, found.unknown) == ((frozenset({meant}), ()) if meant else (frozenset(), (typed,)))
    assert found.read_as == (((typed, meant),) if meant else ())


def test_an_exact_name_is_itself_whatever_else_it_resembles() -> None:
    found = matched(["Li Wei", "Ana Díaz", "ana diaz"], ROSTER)
    assert found.found == {"Li Wei", "Ana Díaz"}
    assert found.read_as == (("ana diaz", "Ana Díaz"),)
    assert not found.unknown


def test_names_of_marks_alone_are_not_all_the_same() -> None:
    assert key("!") != key("?")
    assert matched(["?"], ("!", "?")).found == {"?"}
    assert matched(["¿"], ("!", "?")).unknown == ("¿",)


def test_who_may_be_meant() -> None:
    assert suggestions("Anna Diaz", ROSTER) == ["Ana Díaz"]
    assert suggestions("wei, li", ROSTER) == ["Li Wei", "Wei Li"]
    assert suggestions("Quentin", ROSTER) == []


def test_what_is_said_of_unknown_names() -> None:
    assert unknown_lines((), ROSTER) == []
    assert unknown_lines(("Anna Diaz", "Quentin"), ROSTER) == [
        "'Anna Diaz' is not in the roster; did you mean 'Ana Díaz'?",
        "'Quentin' is not in the roster.",
    ]
    assert unknown_lines(tuple("abcdefg"), ROSTER)[-1] == "And 2 more names are not."


def test_names_that_may_be_one_person() -> None:
    assert alike(ROSTER) == [("Li Wei", "Wei Li")]
    assert alike(("ana", "ANA", "Aná", "bob")) == [("ana", "ANA", "Aná")]
    assert alike(("1", "2")) == []
