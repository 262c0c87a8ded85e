"""The participant's program: enrol, answer a round, check."""

from __future__ import annotations

import http.client
import json
import os
import time
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from plain_client import answers, statements, tree
from plain_client.amendments import is_about, read_amendments
from plain_client.campaign import Campaign, check_question, open_charter, open_documents
from plain_client.canonical import Refused, demand, is_hex, read, sha256
from plain_client.ledger import Ledger, charge, friend_bits, keep, question, row_levels
from plain_client.noise import Coins

PROBLEM = "urn:va-edge-ldp:problem:"
STATES = ("waiting", "open", "closing", "closed", "estimated")
Reply = tuple[int, dict[str, str], bytes]


class Declined(Refused):
    """The server refuses; ``problem`` is the last word of the problem's type, if it is one that is known."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(f"{status} {problem}")
        self.problem = problem


def problem_in(kind: str, body: bytes) -> str:
    """The problem's name in a refusal; nothing where it is none."""
    if kind.split(";")[0].strip() != "application/problem+json":
        return ""
    try:
        said = read(body, 1 << 16)
    except Refused:
        return ""
    name = said.get("type") if isinstance(said, dict) else None
    return name.removeprefix(PROBLEM) if isinstance(name, str) and name.startswith(PROBLEM) else ""


def round_state(body: bytes, number: int) -> dict[str, Any]:
    """The state of a round in a reply; members that are not known here are passed over."""
    said = _object(body)
    demand(said.get("round") == number and said.get("state") in STATES, "the state of a round")
    for name in ("root", "transcript"):
        said[name] = said.get(name) or ""
        demand(said[name] == "" or is_hex(said[name]), "digests")
    return said


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused("not JSON") from error
    demand(isinstance(found, dict), "not an object")
    said: dict[str, Any] = found
    return said


def answered_sets(body: bytes, campaign: str) -> list[dict[str, Any]]:
    """Which sets the answers of this campaign name as those that they were made from."""
    said = _object(body)
    demand(said.get("format") == "va-edge-ldp estimates 2", "answers of another format")
    demand(said.get("campaign") == campaign, "answers of another campaign")
    rounds = said.get("rounds")
    demand(isinstance(rounds, list) and all(isinstance(each, dict) for each in rounds), "answers of no rounds")
    found: list[dict[str, Any]] = rounds
    return found


class Server:
    """Requests to one server as one participant."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = urlsplit(url), token

    def ask(self, method: str, path: str, most: int, body: bytes | None = None, own: bool = False) -> Reply:
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=30)
        headers = {"Authorization": f"Bearer {self._token}"} if own else {}
        headers |= {} if body is None else {"Content-Type": "application/octet-stream"}
        try:
            connection.request(method, self._url.path.rstrip("/") + path, body, headers)
            reply = connection.getresponse()
            data = reply.read(most + 1)
        finally:
            connection.close()
        demand(len(data) <= most, "more than is expected")
        found = {name.lower(): value for name, value in reply.getheaders()}
        if reply.status not in (200, 201):
            raise Declined(reply.status, problem_in(found.get("content-type", ""), data))
        return reply.status, found, data


class Participant:
    """One person in one campaign."""

    def __init__(self, url: str, name: str, token: str, issuer: str, home: Path) -> None:
        self.server, self.ledger = Server(url, token), Ledger(home / "plain-ledger.db")
        _, headers, data = self.server.ask("GET", "/v1/charter", 1 << 20)
        charter = open_charter(data, headers.get("charter-signature", ""), issuer)
        # Only a server that has shown what the pinned issuer signed is shown the token.
        shown = (("roster", True), ("policy", True), ("edges", False))
        documents = [self.server.ask("GET", f"/v1/{each}", 1 << 28, own=own)[2] for each, own in shown]
        self.campaign: Campaign = check_question(open_documents(charter, data, *documents))
        names = list(map(str, self.campaign.names))
        demand(name in names, "a name that is not in the roster")
        self.person, self.token = names.index(name), token
        self.key = self._server_key()

    def _server_key(self) -> str:
        """What the server signs with, by the issuer's log as it is shown now; empty where nothing is signed."""
        campaign, issuer = self.campaign, self.campaign.charter["issuer"]
        own = self.ledger.seen("log", issuer, campaign.identity)
        try:
            data = self.server.ask("GET", "/v1/log", 1 << 20)[2]
        except Declined as declined:
            demand(declined.problem == "not-found" and not own, "the log is not shown any more")
            return ""
        entries = statements.read_log(data, issuer)
        self.ledger.see("log", issuer, campaign.identity, 0, data)
        for other in self.ledger.seen("log", issuer):
            demand(statements.agree(entries, statements.read_log(other, issuer)), "two logs of one issuer")
        demand(all(len(each) <= len(data) for each in own), "an older log")
        return statements.server_key(entries, campaign.identity, campaign.charter)

    def _amended(self) -> tuple[list[dict[str, Any]], list[int]]:
        """The amendments, which go on from those that were seen, and the deadlines that hold now."""
        campaign, issuer = self.campaign, self.campaign.charter["issuer"]
        data = self.server.ask("GET", "/v1/amendments", 1 << 26)[2]
        found, deadlines = read_amendments(data, campaign.charter, campaign.identity)
        for other in self.ledger.seen("amendments", issuer, campaign.identity):
            before = read_amendments(other, campaign.charter, campaign.identity)[0]
            demand(found[: len(before)] == before, "an amendment is not shown any more")
        self.ledger.see("amendments", issuer, campaign.identity, 0, data)
        return found, deadlines

    def _stated(self, state: dict[str, Any]) -> dict[str, Any]:
        """The statement of a closed round: signed, kept, as the state says, and the same as ever."""
        identity, number, issuer = self.campaign.identity, state["round"], self.campaign.charter["issuer"]
        _, headers, data = self.server.ask("GET", f"/v1/rounds/{number}/statement", 1 << 12)
        said = statements.open_statement(data, headers.get("statement-signature", ""), self.key)
        self.ledger.see("statement", issuer, identity, number, data, headers["statement-signature"])
        demand(self.ledger.seen("statement", issuer, identity, number) == [data], "two statements of one round")
        before = self.ledger.seen("statement", issuer, identity, number - 1)
        salt = headers.get("transcript-salt", "")
        statements.refuse_misstated(said, identity, state, salt, before[0] if before else b"")
        return said

    def codes(self) -> dict[int, str]:
        """What this person reads to others: the code of each round whose statement was seen."""
        charter, identity = self.campaign.charter, self.campaign.identity
        rounds = range(1, len(charter["rounds"]) + 1)
        found = {number: self.ledger.seen("statement", charter["issuer"], identity, number) for number in rounds}
        return {number: statements.code(each[0]) for number, each in found.items() if each}

    def state(self, number: int) -> dict[str, Any]:
        said = round_state(self.server.ask("GET", f"/v1/rounds/{number}", 1 << 16)[2], number)
        stated = self.ledger.seen("statement", self.campaign.charter["issuer"], self.campaign.identity, number)
        demand(not stated or said["state"] in ("closed", "estimated"), "a closed round that is open again")
        return said

    def answer(self, friends: Iterable[str], coins: Callable[[], Coins] = lambda: os.urandom) -> dict[str, Any] | None:
        """Answer the round that is open; None where nothing is asked. The receipt, once it is kept."""
        campaign, person = self.campaign, self.person
        if not campaign.asks(person):
            with self.ledger.transaction() as page:
                charge(page, campaign, person, 1, write=True)
            return None
        demand(not campaign.plan, "a hub gives edges, and this program reads friends alone")
        numbers = range(1, len(campaign.charter["rounds"]) + 1)
        number = next((each for each in numbers if self._unsent(each)), 0)
        number = number or next((each for each in numbers if self.state(each)["state"] == "open"), 0)
        demand(number, "no round is open")
        kept = self.ledger.upload(campaign.identity, number)
        upload = kept[0] if kept else self._answered(number, friends, coins())
        path = f"/v1/rounds/{number}/reports/{person}"
        _, headers, receipt = self.server.ask("PUT", path, 1 << 12, upload, own=True)
        tree.check_receipt(receipt, campaign.identity, number, person, upload)
        if self.key:
            signature = headers.get("receipt-signature", "")
            statements.refuse_unsigned(receipt, signature, self.key)
            self.ledger.see("receipt", campaign.charter["issuer"], campaign.identity, number, receipt, signature)
        self.ledger.keep_receipt(campaign.identity, number, receipt)
        return _object(receipt)

    def _unsent(self, number: int) -> bool:
        kept = self.ledger.upload(self.campaign.identity, number)
        return kept is not None and kept[1] is None

    def _answered(self, number: int, friends: Iterable[str], coins: Coins) -> bytes:
        """The upload of a round, in the ledger."""
        campaign, person = self.campaign, self.person
        amended, deadlines = self._amended()
        demand(time.time() <= deadlines[number - 1] + 3_600, "a round that is open after its deadline")
        given = [each for each in amended if each["kind"] == "device" and each["token"] == sha256(self.token.encode())]
        demand(not given, "a token for the ledger of another program")
        try:
            self.server.ask("GET", f"/v1/rounds/{number}/reports/{person}", 1 << 12, own=True)
        except Declined as declined:
            demand(declined.problem in ("not-found", "not-open"), "the receipt")
        else:
            raise Refused("the server holds an answer that this ledger does not know")
        first, transcript = self._heard(number)
        heard = transcript.digest if transcript else ""
        with self.ledger.transaction() as page:
            charge(page, campaign, person, number, heard)  # before a bit of the list is looked at
            given = {unicodedata.normalize("NFC", name.strip()) for name in friends}
            epoch, key = campaign.charter["epoch"], question(campaign, number, heard)
            memo = page.execute("SELECT report FROM memos WHERE epoch = ? AND question = ?", (epoch, key)).fetchone()
            bits = friend_bits(page, campaign, person, given)
            fresh: dict[int, dict[int, bool]] = {}
            if memo:
                report = memo[0]
            elif campaign.question in ("degrees", "groups"):
                report = answers.numbers(campaign, person, bits, coins)
            elif number == 1:
                report, fresh = answers.first_row(campaign, person, bits, row_levels(page, campaign, person), coins)
            elif transcript:
                report = answers.row_sum(campaign, person, bits, first, transcript, coins)
            else:
                report = answers.second_row(campaign, person, bits, first, coins)
            charge(page, campaign, person, number, heard, write=True)
            keep(page, campaign, person, bits, fresh)
            if not fresh:
                page.execute("INSERT OR IGNORE INTO memos VALUES (?, ?, ?)", (epoch, key, report))
            upload = os.urandom(32) + report
            answers.check_upload(campaign, person, number, upload, first or None, heard)
            page.execute("INSERT INTO uploads VALUES (?, ?, ?, NULL)", (campaign.identity, number, upload))
        return upload

    def _heard(self, number: int) -> tuple[bytes, answers.Transcript | None]:
        """Before round 2: the own report of round 1, which the server must count as it was sent."""
        if number == 1:
            return b"", None
        kept, closed = self.ledger.upload(self.campaign.identity, 1), self.state(1)
        demand(kept and closed["state"] in ("closed", "estimated"), "round 1 was not answered, or is not closed")
        upload = kept[0] if kept else b""
        if self.campaign.question == "position":
            demand(self._is_among(1, upload, closed), "the closed round lacks the own report")
            return upload[32:], None
        octets = self.campaign.nodes * (self.campaign.nodes - 1) // 4 + 2
        transcript = answers.read_transcript(
            self.campaign, self.server.ask("GET", "/v1/rounds/1/transcript", octets)[2]
        )
        pinned = {closed["transcript"], self.state(2)["transcript"]} - {""}
        demand(pinned == {transcript.digest}, "another transcript than the closed round names")
        answers.refuse_other_row(self.campaign, self.person, upload[32:], transcript)
        if self.key:
            self._stated({**closed, "transcript": transcript.digest})
        return upload[32:], transcript

    def _is_among(self, number: int, upload: bytes, state: dict[str, Any]) -> bool:
        """Whether a closed round holds the own upload, by a proof among as many as the server states."""
        path = f"/v1/rounds/{number}/proof/{self.person}"
        try:
            said = _object(self.server.ask("GET", path, 1 << 16, own=True)[2])
        except Declined as declined:
            demand(declined.problem == "not-found", "the proof")
            return False
        demand(not self.key or self._stated(state)["count"] == said.get("count"), "as many as are stated")
        return tree.proves(said, tree.leaf(self.person, upload), state["root"])

    def withdrew(self) -> bool:
        """Whether the issuer has signed that this person withdrew."""
        own = _object(self.server.ask("GET", f"/v1/amendments/{self.person}", 1 << 16, own=True)[2])
        salts = {each["number"]: each["salt"] for each in own["amendments"]}
        withdrawn = (each for each in self._amended()[0] if each["kind"] == "withdrawal")
        identity = self.campaign.identity
        return any(is_about(each, identity, self.person, salts.get(each["number"])) for each in withdrawn)

    def check(self) -> dict[int, str]:
        """The root of each answered round, when all of them are closed and hold what was sent, as the answers say.

        A round that the person left by a signed withdrawal is not listed.
        """
        self.key = self._server_key()
        most = (1 << 20) + (len(self.campaign.charter["statistics"]) << 10) + (self.campaign.nodes << 8)
        rounds, found = answered_sets(self.server.ask("GET", "/v1/estimates", most)[2], self.campaign.identity), {}
        for number, each in enumerate(rounds, 1):
            if kept := self.ledger.upload(self.campaign.identity, number):
                state = self.state(number)
                demand(state["state"] in ("closed", "estimated"), "the round is not closed")
                among = self._is_among(number, kept[0], state)
                demand(among or self.withdrew(), "the round lacks the own report")
                demand(each.get("root") == state["root"], "the answers name another set")
                found |= {number: state["root"]} if among else {}
        return found
