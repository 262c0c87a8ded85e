"""What the server answers: a status, headers and bytes; refusals are problems with a registered type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from visibility_aware_edge_ldp.campaign.problems import MEDIA_TYPE, PROBLEMS, Problem

Header = tuple[bytes, bytes]

JSON = b"application/json"
OCTETS = b"application/octet-stream"
# What an HTTP parser refuses, and what nobody foresaw.
BAD_REQUEST, INTERNAL = PROBLEMS["bad-request"], PROBLEMS["internal"]
_HEADERS: tuple[Header, ...] = ((b"x-content-type-options", b"nosniff"),)


@dataclass(frozen=True)
class Reply:
    """One answer. ``body`` is never copied as a whole: it may be large, and many ask for it."""

    status: int
    body: bytes = field(repr=False)
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
    extra: tuple[Header, ...] = headers
    if problem.status == 401:
        extra = (*headers, (b"www-authenticate", b"Bearer"))
    elif problem.status in (429, 503):
        extra = (*headers, (b"retry-after", b"1"))
    return Reply(problem.status, problem.body(detail), MEDIA_TYPE.encode(), extra)


def json_reply(content: Mapping[str, object], status: int = 200) -> Reply:
    """A value as JSON, keys sorted."""
    return Reply(status, json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def raw(reply: Reply) -> bytes:
    """The whole answer as it goes over the wire, for requests that no application ever sees."""
    lines = [b"HTTP/1.1 %d Refused" % reply.status, *(b"%s: %s" % header for header in reply.head)]
    return b"\r\n".join([*lines, b"connection: close", b"", reply.body])
