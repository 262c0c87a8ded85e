"""Servers and issuers that lie, to people who run the real program: two transcripts, an older store, two charters.

Each lie is told again to a twin: the same people without the one comparison that is to notice it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from support.campaign_lab import FAR, Lab, Running, new_lab, running, sqlite_url
from visibility_aware_edge_ldp.campaign.charter_log import LOG
from visibility_aware_edge_ldp.campaign.directory import ServedCampaign, new_campaign
from visibility_aware_edge_ldp.campaign.http_client import LARGEST, Operator, Patience, Reply, Transport
from visibility_aware_edge_ldp.campaign.participant import comparison, program, server_checks
from visibility_aware_edge_ldp.campaign.participant.enrolment import Surroundings
from visibility_aware_edge_ldp.campaign.participant.server_checks import INCLUDED, NOT_CLOSED, check
from visibility_aware_edge_ldp.campaign.participant.statements import refuse_changed
from visibility_aware_edge_ldp.campaign.signed_documents import digest, new_key
from visibility_aware_edge_ldp.campaign.statements import SignedStatement, Statement, code, sealed, sign_receipt
from visibility_aware_edge_ldp.campaign.wire_format import Receipt
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.transcript import read_broadcast
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

CAPS = dict.fromkeys(NON_PUBLIC, 2)
QUICK = Surroundings(pace=0.001, patience=Patience(attempt=10, first=0.01, most=0.1, total=20))


@dataclass(frozen=True)
class Person:
    """One participant of a lab's campaign, with a ledger of its own."""

    lab: Lab
    place: int
    home: Path
    around: Surroundings = QUICK

    @property
    def name(self) -> str:
        return str(self.lab.served.campaign.documents.roster[self.place])

    def enroll(self, url: str) -> None:
        token, issuer = self.lab.tokens[self.place], self.lab.served.charter.issuer
        program.enroll(url, self.name, token, issuer, self.home, CAPS, surroundings=self.around)

    def answer(self) -> bytes:
        """The receipt's digest."""
        friends = [str(name) for name in self.lab.served.campaign.documents.roster][(self.place + 1) % 3 :: 3]
        agreed = partial(program.answer, friends, self.home, lambda lines: True, None, lambda line: None)
        receipt = agreed(self.around).receipt
        assert receipt is not None
        return bytes.fromhex(receipt.digest)

    def check(self) -> list[server_checks.Checked]:
        return check(self.home, None, self.around)

    def shown(self) -> comparison.Shown:
        found = comparison.shown(self.home)
        assert found is not None
        return found


def named(work: Callable[[], object]) -> str:
    """The sentence by which somebody who lies is named; nothing where nobody is."""
    try:
        work()
    except ProtocolViolation as violation:
        return str(violation)
    except BadInput:
        return ""
    return ""


def url_of(server: Running) -> str:
    return f"http://{server.host}:{server.port}"


def operate(lab: Lab, server: Running) -> Operator:
    return Operator(url_of(server), lab.operator)


# ── two transcripts under one root ──


class Lying(Transport):
    """The server as one person is shown it: somebody else's first answer is another one, and all digests fit.

    ``signs`` says whether the server lies under its own signature, too.
    """

    lab: Lab
    position: int
    signs: bool
    told: dict[str, Reply]  # receipts of second answers

    def get(self, path: str, most: int = LARGEST, own: bool = False) -> Reply:
        if path in self.told:
            return self.told[path]
        found = super().get(path, most, own)
        if path == "/v1/rounds/1/transcript":
            return replace(found, body=self._other(found.body))
        if path in ("/v1/rounds/1", "/v1/rounds/2") and json.loads(found.body)["transcript"]:
            said = json.loads(found.body) | {"transcript": self._digest()}
            return replace(found, body=json.dumps(said).encode())
        if path == "/v1/rounds/1/statement" and self.signs:
            return self._statement(found)
        return found

    def put(self, path: str, body: bytes) -> Reply:
        """An honest server would decline an answer about another transcript."""
        if "/rounds/1/" in path:
            return super().put(path, body)
        place, campaign = int(path.rpartition("/")[2]), self.lab.served.campaign
        receipt = Receipt(campaign.charter.identity, 2, place, digest(body)).to_bytes()
        self.told[path] = Reply(201, {"receipt-signature": sign_receipt(campaign.key, receipt)}, receipt)
        return self.told[path]

    def _other(self, octets: bytes) -> bytes:
        """One bit of the answers, in the second half, is another one."""
        changed = bytearray(octets)
        changed[len(octets) // 2 + self.position // 8] ^= 1 << self.position % 8
        return bytes(changed)

    def _digest(self) -> str:
        served = self.lab.served
        octets = self._other(super().get("/v1/rounds/1/transcript").body)
        return read_broadcast(served.terms.survey.first.identity, octets, served.view).digest

    def _statement(self, honest: Reply) -> Reply:
        salt = bytes.fromhex(honest.headers["transcript-salt"])
        said = replace(Statement.from_bytes(honest.body), transcript=sealed(self._digest(), salt))
        signed = SignedStatement.of(said, self.lab.served.campaign.key)
        headers = {**honest.headers, "statement-signature": signed.signature.hex()}
        return Reply(200, headers, signed.data)


@dataclass
class Split:
    """How often one of two people was shown another transcript, and what noticed it."""

    trials: int = 0
    both_checks_passed: int = 0
    codes_differ: int = 0
    files_differ: int = 0
    unsigned_lie_refused: int = 0
    code_of_the_root_differs: int = 0

    @property
    def met(self) -> bool:
        """Every lie is noticed, and the twin, whose code covers the root alone, notices none."""
        caught = (self.both_checks_passed, self.codes_differ, self.files_differ, self.unsigned_lie_refused)
        return self.trials > 0 and set(caught) == {self.trials} and self.code_of_the_root_differs == 0


def split(trials: int, people: int = 16) -> Split:
    """Tell it: the third person's answers are changed, one after the other."""
    found = Split()
    with tempfile.TemporaryDirectory() as folder:
        lab = new_lab(Path(folder) / "lab", people, "triangles", (FAR, FAR + 100))
        for trial in range(trials):
            _split(lab, Path(folder) / str(trial), trial, found)
    return found


def _split(lab: Lab, folder: Path, trial: int, found: Split) -> None:
    folder.mkdir()
    start = row_start(lab.served.view.n, 2) + trial
    told: dict[str, object] = {"lab": lab, "position": start, "told": {}}
    kinds = {signs: type("Lied", (Lying,), {**told, "signs": signs}) for signs in (True, False)}
    ann, bob, dan, cyd = (Person(lab, place, folder / str(place)) for place in range(4))
    bob, cyd = (replace(each, around=replace(QUICK, transport=kinds[each is bob])) for each in (bob, cyd))
    with running(lab, sqlite_url(folder)) as server:
        for person in (ann, bob, cyd, dan):
            person.enroll(url_of(server))
            person.answer()
        operate(lab, server).close(1)
        ann.answer()
        bob.answer()
        found.trials += 1
        found.unsigned_lie_refused += "another root or transcript" in named(cyd.answer)
        first = [person.check()[0] for person in (ann, bob)]
    found.both_checks_passed += {each.standing for each in first} == {INCLUDED}
    found.codes_differ += first[0].code != first[1].code
    sentence = named(lambda: comparison.compared(ann.shown(), bob.shown()))
    found.files_differ += "states two things of round 1 (to you / to the other): transcript" in sentence
    found.code_of_the_root_differs += code(first[0].root.encode()) != code(first[1].root.encode())


# ── an older store is brought back ──


@dataclass
class RolledBack:
    """Who answered before a copy of the store was made and who after, and who noticed that it was brought back."""

    before: int = 0
    after: int = 0
    named: int = 0
    accused_wrongly: int = 0
    sent_again: int = 0
    same_root_in_the_end: bool = False
    reopened_named: int = 0
    twin_named: int = 0
    sentences: set[str] = field(default_factory=set, repr=False)

    @property
    def met(self) -> bool:
        """All that were forgotten notice it at once, nobody else does; the twin, which waits for the close, never."""
        caught = self.named == self.sent_again == self.after and self.reopened_named == self.before + self.after
        return bool(caught and self.after and self.same_root_in_the_end and not self.accused_wrongly + self.twin_named)


def rolled_back(people: int = 6) -> RolledBack:
    """Half of the people answer, the store is copied, the others answer, and the copy is brought back."""
    found = RolledBack()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lab = new_lab(folder / "lab", 2 * people, "position", (FAR,))
        crowd = [Person(lab, place, folder / str(place)) for place in lab.asked[: 2 * people - 2]]
        early, late = crowd[::2], crowd[1::2]
        with running(lab, sqlite_url(folder)) as server:
            for person in crowd:
                person.enroll(url_of(server))
            port, digests = server.port, {person.place: person.answer() for person in early}
        shutil.copy(folder / "store.db", folder / "older.db")
        with _at(lab, folder, port):
            digests |= {person.place: person.answer() for person in late}
            assert {each.standing for person in crowd for each in person.check()} == {NOT_CLOSED}
        shutil.copy(folder / "store.db", folder / "newer.db")
        _bring_back(folder, "older.db")
        with _at(lab, folder, port) as server:
            found.before, found.after = len(early), len(late)
            with _closed_rounds_alone():
                found.twin_named = sum(bool(named(person.check)) for person in crowd)
            found.accused_wrongly = sum(bool(named(person.check)) for person in early)
            found.sentences = {named(person.check) for person in late}
            found.named = sum("an older store was brought back" in named(person.check) for person in late)
            found.sent_again = sum(person.answer() == digests[person.place] for person in late)
            root = operate(lab, server).close(1)["root"]
            assert {person.check()[0].standing for person in crowd} == {INCLUDED}
        _bring_back(folder, "newer.db")
        with _at(lab, folder, port) as server:
            again = [named(person.check) for person in crowd]
            found.reopened_named = sum("though it signed that it was closed" in each for each in again)
            found.same_root_in_the_end = operate(lab, server).close(1)["root"] == root
    return found


@contextmanager
def _at(lab: Lab, folder: Path, port: int) -> Iterator[Running]:
    """The server at the address that everybody knows."""
    with running(lab, sqlite_url(folder), "--port", str(port)) as server:
        yield server


def _bring_back(folder: Path, copy: str) -> None:
    for left in folder.glob("store.db-*"):
        left.unlink()
    shutil.copy(folder / copy, folder / "store.db")


@contextmanager
def _closed_rounds_alone() -> Iterator[None]:
    """The twin: a check that looks for reports in closed rounds, and does not ask for receipts in open ones."""
    kept: Any = server_checks.refuse_rolled_back
    server_checks.refuse_rolled_back = lambda *anything: None
    try:
        yield
    finally:
        server_checks.refuse_rolled_back = kept


# ── two charters for one public ──


@dataclass
class TwoCharters:
    """An issuer shows the two ends of an edge two charters, and what each way of showing them gives away."""

    paid_by_ledgers: list[str] = field(default_factory=list)
    two_logs_named: bool = False
    one_log_shows_both: bool = False
    second_log_refused: bool = False
    without_logs_named: bool = False

    @property
    def met(self) -> bool:
        """Two logs are named, one log shows both charters; without logs nothing is noticed."""
        told = self.two_logs_named and self.one_log_shows_both and self.second_log_refused
        return told and not self.without_logs_named


def two_charters() -> TwoCharters:
    """The same people, two epochs, one issuer's key."""
    found = TwoCharters()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        secret = folder / "issuer.key"
        key = new_key()
        secret.write_text(key.hex())
        honest = [_charter(folder / f"one log {epoch}", epoch, key, secret) for epoch in ("a", "b")]
        forked = _charter(folder / "another log", "b", key, None)
        ann, bob = Person(honest[0], 0, folder / "ann"), Person(honest[1], 0, folder / "bob")
        eve = Person(forked, 0, folder / "eve")
        for person in (ann, bob, eve):
            _answers(person, folder)
        found.paid_by_ledgers = [str(max(_status(person).lost.values())) for person in (ann, eve)]
        found.two_logs_named = "The issuer shows two logs" in named(
            lambda: comparison.compared(ann.shown(), eve.shown())
        )
        line = comparison.charters_line(bob.shown(), honest[1].served.charter)
        found.one_log_shows_both = line == "The issuer's log names 2 charters, 1 about 'b'."
        with running(forked, sqlite_url(folder / "another log")) as server:
            moved = replace(eve, home=ann.home)
            found.second_log_refused = "does not continue" in named(lambda: moved.enroll(url_of(server)))
        found.without_logs_named = bool(named(lambda: _rounds_alone(ann.shown(), eve.shown())))
    return found


def _rounds_alone(own: comparison.Shown, other: comparison.Shown) -> None:
    """The twin: statements of the same campaign and round are compared, and logs are not."""
    theirs = {(each.campaign, each.round): each for each in other.statements}
    for each in own.statements:
        refuse_changed(each, theirs.get((each.campaign, each.round), each), "to you", "to the other")


def _charter(place: Path, epoch: str, key: bytes, key_file: Path | None) -> Lab:
    new_campaign(
        place,
        names=[f"p{i}" for i in range(6)],
        policy=VisibilityPolicy.nothing(),
        question="degrees",
        epsilon=1,
        statistics=["edges"],
        closes=[FAR],
        fewest=1,
        title="The same people",
        epoch=epoch,
        key=key,
        key_file=key_file,
    )
    assert (place / LOG).is_file()
    return Lab(place, ServedCampaign.read(place))


def _answers(person: Person, folder: Path) -> None:
    """Everything up to a closed round."""
    with running(person.lab, sqlite_url(person.lab.directory)) as server:
        person.enroll(url_of(server))
        person.answer()
        operate(person.lab, server).close(1)
        assert person.check()[0].standing == INCLUDED


def _status(person: Person) -> server_checks.Status:
    return server_checks.status(person.home)[0]
