"""The page that people answer with in a browser: a folder of files that any host can serve, and their headers.

``index.html`` names the SHA-384 of every other file, so its own SHA-256 stands for all of them.
"""

import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

Header = tuple[bytes, bytes]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# Pages of any host may read a server's replies: who asks is shown by a token, never by a cookie.
_READABLE: tuple[Header, ...] = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"charter-signature, transcript-digest, retry-after"),
)
# What a browser is told before it lets a page of another host send its token.
_ALLOWED: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"GET, PUT"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"86400"),
)
FOLDER = Path(__file__).parent
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


@lru_cache
def page_files() -> dict[str, tuple[bytes, bytes]]:
    """The octets and the media type of each file, by its name."""
    found = sorted(path for path in FOLDER.iterdir() if path.suffix in _KINDS)
    return {path.name: (path.read_bytes(), _KINDS[path.suffix].encode()) for path in found}


@lru_cache
def page_headers() -> tuple[Header, ...]:
    """What the page says of itself, and more: sent by a campaign's own server, it asks this server alone."""
    said = re.search(rb'Security-Policy" content="([^"]*)"', page_files()["index.html"][0])
    own = said[1] if said else b"default-src 'none'"
    policy = re.sub(rb"connect-src [^;]*", b"connect-src 'self'", own) + b"; frame-ancestors 'none'"
    return (
        (b"content-security-policy", policy),
        (b"cache-control", b"no-cache"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
    )


def page_reply(path: tuple[str, ...]) -> tuple[int, bytes, bytes, tuple[Header, ...]] | None:
    """Status, body, media type and headers for what follows ``take-part`` in a path; None where there is no such file.

    The page's links need the slash at its end; browsers keep what follows the # when they are sent there.
    """
    if not path:
        return 308, b"", _KINDS[".html"].encode(), ((b"location", b"take-part/"),)
    found = page_files().get(path[0] or "index.html") if len(path) == 1 else None
    return None if found is None else (200, *found, page_headers())


class WithBrowserPage:
    """A campaign's server, with the page beside it, and with replies that pages of other hosts may read (ASGI)."""

    def __init__(self, app: Callable[[Message, Receive, Send], Awaitable[None]], page: bool = True) -> None:
        self._app, self._page = app, page

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        first, *rest = scope["path"].removeprefix("/").split("/")  # a path may be "*", or nothing
        found = None
        if first == "take-part" and self._page and scope["method"] in ("GET", "HEAD"):
            found = page_reply(tuple(rest))
        elif first == "v1" and scope["method"] == "OPTIONS":
            found = 200, b"", b"text/plain", (*_READABLE, *_ALLOWED)
        if found is None:
            return await self._app(scope, receive, _readable(send) if first == "v1" else send)
        status, body, kind, headers = found
        length = (b"content-length", b"%d" % len(body))
        head = [(b"content-type", kind), length, (b"x-content-type-options", b"nosniff"), *headers]
        await send({"type": "http.response.start", "status": status, "headers": head})
        return await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _readable(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_READABLE]}
        await send(message)

    return sent


def page_digest() -> str:
    """SHA-256 of ``index.html`` in hex, which stands for the whole page."""
    return sha256(page_files()["index.html"][0]).hexdigest()


def invitation_link(page: str, server: str, name: str, token: str, issuer: str) -> str:
    """The link for one participant's letter; what follows the # never leaves the browser that opens it.

    ``page`` is the address of the folder that holds the page, ``https://survey.example.org/take-part/`` on a
    campaign's own server; ``server`` is that of the campaign's server.
    """
    return f"{page}#{urlencode({'server': server, 'name': name, 'token': token, 'issuer': issuer})}"
