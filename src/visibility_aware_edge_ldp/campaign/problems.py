"""What a server may answer besides success: registered types of problem, in the sense of RFC 9457."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from visibility_aware_edge_ldp.campaign.canonical import encode

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:va-edge-ldp:problem:"


@dataclass(frozen=True)
class Problem:
    """One kind of refusal: its last word names it, the title is for people, the status is HTTP's."""

    name: str
    title: str
    status: int

    @property
    def type(self) -> str:
        """The registered type, which programs compare."""
        return PREFIX + self.name

    def body(self, detail: str = "") -> bytes:
        """The bytes that are sent; ``detail`` is one sentence on this case."""
        # A sentence may quote what a stranger sent; whatever that was, the answer can be written.
        fit = unicodedata.normalize("NFC", detail.encode(errors="replace").decode())
        said = {"detail": fit} if fit else {}
        return encode({"type": self.type, "title": self.title, "status": self.status, **said})


_ALL = (
    Problem("bad-request", "This request is not understood.", 400),
    Problem("unauthorized", "A valid token is needed.", 401),
    Problem("forbidden", "This token is for somebody else.", 403),
    Problem("not-found", "There is nothing here.", 404),
    Problem("method-not-allowed", "This cannot be done here.", 405),
    Problem("deadline", "The request took too long.", 408),
    Problem("conflict", "Another upload is stored; the first one stands.", 409),
    Problem("late", "The round is closed.", 409),
    Problem("not-open", "The round is not open yet.", 409),
    Problem("not-ready", "This is not there yet.", 409),
    Problem("erased", "This was erased, as the charter promises.", 410),
    Problem("length-required", "The length must be said first.", 411),
    Problem("too-large", "This is larger than what is asked for.", 413),
    Problem("media-type", "Uploads are plain octets.", 415),
    Problem("bad-report", "This is not the report that was asked for.", 422),
    Problem("too-many", "Too many requests; wait and try again.", 429),
    Problem("header-too-large", "The head of the request is too large.", 431),
    Problem("internal", "The server failed; try again.", 500),
    Problem("store-unavailable", "Nothing can be stored now; try again.", 503),
)
PROBLEMS = {problem.name: problem for problem in _ALL}
BY_TYPE = {problem.type: problem for problem in _ALL}
