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
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from visibility_aware_edge_ldp.campaign.charter import Charter, SignedCharter
from visibility_aware_edge_ldp.campaign.signed_documents import decode, shortened
from visibility_aware_edge_ldp.campaign.wire_format import BY_TYPE, MEDIA_TYPE
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, VaEdgeLdpError

LARGEST = 1 << 28
_PIECE = 1 << 16
# Worth another try: the server, or something before it, is busy, restarting or slow.
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
# Closing a round and making the answers take as long as they take; the connection is held open for that.
SECONDS = 3600.0
# Octets of an answer: noisy degrees of a million people, and much else.
LARGEST_ANSWER = 1 << 26
_GRANTED = (200, 201)


class NotReached(VaEdgeLdpError):  # noqa: N818
    """Nobody's: the server did not answer in time. What was stored is sent again next time."""

    exit_code = 5


class Declined(ProtocolViolation):
    """The server refuses, and says which registered problem it has."""

    def __init__(self, status: int, problem: str, title: str) -> None:
        super().__init__(f"The server declined ({status}, {problem}): {title}")
        self.status, self.problem = status, problem


class TokenRefused(Declined):
    """The server does not take the participant's token."""

    exit_code = 2

    def __init__(self, status: int, problem: str, title: str) -> None:
        super().__init__(status, problem, f"{title} Enrol again under your own name and with your own token.")


@dataclass(frozen=True)
class Reply:
    """A successful answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds: for one attempt as a whole, between attempts at first and at most, and in all.

    ``tell`` hears once of each request that it is tried again.
    """

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
        patience = self._patience
        until, attempt = patience.clock() + patience.total, 0
        while True:
            reply, why = self._once(method, path, body, most, own)
            if reply is not None and reply.status not in _AGAIN:
                return _accepted(reply)
            wait = max(_jittered(patience, attempt), _asked_wait(reply))
            if patience.clock() + wait >= until:
                raise NotReached(f"The server at {self._url.netloc} was not reached ({why}). Try again later.")
            if not attempt:
                patience.tell(
                    f"The server at {self._url.netloc} is not reached ({why}); trying again for "
                    f"{until - patience.clock():.0f} seconds."
                )
            patience.sleep(wait)
            attempt += 1

    def _once(self, method: str, path: str, body: bytes | None, most: int, own: bool) -> tuple[Reply | None, str]:
        """One attempt: its reply, or why there is none."""
        connection, until = self._connection(), self._patience.clock() + self._patience.attempt
        headers = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close"}
        if own:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/octet-stream"
        try:
            connection.connect()
            connection.sock = _Timely(connection.sock, until, self._patience.clock)
            connection.request(method, self._url.path.rstrip("/") + path, body, headers)
            response = connection.getresponse()
            reply = Reply(response.status, _lower(response), self._read(response, most))
        except (OSError, http.client.HTTPException) as error:
            return None, type(error).__name__
        finally:
            connection.close()
        return reply, f"status {reply.status}"

    def _connection(self) -> http.client.HTTPConnection:
        host, port, seconds = self._url.hostname or "", self._url.port, self._patience.attempt
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=seconds)

    def _read(self, response: http.client.HTTPResponse, most: int) -> bytes:
        """The body; a server that sends too much is not listened to."""
        parts, size = list[bytes](), 0
        while piece := response.read1(_PIECE):
            size += len(piece)
            parts.append(piece)
            if size > most:
                raise ProtocolViolation(f"The server sent more than the {most:,} bytes that are expected at most.")
        length = response.headers.get("Content-Length")
        if length is not None and length.isdigit() and size < int(length):
            raise http.client.IncompleteRead(b"".join(parts))
        return b"".join(parts)


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
        return io.BufferedReader(_TimelyReader(self._socket.makefile(mode, buffering=0), self))

    def close(self) -> None:
        self._socket.close()


class _TimelyReader(io.RawIOBase):
    def __init__(self, stream: io.RawIOBase, owner: _Timely) -> None:
        self._stream, self._owner = stream, owner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._owner.hurry()
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


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
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _accepted(reply: Reply) -> Reply:
    if reply.status in (200, 201):
        return reply
    name, title = "unknown", "it gave no reason that is understood here."
    if reply.headers.get("content-type", "").split(";")[0].strip() == MEDIA_TYPE:
        found = BY_TYPE.get(_said_type(reply.body))
        name, title = (found.name, found.title) if found else (name, title)
    raise (TokenRefused if reply.status in (401, 403) else Declined)(reply.status, name, title)


def _said_type(body: bytes) -> str:
    """The problem's type, if the body is one that our servers write."""
    try:
        content = decode(body, _PIECE)
    except ProtocolViolation:
        return ""
    return str(content.get("type", "")) if isinstance(content, dict) else ""


def _jittered(patience: Patience, attempt: int) -> float:
    """Between half and all of a wait that doubles: those who failed together do not come back together."""
    longest = min(patience.most, patience.first * 2.0 ** min(attempt, 30))
    return longest * (0.5 + int.from_bytes(os.urandom(4)) / (1 << 33))


def _asked_wait(reply: Reply | None) -> float:
    """What Retry-After asks for: seconds, or a date."""
    said = "" if reply is None else reply.headers.get("retry-after", "").strip()
    if said.isascii() and said.isdigit():
        return float(said[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time()) if said else 0.0
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _lower(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


@dataclass(frozen=True)
class Operator:
    """Requests to one campaign's server; ``token`` is needed to close a round and to have the answers made."""

    url: str
    token: str = field(default="", repr=False)
    seconds: float = SECONDS

    def charter(self) -> Charter:
        """The charter, with its signature checked against the issuer that it names."""
        _, headers, data = self._ask("GET", "/v1/charter")
        signed = SignedCharter.from_hex(data, headers.get("charter-signature", ""))
        return signed.opened(Charter.from_bytes(data).issuer)

    def rounds(self, charter: Charter) -> list[dict[str, Any]]:
        """How each round stands."""
        return [self._object("GET", f"/v1/rounds/{number}") for number in range(1, len(charter.rounds) + 1)]

    def close(self, number: int) -> dict[str, Any]:
        """Take no more reports for a round; it may be asked for again."""
        return self._object("POST", f"/v1/rounds/{number}/close")

    def answers(self) -> bytes:
        """The answers as the server keeps them; with the operator's token they are made if need be."""
        return self._ask("POST", "/v1/estimate")[2] if self.token else self._ask("GET", "/v1/estimates")[2]

    def _object(self, method: str, path: str) -> dict[str, Any]:
        content: Any = _read(self._ask(method, path)[2])
        if not isinstance(content, dict):
            raise ProtocolViolation("The server's answer is not a JSON object.")
        return content

    def _ask(self, method: str, path: str) -> tuple[int, Mapping[str, str], bytes]:
        parts = checked_url(self.url)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        host, port = parts.hostname or "", parts.port
        connection = (
            http.client.HTTPSConnection(host, port, timeout=self.seconds, context=ssl.create_default_context())
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=self.seconds)
        )
        try:
            connection.request(method, parts.path.rstrip("/") + path, headers=headers)
            reply = connection.getresponse()
            found = {name.lower(): value for name, value in reply.getheaders()}
            status, body = reply.status, reply.read(LARGEST_ANSWER + 1)
            if (
                reply.length and len(body) <= LARGEST_ANSWER
            ):  # a read of so many octets does not say that some are missing
                raise http.client.IncompleteRead(body, reply.length)
        except (OSError, http.client.HTTPException) as error:
            raise NotReached(
                f"The server at {parts.netloc} does not answer ({type(error).__name__}). Is it running? Start it with: "
                "va-edge-ldp campaign serve DIRECTORY"
            ) from error
        finally:
            connection.close()
        if len(body) > LARGEST_ANSWER:
            raise ProtocolViolation(f"The server at {parts.netloc} answers with more than {LARGEST_ANSWER >> 20} MiB.")
        if status not in _GRANTED:
            raise BadInput(_said(status, found, body))
        return status, found, body


def _said(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """What the server says of its refusal, as a sentence."""
    if status in (401, 403):
        return "The server does not take this operator's token; name the file with --token-file."
    content = _read(body) if headers.get("content-type", "").startswith(MEDIA_TYPE) else {}
    words = content.get("detail") or content.get("title") if isinstance(content, dict) else None
    shown = words if isinstance(words, str) and words.isprintable() else "it gave no reason."
    return f"The server declined ({status}): {shown}"


def _read(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolViolation("The server's answer is not JSON.") from error
