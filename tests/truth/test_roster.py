"""Names are found in a roster, forgivingly; what fits two people fits none, and near misses are pointed out."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.ego_surveys import people
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.truth.roster import (
    FOUND,
    READ_AS,
    SEVERAL,
    UNKNOWN,
    Match,
    Matching,
    Roster,
    read_roster,
)


@pytest.mark.parametrize(
    ("given", "outcome", "person", "perhaps"),
    [
        ("p2", FOUND, "p2", ()),
        ("Li Wei", FOUND, "p2", ()),
        ("P 2", UNKNOWN, "", ()),
        ("wei, li", READ_AS, "p2", ()),
        ("sam o'neill", READ_AS, "p3", ()),
        ("jo ann", SEVERAL, "", ("p5", "p6")),
        ("Zoe Krohl", UNKNOWN, "", ("Zoë Król",)),
        ("", UNKNOWN, "", ()),
    ],
)
def test_what_a_name_means(given: str, outcome: str, person: str, perhaps: tuple[str, ...], tmp_path: Path) -> None:
    found = read_roster(people(tmp_path)).find(given, "somebody")
    assert (found.ego, found.outcome, found.person) == ("somebody", outcome, person)
    assert found.perhaps[: len(perhaps)] == perhaps


def test_rosters_as_text_names_and_a_first_column(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("ann\n\nbob\n", encoding="utf-8")
    (tmp_path / "names.csv").write_text("member,age\nann,4\nbob,5\n", encoding="utf-8")
    for source in (tmp_path / "names.txt", tmp_path / "names.csv", ["ann", "bob"]):
        assert read_roster(source).names == ("ann", "bob")
    with pytest.raises(BadInput, match="twice"):
        Roster(["ann", "ann"])


def test_lines_name_what_was_lost_once_each() -> None:
    rows = [Match("ann", "bobb", UNKNOWN, perhaps=("bob",)), Match("", "x", UNKNOWN), Match("ann", "bob", FOUND, "bob")]
    rows += [Match("ann", "jo", SEVERAL, perhaps=("p1", "p2"))] * 2
    matching = Matching(rows)
    assert matching.lines() == [
        "'bobb' (named by 'ann') is not in the roster; did you mean 'bob'?",
        "'x' (asked) is not in the roster.",
        "'jo' (named by 'ann') fits several people: 'p1' or 'p2'.",
    ]
    assert matching.records()[-1] == {
        "ego": "ann", "given": "jo", "outcome": SEVERAL, "person": "", "perhaps": "p1; p2",
    }  # fmt: skip
