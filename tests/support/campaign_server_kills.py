"""Kill -9 under load, and loss of power: nothing that was acknowledged is lost, and nothing is counted twice."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from support.campaign_lab import FAR, Lab, Running, new_lab, sqlite_url
from support.campaign_server_wire import Wire
from visibility_aware_edge_ldp.campaign.server.app import open_store

CLIENTS = 32
# How long a server lives, in seconds; to start it takes longer than any of these.
LIFE = (0.02, 0.2)


@dataclass
class Tally:
    """What the clients were told, and what the store held when they were done."""

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    twice: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.twice or self.refused)

    def __add__(self, other: Tally) -> Tally:
        sums = (self.kills + other.kills, self.acknowledged + other.acknowledged, self.lost + other.lost)
        return Tally(*sums, self.twice + other.twice, self.refused + other.refused)


class Siege:
    """Clients that send their reports again until they hear of them, while the server is killed and started again."""

    def __init__(self, lab: Lab, store_url: str, seed: int, *options: str) -> None:
        self.lab, self.url, self.options = lab, store_url, options
        self.coins = random.Random(seed)
        self.port = free_port()
        self.told: dict[int, bytes] = {}
        self.tally = Tally()
        self._over = False
        self._people = list(lab.asked)
        self.coins.shuffle(self._people)

    @property
    def left(self) -> int:
        return len(self._people)

    async def run(self, kills: int) -> None:
        """So many kills, or until everybody has been heard."""
        clients: list[asyncio.Task[None]] = []
        for _ in range(kills):
            server = await asyncio.to_thread(Running, self.lab, self.url, "--port", str(self.port), *self.options)
            clients = clients or [asyncio.create_task(self._client()) for _ in range(CLIENTS)]
            await asyncio.sleep(self.coins.uniform(*LIFE))
            server.kill()
            self.tally.kills += 1
            if self.left < CLIENTS:
                break
        self._over = True
        await asyncio.gather(*clients)

    async def _client(self) -> None:
        wire = Wire("127.0.0.1", self.port)
        while self._people and not self._over:
            participant = self._people.pop()
            body = self.lab.report(participant)
            while not self._over and not await self._heard(wire, participant, body):
                await asyncio.sleep(0.02)

    async def _heard(self, wire: Wire, participant: int, body: bytes) -> bool:
        try:
            answer = await asyncio.wait_for(wire.ask(self.lab.request(participant, body)), 10)
        except (OSError, EOFError, TimeoutError):
            wire.close()
            return False
        if answer.status not in (200, 201):
            self.tally.refused.append(answer.problem)
        self.told[participant] = hashlib.sha256(body).digest()
        return True

    def judge(self) -> Tally:
        """Compare what was told with what is on the disk."""
        store = open_store(self.url, self.lab.served.charter.identity, 1)
        leaves, bodies = store.leaves(1), store.bodies(1)
        rows = store.database.run("SELECT count(*) FROM bodies")[0][0]  # type: ignore[attr-defined]
        received = store.received().get(1, 0)
        store.close()
        kept = dict(leaves)
        self.tally.acknowledged = len(self.told)
        self.tally.lost = sum(kept.get(participant) != digest for participant, digest in self.told.items())
        self.tally.lost += sum(hashlib.sha256(bodies.get(p, b"")).digest() != digest for p, digest in leaves)
        self.tally.twice = (len(leaves) - len(kept)) + (rows - len(kept)) + (received - len(kept))
        return self.tally


def free_port() -> int:
    """Below the ports that systems give to clients: one that connects to a dead server must not reach itself."""
    while True:
        with contextlib.suppress(OSError), socket.socket() as trial:
            trial.bind(("127.0.0.1", random.randrange(20_000, 30_000)))
            return int(trial.getsockname()[1])


def kills(
    count: int, seed: int = 0, people: int = 6_000, new_store: Callable[[Path], str] = sqlite_url, *options: str
) -> Tally:
    """So many kills in all; when everybody has been heard, the siege goes on with an empty store."""
    total = Tally()
    with tempfile.TemporaryDirectory() as folder:
        lab = new_lab(Path(folder) / "lab", people, "degrees", (FAR,))
        while total.kills < count:
            place = Path(folder) / f"store{seed}"
            place.mkdir()
            siege = Siege(lab, new_store(place), seed, *options)
            asyncio.run(siege.run(count - total.kills))
            total += siege.judge()
            seed += 1
    return total
