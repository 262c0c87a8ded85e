"""A campaign that people answer with two programs: this package's, and the one that was written from the page alone."""

from __future__ import annotations

import contextlib
import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from plain_client.canonical import Refused
from plain_client.client import Participant, Server
from support.campaign_amending import Issuer
from support.campaign_answer_vectors import GROUPS, NAMES, Counted, key
from support.campaign_vectors import SPREAD, every_other_public_edge
from support.openapi_document import Description
from visibility_aware_edge_ldp.campaign.directory import new_campaign, read_campaign
from visibility_aware_edge_ldp.campaign.http_client import Operator, Patience
from visibility_aware_edge_ldp.campaign.invitations import Invitations
from visibility_aware_edge_ldp.campaign.participant import program, server_checks
from visibility_aware_edge_ldp.campaign.participant.accounts import account_of
from visibility_aware_edge_ldp.campaign.participant.enrolment import Surroundings
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, read_friends
from visibility_aware_edge_ldp.campaign.participant.reports import REPORTS, Making, ParticipantContext

FAR = 4_000_000_000
PATIENT = Surroundings(pace=0.001, patience=Patience(attempt=60, total=120))
ROUNDS = {"position": 2, "degrees": 1, "groups": 1, "triangles": 2}
STATISTICS = {"position": "edges", "degrees": "edges", "groups": "mixing", "triangles": "triangles"}


@dataclass
class Town:
    """A campaign with its server, and everybody's friends."""

    directory: Path
    url: str
    page: Description = field(default_factory=Description)

    @property
    def campaign(self) -> Any:
        return read_campaign(self.directory)

    @property
    def operator(self) -> Operator:
        return Operator(self.url, (self.directory / "operator.token").read_text(), 60.0)

    def token(self, name: str) -> str:
        with (self.directory / "tokens.csv").open(newline="") as file:
            return {row["name"]: row["token"] for row in csv.DictReader(file)}[name]

    def friends(self, name: str) -> list[str]:
        place = [str(each) for each in NAMES].index(name)
        return [str(other) for at, other in enumerate(NAMES) if at != place and (at * place + at + place) % 3 == 1]


@contextlib.contextmanager
def town(folder: Path, question: str, store: str = "", invitations: Invitations | None = None) -> Iterator[Town]:
    new_campaign(
        folder / "campaign",
        names=NAMES,
        policy=SPREAD,
        edges=every_other_public_edge(SPREAD),
        question=question,
        epsilon=1,
        statistics=[STATISTICS[question]],
        closes=[FAR, FAR + 1][: ROUNDS[question]],
        fewest=2,
        title="Two programs",
        epoch="autumn",
        split=(Fraction(1, 2), Fraction(1, 2)) if question == "position" else (),
        groups=GROUPS if question == "groups" else None,
        invitations=invitations,
    )
    with served(folder / "campaign", store) as url:
        yield Town(folder / "campaign", url)


@contextlib.contextmanager
def served(directory: Path, store: str = "") -> Iterator[str]:
    """The address of a campaign's server, as operators start it."""
    command = [sys.executable, "-m", "visibility_aware_edge_ldp.campaign.server.serving", str(directory)]
    with subprocess.Popen(
        [*command, "--port", "0", "--store", store], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.terminate()
            assert process.wait(60) == 0


def coins_of(name: str, number: int) -> Counted:
    return Counted(key("rehearsal", name, number))


def report_of(town: Town, name: str, number: int, first: bytes, transcript: bytes) -> bytes:
    """What this package's program makes of the same list and the same coins."""
    found = town.campaign
    context = ParticipantContext.of(found.charter, found.documents, name)
    given: Friends = read_friends(town.friends(name), context.names, context.number)
    account = account_of([], context.names)
    making = Making(context, account, given, coins_of(name, number), first, transcript)
    return REPORTS[context.question.name][number - 1](making).report


def taken_part(town: Town, folder: Path, question: str) -> list[Participant]:
    """Everybody answers every round, by turns with one program and the other; the plain ones."""
    people: dict[str, Participant] = {}
    names, campaign = [str(name) for name in NAMES], town.campaign
    for place, name in enumerate(names):
        home = folder / f"home {place}"
        home.mkdir()
        if place % 2:
            people[name] = Participant(town.url, name, town.token(name), campaign.charter.issuer, home)
        else:
            program.enroll(town.url, name, town.token(name), campaign.charter.issuer, home, surroundings=PATIENT)
    for number in range(1, ROUNDS[question] + 1):
        transcript = b"" if number == 1 or question != "triangles" else _body(town, "/v1/rounds/1/transcript")
        for place, name in enumerate(names):
            home = folder / f"home {place}"
            if name in people:
                _answered(town, people[name], name, number, transcript)
            else:
                program.answer(
                    town.friends(name), home, lambda lines: True, say=lambda text: None, surroundings=PATIENT
                )
        town.operator.close(number)
    return list(people.values())


def _answered(town: Town, person: Participant, name: str, number: int, transcript: bytes) -> None:
    receipt = person.answer(town.friends(name), lambda: coins_of(name, number))
    if receipt is None:
        assert not person.campaign.asks(person.person)
        return
    identity = person.campaign.identity
    kept, before = person.ledger.upload(identity, number), person.ledger.upload(identity, 1)
    assert kept is not None
    assert before is not None
    first = before[0][32:] if number == 2 else b""
    assert kept[0][32:] == report_of(town, name, number, first, transcript)
    assert json.loads(kept[1] or b"") == receipt
    assert person.answer(["nobody is asked again"], lambda: coins_of(name, 9)) == receipt


def _body(town: Town, path: str, token: str = "") -> bytes:
    status, headers, body = Server(town.url, token).ask("GET", path, 1 << 20, own=bool(token))
    town.page.check("GET", path, status, headers, body)
    return body


def rehearse(folder: Path, question: str) -> None:
    with town(folder, question) as here:
        people = taken_part(here, folder, question)
        with pytest.raises(Refused, match="not-ready"):
            people[0].check()
        made = json.loads(here.operator.answers())
        assert made == json.loads(_body(here, "/v1/estimates"))
        assert made["estimates"][STATISTICS[question]]["standard_error"]
        counted = [each["answered"] for each in made["rounds"]]
        asked = sum(person.campaign.asks(number) for person in people[:1] for number in range(len(NAMES)))
        assert counted == [asked] * ROUNDS[question]
        for person in people:
            roots = person.check()
            asks = person.campaign.asks(person.person)
            assert roots == ({number: each["root"] for number, each in enumerate(made["rounds"], 1)} if asks else {})
        own = next(place for place, name in enumerate(NAMES) if place % 2 == 0 and _is_asked(people[0], name))
        others = server_checks.check(folder / f"home {own}", surroundings=PATIENT)
        assert {each.standing for each in others} == {"included"}
        codes = {each.round: each.code for each in others}
        asked_people = [person for person in people if person.campaign.asks(person.person)]
        assert [person.codes() for person in asked_people] == [codes] * len(asked_people)
        for path in ("/v1/charter", "/v1/edges", "/v1/log", "/v1/amendments", "/v1/rounds/1", "/v1/rounds/1/statement"):
            _body(here, path)
        for path in ("/healthz", "/metrics"):
            _body(here, path)
        for path in ("/v1/roster", "/v1/policy"):
            _body(here, path, here.token(str(NAMES[0])))


def _is_asked(person: Participant, name: str | int) -> bool:
    return person.campaign.asks(person.campaign.names.index(name))


def test_two_programs_answer_about_degrees(tmp_path: Path) -> None:
    rehearse(tmp_path, "degrees")


@pytest.mark.long
@pytest.mark.parametrize("question", ["position", "groups", "triangles"])
def test_two_programs_answer_in_rows_both_rounds_and_groups(tmp_path: Path, question: str) -> None:
    rehearse(tmp_path, question)


@pytest.mark.long
def test_a_person_of_the_plain_program_withdraws_and_loses_a_token(tmp_path: Path) -> None:
    with town(tmp_path, "degrees") as here:
        issuer, people = Issuer.of(here.campaign.charter, here.directory), list[Participant]()
        for place, name in enumerate(map(str, NAMES[:4])):
            (tmp_path / str(place)).mkdir()
            people.append(Participant(here.url, name, here.token(name), issuer.charter.issuer, tmp_path / str(place)))
        *stay, leaves, loses = people
        for person in (*stay, leaves):
            assert person.answer([])
        new = issuer.replaces_token(loses.person)
        for signed in (new[0], issuer.signs("withdrawal", leaves.person)):
            assert here.operator.ask("POST", "/v1/amendments", signed.data).status == 201
        with pytest.raises(Refused, match="the receipt"):  # asked for it with a token that is nobody's
            loses.answer([])
        name = str(loses.campaign.names[loses.person])
        again = Participant(here.url, name, new[1], issuer.charter.issuer, tmp_path / "3")
        assert again.answer([])
        with pytest.raises(Refused, match="withdrawn"):
            leaves.answer([])
        here.operator.close(1)
        made = json.loads(here.operator.answers())
        assert [each["answered"] for each in made["rounds"]] == [3]
        roots = [person.check() for person in (*stay, again, leaves)]
        assert roots == [{1: made["rounds"][0]["root"]}] * 3 + [{}]
        assert [person.withdrew() for person in (*stay, again, leaves)] == [False, False, False, True]
        assert len({person.codes()[1] for person in (*stay, again)}) == 1
