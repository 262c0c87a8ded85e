"""What a participant makes of amendments: none that the issuer did not sign, and none that vanished.  [CHARTER.9]"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from campaign.conftest import KEY, LATER, QUICK, TOWN, Ask
from support.campaign_amending import Issuer
from support.campaign_inside import Inside, inside
from support.campaign_lab import Lab, new_lab, sqlite_url
from support.campaign_stub import Served
from visibility_aware_edge_ldp.campaign.amendments import Amended, SignedAmendment
from visibility_aware_edge_ldp.campaign.charter import date
from visibility_aware_edge_ldp.campaign.http_client import Declined, Reply, Transport
from visibility_aware_edge_ldp.campaign.participant import amended, program
from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER
from visibility_aware_edge_ldp.campaign.participant.handover import hand_over, new_device, take_over
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.server.messages import json_reply
from visibility_aware_edge_ldp.campaign.signed_documents import new_key, token_hash
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused

NAME = TOWN[3]


def enrol(served: Served, home: Path, token: str = "") -> None:
    program.enroll(served.url, NAME, token or served.tokens[NAME], served.issuer, home, surroundings=QUICK)


def answer(home: Path, shown: list[str] | None = None) -> program.Outcome:
    def consent(lines: list[str]) -> bool:
        (shown if shown is not None else []).extend(lines)
        return True

    return program.answer([TOWN[1]], home, consent, say=lambda line: None, surroundings=QUICK)


@pytest.fixture
def town(ask: Ask, tmp_path: Path) -> tuple[Served, Issuer, Path]:
    served = ask("position")
    enrol(served, tmp_path / "home")
    return served, Issuer(served.campaign.charter, KEY), tmp_path / "home"


def test_the_deadline_that_was_signed_is_shown(town: tuple[Served, Issuer, Path]) -> None:
    served, issuer, home = town
    issuer.signs("deadline", round=1, closes=LATER + 864_000)
    served.amendments = issuer.amended.data
    shown: list[str] = []
    answer(home, shown)
    assert f"Closes     {date(LATER + 864_000)}" in shown


def test_an_extension_that_is_not_signed_is_not_acted_on(
    town: tuple[Served, Issuer, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, issuer, home = town
    monkeypatch.setattr(time, "time", lambda: LATER + 7_200.0)
    with pytest.raises(ProtocolViolation, match="signed no later deadline"):
        answer(home)
    forger = Issuer(issuer.charter, new_key())
    amendment, _ = forger.drafted("deadline", round=1, closes=LATER + 864_000)
    served.amendments = Amended(issuer.charter, (SignedAmendment.of(amendment, forger.key),)).data
    with pytest.raises(ProtocolViolation, match="not signed by the campaign's issuer"):
        answer(home)
    assert served.heard == []
    issuer.signs("deadline", round=1, closes=LATER + 864_000)
    served.amendments = issuer.amended.data
    assert answer(home).receipt is not None


def test_an_amendment_that_was_seen_must_not_vanish(town: tuple[Served, Issuer, Path], ask: Ask) -> None:
    served, issuer, home = town
    issuer.signs("withdrawal", 1)
    served.amendments = issuer.amended.data
    answer(home)
    served.kept.clear()
    other = Issuer(issuer.charter, issuer.key)
    other.signs("withdrawal", 2)
    server, ledger = Transport(served.url, served.tokens[NAME], QUICK.patience), Ledger(home / LEDGER)
    arguments = server, ledger, issuer.charter, served.tokens[NAME]
    assert amended.known(*arguments).withdrawals == 1
    for fewer in (b"[]", other.amended.data):
        served.amendments = fewer
        with pytest.raises(ProtocolViolation, match="amendment 1 of the campaign any more"):
            amended.known(*arguments)
    issuer.signs("withdrawal", 4)
    served.amendments = issuer.amended.data
    assert amended.known(*arguments).withdrawals == 2


def test_a_token_for_another_device_needs_its_ledger(town: tuple[Served, Issuer, Path], tmp_path: Path) -> None:
    """A person who was given a token for a new device, and begins there with an empty ledger, is stopped."""
    served, issuer, home = town
    number = [str(name) for name in served.campaign.documents.roster].index(NAME)
    new, empty = tmp_path / "new", tmp_path / "empty"
    head = hand_over(home, new_device(new), tmp_path / "sealed")
    _, token = issuer.replaces_token(number, "device", ledger=head)
    served.amendments = issuer.amended.data
    hashes = list(served.campaign.participants)
    hashes[number] = token_hash(token)
    object.__setattr__(served.campaign, "participants", tuple(hashes))
    enrol(served, empty, token)
    with pytest.raises(Refused, match="not that ledger"):
        answer(empty)
    assert served.heard == []
    take_over(new, tmp_path / "sealed")
    enrol(served, new, token)
    assert answer(new).receipt is not None


def test_a_campaign_that_is_over_is_not_enrolled_in(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = ask("position")
    enrol(served, tmp_path / "before")
    monkeypatch.setattr(time, "time", lambda: LATER + 7_200.0)
    with pytest.raises(Refused, match="nothing to answer any more"):
        enrol(served, tmp_path / "home")
    enrol(served, tmp_path / "before")
    issuer = Issuer(served.campaign.charter, KEY)
    issuer.signs("deadline", round=1, closes=LATER + 864_000)
    served.amendments = issuer.amended.data
    enrol(served, tmp_path / "home")


class Asked:
    """A transport that goes straight into an application."""

    def __init__(self, server: Inside, participant: int) -> None:
        self._server, self._token = server, server.lab.tokens[participant]

    def get(self, path: str, most: int = 0, own: bool = False) -> Reply:
        found = self._server.ask("GET", path, self._token if own else "")
        if found.status != 200:
            raise Declined(found.status, found.problem, "")
        return Reply(found.status, found.headers, found.body)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return new_lab(tmp_path_factory.mktemp("lab") / "town", 8)


def test_a_withdrawal_is_told_from_a_report_that_was_lost(lab: Lab, tmp_path: Path) -> None:
    issuer = Issuer.of(lab.served.charter, lab.directory)
    documents = lab.served.campaign.documents

    def withdrew(server: Inside, participant: int) -> bool:
        context = ParticipantContext.of(issuer.charter, documents, str(documents.roster[participant]))
        return amended.withdrew(Asked(server, participant), context)  # type: ignore[arg-type]

    with inside(lab, sqlite_url(tmp_path)) as server:
        for signed in (issuer.signs("withdrawal", 2), issuer.replaces_token(4)[0]):
            assert server.ask("POST", "/v1/amendments", lab.operator, signed.data).status == 201
        assert withdrew(server, 2)
        assert not withdrew(server, 3)
        # A server that shows somebody else's salt, or a token's, convinces nobody.
        server.app.operations.own_amendments = _says(issuer.amended, server)  # type: ignore[method-assign]
        assert not withdrew(server, 3)


def _says(shown: Amended, server: Inside) -> object:
    salts = [{"number": each.amendment.number, "salt": each.person.salt.hex()} for each in shown.signed if each.person]

    async def own_amendments(request: object, participant: int) -> object:
        return json_reply({"amendments": salts})

    return own_amendments
