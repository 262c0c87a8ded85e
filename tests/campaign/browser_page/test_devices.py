"""One person, one answer: tabs that are killed, two tabs at once, a new phone; and what a worse order of steps does."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaign.test_plain_rehearsal import town
from support import browser as browsers
from support.browser_people import SOON, Person, answer, asked, helper, link, opens, visits
from support.browser_program import copied, hosted

# People whose tabs are killed, and how often each; of the twelve the last two are asked nothing.
PEOPLE, KILLS = 2, 6
ORDER = (
    "kept = await this.ledger.change((page) => this.answered(page, number, new Set(given), heard, coins));",
    "kept = await this.ledger.look((page) => this.answered(page, number, new Set(given), heard, coins));",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsers.chromium() as started:
        yield started


def moments(draw: random.Random, person: Person, address: str) -> None:
    """Begin to answer, and close the tab at some moment."""
    page = person.page.context.new_page()
    page.goto(address)
    try:
        page.locator("#consent:visible, #finished:visible").first.wait_for(timeout=SOON)
        if page.locator("#consent").is_visible():
            page.click("#agree")
            page.locator("#to-review").click(timeout=SOON)
            page.evaluate("document.getElementById('send').click()")
        page.wait_for_timeout(draw.choice([0, 2, 5, 10, 20, 40, 80, 160, 900, 1005, 1010, 1020, 1040]))
    finally:
        page.close(run_before_unload=False)


@pytest.mark.long
def test_tabs_that_are_killed_never_answer_twice(browser: Any, tmp_path: Path) -> None:
    draw = random.Random(11)
    with town(tmp_path, "position") as server:
        for name in asked(server, PEOPLE):
            person, address = visits(browser, "phone"), link(server, name)
            for _ in range(KILLS):
                moments(draw, person, address)
            person.page.goto(address)
            person.page.locator("#consent:visible, #finished:visible").first.wait_for(timeout=SOON)
            if person.page.locator("#consent").is_visible():
                answer(person, address, server.friends(name))
            assert person.sent, name
            assert len(set(person.sent)) == 1, "two different answers of one position"
            person.leaves()


def lost_uploads(person: Person, address: str) -> set[bytes]:
    """What leaves the browser in two visits whose tabs are killed as soon as the upload is on its way to nowhere."""
    person.page.context.route(
        "**/reports/*", lambda route: route.abort() if route.request.method == "PUT" else route.continue_()
    )
    for _ in range(2):
        page = person.page.context.new_page()
        before = len(person.sent)
        page.goto(address)
        until = time.monotonic() + SOON / 1000
        while len(person.sent) == before:
            assert time.monotonic() < until, "no upload has left the page"
            if page.locator("#consent").is_visible():
                page.click("#agree")
                page.locator("#to-review").click(timeout=SOON)
                page.click("#send")
            page.wait_for_timeout(20)
        page.close(run_before_unload=False)
    return {body for _, body in person.sent}


def test_an_upload_that_was_lost_is_sent_again_as_it_was(browser: Any, tmp_path: Path) -> None:
    """The ledger is written before anything leaves; a page that sends first is caught: two answers leave it."""
    copied(tmp_path / "host", {"participant.js": ORDER})
    with town(tmp_path, "position") as server, hosted(tmp_path / "host") as host:
        [name, other] = asked(server, 2)
        person, twin = visits(browser, "phone"), visits(browser, "phone")
        assert len(lost_uploads(person, link(server, name))) == 1
        assert len(lost_uploads(twin, link(server, other, host))) == 2, (
            "a page that sends before it writes is not caught"
        )
        person.leaves()
        twin.leaves()


@pytest.mark.long
def test_two_tabs_answer_alike(browser: Any, tmp_path: Path) -> None:
    with town(tmp_path, "position") as server:
        [name] = asked(server, 1)
        person, address = visits(browser, "desk"), link(server, name)
        tabs = [person.page, person.page.context.new_page()]
        for page in tabs:
            page.goto(address)
            page.locator("#consent").wait_for(timeout=SOON)
            page.click("#agree")
            if page is tabs[0]:
                page.locator("#names input").first.check(timeout=SOON)
            page.locator("#to-review").click(timeout=SOON)
        for page in tabs:
            page.evaluate("document.getElementById('send').click()")
        for page in tabs:
            page.locator("#finished").wait_for(timeout=SOON)
        assert len(person.sent) == 2
        assert len(set(person.sent)) == 1
        person.leaves()


@pytest.mark.long
def test_the_ledger_moves_to_a_new_phone(browser: Any, tmp_path: Path) -> None:
    with town(tmp_path, "triangles") as server:
        [name, *others] = asked(server, 3)
        person, address, ledger = visits(browser, "desk"), link(server, name), tmp_path / "my.ledger"
        answer(person, address, [])
        person.page.locator("#ledger summary").click()
        with person.page.expect_download() as saved:
            person.page.click("#export")
        saved.value.save_as(ledger)
        phone = visits(browser, "phone")  # without the ledger nothing is answered
        opens(phone, address)
        phone.step("consent")
        phone.press("#agree")
        phone.press("#to-review")
        phone.press("#send")
        phone.says("you answered on another device")
        phone.leaves()
        phone = visits(browser, "phone")  # with it, the second round is
        opens(phone, address)
        phone.step("consent")
        phone.page.locator("#ledger summary").click()
        phone.page.set_input_files("#import", ledger)
        phone.says("The ledger is here now")
        phone.step("finished")
        helpers = [helper(server, other, tmp_path) for other in others]
        for each in helpers:
            each.answer([])
        server.operator.close(1)
        answer(phone, address, [])
        assert phone.page.locator("#receipt dd").count() == 2
        opens(person, address)
        person.step("consent")
        person.press("#agree")
        person.says("moved to another device")
        assert len(person.sent) == 1
        for each in (person, phone):
            each.leaves()
