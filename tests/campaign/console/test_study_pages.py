"""The page of a study that is signed: what it offers in each state."""

from __future__ import annotations

import re
from typing import Any

import pytest

from support.campaign_lab import FAR, new_lab
from visibility_aware_edge_ldp.campaign.charter import Charter, Round
from visibility_aware_edge_ldp.campaign.console.choices import Choices
from visibility_aware_edge_ldp.campaign.console.letters import RUN
from visibility_aware_edge_ldp.campaign.console.people import read_people
from visibility_aware_edge_ldp.campaign.console.sessions import Sessions
from visibility_aware_edge_ldp.campaign.console.studies import Settings
from visibility_aware_edge_ldp.campaign.console.study_pages import ServerStatus, Shown, study_page
from visibility_aware_edge_ldp.campaign.console.vault import Key

CLOSES = (Round(2_082_801_600, 1), Round(2_085_480_000, 1))


@pytest.fixture(scope="module")
def charter(tmp_path_factory: pytest.TempPathFactory) -> Charter:
    place = tmp_path_factory.mktemp("pages") / "lab"
    return new_lab(place, RUN + 3, "triangles", [FAR, FAR + 86_400]).served.charter


def page_of(charter: Charter, status: ServerStatus, **changed: Any) -> str:
    sessions = Sessions()
    session = sessions.of(sessions.begin(Key(bytes(32))))
    assert session is not None
    people, settings = read_people("ann\nbob"), changed.pop("settings", Settings())
    choices = Choices("T", "E", address="https://s.example.org")
    shown = Shown(session, "one", charter, choices, people, settings, changed.pop("has_tokens", True), status)
    return re.sub(r"\s+", " ", study_page(shown).decode())


def status(*states: str, **more: Any) -> ServerStatus:
    rounds = [{"round": n, "state": state, "received": 3, "asked": 5} for n, state in enumerate(states, 1)]
    return ServerStatus(rounds, CLOSES, **more)


def offers(page: str) -> set[str]:
    return set(re.findall(r'action="/studies/one/([a-z-]+)"', page))


ALWAYS = {"letters", "forget", "server", "server-part", "addresses"}
PERSON = {"replace", "withdraw"}


def test_what_is_offered_follows_from_the_rounds(charter: Charter) -> None:
    running = {"away", "extend", "close"} | PERSON
    assert offers(page_of(charter, status("open", "waiting"))) == ALWAYS | running
    assert offers(page_of(charter, status("closed", "open"))) == ALWAYS | running
    assert offers(page_of(charter, status("closing", "waiting"))) == ALWAYS | PERSON | {"extend"}
    assert offers(page_of(charter, status("closed", "closed"))) == ALWAYS | {"estimate", "flagged"}
    made = {"estimates": {"edges": {"value": 1.5, "standard_error": 0.5, "interval": [0.5, 2.5]}}}
    page = page_of(charter, status("estimated", "estimated", answers=made))
    assert offers(page) == ALWAYS | {"flagged"}
    assert "<td>1.5</td><td>0.5</td><td>0.5</td><td>2.5</td>" in page
    assert all(f"/studies/one/results.{kind}" in page for kind in ("csv", "json", "pdf"))


def test_nobody_is_away_where_everybody_answered(charter: Charter) -> None:
    full = ServerStatus([{"round": 1, "state": "open", "received": 5, "asked": 5}], CLOSES)
    assert "away" not in offers(page_of(charter, full))


def test_a_silent_server_is_said_to_be(charter: Charter) -> None:
    page = page_of(charter, ServerStatus(closes=CLOSES, silent="It sleeps."))
    assert "The server does not answer. It sleeps." in page
    assert "Start the server" in page
    elsewhere = page_of(charter, ServerStatus(closes=CLOSES, silent="x"), settings=Settings(here=False))
    assert "The server runs elsewhere, at https://s.example.org" in elsewhere
    assert "Start the server" not in elsewhere


def test_what_was_not_handed_in_is_offered_again(charter: Charter) -> None:
    page = page_of(charter, status("open", "waiting", pending=2, withdrawals=1))
    assert "2 amendments signed here and not handed in yet." in page
    assert "hand-in" in offers(page)


def test_many_letters_are_printed_in_runs_and_none_once_they_are_deleted(charter: Charter) -> None:
    page = page_of(charter, status("open", "waiting"))
    assert "1 to 250" in page
    assert "251 to 253" in page
    gone = page_of(charter, status("open", "waiting"), has_tokens=False)
    assert offers(gone) & ALWAYS == {"server", "server-part", "addresses"}
    assert "The letters were deleted" in gone


def test_fields_of_one_name_have_labels_of_their_own(charter: Charter) -> None:
    page = page_of(charter, status("open", "waiting"))
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'for="([^"]+)"', page)) <= set(ids)


def test_the_servers_health_is_shown(charter: Charter) -> None:
    assert "<dt>Free on its disk</dt><dd>1.0 GB</dd>" in page_of(
        charter, status("open", "waiting", health=(("Free on its disk", "1.0 GB"),))
    )
