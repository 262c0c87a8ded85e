"""The page in a real browser, from a real server: it fits, it stays up to date by itself, and it asks nobody else.

Pictures are kept in ``out/screenshots``, to be looked at.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support import browser as browsers
from support.campaign_served import Served, served

SIZES = {"desk": (1200, 900), "phone": (360, 780)}
# The page looks every so many milliseconds; in seconds, how long a busy machine may take.
EVERY, SOON = 3_000, 30


@dataclass
class Opened(browsers.Opened):
    """The campaign's page."""

    def wait(self, selector: str, text: str) -> None:
        """Let the page's own time run quickly until it says so.

        Waited for by its text: waiting for a function evaluates a string, which the page's own policy forbids.
        """
        wanted, until = self.page.locator(selector, has_text=re.compile(text)).first, time.monotonic() + SOON
        while not wanted.is_visible():
            assert time.monotonic() < until, f"{selector} does not say {text!r}"
            self.page.clock.fast_forward(EVERY)
            self.page.wait_for_timeout(200)

    def keep(self, name: str) -> None:
        self.page.screenshot(path=browsers.PICTURES / f"campaign-{name}.png", full_page=True)

    @property
    def width(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsers.chromium() as started:
        yield started


@dataclass(frozen=True)
class Visitor:
    """Opens pages; at the end, none may have complained, or asked anybody but the server that it came from."""

    browser: Any
    opened: list[Opened] = field(default_factory=list)

    def __call__(self, address: str, size: str = "desk", **options: Any) -> Opened:
        one = Opened(browsers.new_page(self.browser, SIZES[size], **options))
        if options.get("java_script_enabled", True):
            one.page.clock.install()
        one.page.goto(address)
        self.opened.append(one)
        return one


@pytest.fixture
def visit(browser: Any) -> Iterator[Visitor]:
    visitor = Visitor(browser)
    yield visitor
    for one in visitor.opened:
        one.page.context.close()
        home = one.asked[0]
        assert one.said == []
        assert {url for url in one.asked if not url.startswith((home, "data:image/svg+xml,"))} == set()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A campaign with answers of every kind."""
    with served(tmp_path_factory.mktemp("finished"), "degrees") as server:
        server.send(0, 20)
        server.operate("/v1/rounds/1/close")
        server.operate("/v1/estimate")
        yield server


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits(visit: Visitor, finished: Served, size: str, scheme: str) -> None:
    one = visit(finished.address, size, color_scheme=scheme)
    one.keep(f"estimated-{size}-{scheme}")
    assert one.width == SIZES[size][0]
    drawn = one.page.locator("main svg")
    assert drawn.count() == 2 + 4 + 7, "when reports came has gone with them"
    assert all(each.is_visible() for each in drawn.all())
    for region in one.page.locator(".wide").all():
        assert region.is_visible()
        assert region.evaluate("each => each.scrollWidth - each.clientWidth") == 0, region.get_attribute("aria-label")


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
def test_it_stays_up_to_date_by_itself(visit: Visitor, tmp_path: Path, size: str) -> None:
    with served(tmp_path, "triangles") as server:
        one = visit(server.address, size)
        status, cards = one.page.get_by_role("status"), one.page.locator(".rounds .card")
        assert status.inner_text().startswith("Round 1 of 2 is open until ")
        assert one.page.locator("#live").is_visible()
        one.page.evaluate("document.querySelector('.rounds .card').dataset.same = 'yes'")
        before = one.page.locator(".rounds .bar .fill").first.bounding_box()["width"]
        # Whoever is reading something stays there.
        region = one.page.get_by_role("region", name="What one edge loses by all reports together")
        region.focus()
        place = region.bounding_box()["y"]
        server.send(0, 7)
        one.wait(".rounds .card", r"7 of 23 reports received")
        assert one.page.locator(".rounds .bar").first.get_attribute("aria-label").startswith("7 of 23 reports")
        one.page.wait_for_timeout(600)
        assert one.page.locator(".rounds .bar .fill").first.bounding_box()["width"] > before
        assert region.evaluate("each => each === document.activeElement")
        assert region.bounding_box()["y"] == pytest.approx(place, abs=1)
        one.page.locator("summary").click()
        one.keep(f"open-{size}")
        server.send(7, 20)
        server.operate("/v1/rounds/1/close")
        one.wait("[role=status]", "^Round 2 of 2 is open")
        assert "Closed" in cards.nth(0).inner_text()
        assert cards.nth(0).get_by_role("table").is_visible(), "what was unfolded stays unfolded"
        assert "0 of 20 reports received" in cards.nth(1).inner_text()
        transcript = server.call("GET", "/v1/rounds/1/transcript")
        server.send(0, 15, 2, transcript)
        server.operate("/v1/rounds/2/close")
        one.wait("[role=status]", "^No more reports are taken")
        server.operate("/v1/estimate")
        one.wait("[role=status]", "^The answers are published")
        one.wait("table", "Triangles")
        one.wait(".path", "35 salted digests left, no report")
        one.page.locator("#live").wait_for(state="hidden")
        assert one.page.locator(".strip .interval").count() == 1
        assert one.page.locator(".strip .interval").bounding_box()["width"] > 50
        assert one.width == SIZES[size][0]
        one.keep(f"two-rounds-{size}")
        asked = len(one.asked)
        one.page.clock.fast_forward(100 * EVERY)
        one.page.wait_for_timeout(500)
        assert len(one.asked) == asked, "nothing more is asked for"


def test_a_server_that_goes_away_is_told(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path, "degrees") as server:
        one = browser.new_page()
        one.goto(server.address)
        assert not one.locator("#away").is_visible()
        server.stop()
        one.locator("#away").wait_for(state="visible", timeout=1_000 * SOON)
        assert one.get_by_role("status").inner_text().startswith("The survey is open")
        one.close()


def test_a_hostile_title_is_shown_and_fits(visit: Visitor, tmp_path: Path) -> None:
    title = "<img src=x onerror=alert(1)></title><script>alert(2)</script>" + "W" * 130
    with served(tmp_path, "hubs", title) as server:
        one = visit(server.address, "phone")
        assert one.page.title() == one.page.get_by_role("heading", level=1).inner_text() == title
        assert one.width == SIZES["phone"][0]
        server.send(0, 2)
        one.wait(".rounds .card", f"2 of {len(server.town.asked)} reports received")


def test_without_a_script_all_is_there(visit: Visitor, finished: Served) -> None:
    one = visit(finished.address, "phone", java_script_enabled=False)
    for name in ("Progress", "Answers", "What is promised", "What a participant’s data goes through", "Certificate"):
        assert one.page.get_by_role("heading", name=name, exact=True).is_visible()
    assert one.page.locator("noscript p").is_visible()
    assert not one.page.locator("#live").is_visible()


def test_the_keyboard_reaches_tables_and_links(visit: Visitor, finished: Served) -> None:
    one = visit(finished.address)
    reached = []
    for _ in range(20):
        one.page.keyboard.press("Tab")
        reached.append(
            one.page.evaluate("(e => e.getAttribute('aria-label') || e.textContent)(document.activeElement)")
        )
    assert reached[0] == "Estimates"
    assert "What one edge loses by all reports together" in reached
    assert "Answers" in reached
    headings = one.page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => Number(e.tagName[1]))")
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read(visit: Visitor, finished: Served, scheme: str) -> None:
    """Contrast of at least 4.5 to 1, as WCAG 2 asks for at level AA."""
    one = visit(finished.address, color_scheme=scheme)
    faint = [(text, ratio) for text, ratio in one.page.evaluate(CONTRASTS) if ratio < 4.5]
    assert faint == []


def test_paper_has_everything(visit: Visitor, finished: Served) -> None:
    one = visit(finished.address)
    one.page.emulate_media(media="print")
    assert one.page.locator(".path .card").first.is_visible()
    for region in one.page.locator(".wide, pre").all():
        assert region.evaluate("each => each.scrollWidth <= each.clientWidth + 1")
    assert one.page.pdf(path=browsers.PICTURES / "campaign.pdf", format="A4", prefer_css_page_size=True).startswith(
        b"%PDF"
    )


def test_another_script_may_not_run(browser: Any, finished: Served) -> None:
    opened = browser.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))

    def planted(route: Any) -> None:
        reply = route.fetch()
        text = reply.text().replace("<main", "<script>document.title = 'planted'</script><main")
        route.fulfill(response=reply, body=text)

    opened.route(finished.address + "/", planted)
    opened.goto(finished.address)
    assert opened.title() == "Friendships in our town"
    assert any("Content Security Policy" in text for text in said)
    opened.close()


REACHED = "(each => each.getAttribute('aria-label') || each.textContent)(document.activeElement)"
CONTRASTS = """() => {
  const light = (c) => {
    const [r, g, b] = c.map((x) => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const parts = (c) => c.match(/[\\d.]+/g).map(Number);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parts(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.getClientRects().length || e.closest("script,style,noscript")) continue;
    const style = getComputedStyle(e), ink = e.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(parts(ink).slice(0, 3)), light(ground(e))];
    found.push([e.textContent.slice(0, 40), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
  }
  return found;
}"""
