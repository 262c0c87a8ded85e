"""How many reports a second a server makes durable, beside a bare ASGI application that stores nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from support.campaign_lab import FAR, ROOT, Lab, new_lab, now, running, sqlite_url
from support.campaign_postgres_here import postgres_here
from support.campaign_server_stages import stages

PEOPLE = 9_600  # rows of 9,599 to 1 positions, two bits each: 1,254 octets a report on the average
CONNECTIONS = 256
GREETING = b"GET /healthz HTTP/1.1\r\nhost: campaign\r\n\r\n"
Loop = asyncio.AbstractEventLoop


@dataclass(frozen=True)
class Load:
    """What one run saw: answers a second, the slowest percent, how often each status came, and what it cost.

    ``processor`` is the server's processor time, all its threads together, in microseconds a request; 0 if not known.
    """

    rate: float
    median: float
    p99: float
    statuses: dict[int, int]
    processor: float = 0.0

    def __str__(self) -> str:
        times = f"median {1000 * self.median:.1f} ms, p99 {1000 * self.p99:.1f} ms"
        cost = f", {self.processor:.1f} µs of processor time a request" if self.processor else ""
        return f"{self.rate:,.0f}/s, {times}{cost}, {self.statuses}"


class _Client(asyncio.Protocol):
    """One connection: once it has been answered it waits for the start; then each answer is followed by a request."""

    def __init__(self, requests: list[bytes], times: list[float], statuses: list[int], loop: Loop) -> None:
        self._requests, self._times, self._statuses = requests, times, statuses
        self.ready, self.done = loop.create_future(), loop.create_future()
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        transport.write(GREETING)  # type: ignore[attr-defined]

    def next(self) -> None:
        """Send the next request, or end where there is none."""
        if not self._requests:
            self.done.set_result(None)
            self._transport.close()
            return
        self._begun = now()
        self._transport.write(self._requests.pop())  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._held += data
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            return
        place = self._held.find(b"content-length: ")
        whole = end + 4 + int(self._held[place + 16 : self._held.index(b"\r", place)])
        if len(self._held) < whole:
            return
        status, self._held = int(self._held[9:12]), self._held[whole:]
        if not self.ready.done():
            self.ready.set_result(None)
            return
        self._times.append(now() - self._begun)
        self._statuses.append(status)
        self.next()

    def connection_lost(self, exc: Exception | None) -> None:
        for future in (self.ready, self.done):
            if not future.done():
                future.set_exception(exc or ConnectionResetError("closed by the server"))


async def load(host: str, port: int, requests: Sequence[bytes], connections: int = CONNECTIONS) -> Load:
    """Send every request once, over so many connections, all of which have been answered before the clock starts.

    A server that is busy takes new connections slowly, and each would count its wait as that of its first report.
    """
    loop = asyncio.get_running_loop()
    times: list[float] = []
    statuses: list[int] = []
    shared = list(requests)[::-1]
    clients = []
    for _ in range(min(connections, len(shared))):
        _, client = await loop.create_connection(lambda: _Client(shared, times, statuses, loop), host, port)
        clients.append(client)
    await asyncio.gather(*(client.ready for client in clients))
    begun = now()
    for client in clients:
        client.next()
    await asyncio.gather(*(client.done for client in clients))
    seconds = now() - begun
    median, p99 = np.quantile(times, [0.5, 0.99])
    counts = {int(s): int(c) for s, c in zip(*np.unique(statuses, return_counts=True), strict=True)}
    return Load(len(times) / seconds, float(median), float(p99), counts)


def run_load(host: str, port: int, requests: Sequence[bytes], connections: int = CONNECTIONS, server: int = 0) -> Load:
    """The same in a process of its own, so that it does not wait for the caller's threads; ``server`` is a process."""
    before = _processor_seconds(server)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found: Load = pool.apply(_run_load, (host, port, requests, connections))
    return replace(found, processor=1e6 * (_processor_seconds(server) - before) / len(requests))


def _processor_seconds(process: int) -> float:
    """What a process has had of the processors until now, where the system says so."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.is_file():
        return 0.0
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _run_load(host: str, port: int, requests: Sequence[bytes], connections: int) -> Load:
    try:
        import uvloop

        factory = uvloop.new_event_loop
    except ImportError:
        factory = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(load(host, port, requests, connections))


_ECHO = """
import asyncio, socket, sys, uvicorn
answer = b"x" * 180
head = {"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"180")]}
async def app(scope, receive, send):
    await receive()
    await send(head)
    await send({"type": "http.response.body", "body": answer})
sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(sock.getsockname()[1], flush=True)
server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, ws="none"))
server.run([sock])
"""


def echo_load(requests: Sequence[bytes], connections: int = CONNECTIONS) -> Load:
    """The same requests to an application that reads and answers, and does nothing else."""
    echo = subprocess.Popen([sys.executable, "-c", _ECHO], stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert echo.stdout is not None
        port = int(echo.stdout.readline())
        _wait(port)
        return run_load("127.0.0.1", port, requests, connections, echo.pid)
    finally:
        echo.terminate()
        echo.wait()
        if echo.stdout:
            echo.stdout.close()


def _wait(port: int) -> None:
    import socket
    import time

    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return


def durable_load(lab: Lab, requests: Sequence[bytes], store_url: str, connections: int = CONNECTIONS) -> Load:
    with running(lab, store_url) as server:
        return run_load(server.host, server.port, requests, connections, server.process.pid)


def shuffled_requests(lab: Lab) -> list[bytes]:
    """Everybody's report, in an order that has nothing to do with the participants' numbers."""
    order = np.random.default_rng(0).permutation(lab.asked)
    return [lab.request(int(p), lab.report(int(p))) for p in order]


def figures(store_url: str = "", people: int = PEOPLE, rounds: int = 5) -> dict[str, object]:
    """The whole figure: the server in turns with the echo, each time with an empty store, and the middle of each.

    One turn takes a second, in which a virtual machine's speed moves by a third. A store that is named is used once.
    """
    with tempfile.TemporaryDirectory() as folder:
        lab = new_lab(Path(folder) / "campaign", people, closes=(FAR,))
        requests = shuffled_requests(lab)
        octets = sum(len(lab.report(p)) for p in lab.asked[::97]) / len(lab.asked[::97])
        durable, echo = list[Load](), [echo_load(requests)]
        for turn in range(1 if store_url else rounds):
            (place := Path(folder) / f"store {turn}").mkdir()
            durable.append(durable_load(lab, requests, store_url or sqlite_url(place)))
            echo.append(echo_load(requests))
        each = stages(lab)
    ratio = median(one.rate for one in durable) / median(one.rate for one in echo)
    stored, cost = median(one.processor for one in durable), median(one.processor for one in echo)
    complete = all(one.rate >= 3_000 and one.p99 <= 0.2 and one.statuses == {201: len(requests)} for one in durable)
    return {
        "reports": len(requests),
        "octets a report": round(octets),
        "bare ASGI echo": [str(one) for one in echo],
        "durable": [str(one) for one in durable],
        "ratio to the echo": round(ratio, 3),
        "ratio of processor time": round(cost / stored, 3) if cost else None,
        "stages, µs of processor time": each,
        "met": complete and ratio >= 0.3,  # each time at least 3,000 a second, p99 at most 200 ms; 0.3 of the echo
    }


@contextlib.contextmanager
def together(lab: Lab, store_url: str, processes: int) -> Iterator[int]:
    """The port of so many processes on one PostgreSQL, as the command starts them."""
    serve = [sys.executable, "-m", "visibility_aware_edge_ldp", "campaign", "serve", str(lab.directory)]
    options = ["--store", store_url, "--port", "0", "--processes", str(processes), "--json"]
    server = subprocess.Popen(
        [*serve, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, env=os.environ
    )
    try:
        assert server.stdout is not None
        yield int(json.loads(server.stdout.readline())["address"].rpartition(":")[2])
    finally:
        server.terminate()
        server.communicate()


def process_figures(counts: Sequence[int], people: int = PEOPLE) -> dict[str, object]:
    """The same load on one PostgreSQL, with so many processes each time; and on SQLite with one, which is the default.

    The clients take a core of their own. What is met is that all is stored, and once; the rates are what they are.
    """
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, postgres_here() as postgres:
        lab = new_lab(Path(folder) / "campaign", people, closes=(FAR,))
        requests = shuffled_requests(lab)
        loads = {"one process, SQLite": durable_load(lab, requests, sqlite_url(Path(folder)))}
        loads["one process alone, PostgreSQL"] = durable_load(lab, requests, postgres.new_database())
        for count in counts:
            with together(lab, postgres.new_database(), count) as port:
                loads[f"--processes {count}"] = run_load("127.0.0.1", port, requests)
    found = {name: str(each) for name, each in loads.items()}
    return found | {"met": all(each.statuses == {201: len(requests)} for each in loads.values())}
