"""People take part in a real browser, from the letter's link to the check, with a real server and its store.

Pictures are kept in ``out/screenshots``, to be looked at.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaign.test_plain_rehearsal import PATIENT, town
from support import browser as browsers
from support.browser_people import (
    SOON,
    answer,
    asked,
    helper,
    letter,
    link,
    opens,
    pick,
    refuse_complaints,
    refuse_strangers,
    spoken,
    unnamed,
    visits,
)
from support.browser_program import copied, hosted
from support.campaign_postgres_here import Postgres, postgres_here
from visibility_aware_edge_ldp.campaign.invitations import Invitations
from visibility_aware_edge_ldp.campaign.participant import program, server_checks
from visibility_aware_edge_ldp.campaign.wire_format import SALT

OWN_PAGE = Invitations("http://localhost")
# Which questions are asked with which store: all of them, and a few in each run of the short tests.
ALL = [
    (question, store)
    for question in ("degrees", "groups", "position", "triangles")
    for store in ("sqlite", "postgresql")
]
FEW = [("degrees", "postgresql")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsers.chromium() as started:
        yield started


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_here() as server:
        yield server


@pytest.mark.parametrize(
    ("question", "store"),
    [*FEW, *(pytest.param(*each, marks=pytest.mark.long) for each in ALL if each not in FEW)],
)
def test_from_the_letter_to_the_check(
    browser: Any, tmp_path: Path, request: pytest.FixtureRequest, question: str, store: str
) -> None:
    """At both sizes, with the keyboard alone, beside somebody with each of two other programs."""
    url = request.getfixturevalue("postgres").new_database() if store == "postgresql" else ""
    with town(tmp_path, question, url, OWN_PAGE) as server:
        rounds = len(server.campaign.charter.rounds)
        at_desk, on_phone, plain, installed = asked(server, 4)
        people = {at_desk: visits(browser, "desk"), on_phone: visits(browser, "phone", has_touch=True)}
        other, home = helper(server, plain, tmp_path), tmp_path / "home"
        issuer = server.campaign.charter.issuer
        program.enroll(server.url, installed, server.token(installed), issuer, home, surroundings=PATIENT)
        for number in range(1, rounds + 1):
            for name, person in people.items():
                picture = f"{question}-{person.page.viewport_size['width']}-{number}"
                answer(person, link(server, name), server.friends(name), picture if store == "sqlite" else "")
                person.says("Your answer has arrived")
                assert person.page.locator("#calendar").is_visible() == (number < rounds)
                assert [len(each) > SALT for _, each in person.sent] == [True] * number
            other.answer(server.friends(plain))
            program.answer(
                server.friends(installed), home, lambda lines: True, say=lambda text: None, surroundings=PATIENT
            )
            server.operator.close(number)
        made = json.loads(server.operator.answers())
        assert [each["answered"] for each in made["rounds"]] == [4] * rounds
        code = server_checks.check(home, surroundings=PATIENT)[-1].code
        for person in people.values():
            person.page.reload()
            person.step("finished")
            person.press("#check")
            person.says("Your answer is counted")
            assert code in person.page.inner_text("#checked"), "people with other programs read another code"
            refuse_strangers(person, server.url)
            refuse_complaints(person)
            person.leaves()


def test_a_screen_reader_and_a_calendar(browser: Any, tmp_path: Path) -> None:
    """Everything has a name, each step begins at its heading; and when to come back is saved."""
    with town(tmp_path, "position", invitations=OWN_PAGE) as server:
        [name] = asked(server, 1)
        person = visits(browser, "phone")
        page, friend = person.page, next(each for each in server.friends(name) if each.isascii())
        opens(person, link(server, name))
        for step, button in (("consent", "#agree"), ("picker", "#to-review"), ("review", "#send"), ("finished", "")):
            person.step(step)
            assert page.evaluate("document.activeElement.id") == f"{step}-title", (
                "the focus is not where the step begins"
            )
            if step == "picker":
                pick(person, [friend])
                assert ("searchbox", "Search a name") in spoken(page)
                assert page.get_by_role("checkbox", name=friend, exact=True).is_checked()
                assert page.locator("#ticked[aria-live=polite]").inner_text() == "1 ticked"
            assert unnamed(page) == []
            said = spoken(page)
            assert [role for role, _ in said].count("main") == 1
            assert {"heading", "status"} <= {role for role, _ in said}
            if button:
                person.press(button)
        person.says("There is a second round")
        with page.expect_download() as saved:
            person.press("#calendar")
        calendar = Path(saved.value.path()).read_bytes().decode("ascii")
        assert all(len(line) <= 75 for line in calendar.split("\r\n"))
        assert re.search(r"\r\nDTSTART:20961002T070640Z\r\n", calendar), calendar  # when round 1 closes
        assert server.campaign.charter.title not in calendar
        assert name not in calendar
        assert server.token(name) not in calendar
        page.evaluate("document.querySelector('#finished h2').textContent = ''")
        page.evaluate("document.querySelector('#check').replaceChildren()")
        assert len(unnamed(page)) == 2, "a button and a heading without names are not seen"
        person.leaves()


def test_a_host_that_the_charter_names(browser: Any, tmp_path: Path) -> None:
    """The page comes from another host, the network is away between loading and sending; others cannot read replies."""
    copied(tmp_path / "host")
    with (
        hosted(tmp_path / "host") as host,
        town(tmp_path, "degrees", invitations=Invitations("http://localhost", f"{host}/take-part/")) as server,
    ):
        [name, second] = asked(server, 2)
        person = visits(browser, "phone")
        said = letter(server, name, host)
        assert said["page SHA-256"] == server.campaign.charter.page.digest
        opens(person, said["link"])
        person.step("consent")
        assert "as the issuer has signed" in person.page.locator("#facts").text_content()
        person.page.context.set_offline(True)  # from here on, until it is sent
        person.press("#agree")
        person.step("picker")
        pick(person, server.friends(name))
        person.press("#to-review")
        person.press("#send")
        person.says("The server cannot be reached now")
        assert person.sent == []
        person.page.context.set_offline(False)  # and it goes on by itself
        person.step("finished")
        assert len(person.sent) == 1
        refuse_strangers(person, server.url, host)
        refuse_complaints(person)
        person.leaves()
        shutil.copytree(tmp_path / "host", tmp_path / "other")
        with hosted(tmp_path / "other") as stranger:  # the same octets, from a host that the charter does not name
            other = visits(browser, "desk")
            with other.page.expect_console_message(lambda said: "CORS policy" in said.text, timeout=SOON):
                opens(other, link(server, second, stranger))
            assert other.shown == []
            other.leaves()


@pytest.mark.long
def test_a_page_that_was_changed(browser: Any, tmp_path: Path) -> None:
    """Another page is seen by its digest, where it is honest enough to look; a changed file is not run at all."""
    place = copied(tmp_path / "host", {"page.css": (".kicker { margin: 0;", ".kicker { margin: 1px;")})
    with (
        hosted(tmp_path / "host") as host,
        town(tmp_path, "degrees", invitations=Invitations("http://localhost", f"{host}/take-part/")) as server,
    ):
        [name] = asked(server, 1)
        for address, words in (
            (link(server, name, host), "not the one that your letter names"),
            (link(server, name, host).partition("&page=")[0], "not the one that the issuer vouches for"),
        ):
            person = visits(browser, "desk")
            opens(person, address)
            person.says(words)
            assert person.shown == []
            person.leaves()
        changed = place / "noise.js"
        changed.write_text(changed.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        person = visits(browser, "desk")
        opens(person, link(server, name, host))
        person.page.wait_for_timeout(500)
        assert any("integrity" in each for each in person.said)
        assert person.page.inner_text("#status") == "Loading …"
        person.leaves()


def test_a_charter_that_is_newer_than_the_page(browser: Any, tmp_path: Path) -> None:
    """What it says besides is not passed over: nothing is answered, and the sentence says what to do."""
    place = copied(tmp_path / "host", {"campaign.js": ('const OPTIONAL = ["page"];', "const OPTIONAL = [];")})
    with (
        hosted(tmp_path / "host") as host,
        town(tmp_path, "degrees", invitations=Invitations("http://localhost", f"{host}/take-part/")) as server,
    ):
        person = visits(browser, "phone")
        opens(person, link(server, asked(server, 1)[0], host).partition("&page=")[0])
        person.says("this page is too old for this campaign, which says “page”: ask the issuer for a newer page")
        assert person.shown == []
        person.page.locator("#status.problem").wait_for(timeout=SOON)
        person.leaves()
    assert place.is_dir()
