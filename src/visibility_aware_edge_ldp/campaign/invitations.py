"""Invitations: tokens and letters as tables, the link of a letter, and the page that it names.  [CHARTER.10]"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from visibility_aware_edge_ldp.campaign.browser_page import FOLDER, page_digest, page_files
from visibility_aware_edge_ldp.campaign.signed_documents import is_fingerprint, shortened
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.charter import Charter

LETTERS, PAGE = "letters.csv", "take-part"
MOST_HOSTS = 16
_CAMPAIGN = "CAMPAIGN"
# What spreadsheets take for the beginning of a formula, also in its full-width form, or leave out before one.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n", " ")
# As a browser names where a page is from: no path, no capitals, no port that goes without saying.
_HOST = re.compile(r"(?:https://[a-z0-9.-]{1,253}|http://(?:localhost|127\.0\.0\.1))(?::[1-9][0-9]{0,4})?")


@dataclass(frozen=True)
class NamedPage:
    """The page that people answer with: SHA-256 of its ``index.html``, and who shows it beside the campaign's server.

    A host is named as a browser does, ``https://library.example.org``, in ascending order and each once.
    """

    digest: str
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_fingerprint(self.digest):
            raise ProtocolViolation("A charter names its page by the 64 hexadecimal digits of a SHA-256.")
        if not all(isinstance(each, str) and _HOST.fullmatch(each) for each in self.hosts):
            raise ProtocolViolation("Hosts of a page are named https://HOST or https://HOST:PORT, in lower case.")
        if list(self.hosts) != sorted(set(self.hosts)) or len(self.hosts) > MOST_HOSTS:
            raise ProtocolViolation(f"Hosts of a page stand in ascending order, each once, at most {MOST_HOSTS}.")

    @property
    def content(self) -> dict[str, Any]:
        """As it stands in a charter."""
        return {"digest": self.digest, "hosts": list(self.hosts)}

    @classmethod
    def read(cls, content: object) -> NamedPage:
        """From a charter; refuses what :attr:`content` would not be."""
        if not isinstance(content, dict) or content.keys() != {"digest", "hosts"}:
            raise ProtocolViolation("A charter says of its page a digest and hosts.")
        if not isinstance(content["hosts"], list):
            raise ProtocolViolation("The hosts of a charter's page are a list.")
        return cls(content["digest"], tuple(content["hosts"]))


@dataclass(frozen=True)
class Invitations:
    """Where people take part: the address of the campaign's server, and that of the folder with the page.

    ``page`` is the server's own ``/take-part/`` where it is left out. CAMPAIGN in an address stands for the campaign's
    identity, which is part of the address of a server of several: ``https://survey.example.org/c/CAMPAIGN/``.
    """

    server: str
    page: str = ""

    def __post_init__(self) -> None:
        for address in (self.server, self.page or self.server):
            if not _HOST.fullmatch(_host(address)) or urlsplit(address).query or "#" in address:
                raise BadInput(
                    f"{address!r} is no address for people: it begins with https:// and has neither ? nor #. Browsers "
                    "do the cryptography nowhere else, but for http://localhost."
                )

    @property
    def address(self) -> str:
        """The address of the page: the one that was given, or the server's own."""
        place = self.page or f"{self.server.rstrip('/')}/take-part/"
        return place if place.endswith(("/", ".html")) else f"{place}/"

    @property
    def named(self) -> NamedPage:
        """What the charter says of the page: this package's, and its host, if it is another than the server's."""
        host = _host(self.address)
        return NamedPage(page_digest(), () if host == _host(self.server) else (host,))

    def fields(self, name: str | int, token: str, charter: Charter) -> dict[str, str]:
        """What one person's letter says; whoever has it can answer in that person's name, once.

        What follows the # of the link stays in the browser that opens it: the campaign's server, the name, the token,
        the issuer's fingerprint and, where the charter names one, the page's digest.
        """
        digest = charter.page.digest if charter.page else ""
        server, page = (each.replace(_CAMPAIGN, charter.identity) for each in (self.server, self.address))
        given = {"server": server, "name": str(name), "token": token, "issuer": charter.issuer}
        given |= {"page": digest} if digest else {}
        closes = {f"round {number} closes": moment for number, moment in enumerate(charter.closing, 1)}
        return {
            "name": str(name),
            "title": charter.title,
            "link": f"{page}#{urlencode(given)}",
            "page": page,
            "page SHA-256": digest,
            "issuer": charter.issuer,
            **closes,
        }

    def table(self, people: Sequence[tuple[str | int, str]], charter: Charter) -> bytes:
        """A line for each (name, token), for a mail merge."""
        lines = [self.fields(name, token, charter) for name, token in people]
        return _table([lines[0], *(each.values() for each in lines)])

    def files(self, people: Sequence[tuple[str | int, str]], charter: Charter) -> dict[str, bytes]:
        """Everybody's letters, and the page that they name: files of a campaign's directory."""
        return {LETTERS: self.table(people, charter)} | {
            f"{PAGE}/{name}": data for name, (data, _) in page_files().items()
        }


def shown_page(directory: Path, named: NamedPage | None) -> tuple[Path | None, tuple[str, ...] | None]:
    """The folder of the page that a campaign's server shows, and which hosts show it, too.

    It is the page that the charter names, from the campaign's directory or this package, or none; where the charter
    names none it is this package's, and other hosts are not told apart.
    """
    if named is None:
        return FOLDER, None
    return next((each for each in (directory / PAGE, FOLDER) if page_digest(each) == named.digest), None), named.hosts


def token_table(people: Sequence[tuple[str | int, str]]) -> bytes:
    """A line for each (name, token)."""
    return _table([("name", "token"), *people])


def begins_formula(text: str) -> bool:
    """Whether a spreadsheet would run a cell with this text."""
    return text.startswith(_FORMULA)


def refuse_formulas(names: Iterable[Hashable]) -> None:
    """Tokens are handed out from a table: a spreadsheet would run such a name, with all tokens in reach."""
    for name in names:
        if isinstance(name, str) and begins_formula(name):
            raise BadInput(
                f"The name {shortened(name)} begins as a formula does; a spreadsheet would run it when a table of "
                "tokens is opened. Leave out =, +, -, @ and blanks at the beginning of names."
            )


def _table(lines: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


def _host(address: str) -> str:
    """Where a page of this address is from, as a browser says it."""
    try:
        found = urlsplit(address)
        usual = {"https": 443, "http": 80}.get(found.scheme)
        port = "" if found.port in (None, usual) else f":{found.port}"
    except ValueError:
        return ""
    return f"{found.scheme}://{found.hostname or ''}{port}" if not found.username else ""
