"""Requests that no honest client sends: malformed ones by the thousand, and connections that only hold on."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from support.campaign_lab import Lab, Running, now
from support.campaign_server_wire import Answer, Wire, ask_once
from visibility_aware_edge_ldp.campaign.wire_format import SALT


@dataclass
class Refusals:
    """How many requests there were, and how they were answered."""

    sent: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    untyped: list[tuple[bytes, str]] = field(default_factory=list)
    failures: int = 0
    silent: int = 0
    rows: int = 0
    grown: int = 0

    @property
    def clean(self) -> bool:
        return not (self.untyped or self.failures or self.silent or self.rows)


def malformed_requests(lab: Lab, count: int, seed: int = 0) -> Iterator[bytes]:
    """Good requests with something wrong: cut, flipped or longer bodies, broken heads, bytes that are no HTTP."""
    coins = random.Random(seed)
    people = lab.asked
    for _ in range(count):
        participant = coins.choice(people)
        body = lab.report(participant)
        yield coins.choice(_KINDS)(lab, participant, body, coins)


def _head(lab: Lab, participant: int, length: object, **other: str) -> bytes:
    fields = {
        "Host": "here",
        "Authorization": f"Bearer {lab.tokens[participant]}",
        "Content-Type": "application/octet-stream",
        "Content-Length": str(length),
    } | {name.replace("_", "-"): value for name, value in other.items()}
    lines = [f"{name}: {value}" for name, value in fields.items() if value != "-"]
    return "\r\n".join([f"PUT {lab.path(participant)} HTTP/1.1", *lines, "", ""]).encode("utf-8", "surrogateescape")


def _bad_body(lab: Lab, participant: int, body: bytes, coins: random.Random) -> bytes:
    garbage = coins.choice([coins.randbytes(len(body)), bytes(len(body)), b"\xff" * len(body)])
    return _head(lab, participant, len(body)) + garbage


def _bad_length(lab: Lab, participant: int, body: bytes, coins: random.Random) -> bytes:
    size = coins.choice([0, 1, len(body) - 1, len(body) + 1, 2 * len(body), 9_999])
    return _head(lab, participant, size) + coins.randbytes(size)


def _flipped_head(lab: Lab, participant: int, body: bytes, coins: random.Random) -> bytes:
    """A bit of the report's own head flipped: another survey, round, row or count."""
    place = SALT + coins.randrange(40)
    changed = bytearray(body)
    changed[place] ^= 1 << coins.randrange(8)
    return _head(lab, participant, len(body)) + changed


def _bad_header(lab: Lab, participant: int, body: bytes, coins: random.Random) -> bytes:
    other = coins.choice(
        [
            {"Content_Length": "-"},
            {"Content_Length": "-5"},
            {"Content_Length": "0x10"},
            {"Content_Length": "9" * 30},
            {"Content_Length": f"{len(body)}, {len(body)}"},
            {"Transfer_Encoding": "chunked"},
            {"Transfer_Encoding": "gzip, chunked", "Content_Length": "-"},
            {"Content_Encoding": "gzip"},
            {"Content_Encoding": "br"},
            {"Content_Type": "text/html"},
            {"Content_Type": "-"},
            {"Authorization": "-"},
            {"Authorization": "Bearer " + "é" * 20},
            {"Authorization": f"Bearer {'A' * 43}"},
            {"Host": "a\x00b"},
            {"X_Long": "y" * coins.choice([20_000, 70_000])},
            {"Bad Name": "z"},
        ]
    )
    return _head(lab, participant, len(body), **other) + body


def _no_http(lab: Lab, participant: int, body: bytes, coins: random.Random) -> bytes:
    return coins.choice(
        [
            coins.randbytes(200) + b"\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + coins.randbytes(60) + b"\r\n\r\n",
            b"PUT\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET " + b"/a" * 12_000 + b" HTTP/1.1\r\n\r\n",
            b"FROB /v1/charter HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET /v1/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET http://[bad HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET /v1/rounds/%00/reports/%2e%2e HTTP/1.1\r\nHost: x\r\n\r\n",
            b"DELETE /v1/charter HTTP/1.1\r\nHost: x\r\n\r\n",
            b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET /v1/charter HTTP/1.1\r\nHost: x\r\n bad: folded\r\n\r\n",
        ]
    )


def _bad_path(lab: Lab, participant: int, body: bytes, coins: random.Random) -> bytes:
    path = coins.choice(
        ["0/reports/1", "3/reports/1", "1/reports/999999999", "1/reports/-1", "1/reports/1/..", "١/reports/1"]
    )
    return f"PUT /v1/rounds/{path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode()


_KINDS = (_bad_body, _bad_length, _flipped_head, _bad_header, _no_http, _bad_path)


async def malformed(server: Running, requests: Iterator[bytes], workers: int = 32) -> Refusals:
    """Send them all, each on a connection of its own."""
    found = Refusals()
    before = server.memory

    async def work() -> None:
        for request in requests:
            try:
                answer = await ask_once(server.host, server.port, request, 30)
            except TimeoutError:
                answer = None
            _count(found, request, answer)

    await asyncio.gather(*(work() for _ in range(workers)))
    found.grown = server.memory - before
    status = await ask_once(server.host, server.port, b"GET /v1/rounds/1 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert status is not None
    found.rows = int(status.body.split(b'"received":')[1].split(b",")[0])
    return found


def _count(found: Refusals, request: bytes, answer: Answer | None) -> None:
    found.sent += 1
    if answer is None:
        found.silent += 1
        found.untyped.append((request[:80], "no answer"))
    elif answer.status >= 500:
        found.failures += 1
    elif not 400 <= answer.status < 500 or not answer.problem:
        found.untyped.append((request, str(answer.status)))
    else:
        found.problems[answer.problem] += 1


@dataclass(frozen=True)
class Patience:
    """The honest clients' times without and with those who only hold on; how those were got rid of."""

    alone: float
    beside: float
    answered: Counter[str]
    longest: float

    @property
    def ratio(self) -> float:
        return self.beside / self.alone


async def honest(server: Running, people: list[int], clients: int = 8) -> list[float]:
    """How long honest uploads take, one after the other on each connection."""
    waiting, times = list(people), []

    async def work() -> None:
        wire = Wire(server.host, server.port)
        while waiting:
            participant = waiting.pop()
            request = server.lab.request(participant, server.lab.report(participant))
            begun = now()
            answer = await wire.ask(request)
            times.append(now() - begun)
            assert answer.status in (200, 201), answer
        wire.close()

    await asyncio.gather(*(work() for _ in range(clients)))
    return times


async def slow(server: Running, connections: int, seconds: float, repeats: int = 1) -> Patience:
    """Connections that send a byte now and then, heads or bodies, while honest clients upload."""
    people = server.lab.asked
    half = len(people) // 2
    await honest(server, people[:20])
    alone = [t for _ in range(repeats) for t in await honest(server, people[:half])]
    answered: Counter[str] = Counter()
    lasted: list[float] = []
    ready = asyncio.Event()
    opened = [0]

    async def drip(number: int) -> None:
        wire = Wire(server.host, server.port)
        participant = people[number % len(people)]
        whole = server.lab.request(participant, server.lab.report(participant))
        head = whole.index(b"\r\n\r\n") + 4
        place = head + 3 if number % 2 else 10  # half of them hold a body back, half a head
        await wire.send(whole[:place])
        opened[0] += 1
        if opened[0] == connections:
            ready.set()
        begun, reading = now(), asyncio.ensure_future(wire.answer())
        while not reading.done() and now() - begun < 4 * seconds + 10:
            await asyncio.wait([reading], timeout=seconds / 4)
            if not reading.done():
                place += 1
                try:
                    await wire.send(whole[place - 1 : place])
                except (OSError, AssertionError):
                    break
        lasted.append(now() - begun)
        reading.cancel()  # whoever is still held waits no longer
        (found,) = await asyncio.gather(reading, return_exceptions=True)
        answered[found.problem if isinstance(found, Answer) else "held"] += 1
        wire.close()

    holding = [asyncio.create_task(drip(number)) for number in range(connections)]
    await asyncio.wait_for(ready.wait(), 60)
    beside = [t for _ in range(repeats) for t in await honest(server, people[half:])]
    await asyncio.gather(*holding)
    p99 = [float(np.quantile(times, 0.99)) for times in (alone, beside)]
    return Patience(p99[0], p99[1], answered, max(lasted))
