"""A tiny campaign server in this process, to try the participant's side: it remembers every byte that it heard.

It serves several campaigns, each under its own prefix, and misbehaves on demand. It is not the project's server.
"""

from __future__ import annotations

import csv
import hashlib
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.campaign import wire_format
from visibility_aware_edge_ldp.campaign.charter_log import CharterLog
from visibility_aware_edge_ldp.campaign.directory import TOKENS, Campaign, read_campaign
from visibility_aware_edge_ldp.campaign.signed_documents import token_hash
from visibility_aware_edge_ldp.campaign.statements import SignedStatement, Statement, sealed, sign_receipt
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import MEDIA_TYPE, PROBLEMS, Receipt, report_in
from visibility_aware_edge_ldp.public.surveys import position
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey

Fault = Callable[["_Request"], bool]
"""Does something else than answering, and says whether the request is over."""


@dataclass
class Served:
    """One campaign: its state, the uploads that stand, all that were ever heard, and those that were torn off."""

    campaign: Campaign
    tokens: dict[str, str]
    url: str
    states: dict[int, str]
    kept: dict[tuple[int, int], bytes] = field(default_factory=dict)
    heard: list[tuple[int, int, bytes]] = field(default_factory=list)
    torn: list[bytes] = field(default_factory=list)
    transcript: bytes = b""
    transcript_digest: str = ""
    root: str = ""
    amendments: bytes = b"[]"
    salt: bytes = bytes(32)
    log: CharterLog | None = None
    lies: dict[str, Any] = field(default_factory=dict)
    """Fields of statements that are not as they should be."""

    @property
    def issuer(self) -> str:
        return self.campaign.charter.issuer

    @property
    def terms(self) -> Terms:
        return Terms(self.campaign.charter, self.campaign.documents.view)

    def close_first(self) -> None:
        """Freeze round 1 and open round 2."""
        leaves = [wire_format.leaf(who, _digest(body)) for who, body in self._first()]
        self.root = wire_format.root(leaves).hex()
        survey = self.terms.survey
        if isinstance(survey, RowSurvey):
            collection = PositionCollection(survey.first, self.campaign.documents.view)
            for _, body in self._first():
                collection.absorb(position.decode(report_in(body)))
            heard = collection.transcript
            self.transcript = heard.answered.tobytes() + heard.ones.tobytes()
            self.transcript_digest = heard.digest
        self.states |= {1: "closed", 2: "open"}

    def statement(self) -> SignedStatement:
        """What is said of round 1 once it is closed."""
        transcript = sealed(self.transcript_digest, self.salt) if self.transcript_digest else ""
        said = Statement(self.campaign.charter.identity, 1, self.root, len(self._first()), transcript, 1_000, 2_000)
        return SignedStatement.of(replace(said, **self.lies), self.campaign.key)

    def proof(self, participant: int) -> dict[str, Any]:
        leaves = [wire_format.leaf(who, _digest(body)) for who, body in self._first()]
        index = [who for who, _ in self._first()].index(participant)
        return {
            "index": index,
            "count": len(leaves),
            "proof": [each.hex() for each in wire_format.proof(leaves, index)],
        }

    def _first(self) -> list[tuple[int, bytes]]:
        return [(who, body) for (number, who), body in sorted(self.kept.items()) if number == 1]


class Stub:
    """The server; use it as a context."""

    def __init__(self) -> None:
        self.served: dict[str, Served] = {}
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str]] = []
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Request,), {"stub": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Stub:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, directory: Path) -> Served:
        """Serve the campaign of a directory."""
        prefix = f"c{len(self.served)}"
        rows = list(csv.reader((directory / TOKENS).read_text("utf-8").splitlines()))[1:]
        campaign = read_campaign(directory)
        states = dict.fromkeys(range(1, len(campaign.charter.rounds) + 1), "waiting") | {1: "open"}
        url = f"http://127.0.0.1:{self._server.server_address[1]}/{prefix}"
        self.served[prefix] = Served(campaign, dict(map(tuple, rows)), url, states, log=campaign.log)  # type: ignore[arg-type]
        return self.served[prefix]


class _Request(BaseHTTPRequestHandler):
    stub: Stub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass

    def do_GET(self) -> None:
        self._answer("GET")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def _answer(self, method: str) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        self.body = self.rfile.read(length)
        with self.stub.lock:
            if len(self.body) < length:
                self.stub.served[self.path.split("/")[1]].torn.append(self.body)
                self.close_connection = True
                return
            if self.path.endswith("/v1/amendments"):  # is asked for beside everything else, and is no fault's turn
                self.reply(200, self.stub.served[self.path.split("/")[1]].amendments)
                return
            self.stub.requests.append((method, self.path))
            if self.stub.faults and self.stub.faults.pop(0)(self):
                return
            self.handle_as_usual()

    def handle_as_usual(self) -> None:
        """Answer as an honest server does."""
        _, prefix, _, *parts = self.path.split("/")
        served = self.stub.served[prefix]
        match parts:
            case [name] if name in ("charter", "roster", "policy", "edges"):
                documents, signed = served.campaign.documents, served.campaign.signed
                data = signed.data if name == "charter" else documents.data[name]
                self.reply(200, data, {"Charter-Signature": signed.signature.hex()})
            case ["rounds", number]:
                first = int(number) == 1
                state = {"round": int(number), "state": served.states[int(number)], "asked": 0, "received": 0}
                pinned = {"root": served.root, "transcript": served.transcript_digest} if first else {}
                self.reply(200, json.dumps({"root": "", "transcript": "", **state, **pinned}).encode())
            case ["rounds", "1", "transcript"]:
                self.reply(200, served.transcript, {"Transcript-Digest": served.transcript_digest})
            case ["rounds", "1", "proof", who]:
                self.reply(200, json.dumps(served.proof(int(who))).encode())
            case ["rounds", number, "reports", who]:
                self._report(served, int(number), int(who))
            case ["rounds", "1", "statement"] if served.root:
                signed = served.statement()
                headers = {"Statement-Signature": signed.signature.hex(), "Transcript-Salt": served.salt.hex()}
                self.reply(200, signed.data, headers)
            case ["log"] if served.log is not None:
                self.reply(200, served.log.data)
            case ["estimates"] | ["rounds", _, "statement"]:
                self.problem("not-ready")
            case _:
                self.problem("not-found")

    def _report(self, served: Served, number: int, who: int) -> None:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token_hash(token) != served.campaign.participants[who]:
            return self.problem("forbidden")
        key = (number, who)
        if self.command == "GET":
            return self._receipt(served, key, 200) if key in served.kept else self.problem("not-found")
        served.heard.append((number, who, self.body))
        if key not in served.kept and served.states[number] != "open":
            return self.problem("late" if served.states[number] == "closed" else "not-open")
        if key not in served.kept:
            served.terms.check_upload(who, number, self.body)
            served.kept[key] = self.body
            return self._receipt(served, key, 201)
        return self._receipt(served, key, 200) if served.kept[key] == self.body else self.problem("conflict")

    def _receipt(self, served: Served, key: tuple[int, int], status: int) -> None:
        receipt = Receipt(served.campaign.charter.identity, *key, _digest(served.kept[key]))
        signature = sign_receipt(served.campaign.key, receipt.to_bytes()) if served.campaign.key else ""
        self.reply(status, receipt.to_bytes(), {"Receipt-Signature": signature})

    def problem(self, name: str, headers: dict[str, str] | None = None) -> None:
        """Refuse, with a registered problem."""
        problem = PROBLEMS[name]
        self.reply(problem.status, problem.body(), {"Content-Type": MEDIA_TYPE, **(headers or {})})

    def reply(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        """Send these bytes."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        with suppress(ConnectionError):  # who asked may have been killed
            self.end_headers()
            self.wfile.write(data)


def dropped(request: _Request) -> bool:
    """Fault: the connection breaks before anything is answered."""
    request.close_connection = True
    return True


def stored_and_dropped(request: _Request) -> bool:
    """Fault: the request is carried out, and the connection breaks before its answer leaves."""
    request.reply = lambda *args, **kwargs: None  # type: ignore[method-assign]
    request.handle_as_usual()
    return dropped(request)


def refused_with(name: str, headers: dict[str, str] | None = None) -> Fault:
    """Fault: a registered problem instead of an answer."""

    def fault(request: _Request) -> bool:
        request.problem(name, headers)
        return True

    return fault


def said(data: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Fault:
    """Fault: these bytes instead of the honest answer."""

    def fault(request: _Request) -> bool:
        request.reply(status, data, headers)
        return True

    return fault


def no_fault(request: _Request) -> bool:
    """An honest answer; faults are taken one by one, in the order of requests."""
    return False


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
