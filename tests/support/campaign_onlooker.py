"""Whoever looks at a page: a server that shows it, and what can be read there."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from support.campaign_inside import QUICK, Answer, Clock, Inside
from support.campaign_lab import FAR, sqlite_url
from support.campaign_town import Town
from visibility_aware_edge_ldp.campaign.server.app import App, open_store
from visibility_aware_edge_ldp.campaign.server.estimate_json import estimate_bytes
from visibility_aware_edge_ldp.campaign.server.page import page

DAY = 86_400


class Read(HTMLParser):
    """The page's text, its elements, and every attribute that they have; refuses what is not well nested."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(body.decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((name, {key: value or "" for key, value in attributes}))
        if name not in ("meta", "link", "wbr"):
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    def all(self, name: str) -> list[dict[str, str]]:
        return [attributes for found, attributes in self.found if found == name]

    @property
    def main(self) -> dict[str, str]:
        return self.all("main")[0]


@contextlib.contextmanager
def showing(town: Town, folder: Path, now: float = FAR - 3 * DAY - 7_300) -> Iterator[Inside]:
    """A server with its page."""
    charter, clock = town.served.charter, Clock(now)
    url = sqlite_url(folder)
    store = lambda: open_store(url, charter.identity, len(charter.rounds))  # noqa: E731
    found = Inside(town, App(town.served, store, estimate_bytes, clock, page, QUICK), clock)
    with found.runner:
        found.runner.run(found.app.start())
        try:
            yield found
        finally:
            found.stop()


def look(server: Inside) -> Read:
    answer = server.ask("GET", "/")
    assert answer.status == 200
    return Read(answer.body)


def send(server: Inside, count: int, number: int = 1) -> None:
    heard = server.app.rounds.broadcast
    for participant in server.lab.asked[:count]:
        body = server.lab.report(participant, number, transcript=heard.octets if heard else b"")
        answer: Answer = server.ask("PUT", server.lab.path(participant, number), server.lab.tokens[participant], body)
        assert answer.status == 201, answer.body
