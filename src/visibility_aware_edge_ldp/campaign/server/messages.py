"""Requests and replies: a head is checked before a byte of its body is read. And all of them in OpenAPI's words."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from visibility_aware_edge_ldp.campaign.server.stages import Erased, EstimateFailed, NotReady
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreDamaged, StoreUnavailable, TooManyWaiting
from visibility_aware_edge_ldp.campaign.server.telemetry import failed
from visibility_aware_edge_ldp.campaign.wire_format import MEDIA_TYPE, PROBLEMS, Problem
from visibility_aware_edge_ldp.errors import ProtocolViolation

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# A head that comes in one piece is parsed before the connection can refuse it.
HEAD = 16_384
# Heads that say two things at once have been used to smuggle requests past proxies.
_ONCE = (b"authorization", b"content-length", b"content-type", b"content-encoding", b"transfer-encoding", b"host")
Header = tuple[bytes, bytes]
JSON = b"application/json"
HTML = b"text/html; charset=utf-8"
OCTETS = b"application/octet-stream"
# What an HTTP parser refuses, and what nobody foresaw.
BAD_REQUEST, INTERNAL = PROBLEMS["bad-request"], PROBLEMS["internal"]
_HEADERS: tuple[Header, ...] = ((b"x-content-type-options", b"nosniff"),)
_RANGE = re.compile(rb"bytes=(\d{1,15})-(\d{0,15})")
# Larger bodies are handed over in views of this size, so that a reply never holds a copy of the whole.
PART = 1 << 18
_STATUS = {int(each): b"HTTP/1.1 %d %b\r\n" % (each, each.phrase.encode()) for each in HTTPStatus}
CLOSE: Header = (b"connection", b"close")
# The problem that each failure is, with its own sentence.
_REFUSED = {
    ProtocolViolation: "bad-report",
    NotReady: "not-ready",
    Erased: "erased",
    TooManyWaiting: "too-many",
}


@dataclass(frozen=True)
class Reply:
    """One answer. ``body`` is never copied as a whole: it may be large, and many ask for it."""

    status: int
    body: bytes | memoryview = field(repr=False)
    kind: bytes = JSON
    headers: tuple[Header, ...] = ()

    @property
    def head(self) -> list[Header]:
        length = (b"content-length", b"%d" % len(self.body))
        return [(b"content-type", self.kind), length, *_HEADERS, *self.headers]


class Refusal(Exception):  # noqa: N818 - an answer, not an error
    """Ends a request with a problem."""

    def __init__(self, name: str, detail: str = "", headers: tuple[Header, ...] = ()) -> None:
        super().__init__(name)
        self.reply = problem_reply(PROBLEMS[name], detail, headers)


def problem_reply(problem: Problem, detail: str = "", headers: tuple[Header, ...] = ()) -> Reply:
    """A problem, with one sentence on this case."""
    again = (b"retry-after", b"1")
    extra = {401: [(b"www-authenticate", b"Bearer")], 429: [again], 503: [again]}.get(problem.status, [])
    return Reply(problem.status, problem.body(detail), MEDIA_TYPE.encode(), (*headers, *extra))


def json_reply(content: Mapping[str, object], status: int = 200) -> Reply:
    """A value as JSON, keys sorted."""
    return Reply(status, json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def raw(reply: Reply, before: Iterable[Header] = (), after: Iterable[Header] = (CLOSE,)) -> bytes:
    """The whole answer as it goes over the wire, with other headers before and after its own."""
    headers = (*before, *reply.head, *after)
    return b"".join([_STATUS[reply.status], *(b"%b: %b\r\n" % each for each in headers), b"\r\n", reply.body])


class Gone(Exception):  # noqa: N818
    """The other side has hung up, or its time was up; nobody waits for an answer."""


@dataclass(frozen=True)
class Request:
    """Method, path in parts, and headers by name."""

    method: str
    parts: tuple[str, ...]
    headers: dict[bytes, bytes] = field(repr=False)
    receive: Receive = field(repr=False)

    @classmethod
    def of(cls, scope: Message, receive: Receive) -> Request:
        listed = scope["headers"]
        if sum(len(name) + len(value) for name, value in listed) > HEAD:
            raise Refusal("header-too-large", headers=(CLOSE,))
        headers = dict(listed)
        if len(headers) != len(listed):
            names = [name for name, _ in listed]
            if any(names.count(name) > 1 for name in _ONCE):
                raise Refusal("bad-request", "A header that may stand once stands twice.")
        return cls(scope["method"], tuple(scope["path"].split("/")[1:]), headers, receive)

    def check_head(self, size: int) -> None:
        """Refuse an upload that does not say that it has this size, or says that it is something else than octets."""
        headers = self.headers
        if b"transfer-encoding" in headers or b"content-length" not in headers:
            raise Refusal("length-required", "Say Content-Length; parts of unknown length are not taken.", (CLOSE,))
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise Refusal("media-type", "Uploads are not compressed; leave Content-Encoding out.")
        if headers.get(b"content-type", b"").lower() != OCTETS:
            raise Refusal("media-type", "Say Content-Type: application/octet-stream.")
        if self.checked_length(size) < size:
            raise Refusal("bad-report", f"This upload has {size:,} octets.")

    def checked_length(self, most: int) -> int:
        """How many octets a body says that it has; refuses more than so many."""
        length = self.headers.get(b"content-length", b"")
        if not length:
            raise Refusal("length-required", headers=(CLOSE,))
        if not length.isdigit() or len(length) > 15 or int(length) > most:
            raise Refusal("too-large", f"This upload has {most:,} octets at most.", self.closing)
        return int(length)

    @property
    def closing(self) -> tuple[Header, ...]:
        """A body that was refused unread is skipped if it is short; else the connection ends."""
        length = self.headers.get(b"content-length", b"0")
        short = length.isdigit() and len(length) < 7 and b"transfer-encoding" not in self.headers
        return () if short else (CLOSE,)

    async def body(self, size: int) -> bytes:
        """The body, of this size. How long it may take is watched by the connection."""
        message = await self.receive()
        if not message.get("more_body") and message["type"] == "http.request":
            return _sized(message["body"], size)
        parts, length = [], 0
        while message["type"] == "http.request":
            part = message.get("body", b"")
            parts.append(part)
            length += len(part)
            if length > size:
                raise Refusal("too-large", f"This upload has {size:,} octets.", (CLOSE,))
            if not message.get("more_body"):
                return _sized(b"".join(parts), size)
            message = await self.receive()
        raise Gone


def _sized(body: bytes, size: int) -> bytes:
    """A server between us and the sender might not have kept to the length that was said."""
    if len(body) != size:
        raise Refusal("bad-report", f"This upload has {size:,} octets.")
    return body


Handler = Callable[..., Awaitable[Reply]]


def handler_of(handlers: dict[str, Handler], request: Request) -> Handler:
    """What answers a request's method; a HEAD is a GET whose body stays here."""
    method = "GET" if request.method == "HEAD" else request.method
    if method not in handlers:
        allowed = ", ".join([*handlers, "HEAD"] if "GET" in handlers else handlers).encode()
        raise Refusal("method-not-allowed", headers=((b"allow", allowed), *request.closing))
    return handlers[method]


def refused(failure: Exception) -> Reply:
    """The answer to a request that was not granted; what was not foreseen is ours, and is logged."""
    if isinstance(failure, Refusal):
        return failure.reply
    for kind, name in _REFUSED.items():
        if isinstance(failure, kind):
            return Refusal(name, str(failure)).reply
    failed("request", failure)
    if isinstance(failure, EstimateFailed):  # whoever asks for this is the operator
        return problem_reply(INTERNAL, str(failure))
    if isinstance(failure, StoreDamaged):  # only what operators ask for looks at whole rounds
        return Refusal("damaged", str(failure)).reply
    if isinstance(failure, (StoreUnavailable, TimeoutError)):
        return Refusal("store-unavailable").reply
    return problem_reply(INTERNAL)


def cached(
    request: Request,
    data: bytes,
    digest: str,
    kind: bytes,
    extra: tuple[Header, ...],
    seconds: int,
    shared: bool = True,
) -> Reply:
    """Bytes that never change: whoever has them need not fetch them again for so many seconds.

    What is not ``shared`` no proxy keeps for others than the one who showed a token.
    """
    tag, whose = b'"%s"' % digest.encode(), b"public" if shared else b"private"
    headers = ((b"etag", tag), (b"cache-control", b"%s, max-age=%d, immutable" % (whose, seconds)), *extra)
    held = [each.strip() for each in request.headers.get(b"if-none-match", b"").split(b",")]
    return Reply(304, b"", kind, headers) if tag in held else Reply(200, data, kind, headers)


def part_of(reply: Reply, request: Request) -> Reply:
    """The part that a request asks for, if it asks for one and the reply is still the one that it knows (RFC 9110)."""
    found = _RANGE.fullmatch(request.headers.get(b"range", b""))
    headers, size = (*reply.headers, (b"accept-ranges", b"bytes")), len(reply.body)
    tag = dict(headers).get(b"etag", b"")
    if reply.status != 200 or found is None or request.headers.get(b"if-range", tag) != tag:
        return replace(reply, headers=headers)
    first, last = int(found[1]), min(int(found[2] or size), size - 1)
    if not first <= last:  # nothing is left of it: whoever asks so gets all
        return replace(reply, headers=headers)
    said = (b"content-range", b"bytes %d-%d/%d" % (first, last, size))
    return replace(reply, status=206, body=memoryview(reply.body)[first : last + 1], headers=(*headers, said))


async def sent(reply: Reply, send: Send, head_only: bool) -> None:
    """Send a reply, a large one in parts."""
    await send({"type": "http.response.start", "status": reply.status, "headers": reply.head})
    body = reply.body
    if len(body) <= PART or head_only:
        return await send({"type": "http.response.body", "body": b"" if head_only else bytes(body)})
    view = memoryview(body)
    for start in range(0, len(body), PART):
        more = start + PART < len(body)
        await send({"type": "http.response.body", "body": view[start : start + PART], "more_body": more})
    return None


def described(rounds: int, participants: int, page: bool = True, parts: int = 1) -> bytes:
    """The description of a campaign's server, with its page or without."""
    last = {"participant": participants - 1, "part": parts - 1}
    numbers = {"round": _number("round", 1, rounds)} | {name: _number(name, 0, most) for name, most in last.items()}
    paths: dict[str, dict[str, Any]] = {}
    for path, method, *about in _OPERATIONS:
        parameters = [number for name, number in numbers.items() if f"{{{name}}}" in path]
        if page or path != "/":
            paths.setdefault(path, {})[method] = _operation(parameters, *about)
    bearer = {"bearer": {"type": "http", "scheme": "bearer"}}
    title = {"title": "VA-Edge-LDP campaign", "version": "1", "description": "Collects randomized reports."}
    shared = {"securitySchemes": bearer, "schemas": {"Problem": _PROBLEM}}
    return json.dumps({"openapi": "3.1.0", "info": title, "paths": paths, "components": shared}).encode()


def _operation(
    parameters: list[Any], summary: str, replies: dict[int, str], secured: bool = False, more: Mapping[str, Any] = {}
) -> dict[str, Any]:
    said: dict[str, Any] = {
        str(status): {"description": "Done."} | ({"content": {kind: {"schema": {}}}} if kind else {})
        for status, kind in replies.items()
    }
    said["4XX"] = said["503"] = {
        "description": "Refused.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    security: dict[str, Any] = {"security": [{"bearer": []}]} if secured else {}
    return {"summary": summary, "responses": said, "parameters": parameters, **security, **more}


def _number(name: str, least: int, most: int) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return {"name": name, "in": "path", "required": True, "schema": schema}


_ERASED = (
    "The first reports can be made again from the transcript, so it is erased with them, and answered 410 "
    "(urn:va-edge-ldp:problem:erased) from then on. Its digest goes from the state of the round, too: it has no salt."
)
_BODY = {"required": True, "content": {OCTETS.decode(): {"schema": {"type": "string", "format": "binary"}}}}
_ONE = {200: JSON.decode()}
_ROUND, _REPORT = "/v1/rounds/{round}", "/v1/rounds/{round}/reports/{participant}"
# Path, method, summary, the media type of each reply, whether a token is needed, and what else there is to say.
_OPERATIONS: tuple[tuple[Any, ...], ...] = (
    ("/v1/charter", "get", "The signed charter.", {**_ONE, 304: ""}),
    ("/v1/roster", "get", "The names, in order: for whoever has a token.", {**_ONE, 304: ""}, True),
    ("/v1/policy", "get", "Which positions are public: for whoever has a token.", {**_ONE, 304: ""}, True),
    ("/v1/edges", "get", "The public edges.", {**_ONE, 304: ""}),
    (_ROUND, "get", "The state of a round, and how many came when.", _ONE),
    (
        f"{_ROUND}/transcript",
        "get",
        "The first answers, until reports are erased.",
        {200: OCTETS.decode(), 206: OCTETS.decode(), 304: ""},
        False,
        {"description": _ERASED},
    ),
    (
        f"{_ROUND}/parts/{{part}}",
        "get",
        "One part of the first answers, where people read parts, until reports are erased.",
        {200: OCTETS.decode(), 206: OCTETS.decode(), 304: ""},
        False,
        {"description": _ERASED},
    ),
    (f"{_ROUND}/statement", "get", "The server's signed statement of a closed round.", _ONE),
    ("/v1/log", "get", "The issuer's log of charters, each entry signed.", _ONE),
    (f"{_ROUND}/close", "post", "Take no more reports.", _ONE, True),
    (_REPORT, "put", "Store a report.", {**_ONE, 201: JSON.decode()}, True, {"requestBody": _BODY}),
    (_REPORT, "get", "The receipt of a stored report.", _ONE, True),
    (f"{_ROUND}/proof/{{participant}}", "get", "That a report is included.", _ONE, True),
    ("/v1/consents", "get", "Who consented, signed: for whoever has a token.", _ONE, True),
    ("/v1/consents", "post", "Freeze the list of those who consented, and open round 1.", _ONE, True),
    ("/v1/consents/{participant}", "get", "Whether oneself consents.", _ONE, True),
    ("/v1/consents/{participant}", "put", "Say whether one consents.", _ONE, True, {"requestBody": _BODY}),
    (f"{_ROUND}/unanswered", "get", "Who has not answered, by number: for the operator.", _ONE, True),
    ("/v1/amendments", "get", "What the issuer has amended, signed and chained.", _ONE),
    ("/v1/amendments", "post", "Take one more amendment.", {**_ONE, 201: JSON.decode()}, True, {"requestBody": _BODY}),
    ("/v1/amendments/{participant}", "get", "Which amendments are about oneself, and their salts.", _ONE, True),
    ("/v1/operations", "get", "What operators did: for the operator.", _ONE, True),
    ("/v1/flagged", "get", "Whose reports look implausible, by number: for the operator.", _ONE, True),
    ("/v1/estimate", "post", "Make the answers.", _ONE, True),
    ("/v1/estimate", "delete", "Stop making the answers; whether they were being made.", _ONE, True),
    ("/v1/estimates", "get", "The answers.", _ONE),
    ("/healthz", "get", "Whether the server and its store answer.", _ONE),
    ("/metrics", "get", "Counters for Prometheus.", {200: "text/plain"}),
    ("/", "get", "The page for people.", {200: "text/html"}),
)
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "enum": sorted(problem.type for problem in PROBLEMS.values())},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}
