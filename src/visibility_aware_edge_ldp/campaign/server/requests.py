"""One request as the application sees it: its head is checked before a byte of its body is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from visibility_aware_edge_ldp.campaign.server.replies import OCTETS, Refusal

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# Heads that say two things at once have been used to smuggle requests past proxies.
# A head that comes in one piece is parsed before the connection can refuse it.
HEAD = 16_384
_ONCE = (b"authorization", b"content-length", b"content-type", b"content-encoding", b"transfer-encoding", b"host")


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
            raise Refusal("header-too-large", headers=_CLOSE)
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
            raise Refusal("length-required", "Say Content-Length; parts of unknown length are not taken.", _CLOSE)
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise Refusal("media-type", "Uploads are not compressed; leave Content-Encoding out.")
        if headers.get(b"content-type", b"").lower() != OCTETS:
            raise Refusal("media-type", "Say Content-Type: application/octet-stream.")
        length = headers[b"content-length"]
        if not length.isdigit() or len(length) > 15 or int(length) > size:
            raise Refusal("too-large", f"This upload has {size:,} octets.", self.closing)
        if int(length) < size:
            raise Refusal("bad-report", f"This upload has {size:,} octets.")

    @property
    def closing(self) -> tuple[tuple[bytes, bytes], ...]:
        """A body that was refused unread is skipped if it is short; else the connection ends."""
        length = self.headers.get(b"content-length", b"0")
        short = length.isdigit() and len(length) < 7 and b"transfer-encoding" not in self.headers
        return () if short else _CLOSE

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
                raise Refusal("too-large", f"This upload has {size:,} octets.", _CLOSE)
            if not message.get("more_body"):
                return _sized(b"".join(parts), size)
            message = await self.receive()
        raise Gone


_CLOSE = ((b"connection", b"close"),)


def _sized(body: bytes, size: int) -> bytes:
    """A server between us and the sender might not have kept to the length that was said."""
    if len(body) != size:
        raise Refusal("bad-report", f"This upload has {size:,} octets.")
    return body
