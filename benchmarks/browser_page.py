"""The browser's page on a large roster: ``python -m benchmarks.browser_page [PEOPLE] [--slowed N]``.

It loads the page from a campaign's server at 390 pixels, measures until one can agree, pick and search, and says how
many octets the page has. Targets: 300,000 octets, and 2 seconds until one can agree with 5,000 names.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from campaign.test_plain_rehearsal import Town, served
from support import browser as browsers
from support.browser_people import SIZES, SOON, asked, link
from visibility_aware_edge_ldp.campaign.browser_page import page_files
from visibility_aware_edge_ldp.campaign.directory import new_campaign
from visibility_aware_edge_ldp.campaign.invitations import Invitations
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

FIRST = ("Ada", "Bea", "Cem", "Dora", "Eve", "Finn", "Gül", "Hana", "Ivo", "Jan")
MOST_OCTETS, MOST_SECONDS = 300_000, 2.0


def large_town(folder: Path, people: int, question: str) -> Path:
    """A campaign of so many people with names of some length."""
    new_campaign(
        folder,
        names=[f"{FIRST[number % 10]} {FIRST[number // 10 % 10]}sen-{number:05}" for number in range(people)],
        policy=VisibilityPolicy.nothing(),
        question=question,
        epsilon=1,
        statistics=["edges"],
        closes=[4_000_000_000],
        fewest=2,
        title="Everybody in a town",
        epoch="spring",
        invitations=Invitations("http://localhost"),
    )
    return folder


def measured(person: Any, address: str, slowed: float) -> dict[str, float]:
    """Seconds until each step can be used, and how much there is to lay out."""
    session = person.context.new_cdp_session(person)
    session.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
    requests: list[str] = []
    person.on("request", lambda request: requests.append(request.url))
    found, begun = dict[str, float](), time.perf_counter()

    def until(name: str, selector: str) -> None:
        nonlocal begun
        person.locator(selector).first.wait_for(state="visible", timeout=4 * SOON)
        found[name], begun = round(time.perf_counter() - begun, 2), time.perf_counter()

    person.goto(address)
    until("seconds until one can agree", "#consent")
    person.screenshot(path=browsers.PICTURES / "take-part-large-consent.png", full_page=True)
    begun = time.perf_counter()
    person.click("#agree")
    until("seconds until one can pick", "#names input")
    person.screenshot(path=browsers.PICTURES / "take-part-large-picker.png")
    begun = time.perf_counter()
    person.fill("#search", "gulsen 471")
    until("seconds of a search", "#count:has-text(' of ')")
    person.fill("#search", "dora ewesen-00413")
    until("seconds of “did you mean”", "#meant")
    person.screenshot(path=browsers.PICTURES / "take-part-large-meant.png")
    found |= {"requests": len(requests), "elements": person.evaluate("document.querySelectorAll('*').length")}
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("people", nargs="?", type=int, default=5_000)
    parser.add_argument("--question", default="position")
    parser.add_argument("--slowed", type=float, default=1.0, help="how many times slower the processor seems")
    given = parser.parse_args()
    octets = sum(len(data) for data, _ in page_files().values())
    with tempfile.TemporaryDirectory() as place, browsers.chromium() as browser:
        folder = large_town(Path(place) / "town", given.people, given.question)
        with served(folder) as url:
            town = Town(folder, url)
            person = browsers.new_page(browser, SIZES["phone"])
            found = measured(person, link(town, asked(town, 1)[0]), given.slowed)
    met = octets <= MOST_OCTETS and found["seconds until one can agree"] <= MOST_SECONDS
    print(json.dumps({"people": given.people, "octets": octets, **found, "met": met}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
