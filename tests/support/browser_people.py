"""People with a letter, each in a browser of their own: what they do with the keyboard alone, and what they sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.test_plain_rehearsal import Town
from plain_client.client import Participant
from support import browser as browsers
from visibility_aware_edge_ldp.campaign.invitations import Invitations

SIZES = {"desk": (1300, 900), "phone": (390, 844)}
SOON = 30_000
# What a browser says in its console of replies that are to be expected.
EXPECTED = ("404 (Not Found)", "409 (Conflict)", "net::ERR_INTERNET_DISCONNECTED")


@dataclass
class Person(browsers.Opened):
    """Somebody with a link; ``sent`` has every upload that left the browser, ``shown`` who saw the token."""

    sent: list[tuple[str, bytes]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.page.context.on("request", self._keep)

    def _keep(self, request: Any) -> None:
        if request.method == "PUT":
            self.sent.append((request.url, request.post_data_buffer))
        if "authorization" in request.headers:
            self.shown.append(request.url)

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

    def says(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for(timeout=SOON)

    def leaves(self) -> None:
        self.page.context.close()


def visits(browser: Any, size: str, **options: Any) -> Person:
    return Person(browsers.new_page(browser, SIZES[size], **options))


def letter(server: Town, name: str, host: str = "") -> dict[str, str]:
    """What the person's letter says; the page is the server's own, or another host's."""
    invitations = Invitations(server.url, f"{host}/take-part/" if host else "")
    return invitations.fields(name, server.token(name), server.campaign.charter)


def link(server: Town, name: str, host: str = "") -> str:
    return letter(server, name, host)["link"]


def asked(server: Town, count: int = 2) -> list[str]:
    """People of whom most is asked: the first ones of the roster."""
    return [str(name) for name in server.campaign.documents.roster][:count]


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


def opens(person: Person, address: str) -> None:
    person.page.goto("about:blank")  # the same address again would not load the page again
    person.page.goto(address)


def answer(person: Person, address: str, friends: list[str], picture: str = "") -> None:
    opens(person, address)
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
    assert not any("token" in url for url in person.asked)  # nor anything else of what follows the #
    assert not any(url.endswith(("/v1/charter", "/v1/log", "/take-part/")) for url in person.shown)


def refuse_complaints(person: Person) -> None:
    """Receipts that are not there yet, and answers that are not made yet, are what a browser may complain of."""
    assert [each for each in person.said if not any(word in each for word in EXPECTED)] == []


def unnamed(page: Any) -> list[str]:
    """What a screen reader would meet on a page without a name, by the browser's accessibility tree."""
    roles = {"button", "checkbox", "textbox", "searchbox", "link", "combobox", "heading", "DisclosureTriangle"}
    return [f"{role} {text}" for role, text in spoken(page) if role in roles and not text.strip()]


def spoken(page: Any) -> list[tuple[str, str]]:
    """Role and name of everything in the browser's accessibility tree, in its order."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        (str(node.get("role", {}).get("value")), str(node.get("name", {}).get("value", "")))
        for node in nodes
        if not node.get("ignored")
    ]
