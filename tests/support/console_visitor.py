"""A console without a network or a browser: requests go straight into the application, with a cookie."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from visibility_aware_edge_ldp.campaign.console.app import Console
from visibility_aware_edge_ldp.campaign.console.draft_page import InjectedFunctions
from visibility_aware_edge_ldp.evaluation.plan.predictions import feasibility
from visibility_aware_edge_ldp.name_matching import alike

ADDRESS = "http://127.0.0.1:8640"
PASSPHRASE = "correct horse battery staple"
SCRYPT_COST = 1 << 4
PEOPLE = ["ann", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "ida", "jon", "kim", "leo"]


@dataclass(frozen=True)
class Page:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return html.unescape(re.sub(r"<[^>]+>", "", self.body.decode()))

    @property
    def to(self) -> str:
        return self.headers.get("location", "")


@dataclass
class Visitor:
    """Somebody at a console; ``cookie`` and ``token`` are kept as a browser keeps them."""

    console: Console
    address: str = ADDRESS
    cookie: str = ""
    token: str = ""
    said: list[str] = field(default_factory=list)

    def ask(
        self, method: str, path: str, form: Mapping[str, str] | None = None, body: bytes | None = None, **headers: str
    ) -> Page:
        """``headers`` replace what a browser would send; an empty one is left out."""
        host = self.address.partition("://")[2]
        sent = {"host": host, "cookie": f"va-console={self.cookie}" if self.cookie else ""}
        data = b"" if method == "GET" else urlencode({"form_token": self.token, **(form or {})}).encode()
        data = data if body is None else body
        if method != "GET":
            sent |= {"origin": self.address, "content-type": "application/x-www-form-urlencoded"}
            sent |= {"content-length": str(len(data))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        listed = [(name.encode(), value.encode()) for name, value in sent.items() if value]
        found = asyncio.run(_asked(self.console, method, path, listed, data))
        self._keep(found)
        return found

    def get(self, path: str) -> Page:
        return self.ask("GET", path)

    def post(self, path: str, **form: str) -> Page:
        return self.ask("POST", path, form)

    def follows(self, path: str, **form: str) -> Page:
        """Send a form, and go where it leads."""
        found = self.post(path, **form)
        assert found.status == 303, (found.status, found.text)
        return self.get(found.to.partition("#")[0])

    def signs_in(self, passphrase: str = PASSPHRASE) -> Page:
        found = self.post("/sign-in", passphrase=passphrase)
        self.get("/")
        return found

    def _keep(self, found: Page) -> None:
        if "set-cookie" in found.headers:
            self.cookie = re.search("va-console=([^;]*)", found.headers["set-cookie"])[1]  # type: ignore[index]
        shown = re.search(
            rb'name="form_token"[^>]*value="([0-9a-f]+)"|value="([0-9a-f]+)"[^>]*name="form_token"', found.body
        )
        if shown:
            self.token = (shown[1] or shown[2]).decode()


async def _asked(console: Console, method: str, path: str, headers: list[Any], body: bytes) -> Page:
    waiting, sent = [body], list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        if not waiting:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": waiting.pop(0), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await console({"type": "http", "method": method, "path": path, "headers": headers}, receive, send)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Page(sent[0]["status"], head, b"".join(bytes(each["body"]) for each in sent[1:]))


def dear(losses: Mapping[Any, Fraction]) -> list[str]:
    return []


INJECTED = InjectedFunctions(feasibility, alike, dear)


def new_console(
    folder: Path, address: str = ADDRESS, first_port: int = 18_000, default: str = "", store: str = ""
) -> Console:
    """A console over a folder, whose passphrase is quickly stretched."""
    return Console(folder, address, INJECTED, first_port, default, SCRYPT_COST, store)


def set_up(folder: Path, **options: Any) -> Visitor:
    """A console that was set up just now, and its operator, signed in."""
    visitor = Visitor(new_console(folder, **options))
    code = visitor.console.setup_code
    assert visitor.post("/set-up", code=code, passphrase=PASSPHRASE, again=PASSPHRASE).status == 303
    visitor.get("/")
    return visitor


CHOICES = {
    "question": "degrees",
    "epsilon": "1",
    "statistics": "edges",
    "closes_1": "2036-01-01T12:00",
    "closes_2": "",
    "fewest": "3",
    "retention": "1",
    "policy": "nothing",
    "edges": "",
    "address": "http://127.0.0.1:18000",
    "page": "",
    "meaning": "Tick everybody whom you call a friend.",
    "sender": "The town's office, room 7.",
}


def drafted(visitor: Visitor, title: str = "Friends in town", people: str = "\n".join(PEOPLE), **form: str) -> str:
    """A new study's address, once its people are read."""
    found = visitor.post("/new", title=title, epoch="town 2036", people=people, by=form.pop("by", "names"), **form)
    assert found.status == 303, found.text
    return found.to


def signed(visitor: Visitor, **choices: str) -> str:
    """The address of a study that was signed just now."""
    people = choices.pop("people", "\n".join(PEOPLE))
    by = choices.pop("by", "names")
    here = drafted(visitor, people=people, by=by)
    visitor.post(f"{here}/choices", **(CHOICES | choices))
    page = visitor.follows(f"{here}/sign", passphrase=PASSPHRASE)
    assert "The charter is signed" in page.text, page.text
    return here
