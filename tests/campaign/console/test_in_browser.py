"""An operator runs a whole study in a real browser, and never sees a shell; people answer at its server.

Pictures are kept in ``out/screenshots``, to be looked at.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from plain_client.client import Participant
from support import browser as browsers
from support.console_visitor import PASSPHRASE, PEOPLE
from visibility_aware_edge_ldp.campaign.documents import in_order

SIZES = ((1300, 900), (390, 844))
TITLE = 'Friends <script>alert("x")</script> in town'
ROSTER = "name,group,list,contact\n" + "".join(
    f"{name},{'north' if at % 2 else 'south'},private,{name}@example.org\n" for at, name in enumerate(PEOPLE)
)
EPOCH = "town 2036"
# Of whom nothing is asked: all of its pairs are others' to answer for.
LAST = in_order(PEOPLE, EPOCH)[-1]
FRIENDS = {"ann": ["bob", "cyd"], "bob": ["ann"], "cyd": ["ann", "dan"], "dan": ["cyd"]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsers.chromium() as started:
        yield started


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def running_console(folder: Path) -> Iterator[tuple[str, str, int]]:
    """A console in a process of its own: its address, the code that sets it up, and its first server's port."""
    port = free_port()
    command = [sys.executable, "-m", "visibility_aware_edge_ldp", "campaign", "console", str(folder / "console")]
    options = ["--port", "0", "--first-port", str(port), "--json"]
    with (folder / "console.log").open("w") as log:
        process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        yield said["address"], said["setup_code"], port
    finally:
        process.terminate()
        code = process.wait(30)
        process.stdout.close()  # type: ignore[union-attr]
    assert code == 0, (folder / "console.log").read_text()


@dataclass
class Operator(browsers.Opened):
    """Somebody at the console, with a browser."""

    def keep(self, name: str) -> None:
        """Pictures at both sizes; nothing is wider than the window."""
        for width, height in SIZES:
            self.page.set_viewport_size({"width": width, "height": height})
            self.page.screenshot(path=browsers.PICTURES / f"console-{name}-{width}.png", full_page=True)
            assert self.page.evaluate("document.documentElement.scrollWidth") <= width, name
        self.page.set_viewport_size({"width": 1300, "height": 900})

    def press(self, words: str) -> None:
        self.page.get_by_role("button", name=words, exact=True).click()
        self.page.wait_for_load_state()

    def open(self, words: str) -> None:
        self.page.locator("summary", has_text=words).first.click()

    def fill(self, words: str, text: str) -> None:
        self.page.get_by_label(words, exact=True).locator("visible=true").fill(text)

    def reads(self, text: str) -> None:
        shown = " ".join(self.page.inner_text("main").split())
        assert text in shown, shown

    def downloads(self, words: str, role: str = "link") -> bytes:
        with self.page.expect_download() as found:
            self.page.get_by_role(role, name=words, exact=True).click()
        return Path(found.value.path()).read_bytes()


def sets_up(operator: Operator, address: str, code: str) -> None:
    operator.page.goto(address)
    operator.keep("set-up")
    operator.fill("Setup code", code)
    operator.fill("Passphrase", PASSPHRASE)
    operator.fill("Passphrase again", PASSPHRASE)
    operator.press("Set up")
    operator.press("Sign out")
    operator.keep("sign-in")
    operator.fill("Passphrase", "another passphrase")
    operator.press("Sign in")
    operator.reads("This is not the passphrase.")
    operator.fill("Passphrase", PASSPHRASE)
    operator.press("Sign in")


def drafts(operator: Operator, question: str) -> None:
    operator.page.get_by_role("link", name="New study").click()
    operator.fill("Title", TITLE)
    operator.fill("What time it asks about", EPOCH)
    file = {"name": "roster.csv", "mimeType": "text/csv", "buffer": (ROSTER + "Ánn,south,private,\n").encode()}
    operator.page.set_input_files("#file", file)
    operator.keep("new")
    operator.press("Read the people")
    operator.reads("“ann” and “Ánn”")
    operator.open("Upload another list")
    operator.page.set_input_files("#file", {**file, "buffer": ROSTER.encode()})
    operator.press("Read the people")
    operator.reads("12 people, by names, 2 groups")
    operator.page.select_option("#question", question)
    operator.fill("Round 1 closes (UTC)", "2036-01-01T12:00")
    operator.fill("Round 2 closes (UTC)", "2036-02-01T12:00" if question == "triangles" else "")
    operator.fill("Fewest answers", "3")
    operator.fill("Days that reports are kept after the estimate", "1")
    operator.fill("Whom people tick", "Tick everybody with whom you had lunch last week.")
    operator.fill("Who asks, and whom to ask", "The town's office, room 7, 01 23 45.")


def prepares(operator: Operator, port: int) -> None:
    operator.fill("ε: what a private friendship loses at most", "0.5")
    operator.fill("Address that participants reach", f"http://127.0.0.1:{port}")
    operator.press("Look what this can tell")
    operator.reads("nothing but noise")
    operator.fill("ε: what a private friendship loses at most", "1")
    operator.press("Look what this can tell")
    operator.reads("12 people at ε = 1: edges ±")
    operator.keep("draft")
    operator.fill("Your passphrase", PASSPHRASE)
    operator.press("Sign the charter")
    operator.reads("The charter is signed")
    operator.press("Start the server")
    operator.reads("0 of 11 answered")


def letters(operator: Operator) -> dict[str, str]:
    """Everybody's link, by name, as the letters show them."""
    operator.fill("Your passphrase", PASSPHRASE)
    operator.press("Show, to print")
    assert operator.page.locator("article.letter svg").count() == 12
    operator.keep("letters")
    operator.page.emulate_media(media="print")
    operator.page.pdf(path=browsers.PICTURES / "console-letters.pdf", prefer_css_page_size=True)
    operator.page.emulate_media(media="screen")
    links = operator.page.locator("article.letter .link code").all_inner_texts()
    return {parse_qs(urlsplit(each).fragment)["name"][0]: each for each in links}


def person(link: str, folder: Path) -> Participant:
    said = {name: values[0] for name, values in parse_qs(urlsplit(link).fragment).items()}
    home = folder / f"home of {said['name']}"
    home.mkdir(exist_ok=True)
    return Participant(said["server"], said["name"], said["token"], said["issuer"], home)


def closes(operator: Operator, number: int) -> None:
    operator.open("Close early")
    operator.press(f"Close round {number} now")
    operator.reads(f"Round {number} is closed.")


@pytest.mark.long
def test_a_whole_study_without_a_shell(browser: Any, tmp_path: Path) -> None:
    with running_console(tmp_path) as (address, code, port):
        operator = Operator(browsers.new_page(browser, SIZES[0]))
        sets_up(operator, address, code)
        drafts(operator, "triangles")
        prepares(operator, port)
        study, links = operator.page.url.split("#")[0], letters(operator)
        people = {name: person(links[name], tmp_path) for name in FRIENDS}
        for name in ("ann", "bob", "cyd"):
            people[name].answer(FRIENDS[name])
        replaced = replaces(operator, study)
        assert replaced != links["dan"]
        people["dan"] = person(replaced, tmp_path)
        people["dan"].answer(FRIENDS["dan"])
        sees_who_is_away(operator, study)
        comes_back(operator, study)
        operator.page.goto(study)
        closes(operator, 1)
        for name in FRIENDS:
            people[name].answer(FRIENDS[name])
        operator.page.reload()
        operator.keep("study")
        closes(operator, 2)
        operator.press("Reports that look implausible")
        operator.reads("None.")
        operator.page.goto(study)
        operator.press("Make the estimate")
        takes_results(operator)
        operator.page.get_by_role("link", name="Log", exact=True).click()
        operator.reads("friends-script-alert-x-script: amendment 1, another token")
        operator.reads("close round 2")
        assert not any(f"{name}" in operator.page.inner_text("main").split() for name in PEOPLE)
        operator.keep("log")
        assert [url for url in operator.asked if not url.startswith((address, "blob:", "about:"))] == []
        complaints = [each for each in operator.said if "autocomplete" not in each]
        assert complaints == ["Failed to load resource: the server responded with a status of 403 (Forbidden)"]
        operator.page.context.close()


def replaces(operator: Operator, study: str) -> str:
    """Dan has lost his letter: the link of the new one."""
    operator.page.goto(study)
    operator.open("A letter or a device was lost")
    operator.fill("Who, as in the roster", "dan")
    operator.page.fill("#replace-passphrase", PASSPHRASE)
    operator.press("Replace the token")
    assert operator.page.locator("article.letter").count() == 1
    return str(operator.page.inner_text("article.letter .link code"))


def sees_who_is_away(operator: Operator, study: str) -> None:
    operator.page.goto(study)
    operator.press("Who has not answered")
    operator.reads("7 have not answered round 1")
    operator.keep("away")
    plain = list(csv.DictReader(io.StringIO(operator.downloads("Table for mail merge", "button").decode("utf-8-sig"))))
    assert {row["contact"] for row in plain} == {
        f"{name}@example.org" for name in PEOPLE if name not in (*FRIENDS, LAST)
    }
    assert not any("token" in row["link"] for row in plain)
    operator.fill("Your passphrase, for links", PASSPHRASE)
    own = list(csv.DictReader(io.StringIO(operator.downloads("Table for mail merge", "button").decode("utf-8-sig"))))
    assert len({parse_qs(urlsplit(row["link"]).fragment)["token"][0] for row in own}) == 7


def comes_back(operator: Operator, study: str) -> None:
    operator.page.goto(study)
    calendar = operator.downloads("Calendar file").decode()
    assert "DTSTART:20360101T120000Z\r\nDTEND:20360201T120000Z" in calendar
    assert "token" not in calendar


def takes_results(operator: Operator) -> None:
    operator.reads("The estimate is made.")
    operator.keep("results")
    content = json.loads(operator.downloads("JSON"))
    rows = list(csv.DictReader(io.StringIO(operator.downloads("CSV").decode("utf-8-sig"))))
    assert float(rows[0]["value"]) == content["estimates"][rows[0]["statistic"]]["value"]
    assert [each["answered"] for each in content["rounds"]] == [4, 4]
    pdf = operator.downloads("PDF")
    (browsers.PICTURES / "console-results.pdf").write_bytes(pdf)
    assert pdf.startswith(b"%PDF")
