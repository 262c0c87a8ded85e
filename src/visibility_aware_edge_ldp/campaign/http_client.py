"""HTTP to a campaign's server: deadlines, retries with growing, jittered waits, and no redirection.

Nothing that comes back is trusted: it is limited in size, and whoever asked for it checks what it says.
"""

import email.utils
import http.client
import io
import ipaddress
import json
import os
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from visibility_aware_edge_ldp.campaign.charter import Charter, SignedCharter
from visibility_aware_edge_ldp.campaign.signed_documents import shortened
from visibility_aware_edge_ldp.campaign.wire_format import MEDIA_TYPE, problem_in
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, VaEdgeLdpError

LARGEST, _PIECE = 1 << 28, 1 << 16
# Worth another try: the server, or something before it, is busy, restarting or slow.
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
LARGEST_ANSWER = 1 << 26  # octets: noisy degrees of a million people, and much else
_GRANTED = (200, 201)


class NotReached(VaEdgeLdpError):  # noqa: N818
    """Nobody's: the server did not answer in time. What was stored is sent again next time."""

    exit_code = 5


class Declined(ProtocolViolation):
    """The server refuses, and says which registered problem it has."""

    advice = ""

    def __init__(self, status: int, problem: str, title: str) -> None:
        super().__init__(f"The server declined ({status}, {problem}): {title}{self.advice}")
        self.status, self.problem = status, problem


class TokenRefused(Declined):
    """The server does not take the participant's token."""

    exit_code = 2
    advice = " Enrol again under your own name and with your own token."


@dataclass(frozen=True)
class Reply:
    """What a server answers."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds: for one attempt as a whole, between attempts at first and at most, and in all.
    ``tell`` is called once for each request that is tried again."""

    attempt: float = 30.0
    first: float = 0.5
    most: float = 60.0
    total: float = 300.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    tell: Callable[[str], None] = lambda text: None


class Transport:
    """Requests to one server, as one participant."""

    def __init__(self, url: str, token: str = "", patience: Patience | None = None) -> None:
        self._url, self._token, self._patience = checked_url(url), token, patience or Patience()

    def get(self, path: str, most: int = LARGEST, own: bool = False) -> Reply:
        """What stands at a path; ``own`` says who asks."""
        return self._patiently("GET", path, None, most, own)

    def put(self, path: str, body: bytes) -> Reply:
        """Hand in an upload; the same bytes may be handed in again and again."""
        return self._patiently("PUT", path, body, 1 << 16, True)

    def _patiently(self, method: str, path: str, body: bytes | None, most: int, own: bool) -> Reply:
        patience, partial = self._patience, Partial()
        until, attempt = patience.clock() + patience.total, 0
        while True:
            before = len(partial.held)
            reply, why = self._once(method, path, body, most, own, partial)
            if len(partial.held) >= before + _PIECE:  # as long as so much comes, it is worth going on
                until, attempt = patience.clock() + patience.total, 0
            if reply is not None and reply.status not in _AGAIN:
                return _accepted(reply)
            wait, place = max(_jittered(patience, attempt), _asked_wait(reply)), f"The server at {self._url.netloc}"
            if patience.clock() + wait >= until:
                raise NotReached(f"{place} was not reached ({why}). Try again later.")
            if not attempt:
                left = until - patience.clock()
                patience.tell(f"{place} is not reached ({why}); trying again for {left:.0f} seconds.")
            patience.sleep(wait)
            attempt += 1

    def _once(
        self, method: str, path: str, body: bytes | None, most: int, own: bool, partial: "Partial"
    ) -> tuple[Reply | None, str]:
        """One attempt: its reply, or why there is none. A reply that broke off before is gone on with."""
        until = self._patience.clock() + self._patience.attempt
        headers = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close"}
        headers |= {"Authorization": f"Bearer {self._token}"} if own else {}
        headers |= partial.asked if body is None else {"Content-Type": "application/octet-stream"}
        try:
            with closing(connection_to(self._url, self._patience.attempt)) as connection:
                connection.connect()
                connection.sock = _Timely(connection.sock, until, self._patience.clock)
                connection.request(method, self._url.path.rstrip("/") + path, body, headers)
                reply = _reply(connection, most, partial)
        except (OSError, http.client.HTTPException) as error:
            return None, type(error).__name__
        if len(reply.body) > most:
            raise ProtocolViolation(f"The server sent more than the {most:,} bytes that are expected at most.")
        return reply, f"status {reply.status}"


def connection_to(url: SplitResult, seconds: float) -> http.client.HTTPConnection:
    """A connection to this address that is not open yet; each of its steps may take so many seconds."""
    host = url.hostname or ""
    if url.scheme == "https":
        return http.client.HTTPSConnection(host, url.port, timeout=seconds, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, url.port, timeout=seconds)


@dataclass
class Partial:
    """What has come of a reply that may break off, and the tag by which a server knows that it is still the same."""

    held: bytearray = field(default_factory=bytearray, repr=False)
    tag: str = ""

    @property
    def asked(self) -> dict[str, str]:
        """The headers that ask for the rest."""
        return {"Range": f"bytes={len(self.held)}-", "If-Range": self.tag} if self.held and self.tag else {}

    def begin(self, response: http.client.HTTPResponse) -> tuple[int, bytearray]:
        """The status, as if the whole had come, and where what comes is to be put; refusals leave what is held."""
        tag, where = response.headers.get("ETag", ""), response.headers.get("Content-Range", "")
        if response.status == 206 and self.tag and where.startswith(f"bytes {len(self.held)}-"):
            return 200, self.held
        if response.status != 200:
            return response.status, bytearray()
        self.held.clear()
        self.tag = tag if tag.startswith('"') else ""  # a weak one may stand for other octets
        return 200, self.held


def _reply(connection: http.client.HTTPConnection, most: int, partial: Partial | None = None) -> Reply:
    """What came back; of a body with more than ``most`` octets, a few more than these."""
    response = connection.getresponse()
    status, held = (partial or Partial()).begin(response)
    before, length = len(held), response.headers.get("Content-Length", "")
    while len(held) <= most and (piece := response.read1(_PIECE)):
        held += piece
    if len(held) <= most and length.isdigit() and len(held) - before < int(length):
        raise http.client.IncompleteRead(b"")
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(status, headers, bytes(held))


class _Timely:
    """A connected socket that stops at a deadline, however little comes or goes at a time: in headers as in bodies.

    A socket's own timeout begins anew with every byte. ``http.client`` uses no more of a socket than this.
    """

    def __init__(self, connected: socket.socket, until: float, clock: Callable[[], float]) -> None:
        self._socket, self._until, self._clock = connected, until, clock

    def hurry(self) -> None:
        """Whatever is done next may take what is left of the time."""
        left = self._until - self._clock()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def sendall(self, data: bytes) -> None:
        self.hurry()
        self._socket.sendall(data)

    def makefile(self, mode: Literal["rb"]) -> io.BufferedReader:
        stream = self._socket.makefile(mode, buffering=0)
        read = stream.readinto

        def readinto(buffer: Any) -> int | None:
            self.hurry()
            return read(buffer)

        stream.readinto = readinto  # type: ignore[assignment, method-assign]
        return io.BufferedReader(stream)

    def close(self) -> None:
        self._socket.close()


def checked_url(url: str) -> SplitResult:
    """A server's address; tokens and answers travel in the open only to this machine itself."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadInput(f"{shortened(url)} is not an address: {error}.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.query or parts.fragment:
        raise BadInput(f"A server's address looks like https://survey.example.org; got {shortened(url)}.")
    if parts.username is not None or (parts.scheme == "http" and not _is_here(parts.hostname)):
        raise BadInput(f"Use https for {parts.hostname}, without a password in the address: tokens must not be read.")
    return parts


def _is_here(host: str) -> bool:
    with suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    return False


def _accepted(reply: Reply) -> Reply:
    if reply.status in _GRANTED:
        return reply
    found = problem_in(reply.headers.get("content-type", ""), reply.body)
    name, title = (found.name, found.title) if found else ("unknown", "it gave no reason that is understood here.")
    raise (TokenRefused if reply.status in (401, 403) else Declined)(reply.status, name, title)


def _jittered(patience: Patience, attempt: int) -> float:
    """Between half and all of a wait that doubles: those who failed together do not come back together."""
    longest = min(patience.most, patience.first * 2.0 ** min(attempt, 30))
    return longest * (0.5 + int.from_bytes(os.urandom(4)) / (1 << 33))


def _asked_wait(reply: Reply | None) -> float:
    """What Retry-After asks for: seconds, or a date."""
    said = "" if reply is None else reply.headers.get("retry-after", "").strip()
    if said.isascii() and said.isdigit():
        return float(said[:9])
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    return 0.0


@dataclass(frozen=True)
class Operator:
    """Requests to one campaign's server; ``token`` is needed to close a round and to have the answers made.

    Both take as long as they take; the connection is held open for that many ``seconds``.
    """

    url: str
    token: str = field(default="", repr=False)
    seconds: float = 3600.0

    def charter(self) -> Charter:
        """The charter, with its signature checked against the issuer that it names."""
        shown = self.ask("GET", "/v1/charter")
        signed = SignedCharter.from_hex(shown.body, shown.headers.get("charter-signature", ""))
        return signed.opened(Charter.from_bytes(shown.body).issuer)

    def rounds(self, charter: Charter) -> list[dict[str, Any]]:
        """How each round stands."""
        numbers = range(1, len(charter.rounds) + 1)
        return [json_object(self.ask("GET", f"/v1/rounds/{number}").body) for number in numbers]

    def close(self, number: int) -> dict[str, Any]:
        """Take no more reports for a round; it may be asked for again."""
        return json_object(self.ask("POST", f"/v1/rounds/{number}/close").body)

    def answers(self) -> bytes:
        """The answers as the server keeps them; with the operator's token they are made if need be."""
        return (self.ask("POST", "/v1/estimate") if self.token else self.ask("GET", "/v1/estimates")).body

    def ask(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """What the server answers, if it grants what is asked."""
        url = checked_url(self.url)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            with closing(connection_to(url, self.seconds)) as connection:
                connection.request(method, url.path.rstrip("/") + path, body, headers)
                reply = _reply(connection, LARGEST_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            raise NotReached(
                f"The server at {url.netloc} does not answer ({type(error).__name__}). Is it running? Start it with: "
                "va-edge-ldp campaign serve DIRECTORY"
            ) from error
        if len(reply.body) > LARGEST_ANSWER:
            raise ProtocolViolation(f"The server at {url.netloc} answers with more than {LARGEST_ANSWER >> 20} MiB.")
        if reply.status not in _GRANTED:
            raise BadInput(_refusal(reply))
        return reply


def _refusal(reply: Reply) -> str:
    """What the server says of its refusal, as a sentence."""
    if reply.status in (401, 403):
        return "The server does not take this operator's token; name the file with --token-file."
    content = _read(reply.body) if reply.headers.get("content-type", "").startswith(MEDIA_TYPE) else {}
    words = content.get("detail") or content.get("title") if isinstance(content, dict) else None
    shown = words if isinstance(words, str) and words.isprintable() else "it gave no reason."
    return f"The server declined ({reply.status}): {shown}"


def json_object(data: bytes) -> dict[str, Any]:
    """What the server says, if it is an object."""
    found = _read(data)
    if not isinstance(found, dict):
        raise ProtocolViolation("The server's answer is not a JSON object.")
    return found


def _read(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolViolation("The server's answer is not JSON.") from error
