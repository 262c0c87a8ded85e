"""The page that people answer with in a browser: a folder of files that any host can serve, and their headers.

``index.html`` names the SHA-384 of every other file, so its own SHA-256 stands for all of them. A charter may name it,
with the hosts that show the page beside the campaign's own server.
"""

import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

Header = tuple[bytes, bytes]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# What a page of another host may read of a reply.
_EXPOSED = b"charter-signature, receipt-signature, statement-signature, transcript-digest, transcript-salt, retry-after"
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
def page_files(folder: Path = FOLDER) -> dict[str, tuple[bytes, bytes]]:
    """The octets and the media type of each file of a page, by its name."""
    found = sorted(path for path in folder.iterdir() if path.suffix in _KINDS) if folder.is_dir() else []
    return {path.name: (path.read_bytes(), _KINDS[path.suffix].encode()) for path in found}


@lru_cache
def page_headers(folder: Path = FOLDER) -> tuple[Header, ...]:
    """What the page says of itself, and more: sent by a campaign's own server, it asks this server alone."""
    said = re.search(rb'Security-Policy" content="([^"]*)"', page_files(folder)["index.html"][0])
    own = said[1] if said else b"default-src 'none'"
    policy = re.sub(rb"connect-src [^;]*", b"connect-src 'self'", own) + b"; frame-ancestors 'none'"
    return (
        (b"content-security-policy", policy),
        (b"cache-control", b"no-cache"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
    )


def page_reply(path: tuple[str, ...], folder: Path = FOLDER) -> tuple[int, bytes, bytes, tuple[Header, ...]] | None:
    """Status, body, media type and headers for what follows ``take-part`` in a path; None where there is no such file.

    The page's links need the slash at its end; browsers keep what follows the # when they are sent there.
    """
    if not path:
        return 308, b"", _KINDS[".html"].encode(), ((b"location", b"take-part/"),)
    found = page_files(folder).get(path[0] or "index.html") if len(path) == 1 else None
    return None if found is None else (200, *found, page_headers(folder))


class WithBrowserPage:
    """A campaign's server, with the page beside it, and with replies that pages of other hosts may read (ASGI).

    Parameters
    ----------
    folder
        Where the page is; without one, none is shown.
    hosts
        Whose pages may read replies, by the charter; those of any host where the charter names none. It is no lock:
        who asks is shown by a token, never by a cookie.
    """

    def __init__(
        self,
        app: Callable[[Message, Receive, Send], Awaitable[None]],
        folder: Path | None = FOLDER,
        hosts: tuple[str, ...] | None = None,
    ) -> None:
        self._app, self._folder, self._hosts = app, folder, hosts

    def expects(self, scope: Message) -> Any:
        """The upload that this head announces, if the server takes it as it comes; pages may read the reply."""
        found = self._app.expects(scope)  # type: ignore[attr-defined]
        if found is not None:
            found.more = self._readable(scope)
        return found

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        first, *rest = scope["path"].removeprefix("/").split("/")  # a path may be "*", or nothing
        found, readable = None, self._readable(scope) if first == "v1" else ()
        if first == "take-part" and self._folder and scope["method"] in ("GET", "HEAD"):
            found = page_reply(tuple(rest), self._folder)
        elif first == "v1" and scope["method"] == "OPTIONS":
            allowed = _ALLOWED if dict(readable).get(b"access-control-allow-origin") else ()
            found = 200, b"", b"text/plain", (*readable, *allowed)
        if found is None:
            return await self._app(scope, receive, _saying(send, readable))
        status, body, kind, headers = found
        length = (b"content-length", b"%d" % len(body))
        head = [(b"content-type", kind), length, (b"x-content-type-options", b"nosniff"), *headers]
        await send({"type": "http.response.start", "status": status, "headers": head})
        return await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _readable(self, scope: Message) -> tuple[Header, ...]:
        """What a browser is told of who may read a reply."""
        exposed = (b"access-control-expose-headers", _EXPOSED)
        if self._hosts is None:
            return (b"access-control-allow-origin", b"*"), exposed
        host: bytes = dict(scope["headers"]).get(b"origin", b"")
        named = host.decode("latin-1") in self._hosts
        varies = (b"vary", b"origin")  # so that no cache shows one host what was said to another
        return ((b"access-control-allow-origin", host), exposed, varies) if named else (varies,)


def _saying(send: Send, more: tuple[Header, ...]) -> Send:
    async def sent(message: Message) -> None:
        if more and message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent


def page_digest(folder: Path = FOLDER) -> str:
    """SHA-256 of ``index.html`` in hex, which stands for the whole page; nothing where there is none."""
    found = page_files(folder).get("index.html")
    return sha256(found[0]).hexdigest() if found else ""
