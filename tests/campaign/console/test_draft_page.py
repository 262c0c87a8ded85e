"""What an operator is told before anything is signed: who may be one person, and what so few people can tell."""

from __future__ import annotations

import pytest

from support.console_visitor import CHOICES, Visitor, drafted, set_up


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    return set_up(tmp_path_factory.mktemp("draft") / "console")


def test_names_that_may_be_one_person_are_pointed_out(visitor: Visitor) -> None:
    page = visitor.get(drafted(visitor, people="Ann Ng\nng ann\nÁNN NG\nbob"))
    assert "may be one person" in page.text
    assert "“Ann Ng” and “ng ann” and “ÁNN NG”" in page.text
    assert "may be one person" not in visitor.get(drafted(visitor, people="ann\nbob")).text


def test_names_behind_codes_are_compared_too(visitor: Visitor) -> None:
    assert "“Ann” and “ann”" in visitor.get(drafted(visitor, people="Ann\nann\nbob", by="codes")).text


def test_many_that_are_alike_are_counted(visitor: Visitor) -> None:
    people = "\n".join(f"p{at}\nP{at}" for at in range(30))
    assert "and 10 more" in visitor.get(drafted(visitor, people=people)).text


def test_six_people_are_nothing_but_noise(visitor: Visitor) -> None:
    here = drafted(visitor, people="\n".join("abcdef"))
    page = visitor.follows(f"{here}/choices", **CHOICES)
    assert "6 people at ε = 1: edges ± 3.428, nothing but noise." in page.text
    assert 'data-kind="bad"' in page.body.decode()
    assert "ε = 4edges ± 0.7369, noise where people have fewer than 0.49 ties each." in page.text


def test_the_promise_is_said_in_odds_and_a_wrong_epsilon_is_refused(visitor: Visitor) -> None:
    here = drafted(visitor)
    page = visitor.follows(f"{here}/choices", **(CHOICES | {"epsilon": "0.5"}))
    assert "loses at most ε = 0.5: the odds of a guess change at most 1.65 times" in page.text
    for wrong in ("0", "-1", "nan", "one", ""):
        page = visitor.follows(f"{here}/choices", **(CHOICES | {"epsilon": wrong}))
        assert "Not yet: " in page.text
        assert "Sign the charter" not in page.text


def test_public_lists_are_counted_and_change_the_promise(visitor: Visitor) -> None:
    people = "name,list\nann,public\nbob,public\ncyd,private\ndan,private\neve,private\n"
    here = drafted(visitor, people=people)
    assert "5 people, by names, 2 public lists" in visitor.get(here).text
    page = visitor.follows(f"{here}/choices", **(CHOICES | {"policy": "both", "edges": "ann,bob"}))
    assert "a FRIEND_VISIBLE friendship loses at most ε = 2" in page.text
    assert "1 line were uploaded" not in page.text
    assert "1 line was uploaded" in page.text


def test_every_field_is_labelled(visitor: Visitor) -> None:
    text = visitor.get(drafted(visitor)).body.decode()
    ids = [part.split('"')[0] for part in text.split('<label for="')[1:]]
    assert len(ids) == len(set(ids)) > 15
    assert all(f'id="{each}"' in text for each in ids)
