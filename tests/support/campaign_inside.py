"""A server without a network: requests go straight into the application, on an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from support.campaign_lab import Lab, stub_estimate
from visibility_aware_edge_ldp.campaign.server.app import App, open_store
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import Grouping

QUICK = Grouping(pause=0)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> str:
        if self.headers.get("content-type") != "application/problem+json":
            return ""
        content = json.loads(self.body)
        assert content["status"] == self.status
        return str(content["type"]).rpartition(":")[2]

    @property
    def content(self) -> Any:
        return json.loads(self.body)


@dataclass
class Clock:
    """Time that passes when a test says so."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Inside:
    """An application that runs."""

    lab: Lab
    app: App
    clock: Any  # a Clock, unless a test brings its own
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    def ask(self, method: str, path: str, token: str = "", body: bytes | None = None, **headers: str) -> Answer:
        return self.runner.run(self.asked(method, path, token, body, **headers))

    async def asked(self, method: str, path: str, token: str = "", body: bytes | None = None, **headers: str) -> Answer:
        """``headers`` replace what would be sent; an empty one is left out."""
        sent = {"host": "here"} | ({"authorization": f"Bearer {token}"} if token else {})
        if body is not None:
            sent |= {"content-type": "application/octet-stream", "content-length": str(len(body))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        listed = [(name.encode(), value.encode()) for name, value in sent.items() if value]
        return await raw(self.app, method, path, listed, [body or b""])

    def put(self, participant: int, number: int = 1, variant: int = 0, **options: Any) -> Answer:
        return self.runner.run(self.putting(participant, number, variant, **options))

    async def putting(self, participant: int, number: int = 1, variant: int = 0, **options: Any) -> Answer:
        heard = self.app.rounds.broadcast
        body = self.lab.report(participant, number, variant, heard.digest if heard else "")
        return await self.asked(
            "PUT", self.lab.path(participant, number), self.lab.tokens[participant], body, **options
        )

    def operator(self, path: str) -> Answer:
        return self.ask("POST", path, self.lab.operator)

    def rows(self) -> int:
        """How many reports there are, in all rounds."""
        return sum(self.runner.run(self.app.writer.do(lambda store: store.received())).values())

    def stop(self) -> None:
        self.runner.run(self.app.stop())


async def raw(app: App, method: str, path: str, headers: list[tuple[bytes, bytes]], parts: list[bytes]) -> Answer:
    """One request, its body in parts."""
    waiting, sent = list(parts), []

    async def receive() -> dict[str, Any]:
        if not waiting:
            return {"type": "http.disconnect"}
        part = waiting.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app({"type": "http", "method": method, "path": path, "headers": headers}, receive, send)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], head, b"".join(bytes(each["body"]) for each in sent[1:]))


@contextlib.contextmanager
def inside(
    lab: Lab,
    store_url: str,
    clock: Callable[[], float] | None = None,
    estimate_bytes: Callable[..., bytes] = stub_estimate,
    opened: Callable[..., Store] = open_store,
) -> Iterator[Inside]:
    """Start it, and stop it whatever happens."""
    charter, time = lab.served.charter, clock or Clock()
    app = App(
        lab.served,
        lambda: opened(store_url, charter.identity, len(charter.rounds)),
        estimate_bytes,
        clock=time,
        grouping=QUICK,
    )
    found = Inside(lab, app, time)
    with found.runner:
        found.runner.run(app.start())
        try:
            yield found
        finally:
            found.stop()
