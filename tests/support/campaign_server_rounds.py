"""Kill -9 between rounds, while a round closes and while the answers are made: roots and answers stay the same."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from support.campaign_lab import FAR, Lab, Running, new_lab, sqlite_url
from support.campaign_server_wire import Answer, ask_once

# Methods of the store in which the server is killed; in "estimating" while the answers are made.
PLACES = ("between", "freeze", "settle", "estimating", "keep_estimate", "forget_bodies")


@dataclass(frozen=True)
class Ending:
    """What a campaign ends with."""

    roots: tuple[str, ...]
    transcript: str
    answers: bytes


def campaign_through(lab: Lab, folder: Path, killed_in: str = "", twin: str = "") -> Ending:
    """A whole campaign in two rounds; the server is killed in one place, as often as it comes there, and goes on."""
    folder.mkdir()
    siege = _Through(lab, sqlite_url(folder), killed_in, folder / "mark", ("--twin", twin) if twin else ())
    for number in (1, 2):
        for participant in lab.asked:
            body = lab.report(participant, number, transcript=siege.transcript)
            assert siege.ask(lab.request(participant, body, number)).status in (200, 201)
        if killed_in == "between":
            siege.restart()
        siege.operator(f"/v1/rounds/{number}/close")
        siege.transcript = siege.state(1)["transcript"]
        if killed_in == "between":
            siege.restart()
    answers = siege.operator("/v1/estimate").body
    roots = tuple(siege.state(number)["root"] for number in (1, 2))
    siege.server.stop()
    return Ending(roots, siege.transcript, answers)


class _Through:
    def __init__(self, lab: Lab, url: str, slow: str, mark: Path, options: tuple[str, ...]) -> None:
        self.lab, self.url, self.mark, self.options = lab, url, mark, options
        self.slow = () if slow in ("", "between") else ("--slow", slow, "--mark", str(mark))
        self.transcript = ""
        self.server = Running(lab, url, *self.slow, *options)

    def restart(self, *options: str) -> None:
        if self.server.process.poll() is None:
            self.server.kill()
        self.server = Running(self.lab, self.url, *options, *self.options)

    def ask(self, request: bytes) -> Answer:
        return asyncio.run(self._ask(request))

    async def _ask(self, request: bytes) -> Answer:
        answer = await ask_once(self.server.host, self.server.port, request, 60)
        assert answer is not None
        return answer

    def state(self, number: int) -> dict[str, str]:
        found: dict[str, str] = json.loads(
            self.ask(f"GET /v1/rounds/{number} HTTP/1.1\r\nHost: x\r\n\r\n".encode()).body
        )
        return found

    def operator(self, path: str) -> Answer:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.lab.operator}\r\nContent-Length: 0\r\n\r\n"
        )
        if self.slow:
            asyncio.run(self._until_marked(head.encode()))
        answer = self.ask(head.encode())
        assert answer.status == 200, answer
        return answer

    async def _until_marked(self, request: bytes) -> None:
        """Ask, and kill the server when it has come to the place; then it is started without slowness."""
        asking = asyncio.ensure_future(ask_once(self.server.host, self.server.port, request, 60))
        until = time.monotonic() + 60
        while not self.mark.exists() and not asking.done() and time.monotonic() < until:
            await asyncio.sleep(0.005)
        if self.mark.exists():
            await asyncio.sleep(0.1)
            self.server.kill()
            await asking
            self.mark.unlink()
            self.restart(*self.slow)
            # On starting it may come there again by itself, and is killed once more.
            await asyncio.sleep(0.05)
            if self.mark.exists():
                self.mark.unlink()
            self.restart()


def rounds(places: tuple[str, ...] = PLACES, people: int = 30, twin: str = "") -> dict[str, bool]:
    """For each place, whether the campaign ended as the undisturbed one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lab = new_lab(folder / "lab", people, "triangles", (FAR, FAR + 100))
        calm = campaign_through(lab, folder / "calm")
        return {place: campaign_through(lab, folder / place, place, twin) == calm for place in places}
