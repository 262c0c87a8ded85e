"""Letters, tables for mail merge, and calendars."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from support.campaign_lab import FAR, new_lab
from visibility_aware_edge_ldp.campaign.browser_page import page_digest
from visibility_aware_edge_ldp.campaign.charter import Charter, Round
from visibility_aware_edge_ldp.campaign.console.letters import (
    Invitation,
    calendar,
    letters_table,
    page_fingerprint,
    qr_code,
    reminders_table,
)
from visibility_aware_edge_ldp.campaign.console.people import Person
from visibility_aware_edge_ldp.campaign.invitations import NamedPage

ANN = Person("Ann, the first", "", "", "", "ann@example.org")


@pytest.fixture(scope="module")
def charter(tmp_path_factory: pytest.TempPathFactory) -> Charter:
    return new_lab(tmp_path_factory.mktemp("letters") / "lab", 6, "triangles", [FAR, FAR + 86_400]).served.charter


def read(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))


def test_a_letter_has_everything_that_its_link_needs_behind_the_fragment(charter: Charter) -> None:
    letter = Invitation.of(charter, "https://s.example.org", "https://p.example.org/take-part/", ANN, "R&1", "tok=en")
    address, _, hidden = letter.link.partition("#")
    assert address == "https://p.example.org/take-part/"
    assert {name: each[0] for name, each in parse_qs(hidden).items()} == {
        "server": "https://s.example.org",
        "name": "R&1",
        "token": "tok=en",
        "issuer": charter.issuer,
    }
    assert "tok=en" not in repr(letter)


def modules(svg: str) -> np.ndarray:
    """The dark squares of a drawn code, by reading its path as a renderer does."""
    size = int(re.search(r'viewBox="0 0 (\d+) \1"', svg)[1])  # type: ignore[index]
    dark, x, y = np.zeros((size, size), bool), 0.0, 0.0
    for step, a, b in re.findall(r"([MmhH])\s*(-?[\d.]+)(?:[ ,]?(-?[\d.]+))?", re.search(r' d="([^"]+)"', svg)[1]):  # type: ignore[index]
        if step == "M":
            x, y = float(a), float(b)
        elif step == "m":
            x, y = x + float(a), y + float(b)
        else:
            dark[int(y), int(x) : int(x + float(a))] = True
            x += float(a)
    return dark


def test_a_code_is_drawn_with_its_finders_and_a_quiet_zone() -> None:
    dark = modules(qr_code("https://s.example.org/take-part/#server=x&name=ann&token=" + "a" * 43))
    finder = np.ones((7, 7), bool)
    finder[1:6, 1:6] = False
    finder[2:5, 2:5] = True
    size = len(dark)
    for top, left in ((4, 4), (4, size - 11), (size - 11, 4)):
        assert (dark[top : top + 7, left : left + 7] == finder).all()
    assert not dark[:4].any()
    assert not dark[:, -4:].any()
    assert 0.4 < dark[4:-4, 4:-4].mean() < 0.6


def test_codes_of_different_links_differ_and_of_one_link_do_not() -> None:
    assert qr_code("a") == qr_code("a") != qr_code("b")


def test_the_table_of_letters_can_be_merged(charter: Charter) -> None:
    letters = [Invitation.of(charter, "https://s.org", "https://s.org/take-part/", ANN, "ann", "token-1")]
    [row] = read(letters_table(letters))
    assert (row["name"], row["contact"], row["called"]) == ("Ann, the first", "ann@example.org", "ann")
    assert parse_qs(urlsplit(row["link"]).fragment)["token"] == ["token-1"]


def test_reminders_hold_no_token_unless_links_do(charter: Charter) -> None:
    [row] = read(reminders_table([("R-1", ANN)], charter, 2, "2036-01-01 12:00 UTC", lambda label: f"link of {label}"))
    assert (row["called"], row["round"], row["closes"], row["link"]) == (
        "R-1",
        "2",
        "2036-01-01 12:00 UTC",
        "link of R-1",
    )


def test_a_calendar_says_when_to_come_back(charter: Charter) -> None:
    rounds = (Round(2_082_801_600, 1), Round(2_085_480_000, 1))
    text = calendar(charter, rounds, "https://s.example.org/take-part/", 1_800_000_000.5).decode()
    lines = text.replace("\r\n ", "").split("\r\n")
    assert text.endswith("END:VCALENDAR\r\n")
    assert {"DTSTART:20360101T120000Z", "DTEND:20360201T120000Z", "DTSTAMP:20270115T080000Z"} <= set(lines)
    assert any(line.startswith("DESCRIPTION:Answer once more\\, on the device") for line in lines)
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    assert text == calendar(charter, rounds, "https://s.example.org/take-part/", 1_800_000_000.5).decode()


def test_the_page_that_letters_name_is_the_charters_or_else_this_versions(charter: Charter) -> None:
    assert charter.page is None
    assert page_fingerprint(charter) == page_digest()
    named = replace(charter, page=NamedPage("ab" * 32))
    assert page_fingerprint(named) == "ab" * 32
    letter = Invitation.of(named, "https://s.example.org", "https://s.example.org/take-part/", ANN, "ann", "t")
    assert parse_qs(urlsplit(letter.link).fragment)["page"] == ["ab" * 32]
