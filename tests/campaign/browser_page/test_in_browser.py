"""People take part in a real browser, from the letter's link to the check, with a real server and its SQLite store.

Pictures are kept in ``out/screenshots``, to be looked at.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from campaign.test_plain_rehearsal import Town, town
from plain_client.client import Participant
from support import browser as browsers
from support.browser_program import PAGE, hosted
from visibility_aware_edge_ldp.campaign.browser_page import invitation_link
from visibility_aware_edge_ldp.campaign.wire_format import SALT

SIZES = {"desk": (1300, 900), "phone": (390, 844)}
SOON = 20_000
# What a browser says in its console of replies that are to be expected.
EXPECTED = ("404 (Not Found)", "409 (Conflict)", "net::ERR_INTERNET_DISCONNECTED")
# People whose tabs are killed, and how often each.
PEOPLE, KILLS = 2, 6


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsers.chromium() as started:
        yield started


@dataclass
class Person(browsers.Opened):
    """Somebody with a link, in a browser of their own; ``sent`` has every upload that left it."""

    sent: list[tuple[str, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.page.context.on("request", self._keep)

    def _keep(self, request: Any) -> None:
        if request.method == "PUT":
            self.sent.append((request.url, request.post_data_buffer))

    def tab_to(self, selector: str) -> None:
        """With the tabulator alone."""
        for _ in range(80):
            if self.page.evaluate("at => document.activeElement?.matches(at) ?? false", selector):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{selector} is not reached with the keyboard")

    def press(self, selector: str, key: str = "Enter") -> None:
        self.tab_to(selector)
        self.page.keyboard.press(key)

    def step(self, name: str) -> None:
        self.page.locator(f"#{name}").wait_for(state="visible", timeout=SOON)
        assert self.page.evaluate("document.documentElement.scrollWidth") == self.page.viewport_size["width"]

    def keep(self, name: str) -> None:
        self.page.screenshot(path=browsers.PICTURES / f"take-part-{name}.png", full_page=True)


def link(server: Town, name: str, host: str = "") -> str:
    page = f"{host or server.url}/take-part/"
    return invitation_link(page, server.url, name, server.token(name), server.campaign.charter.issuer)


def visits(browser: Any, size: str, **options: Any) -> Person:
    return Person(browsers.new_page(browser, SIZES[size], **options))


def asked(server: Town, count: int = 2) -> list[str]:
    """People of whom most is asked: the first ones of the roster."""
    roster = [str(name) for name in server.campaign.documents.roster]
    return roster[:count]


def helper(server: Town, name: str, folder: Path) -> Participant:
    """Somebody who answers with the plain program, beside those with browsers."""
    home = folder / f"home of {name}"
    home.mkdir()
    return Participant(server.url, name, server.token(name), server.campaign.charter.issuer, home)


def pick(person: Person, friends: list[str]) -> None:
    """Tick friends by their names, with the keyboard alone."""
    for name in friends:
        person.tab_to("#search")
        person.page.keyboard.press("Control+A")
        person.page.keyboard.type(name)
        boxes = person.page.locator("#names input")
        if boxes.count():
            person.tab_to("#names input")
            person.page.keyboard.press("Space")


def answer(person: Person, address: str, friends: list[str], picture: str = "") -> None:
    person.page.goto("about:blank")  # the same address again would not load the page again
    person.page.goto(address)
    person.step("consent")
    assert "at most ε = " in person.page.inner_text("#sentence")
    if picture:
        person.keep(f"{picture}-consent")
    person.press("#agree")
    person.page.locator("#picker:visible, #review:visible").first.wait_for(timeout=SOON)
    if person.page.locator("#picker").is_visible():
        pick(person, friends)
        if picture:
            person.keep(f"{picture}-picker")
        person.press("#to-review")
    person.step("review")
    if picture:
        person.keep(f"{picture}-review")
    person.press("#send")
    person.step("finished")
    if picture:
        person.keep(f"{picture}-finished")


def refuse_strangers(person: Person, *hosts: str) -> None:
    """No request went to another host, and none had the token in its address."""
    away = [url for url in person.asked if not url.startswith((*hosts, "data:", "blob:", "about:"))]
    assert away == []
    assert not any("token" in url.split("#")[0] for url in person.asked)


def refuse_complaints(person: Person) -> None:
    """Receipts that are not there yet, and answers that are not made yet, are what a browser may complain of."""
    assert [each for each in person.said if not any(word in each for word in EXPECTED)] == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("question", "size"), [("position", "phone"), ("degrees", "desk"), ("groups", "phone"), ("triangles", "desk")]
)
def test_from_the_link_to_the_check_with_the_keyboard(browser: Any, tmp_path: Path, question: str, size: str) -> None:
    with town(tmp_path, question) as server:
        rounds = len(server.campaign.charter.rounds)
        [name, *others] = asked(server, 4)
        person, helpers = visits(browser, size), [helper(server, other, tmp_path) for other in others]
        for number in range(1, rounds + 1):
            answer(person, link(server, name), server.friends(name), f"{question}-{size}-{number}")
            assert "Your answer has arrived" in person.page.inner_text("#finished")
            assert [len(each) > SALT for _, each in person.sent] == [True] * number
            for other, each in zip(others, helpers, strict=True):
                each.answer(server.friends(other))
            server.operator.close(number)
        made = json.loads(server.operator.answers())
        assert [each["answered"] for each in made["rounds"]] == [4] * rounds
        person.page.reload()
        person.step("finished")
        person.press("#check")
        person.page.get_by_text("Your answer is counted").wait_for(timeout=SOON)
        refuse_strangers(person, server.url)
        refuse_complaints(person)
        person.page.context.close()


@pytest.mark.long
def test_it_is_answered_from_another_host(browser: Any, tmp_path: Path) -> None:
    shutil.copytree(PAGE, tmp_path / "host" / "take-part")
    with town(tmp_path, "degrees") as server, hosted(tmp_path / "host") as host:
        [name] = asked(server, 1)
        person = visits(browser, "phone")
        person.page.goto(link(server, name, host))
        person.step("consent")
        person.page.context.set_offline(True)  # from here on, until it is sent
        person.press("#agree")
        person.step("picker")
        pick(person, server.friends(name))
        person.press("#to-review")
        person.press("#send")
        person.page.get_by_text("the server cannot be reached now").wait_for(timeout=SOON)
        assert person.sent == []
        person.page.context.set_offline(False)
        person.press("#send")
        person.step("finished")
        assert len(person.sent) == 1
        refuse_strangers(person, server.url, host)
        refuse_complaints(person)
        # A file that was changed on the host is not run.
        changed = tmp_path / "host" / "take-part" / "noise.js"
        changed.write_text(changed.read_text() + "\n")
        other = visits(browser, "desk")
        other.page.goto(link(server, name, host))
        other.page.wait_for_timeout(1000)
        assert any("integrity" in each for each in other.said)
        assert other.page.inner_text("#status") == "Loading …"
        for each in (person, other):
            each.page.context.close()


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
            person.page.context.close()


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
        person.page.context.close()


@pytest.mark.long
def test_the_ledger_moves_to_a_new_phone(browser: Any, tmp_path: Path) -> None:
    with town(tmp_path, "position") as server:
        [name, *others] = asked(server, 3)
        person, address, ledger = visits(browser, "desk"), link(server, name), tmp_path / "my.ledger"
        answer(person, address, [])
        person.page.locator("#ledger summary").click()
        with person.page.expect_download() as saved:
            person.page.click("#export")
        saved.value.save_as(ledger)
        phone = visits(browser, "phone")  # without the ledger nothing is answered
        phone.page.goto(address)
        phone.step("consent")
        phone.press("#agree")
        phone.press("#to-review")
        phone.press("#send")
        phone.page.get_by_text("you answered on another device").wait_for(timeout=SOON)
        phone.page.context.close()
        phone = visits(browser, "phone")  # with it, the second round is
        phone.page.goto(address)
        phone.step("consent")
        phone.page.locator("#ledger summary").click()
        phone.page.set_input_files("#import", ledger)
        phone.page.get_by_text("The ledger is here now").wait_for(timeout=SOON)
        phone.step("finished")
        for other in others:
            helper(server, other, tmp_path).answer([])
        server.operator.close(1)
        answer(phone, address, [])
        assert phone.page.locator("#receipt dd").count() == 2
        old = visits_again(person, address)
        assert "moved to another device" in old
        for each in (person, phone):
            each.page.context.close()


def visits_again(person: Person, address: str) -> str:
    """What the browser that the ledger has left says."""
    person.page.goto("about:blank")
    person.page.goto(address)
    person.step("consent")
    person.press("#agree")
    person.page.locator("#status.problem").wait_for(timeout=SOON)
    return str(person.page.inner_text("#status"))
