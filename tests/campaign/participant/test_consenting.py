"""Consent of both ends with the real server and programs: who is asked, and what a lie about the list comes to.

[CONSENT.1-3]
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from support.campaign_lab import FAR, Lab, Running, running, sqlite_url
from support.campaign_server_lies import QUICK, Person, named, operate, url_of
from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.directory import ServedCampaign, new_campaign
from visibility_aware_edge_ldp.campaign.http_client import LARGEST, Declined, Operator, Reply, Transport
from visibility_aware_edge_ldp.campaign.participant import consenting, program, server_checks
from visibility_aware_edge_ldp.campaign.participant.server_checks import INCLUDED, status
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

PEOPLE = 6
CONSENTING = (0, 2, 3, 5)


def new_town(place: Path, question: str = "position", closes: tuple[int, ...] = (FAR,), consent: int = FAR - 1) -> Lab:
    new_campaign(
        place,
        names=[f"p{i}" for i in range(PEOPLE)],
        policy=VisibilityPolicy.nothing(),
        question=question,
        epsilon=1,
        statistics=["triangles"] if question == "triangles" else ["edges"],
        closes=closes,
        fewest=1,
        title="Asked where both consent",
        epoch="spring",
        consent=consent,
    )
    return Lab(place, ServedCampaign.read(place))


@dataclass
class Town:
    """A campaign with a server, and everybody enrolled."""

    lab: Lab
    server: Running
    people: list[Person]

    def consent(self, *places: int) -> None:
        for place in places:
            person = self.people[place]
            consenting.consent(person.home, lambda lines: True, surroundings=person.around)

    def freeze(self) -> Consents:
        return Consents.from_bytes(self.lab.served.charter, self.operate("POST", "/v1/consents"))

    def operate(self, method: str, path: str) -> bytes:
        return operate(self.lab, self.server).ask(method, path).body


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with opened(tmp_path, "position") as found:
        yield found


@contextmanager
def opened(folder: Path, question: str, closes: tuple[int, ...] = (FAR,)) -> Iterator[Town]:
    lab = new_town(folder / "lab", question, closes)
    with running(lab, sqlite_url(folder)) as server:
        people = [Person(lab, place, folder / str(place)) for place in range(PEOPLE)]
        for person in people:
            person.enroll(url_of(server))
        yield Town(lab, server, people)


def test_nothing_is_answered_before_the_list_stands(town: Town) -> None:
    with pytest.raises(Refused, match="asks afterwards, and only about two people who both did"):
        town.people[0].answer()
    said = json.loads(town.operate("GET", "/v1/rounds/1"))
    assert (said["state"], said["received"]) == ("waiting", 0)


def test_a_position_is_asked_where_both_ends_consented(town: Town) -> None:
    town.consent(*CONSENTING, 1)
    consenting.consent(town.people[1].home, lambda lines: True, yes=False, surroundings=QUICK)
    assert town.freeze().people == CONSENTING
    for place in CONSENTING[:-1]:
        town.people[place].answer()
    for place in (1, 4, 5):  # who did not consent, and who holds no position
        lines = list[str]()
        assert (
            program.answer(
                [], town.people[place].home, lambda lines: True, say=lines.append, surroundings=QUICK
            ).receipt
            is None
        )
        assert lines[0].startswith("Nothing is asked of you")
    found = {person.place: status(person.home)[0] for person in town.people}
    assert [bool(max(found[place].lost.values())) for place in range(PEOPLE)] == [
        place in CONSENTING for place in range(PEOPLE)
    ], "who did not consent has lost nothing, and its ledger knows"
    operate(town.lab, town.server).close(1)
    assert [town.people[place].check()[0].standing for place in CONSENTING[:-1]] == [INCLUDED] * 3
    assert len({town.people[place].check()[0].code for place in CONSENTING[:-1]}) == 1


def test_who_consented_is_told_to_token_holders_alone_and_nobody_joins_later(town: Town) -> None:
    town.consent(0, 2)
    town.freeze()
    with pytest.raises(BadInput):
        Operator(url_of(town.server)).ask("GET", "/v1/consents")
    with pytest.raises(Declined, match="late"):
        town.consent(3)
    assert town.freeze().people == (0, 2), "frozen again, it is the same"


# ── lies ──


@dataclass
class Listed(Transport):
    """The server as one person sees it: with another list, which the server has signed."""

    other: Consents
    key: bytes = field(repr=False)

    def get(self, path: str, most: int = LARGEST, own: bool = False) -> Reply:
        found = self.honest.get(path, most, own)
        if path != "/v1/consents":
            return found
        headers = {"consents-signature": self.other.signature(self.key).hex()}
        return replace(found, body=self.other.data, headers=headers)

    def put(self, path: str, body: bytes) -> Reply:
        return self.honest.put(path, body)


def shown(town: Town, place: int, other: Consents, key: bytes = b"") -> Person:
    """The same person, to whom the server shows another list."""

    def transport(*given: Any) -> Transport:
        lying = Listed(other, key or town.lab.served.campaign.key)
        lying.honest = Transport(*given)  # type: ignore[attr-defined]
        return lying

    return replace(town.people[place], around=replace(QUICK, transport=transport))


def test_somebody_who_is_added_notices(town: Town) -> None:
    town.consent(0, 2)
    honest = town.freeze()
    added = replace(honest, people=(0, 1, 2))
    assert "says that you consented, and by your ledger you did not" in named(shown(town, 1, added).check)
    assert "shows another list" in named(town.people[1].check), "it is kept, and the honest one is another"


def test_two_lists_are_named(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    town.consent(0, 2, 3)
    honest = town.freeze()
    fewer = replace(honest, people=(0, 2))
    person = shown(town, 0, fewer)
    with pytest.raises(Declined, match="bad-report"):
        person.answer()
    assert "shows another list" in named(town.people[0].check)
    town.people[2].answer()
    operate(town.lab, town.server).close(1)
    honestly = server_checks.agreed_context
    monkeypatch.setattr(server_checks, "agreed_context", lambda *given: replace(honestly(*given), consents=fewer))
    assert "is about another list of who consented" in named(town.people[2].check), "the statement names the first"


def test_a_list_that_the_server_did_not_sign_is_not_believed(town: Town) -> None:
    town.consent(0, 2)
    honest = town.freeze()
    assert "not signed" in named(shown(town, 0, honest, bytes(range(32))).check)


def test_a_second_round_is_about_those_who_consented(tmp_path: Path) -> None:
    """Sums on the transcript of the first answers, which are those among the people on the list."""
    with opened(tmp_path, "triangles", (FAR, FAR + 1)) as town:
        town.consent(*CONSENTING)
        town.freeze()
        for number in (1, 2):
            for place in CONSENTING[:-1]:
                town.people[place].answer()
            operate(town.lab, town.server).close(number)
        found = town.people[0].check()
    assert [each.standing for each in found] == [INCLUDED, INCLUDED]


def test_a_killed_server_keeps_the_list(tmp_path: Path) -> None:
    lab, url = new_town(tmp_path / "lab"), sqlite_url(tmp_path)
    person = Person(lab, 0, tmp_path / "0")
    with running(lab, url) as server:
        person.enroll(url_of(server))
        consenting.consent(person.home, lambda lines: True, surroundings=QUICK)
        server.kill()
    with running(lab, url, "--port", str(server.port)) as server:
        town = Town(lab, server, [person])
        first = town.freeze()
        assert first.people == (0,)
        server.kill()
    with running(lab, url, "--port", str(server.port)) as server:
        assert Town(lab, server, [person]).freeze() == first
        assert json.loads(Town(lab, server, [person]).operate("GET", "/v1/rounds/1"))["state"] == "open"
