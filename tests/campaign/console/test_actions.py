"""What an operator does with a draft, and with a study that runs: a real server in a process of its own."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import socket
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from support.campaign_lab import Lab
from support.campaign_postgres_here import postgres_here
from support.console_visitor import CHOICES, PASSPHRASE, PEOPLE, Page, Visitor, drafted, set_up, signed
from visibility_aware_edge_ldp.campaign.console.studies import Study
from visibility_aware_edge_ldp.campaign.directory import ServedCampaign
from visibility_aware_edge_ldp.campaign.http_client import TokenRefused, Transport


@dataclass
class Running:
    """A study whose server runs."""

    visitor: Visitor
    here: str

    @cached_property
    def study(self) -> Study:
        context = self.visitor.console._context
        assert context is not None
        return Study(context.vault, self.here.rpartition("/")[2])

    @cached_property
    def lab(self) -> Lab:
        return Lab(self.study.served, ServedCampaign.read(self.study.served))

    def roster(self) -> list[str]:
        return [str(each) for each in self.lab.served.campaign.documents.roster]

    def answers(self, name: str, token: str) -> None:
        number = self.roster().index(name)
        url = f"http://127.0.0.1:{self.study.settings.port}"
        Transport(url, token).put(self.lab.path(number), self.lab.report(number))

    def post(self, word: str, **form: str) -> Page:
        return self.visitor.post(f"{self.here}/{word}", **form)

    def follows(self, word: str, **form: str) -> str:
        return " ".join(self.visitor.follows(f"{self.here}/{word}", **form).text.split())


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with run(tmp_path_factory.mktemp("actions") / "console") as found:
        yield found


@contextlib.contextmanager
def run(folder: Path, **options: str) -> Iterator[Running]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    visitor = set_up(folder, first_port=port, **options)
    people = "name,code,contact\n" + "".join(f"{name},R-{at},{name}@x.org\n" for at, name in enumerate(PEOPLE))
    here = signed(visitor, people=people, by="codes", fewest="2", address=f"http://127.0.0.1:{port}")
    found = Running(visitor, here)
    assert "The server does not answer. It is stopped." in visitor.get(here).text
    assert "The server runs." in found.follows("server", act="start")
    try:
        yield found
    finally:
        visitor.console.stop()


def links(page: Page) -> dict[str, dict[str, str]]:
    """What each letter's link says, by what the roster calls the person."""
    found = re.findall(r"http://[^<\s]*#[^<\s]*", page.body.decode().replace("&amp;", "&"))
    said = [{name: each[0] for name, each in parse_qs(urlsplit(link).fragment).items()} for link in found]
    return {each["name"]: each for each in said}


def table(page: Page) -> list[dict[str, str]]:
    assert page.headers["content-disposition"].startswith("attachment")
    return list(csv.DictReader(io.StringIO(page.body.decode("utf-8-sig"))))


@pytest.mark.long
def test_the_same_study_in_postgresql(tmp_path: Path) -> None:
    with postgres_here() as database, run(tmp_path / "console", store=database.new_database()) as found:
        assert not (found.study.served / "store.db").exists()
        test_a_study_from_its_letters_to_its_results(found)


def test_a_study_from_its_letters_to_its_results(running: Running) -> None:
    letters = running.post("letters", passphrase=PASSPHRASE, start="0")
    tokens = {label: said["token"] for label, said in links(letters).items()}
    assert sorted(tokens) == sorted(f"R-{at}" for at in range(12))
    assert "In this study you are called R-0" in letters.text
    assert "annann@x.org" in letters.text.replace("\n", "")
    merged = table(running.post("letters", passphrase=PASSPHRASE, **{"as": "csv"}))
    assert {row["called"]: parse_qs(urlsplit(row["link"]).fragment)["token"][0] for row in merged} == tokens
    assert [row["name"] for row in merged] == PEOPLE
    codes = running.visitor.get(f"{running.here}/codes").text
    assert "annR-0" in codes
    for label in ("R-0", "R-1"):
        running.answers(label, tokens[label])
    _away(running)
    _replaced(running, tokens)
    _withdrawn(running, tokens)
    _extended(running)
    _closed(running)


def _away(running: Running) -> None:
    page = running.post("away", round="1")
    assert "10 have not answered round 1" in page.text
    assert "R-5 (fay)" in page.text
    assert "R-0" not in page.text
    rows = table(running.post("away", round="1", **{"as": "csv"}))
    assert {row["link"] for row in rows} == {f"{CHOICES['address'][:17]}{running.study.settings.port}/take-part/"}
    assert rows[0]["contact"].endswith("@x.org")
    own = table(running.post("away", round="1", passphrase=PASSPHRASE, **{"as": "csv"}))
    assert len({row["link"] for row in own}) == 10
    assert "Say which round" in running.follows("away", round="2")


def _replaced(running: Running, tokens: dict[str, str]) -> None:
    page = running.post("replace", label="R-2", passphrase=PASSPHRASE)
    new = links(page)["R-2"]["token"]
    assert "1 letter" in page.text
    with pytest.raises(TokenRefused):
        running.answers("R-2", tokens["R-2"])
    running.answers("R-2", new)
    assert links(running.post("letters", passphrase=PASSPHRASE))["R-2"]["token"] == new
    assert "not in the roster" in running.follows("replace", label="cyd", passphrase=PASSPHRASE)
    assert "This is not the passphrase" in running.follows("replace", label="R-2", passphrase="wrong")


def _withdrawn(running: Running, tokens: dict[str, str]) -> None:
    assert "1 withdrew" in running.follows("withdraw", label="R-1", passphrase=PASSPHRASE)
    assert "R-1 (" not in running.post("away", round="1").text
    running.answers("R-3", tokens["R-3"])


def _extended(running: Running) -> None:
    form = {"round": "1", "passphrase": PASSPHRASE}
    assert "Round 1 now closes 2036-03-01 12:00 UTC" in running.follows("extend", closes="2036-03-01T12:00", **form)
    assert "never shortened" in running.follows("extend", closes="2036-02-01T12:00", **form)
    assert "A date and time is written" in running.follows("extend", closes="soon", **form)
    letter = running.post("letters", passphrase=PASSPHRASE).text
    assert "until 2036-03-01 12:00 UTC" in letter
    assert "2036-01-01" not in letter


def _closed(running: Running) -> None:
    visitor, here = running.visitor, running.here
    assert "Round 1: open" in visitor.get(here).text
    assert "Round 1: closed" in running.follows("close", round="1")
    assert "nothing of a person is changed any more" in visitor.get(here).text
    assert "All rounds are closed" in running.follows("withdraw", label="R-3", passphrase=PASSPHRASE)
    assert "Implausible reports" in running.post("flagged").text
    assert visitor.get(f"{here}/results.csv").status == 303
    assert "The estimate is made." in running.follows("estimate")
    rows = table(visitor.get(f"{here}/results.csv"))
    assert [row["statistic"] for row in rows] == ["edges"]
    assert visitor.get(f"{here}/results.pdf").body.startswith(b"%PDF")
    assert visitor.get(f"{here}/results.json").headers["content-type"] == "application/json"
    assert visitor.get(f"{here}/round-2.ics").status == 404
    log = visitor.get("/log").text
    for what in ("letters are shown", "amendment 1, another token", "close round 1", "estimate", "results as pdf"):
        assert what in log
    assert "Server of friends-in-town" in log
    assert not any(f"R-{at}" in log for at in range(12))


def test_what_the_server_did_not_take_is_handed_in_later(running: Running) -> None:
    """The withdrawal came after the end: it is signed, and the server refuses it."""
    page = " ".join(running.visitor.get(running.here).text.split())
    assert "1 amendment signed here and not handed in yet." in page
    assert "did not take it" in running.follows("hand-in")


def test_a_server_is_stopped_moved_and_started_again(running: Running) -> None:
    assert "It is stopped" in running.follows("server", act="stop")
    assert "The server does not answer" in running.follows("server", act="away")
    with zipfile.ZipFile(io.BytesIO(running.post("server-part").body)) as archive:
        assert "friends-in-town/charter.json" in archive.namelist()
    running.follows("server", act="here")
    assert "The server runs." in running.follows("server", act="start")
    assert "The server runs." in running.follows("server", act="start")
    assert "Say start, stop" in running.follows("server", act="explode")


def test_letters_name_another_address_from_then_on(running: Running) -> None:
    page = "https://survey.example.org/take-part/"
    said = running.follows("addresses", address="https://survey.example.org/c/1", page=page)
    assert "Letters name these addresses from now on" in said
    letters = running.post("letters", passphrase=PASSPHRASE)
    assert page.encode() + b"#server=https%3A%2F%2Fsurvey.example.org%2Fc%2F1" in letters.body
    for address, shown in (("http://survey.example.org", page), ("https://survey.example.org", "https://library.org/")):
        refused = running.follows("addresses", address=address, page=shown)
        assert "no address for people" in refused or "another host would not be believed" in refused


def test_letters_that_were_deleted_are_not_shown(running: Running) -> None:
    assert "All tokens are deleted" in running.follows("forget")
    assert "were deleted" in running.follows("letters", passphrase=PASSPHRASE)
    assert "Show, to print" not in running.visitor.get(running.here).text


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
