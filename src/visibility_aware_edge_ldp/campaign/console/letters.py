"""What a person is sent: the letter's fields, its QR code, and files for mail merge and calendars.

``Invitations.fields`` is the one place where a link is made.
"""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from visibility_aware_edge_ldp.campaign.browser_page import page_digest
from visibility_aware_edge_ldp.campaign.charter import Charter, Round
from visibility_aware_edge_ldp.campaign.console.people import Person
from visibility_aware_edge_ldp.campaign.invitations import Invitations
from visibility_aware_edge_ldp.errors import MissingPart

# So many letters are printed at a time: browsers are slow with thousands of pages.
RUN = 250
# Any mask can be read. One is fixed, because choosing among all eight takes most of the time.
_MASK = 2


@dataclass(frozen=True)
class Invitation:
    """One person's letter: to whom, as whom, with which link."""

    person: Person
    label: str
    link: str = field(repr=False)
    token: str = field(repr=False)

    @classmethod
    def of(cls, charter: Charter, address: str, page: str, person: Person, label: str, token: str) -> "Invitation":
        """From a campaign, the addresses of its server and its page, and what the roster calls the person."""
        return cls(person, label, Invitations(address, page).fields(label, token, charter)["link"], token)

    @property
    def code(self) -> str:
        """The link as a QR code, an inline SVG."""
        return qr_code(self.link)


def page_fingerprint(charter: Charter) -> str:
    """SHA-256 of the page that people answer with: what the charter names, else as this version has it."""
    return charter.page.digest if charter.page else page_digest()


def qr_code(text: str) -> str:
    """A text as a QR code of error level M with its quiet zone: an SVG without a size."""
    try:
        import segno
    except ImportError as missing:
        raise MissingPart("segno", "serve", "A letter's QR code") from missing
    drawn: str = segno.make(text, error="m", micro=False, mask=_MASK, boost_error=False).svg_inline(omitsize=True)
    return drawn


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Rows as CSV for spreadsheets and mail merge."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([head, *rows])
    return ("\ufeff" + text.getvalue()).encode()


def letters_table(invitations: Iterable[Invitation]) -> bytes:
    """Mail merge of invitations; a link holds its person's token."""
    rows = ((each.person.name, each.person.contact, each.label, each.link) for each in invitations)
    return table(("name", "contact", "called", "link"), rows)


def reminders_table(
    people: Iterable[tuple[str, Person]], charter: Charter, number: int, closes: str, link: Callable[[str], str]
) -> bytes:
    """Mail merge of reminders for a round; ``link`` gives a person's own link, or the page's address."""
    rows = ((each.name, each.contact, label, charter.title, str(number), closes, link(label)) for label, each in people)
    return table(("name", "contact", "called", "title", "round", "closes", "link"), rows)


def calendar(charter: Charter, rounds: Sequence[Round], page: str, made: float) -> bytes:
    """When people come back for the second round, as a calendar's file: it names nobody and holds no link of one."""
    first, second = (_stamp(each.closes) for each in rounds)
    lines = (
        *("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//VA-Edge-LDP//console//EN", "BEGIN:VEVENT"),
        f"UID:{charter.identity[:32]}-2@va-edge-ldp",
        f"DTSTAMP:{_stamp(made)}",
        f"DTSTART:{first}",
        f"DTEND:{second}",
        f"SUMMARY:{_escaped(f'Second round: {charter.title}')}",
        "DESCRIPTION:"
        + _escaped(
            "Answer once more, on the device on which you answered first: scan the code of your letter again, or open "
            f"{page} there. From another device, move your ledger first."
        ),
        *("BEGIN:VALARM", "ACTION:DISPLAY", "DESCRIPTION:" + _escaped(charter.title), "TRIGGER:PT0S", "END:VALARM"),
        *("TRANSP:TRANSPARENT", "END:VEVENT", "END:VCALENDAR"),
    )
    return "".join(f"{_folded(line)}\r\n" for line in lines).encode()


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ")


def _escaped(text: str) -> str:
    """A text of a calendar's file (RFC 5545, 3.3.11)."""
    return text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


def _folded(line: str) -> str:
    """A line of at most 75 octets; longer ones go on after a blank (RFC 5545, 3.1)."""
    parts, part = list[str](), ""
    for letter in line:
        if len((part + letter).encode()) > 73:
            parts.append(part)
            part = ""
        part += letter
    return "\r\n ".join([*parts, part])
