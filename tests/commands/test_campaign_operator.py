"""What an issuer signs, an operator hands in and looks up, as they are typed."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from commands.conftest import PEOPLE, Served
from support.command import Run
from visibility_aware_edge_ldp.campaign.amendments import SignedAmendment


def enrol(served: Served, campaign: Run, name: str, token: Path | str = "") -> None:
    issuer, chosen = str(served.charter["issuer"]), str(token or served.token(name))
    said = campaign("enroll", served.url, "--name", name, "--token-file", chosen, "--issuer", issuer, "--home", name)
    assert said.code == 0, said.err


def answer(campaign: Run, name: str) -> int:
    Path("friends.txt").write_text("person 3\n")
    return campaign("answer", "--friends", "friends.txt", "--yes", "--home", name).code


def test_a_lost_token_is_replaced(served: Served, campaign: Run, quick: None) -> None:
    name = PEOPLE[0]
    enrol(served, campaign, name)
    said = campaign("amend", "town", "--replace-token", name)
    assert said.out.splitlines()[0] == "Amendment 1 (token) is signed: town/amendments/0001.json"
    assert Path("town/amendments/0001.token").stat().st_mode & 0o077 == 0
    assert Path("town/amendments/0001.json").stat().st_mode & 0o077 == 0
    handed = campaign("submit", "town", "town/amendments/0001.json")
    assert handed.out.splitlines()[0] == "It is in force."
    assert campaign("submit", "town", "town/amendments/0001.json").out.splitlines()[0] == "It was in force already."
    assert answer(campaign, name) == 2, "the old token is refused"
    enrol(served, campaign, name, "town/amendments/0001.token")
    assert answer(campaign, name) == 0


def test_a_deadline_is_extended_and_people_withdraw(served: Served, campaign: Run, quick: None) -> None:
    for name in PEOPLE[:3]:
        enrol(served, campaign, name)
        assert answer(campaign, name) == 0
    assert campaign("amend", "town", "--extend", "1=30d").code == 0
    assert campaign("amend", "town", "--withdraw", PEOPLE[1]).code == 0
    early = campaign("submit", "town", "town/amendments/0002.json")
    assert (early.code, "the next is number 1" in early.err) == (2, True)
    for number in (1, 2):
        assert campaign("submit", "town", f"town/amendments/000{number}.json").code == 0
    told = campaign("status", "town").out.splitlines()
    assert told[6].startswith("Amended    2 signed by the issuer; 1 withdrew; round 1 now closes 2")
    assert told[7] == "Round 1    open: 2 of 6 have answered"
    again = campaign("answer", "--friends", "friends.txt", "--yes", "--home", PEOPLE[1])
    assert (again.code, "This person has withdrawn" in again.err) == (3, True)
    away = campaign("unanswered", "town")
    assert away.out.splitlines() == [name for name in _roster(served) if name in PEOPLE[3:]]
    assert away.err.splitlines() == ["Round 1: 3 have not answered; 1 withdrew."]
    assert campaign("unanswered", "town", "--csv", "away.csv").out.splitlines() == [
        "Round 1: 3 have not answered; 1 withdrew."
    ]
    with Path("away.csv").open(newline="") as file:
        assert sorted(row["name"] for row in csv.DictReader(file)) == PEOPLE[3:]
    assert campaign("unanswered", "town", "--csv", "away.csv").code == 2, "nothing is written over"
    assert campaign("close", "town", "--round", "1").code == 0
    assert campaign("check", "--home", PEOPLE[0]).code == 0
    withdrawn = campaign("check", "--home", PEOPLE[1])
    assert (withdrawn.code, "because you withdrew" in withdrawn.out) == (2, True)
    lines = campaign("log", "town").out.splitlines()
    assert [line.split("UTC  ")[1].split(")")[0] for line in lines[:-1]] == [
        "amendment 1 (deadline",
        "amendment 2 (withdrawal",
        *["who has not answered round 1"] * 3,
        "close round 1",
    ]
    assert lines[-1].startswith("Head: ")


def _roster(served: Served) -> list[str]:
    return list(json.loads((served.directory / "roster.json").read_text()))


def test_a_device_is_changed(served: Served, campaign: Run, quick: None) -> None:
    name = PEOPLE[0]
    enrol(served, campaign, name)
    code = campaign("device-code", "--home", "new").out.splitlines()[0]
    said = campaign("hand-over", "sealed", "--to", code, "--home", name)
    head = said.out.split("say: ")[1].strip()
    assert campaign("amend", "town", "--device", name, "--ledger", head).code == 0
    assert campaign("submit", "town", "town/amendments/0001.json").code == 0
    assert answer(campaign, name) == 4, "the old device declines"
    assert campaign("status", "--home", name).out.splitlines()[-1].startswith("The ledger was handed over")
    assert campaign("status", "--home", name, "--json").json["retired"] is True
    token, issuer = "town/amendments/0001.token", str(served.charter["issuer"])
    words = ("enroll", served.url, "--name", name, "--token-file", token, "--issuer", issuer)
    assert campaign(*words, "--home", "new").code == 4, "it waits for the ledger"
    assert campaign(*words, "--home", "empty").code == 0
    assert answer(campaign, "empty") == 4, "another ledger than the one that was handed over"
    assert campaign("take-over", "sealed", "--home", "new").code == 0
    assert campaign(*words, "--home", "new").code == 0
    assert answer(campaign, "new") == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "Say one of"),
        (("--withdraw", "person 1", "--extend", "1=30d"), "Say one of"),
        (("--device", "person 1"), "Say one of"),
        (("--withdraw", "person 1", "--ledger", "ab"), "Say one of"),
        (("--withdraw", "nobody"), "not in the roster"),
        (("--extend", "30d"), "ROUND=WHEN"),
        (("--extend", "1=1d"), "never shortened"),
        (("--extend", "1=900d"), "and no later"),
        (("--extend", "2=90d"), "there is no 2"),
        (("--device", "person 1", "--ledger", "ab"), "64 hexadecimal digits"),
    ],
)
def test_what_cannot_be_amended_is_said(town: Path, campaign: Run, words: tuple[str, ...], why: str) -> None:
    said = campaign("amend", "town", *words)
    assert said.code != 0
    assert why in said.err
    assert not (town / "amendments").exists() or not list((town / "amendments").iterdir())


def test_only_the_issuers_key_signs(town: Path, campaign: Run) -> None:
    Path("other.key").write_text("ab" * 32)
    said = campaign("amend", "town", "--withdraw", "person 1", "--issuer-key", "other.key")
    assert "this is another key" in said.err
    shutil.move(town / "issuer.key", "elsewhere.key")
    assert "cannot be read" in campaign("amend", "town", "--withdraw", "person 1").err
    assert campaign("amend", "town", "--withdraw", "person 1", "--issuer-key", "elsewhere.key").code == 0
    signed = SignedAmendment.from_bytes((town / "amendments" / "0001.json").read_bytes())
    assert signed.person is not None
    assert "person 1" not in (town / "amendments" / "0001.json").read_text()


def test_strangers_are_told_nothing(served: Served, campaign: Run) -> None:
    for words in (("unanswered",), ("log",)):
        said = campaign(*words, served.url)
        assert (said.code, "name its token with --token-file" in said.err) == (2, True)
    token = str(served.token(PEOPLE[0]))
    assert "does not take this operator's token" in campaign("log", served.url, "--token-file", token).err
    assert "does not take this operator's token" in campaign("unanswered", served.url, "--token-file", token).err
    assert "cannot be read" in campaign("submit", "town", "nothing.json").err
