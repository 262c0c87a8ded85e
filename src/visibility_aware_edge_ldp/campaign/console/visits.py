"""A visit: one request to the console, admitted or not, with its form read.

A request is refused before anything is done if it names another host than the console's, if it changes something and
comes from another origin, or if its form lacks the session's token.
"""

import email.parser
import email.policy
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlsplit

from visibility_aware_edge_ldp.campaign.console.markup import TOKEN
from visibility_aware_edge_ldp.campaign.console.sessions import COOKIE, Session
from visibility_aware_edge_ldp.campaign.server.messages import HTML, Header, Reply, Request

# Octets of a form: names of some hundred thousand people.
LARGEST = 1 << 24
_MOST_FIELDS = 100


class EarlyReply(Exception):  # noqa: N818 - an answer, not an error
    """Raised to end a request with this reply in place of a page."""

    def __init__(self, status: int, words: str, headers: tuple[Header, ...] = ()) -> None:
        super().__init__(words)
        self.reply = Reply(status, words.encode(), b"text/plain; charset=utf-8", headers)


@dataclass(frozen=True)
class Visit:
    """A request that was admitted: its path, its session, and its form."""

    method: str
    parts: tuple[str, ...]
    session: Session
    form: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Gate:
    """Which requests a console at this address takes."""

    address: str

    @property
    def is_secure(self) -> bool:
        return self.address.startswith("https://")

    def check(self, request: Request) -> None:
        """The host, and for what changes something the origin, must be the console's own."""
        own = urlsplit(self.address).netloc.encode()
        if request.headers.get(b"host", b"").lower() != own.lower():
            raise EarlyReply(403, f"This console is at {self.address}, and answers under no other name.")
        if request.method not in ("GET", "HEAD") and request.headers.get(b"origin") != self.address.encode():
            raise EarlyReply(403, "This was not sent from a page of this console.")

    def cookie(self, value: str) -> Header:
        """The cookie of a session; an empty value ends it."""
        ends = "" if value else "; Max-Age=0"
        secure = "; Secure" if self.is_secure else ""
        return b"set-cookie", f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{ends}".encode()

    @property
    def headers(self) -> tuple[Header, ...]:
        """What every reply tells the browser: no script, nothing of another host, nothing kept, in nobody's frame."""
        rules = (
            "default-src 'none'", "style-src 'self'", "img-src 'self' data:", "form-action 'self'", "base-uri 'none'",
            "frame-ancestors 'none'",
        )  # fmt: skip
        strict = ((b"strict-transport-security", b"max-age=31536000"),) if self.is_secure else ()
        return (
            (b"content-security-policy", "; ".join(rules).encode()),
            (b"cache-control", b"no-store"),
            (b"referrer-policy", b"same-origin"),  # with no-referrer a browser says that it comes from nowhere
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            *strict,
        )


def cookie_in(request: Request) -> str:
    """The value of the session's cookie; empty for none."""
    try:
        found = SimpleCookie(request.headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def refuse_unknown_form(session: Session, form: Mapping[str, str]) -> None:
    """A form that changes something has the token of the session that it is sent in."""
    if not session.knows(form.get(TOKEN, "")):
        raise EarlyReply(403, "This form is not of your session. Go back, load the page again, and send it once more.")


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, with the text of files; the last one where a name stands twice."""
    size = request.headers.get(b"content-length", b"")
    if not size.isdigit() or len(size) > 9 or int(size) > LARGEST:
        raise EarlyReply(
            413, f"A form has at most {LARGEST:,} octets, and says how many.", ((b"connection", b"close"),)
        )
    body, kind = await request.body(int(size)), request.headers.get(b"content-type", b"").decode("latin-1")
    if kind.startswith("multipart/form-data"):
        return _multipart(kind, body)
    if kind != "application/x-www-form-urlencoded":
        raise EarlyReply(
            415, "This is not a form of this console. Go back, load the page again, and send it once more."
        )
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as error:  # also what is neither ASCII nor UTF-8
        raise EarlyReply(400, "This form cannot be read.") from error
    return {name: text.replace("\r\n", "\n") for name, text in pairs}


def _multipart(kind: str, body: bytes) -> dict[str, str]:
    found = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + body
    )
    fields: dict[str, str] = {}
    for part in found.iter_parts() if found.is_multipart() else ():
        name, octets = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(octets, bytes) and len(fields) < _MOST_FIELDS:
            fields[name] = _text(octets).replace("\r\n", "\n")
    return fields


def _text(octets: bytes) -> str:
    """A file's text: UTF-8, or what spreadsheets wrote before."""
    try:
        return octets.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    if octets.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return octets.decode("utf-16")
        except UnicodeDecodeError as error:
            raise EarlyReply(400, "The file is not a text.") from error
    return octets.decode("cp1252", "replace")


def html(body: bytes, status: int = 200, headers: tuple[Header, ...] = ()) -> Reply:
    return Reply(status, body, HTML, headers)


def elsewhere(to: str, headers: tuple[Header, ...] = ()) -> Reply:
    """A redirect to this address."""
    return Reply(303, b"", HTML, ((b"location", to.encode()), *headers))


def download(name: str, kind: str, data: bytes) -> Reply:
    """A reply that the browser saves as a file."""
    return Reply(200, data, kind.encode(), ((b"content-disposition", f'attachment; filename="{name}"'.encode()),))
