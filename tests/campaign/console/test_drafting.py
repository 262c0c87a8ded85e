"""A study before its charter is signed, as an operator fills it in."""

from __future__ import annotations

import pytest

from support.console_visitor import CHOICES, PASSPHRASE, PEOPLE, Visitor, drafted, set_up


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    return set_up(tmp_path_factory.mktemp("drafting") / "console", default="https://survey.example.org")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"title": "x", "epoch": "", "people": "ann"}, "say what time it asks about"),
        ({"title": " ", "epoch": "x", "people": "ann"}, "Give the study a title"),
        ({"title": "x", "epoch": "x", "people": ""}, "Nobody is in the list"),
        ({"title": "x", "epoch": "x", "people": "ann\nann"}, "written alike"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_stays(visitor: Visitor, form: dict[str, str], words: str) -> None:
    page = visitor.post("/new", **form)
    assert page.status == 400
    assert words in page.text
    assert form["people"] in page.text


def test_a_study_is_drafted_changed_and_signed(visitor: Visitor) -> None:
    here = drafted(visitor)
    first = visitor.get(here)
    assert b"https://survey.example.org" in first.body
    assert "Choose above first." in first.text
    assert "3 people were read." in visitor.follows(f"{here}/people", people="ann\nbob\ncyd", by="names").text
    assert "Nobody is in the list" in visitor.follows(f"{here}/people", people="").text
    page = visitor.follows(f"{here}/choices", **(CHOICES | {"fewest": "4"}))
    assert "Not yet: The least number of answers is from 1 to the 3 who are asked." in page.text
    visitor.follows(f"{here}/people", people="\n".join(PEOPLE), by="names")
    assert "Sign the charter" in visitor.follows(f"{here}/choices", **CHOICES).text
    assert "This is not the passphrase" in visitor.follows(f"{here}/sign", passphrase="another").text
    assert "The charter is signed" in visitor.follows(f"{here}/sign", passphrase=PASSPHRASE).text
    assert "a draft" not in visitor.get("/").text


def test_a_draft_is_discarded(visitor: Visitor) -> None:
    here = drafted(visitor, "For nobody")
    assert visitor.post(f"{here}/discard").to == "/"
    assert visitor.get(here).status == 404
    assert "for-nobody: the draft is discarded" in visitor.get("/log").text
