"""Two processes on one store: killed under load, killed as one closes a round, paused until the other has acted."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from support.campaign_amending import Issuer
from support.campaign_lab import FAR, Lab, Running, new_lab, now, running
from support.campaign_postgres_here import Postgres, postgres_here
from support.campaign_server_kills import CLIENTS, LIFE, Siege, Tally, free_port
from support.campaign_server_wire import Answer, Wire
from visibility_aware_edge_ldp.campaign.amendments import SignedAmendment

LONGEST = 10.0  # seconds until another process has taken over


class TwoFronts(Siege):
    """Clients that ask either process, while now one and now the other is killed and started again."""

    async def run(self, kills: int) -> None:
        """So many kills, or until everybody has been heard."""
        ports = [self.port, free_port()]
        servers = [await self._started(port) for port in ports]
        clients = [asyncio.create_task(self._asking(ports, number)) for number in range(CLIENTS)]
        for number in range(kills):
            await asyncio.sleep(self.coins.uniform(*LIFE))
            servers[number % 2].kill()
            self.tally.kills += 1
            servers[number % 2] = await self._started(ports[number % 2])
            if self.left < CLIENTS:
                break
        self._over = True
        await asyncio.gather(*clients)
        for server in servers:
            await asyncio.to_thread(server.stop)

    async def _started(self, port: int) -> Running:
        return await asyncio.to_thread(Running, self.lab, self.url, "--shared", "--port", str(port), *self.options)

    async def _asking(self, ports: list[int], number: int) -> None:
        wires = [Wire("127.0.0.1", port) for port in ports]
        while self._people and not self._over:
            participant = self._people.pop()
            body = self.lab.report(participant)
            while not self._over and not await self._heard(wires[number % 2], participant, body):
                number += 1  # whoever is not heard by one process asks the other
                await asyncio.sleep(0.02)


@dataclass
class Takeovers:
    """How many seconds it took until another process had acted, and what the one that came back did."""

    killed: list[float] = field(default_factory=list)
    paused: list[float] = field(default_factory=list)
    changed: int = 0

    @property
    def longest(self) -> float:
        return max([*self.killed, *self.paused])


def operator_request(lab: Lab, path: str, body: bytes = b"", method: str = "POST") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {lab.operator}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _ask(server: Running, request: bytes) -> Answer:
    wire = Wire(server.host, server.port)
    try:
        return await wire.ask(request)
    finally:
        wire.close()


async def _state(server: Running, lab: Lab) -> str:
    import json

    return str(json.loads((await _ask(server, operator_request(lab, "/v1/rounds/1", method="GET"))).body)["state"])


async def _closing(lab: Lab, one: Running, mark: Path) -> asyncio.Task[Answer]:
    """Have a process close a round with one report, until it is where it takes its time."""
    await _ask(one, lab.request(1, lab.report(1)))
    asking = asyncio.create_task(_ask(one, operator_request(lab, "/v1/rounds/1/close")))
    while not mark.exists():
        assert not asking.done(), "the round was not closed slowly"
        await asyncio.sleep(0.01)
    mark.unlink()
    return asking


async def _killed_in_closing(lab: Lab, one: Running, other: Running, mark: Path) -> float:
    """Seconds from the kill until the other process says that the round is closed."""
    asking = await _closing(lab, one, mark)
    begun = now()
    one.kill()
    await asyncio.gather(asking, return_exceptions=True)
    while await _state(other, lab) != "closed":
        await asyncio.sleep(0.05)
    return now() - begun


async def _paused_in_closing(lab: Lab, one: Running, other: Running, mark: Path) -> tuple[float, bool]:
    """Seconds until the other process has changed something, and whether the paused one changed anything after it."""
    asking = await _closing(lab, one, mark)
    os.kill(one.process.pid, signal.SIGSTOP)
    begun, issuer = now(), Issuer.of(lab.served.charter, lab.directory)
    amendment, person = issuer.drafted("withdrawal", 2)
    signed = SignedAmendment.of(amendment, issuer.key, person)
    while (await _ask(other, operator_request(lab, "/v1/amendments", signed.data))).status != 201:
        await asyncio.sleep(0.05)
    seconds = now() - begun
    os.kill(one.process.pid, signal.SIGCONT)
    await asking
    return seconds, await _state(one, lab) != "open"


def takeovers(postgres: Postgres, folder: Path, count: int, *options: str) -> Takeovers:
    """So many kills and so many pauses of the process that closes a round, each of a campaign of its own."""
    found = Takeovers()
    for number in range(count):
        for place in ("settle", "freeze"):
            lab, mark = new_lab(folder / f"{place}{number}", 12, "degrees", (FAR,)), folder / "mark"
            url, slow = postgres.new_database(), ("--slow", place, "--mark", str(mark))
            with running(lab, url, "--shared", *slow, *options) as one, running(lab, url, "--shared") as other:
                if place == "settle":
                    found.killed.append(asyncio.run(_killed_in_closing(lab, one, other, mark)))
                else:
                    seconds, changed = asyncio.run(_paused_in_closing(lab, one, other, mark))
                    found.paused.append(seconds)
                    found.changed += changed
    return found


def sieges(postgres: Postgres, folder: Path, kills: int, people: int = 6_000, *options: str) -> Tally:
    """So many kills under load, in campaigns of so many people."""
    total, lab = Tally(), new_lab(folder / f"siege{people}", people, "degrees", (FAR,))
    while total.kills < kills:
        siege = TwoFronts(lab, postgres.new_database(), total.kills, *options)
        asyncio.run(siege.run(kills - total.kills))
        total += siege.judge()
    return total


def takeover_figures(small: bool) -> dict[str, object]:
    """The whole figure, with a twin that acknowledges before it stores and one that is not fenced."""
    with tempfile.TemporaryDirectory() as name, postgres_here() as postgres:
        folder = Path(name)
        tally = sieges(postgres, folder, 4 if small else 40)
        found = takeovers(postgres, folder / "honest", 1 if small else 5)
        twin = sieges(postgres, folder, 6, 2_000, "--twin", "acknowledges-first")
        unfenced = takeovers(postgres, folder / "twin", 1, "--twin", "unfenced")
    caught = twin.lost > 0 and unfenced.changed == 1
    return {
        **vars(tally),
        "takeover after a kill, s": [round(each, 2) for each in found.killed],
        "takeover after a pause, s": [round(each, 2) for each in found.paused],
        "changes by whoever came back": found.changed,
        "the twin that acknowledges first lost": twin.lost,
        "the unfenced twin changed": unfenced.changed,
        "met": tally.clean and found.longest <= LONGEST and not found.changed and caught,
    }
