"""Transport: what is tried again and for how long, what is refused, and where tokens may go."""

from __future__ import annotations

import email.utils
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

import pytest

from support.campaign_stub import Served, Stub, dropped, refused_with, said
from visibility_aware_edge_ldp.campaign.http_client import (
    Declined,
    NotReached,
    Operator,
    Patience,
    Transport,
    checked_url,
)
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, VaEdgeLdpError

Ask = Callable[..., Served]


@dataclass
class Clock:
    """Time that passes only in sleep."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def patience(self, total: float = 1000.0) -> Patience:
        return Patience(attempt=2, first=1, most=8, total=total, clock=lambda: self.now, sleep=self.sleep)


def test_waits_double_with_jitter_up_to_a_limit(ask: Ask, stub: Stub) -> None:
    served, clock = ask(), Clock()
    stub.faults = [refused_with("store-unavailable") for _ in range(6)]
    Transport(served.url, patience=clock.patience()).get("/v1/charter")
    assert [0.5 * most <= wait <= most for wait, most in zip(clock.slept, (1, 2, 4, 8, 8, 8), strict=True)] == [
        True
    ] * 6
    assert len(set(clock.slept)) == 6


@pytest.mark.parametrize("status", ["deadline", "too-many", "store-unavailable"])
def test_what_may_pass_is_tried_again(ask: Ask, stub: Stub, status: str) -> None:
    served, clock = ask(), Clock()
    stub.faults = [refused_with(status), dropped]
    assert Transport(served.url, patience=clock.patience()).get("/v1/charter").status == 200
    assert len(clock.slept) == 2


@pytest.mark.parametrize("name", ["forbidden", "conflict", "late", "bad-report", "unauthorized", "too-large"])
def test_what_will_not_pass_is_not(ask: Ask, stub: Stub, name: str) -> None:
    served, clock = ask(), Clock()
    stub.faults = [refused_with(name)]
    with pytest.raises(Declined) as caught:
        Transport(served.url, patience=clock.patience()).get("/v1/charter")
    assert caught.value.problem == name
    assert clock.slept == []


def test_retry_after_is_obeyed(ask: Ask, stub: Stub) -> None:
    served, clock = ask(), Clock()
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    stub.faults = [refused_with("too-many", {"Retry-After": each}) for each in ("30", date, "soon", "")]
    Transport(served.url, patience=clock.patience()).get("/v1/charter")
    assert clock.slept[0] == 30
    assert 98 <= clock.slept[1] <= 101
    assert max(clock.slept[2:]) <= 8


def test_it_gives_up_at_the_deadline(ask: Ask, stub: Stub) -> None:
    served, clock = ask(), Clock()
    stub.faults = [refused_with("store-unavailable")] * 100
    with pytest.raises(NotReached, match=r"was not reached \(status 503\)"):
        Transport(served.url, patience=clock.patience(10)).get("/v1/charter")
    assert sum(clock.slept) <= 10
    stub.faults = [refused_with("too-many", {"Retry-After": "3600"})]
    with pytest.raises(NotReached):
        Transport(served.url, patience=clock.patience(10)).get("/v1/charter")


def test_whoever_waits_is_told_once(ask: Ask, stub: Stub) -> None:
    served, clock, told = ask(), Clock(), list[str]()
    patient = replace(clock.patience(10), tell=told.append)
    stub.faults = [refused_with("store-unavailable")] * 3
    Transport(served.url, patience=patient).get("/v1/charter")
    assert [each.split(" (")[0] for each in told] == [f"The server at {urlsplit(served.url).netloc} is not reached"]
    assert told[0].endswith("(status 503); trying again for 10 seconds.")
    Transport(served.url, patience=patient).get("/v1/charter")
    assert len(told) == 1, "of nothing where nothing failed"


@pytest.mark.parametrize(("name", "code"), [("unauthorized", 2), ("forbidden", 2), ("not-found", 3)])
def test_a_token_that_is_not_taken_is_the_owners_to_mend(name: str, code: int, ask: Ask, stub: Stub) -> None:
    served = ask()
    stub.faults = [refused_with(name)]
    with pytest.raises(Declined) as caught:
        Transport(served.url).get("/v1/charter")
    assert (caught.value.exit_code, "with your own token" in str(caught.value)) == (code, code == 2)


def test_nobody_there() -> None:
    with pytest.raises(NotReached, match="ConnectionRefusedError"):
        Transport("http://127.0.0.1:1", patience=Clock().patience(0)).get("/v1/charter")


def test_a_redirection_is_not_followed(ask: Ask, stub: Stub) -> None:
    served = ask()
    stub.faults = [said(b"", 302, {"Location": f"{served.url}/v1/charter"})]
    with pytest.raises(Declined, match="302, unknown"):
        Transport(served.url, "token", Clock().patience()).get("/v1/charter", own=True)
    assert len(stub.requests) == 1


def test_too_much_is_not_listened_to(ask: Ask, stub: Stub) -> None:
    stub.faults = [said(bytes(200_000))]
    with pytest.raises(ProtocolViolation, match="more than the 1,000 bytes"):
        Transport(ask().url, patience=Clock().patience()).get("/v1/charter", 1000)


def test_a_torn_answer_is_asked_for_again(ask: Ask, stub: Stub) -> None:
    def torn(request: object) -> bool:
        request.send_response(200)  # type: ignore[attr-defined]
        request.send_header("Content-Length", "100")  # type: ignore[attr-defined]
        request.end_headers()  # type: ignore[attr-defined]
        request.wfile.write(b"half")  # type: ignore[attr-defined]
        request.close_connection = True  # type: ignore[attr-defined]
        return True

    served, clock = ask(), Clock()
    stub.faults = [torn]
    assert Transport(served.url, patience=clock.patience()).get("/v1/charter").body == served.campaign.signed.data
    assert len(clock.slept) == 1


@pytest.mark.parametrize(
    "opening",
    [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"],
    ids=["status", "headers", "body"],
)
def test_a_server_that_drips_is_left_at_the_deadline(opening: bytes) -> None:
    """Every byte comes in time; the whole never does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_drip, args=(server, opening), daemon=True).start()
        url, began = f"http://127.0.0.1:{server.getsockname()[1]}", time.monotonic()
        with pytest.raises(NotReached, match="TimeoutError"):
            Transport(url, patience=Patience(attempt=0.3, total=0)).get("/")
        assert time.monotonic() - began < 2


def _drip(server: socket.socket, opening: bytes) -> None:
    connection, _ = server.accept()
    with connection, suppress(OSError):
        connection.recv(9999)
        connection.sendall(opening)
        for _ in range(100):
            connection.sendall(b"a")
            time.sleep(0.05)


def test_a_problem_that_nobody_registered_says_little(ask: Ask, stub: Stub) -> None:
    served = ask()
    for body in (b'{"type":"urn:other"}', b"[]", b"not json", b'{"title":"<b>x</b>","type":7}'):
        stub.faults = [said(body, 422, {"Content-Type": "application/problem+json"})]
        with pytest.raises(Declined, match="422, unknown"):
            Transport(served.url, patience=Clock().patience()).get("/v1/charter")


def test_only_own_requests_carry_the_token(ask: Ask, stub: Stub) -> None:
    seen: list[str | None] = []

    def look(request: object) -> bool:
        seen.append(request.headers.get("Authorization"))  # type: ignore[attr-defined]
        return False

    served = ask()
    stub.faults = [look, look]
    server = Transport(served.url, "secret", Clock().patience())
    server.get("/v1/charter")
    server.get("/v1/roster", own=True)
    assert seen == [None, "Bearer secret"]


@pytest.mark.parametrize(
    "url", ["https://example.org", "https://example.org:8443/a", "http://localhost:1", "http://[::1]:80"]
)
def test_addresses(url: str) -> None:
    assert checked_url(url).geturl() == url


@pytest.mark.parametrize(
    "url",
    [
        "example.org",
        "ftp://example.org",
        "http://example.org",
        "http://10.0.0.1",
        "https://user:word@example.org",
        "https://example.org/?a=b",
        "https://example.org:99999",
        "https://",
        "",
    ],
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(BadInput):
        checked_url(url)


class Mouth(BaseHTTPRequestHandler):
    """Says the same to everybody, and that it says so many octets."""

    body, length = b"", 0

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(self.length))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.mark.parametrize(
    ("body", "length", "code"), [(b"[" * 200_000, 200_000, 3), (b'{"title":', 100, 5), (b"", 0, 3)]
)
def test_a_broken_or_a_deep_answer_is_a_sentence(
    body: bytes, length: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mouth, "body", body)
    monkeypatch.setattr(Mouth, "length", length)
    with HTTPServer(("127.0.0.1", 0), Mouth) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(VaEdgeLdpError) as caught:
            Operator(f"http://127.0.0.1:{server.server_port}").rounds(Charters(("only",)))  # type: ignore[arg-type]
        server.shutdown()
    assert caught.value.exit_code == code


@dataclass(frozen=True)
class Charters:
    """As much of a charter as is asked."""

    rounds: tuple[str, ...]


LONG = bytes(range(256)) * 2_000  # eight pieces, and no piece like its neighbours' beginnings


class Breaking(BaseHTTPRequestHandler):
    """Sends 70,000 octets of what is asked for, and hangs up; ``tag`` says what it is, and refuses now and then."""

    tag, asked, refuses = '"one"', list[str](), list[int]()
    content = LONG

    def do_GET(self) -> None:
        kind = type(self)
        kind.asked.append(self.headers.get("Range", ""))
        if kind.refuses and kind.refuses.pop(0):
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        first = 0
        if self.headers.get("If-Range") == kind.tag != "":
            first = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        rest = kind.content[first:]
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(kind.content) - 1}/{len(kind.content)}")
        if kind.tag:
            self.send_header("ETag", kind.tag)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[:70_000])

    def log_message(self, *said: object) -> None:
        pass


@pytest.fixture
def breaking() -> Iterator[tuple[type[Breaking], str]]:
    kind = type("Mine", (Breaking,), {"asked": [], "refuses": []})
    with HTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield kind, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_download_that_breaks_off_is_gone_on_with(breaking: tuple[type[Breaking], str]) -> None:
    kind, url = breaking
    clock = Clock()
    kind.refuses = [0, 0, 1]
    reply = Transport(url, patience=clock.patience(total=20)).get("/v1/rounds/1/transcript", len(LONG))
    assert (reply.status, reply.body) == (200, LONG)
    places = [0, 70_000, 140_000, 140_000, *range(210_000, len(LONG), 70_000)]
    assert kind.asked == [f"bytes={place}-" if place else "" for place in places]


def test_a_download_of_what_has_changed_begins_anew(breaking: tuple[type[Breaking], str]) -> None:
    kind, url = breaking
    kind.content = LONG[:130_000]

    def change(seconds: float) -> None:
        kind.tag, kind.content = '"two"', LONG[::-1][:60_000]

    patience = Patience(attempt=2, first=0, most=0, total=20, sleep=change)
    assert Transport(url, patience=patience).get("/", len(LONG)).body == LONG[::-1][:60_000]


@pytest.mark.parametrize("tag", ["", 'W/"one"'])
def test_without_a_tag_that_tells_it_begins_anew_and_gives_up(breaking: tuple[type[Breaking], str], tag: str) -> None:
    kind, url = breaking
    kind.tag, clock = tag, Clock()
    with pytest.raises(NotReached):
        Transport(url, patience=clock.patience(total=20)).get("/", len(LONG))
    assert set(kind.asked) == {""}
