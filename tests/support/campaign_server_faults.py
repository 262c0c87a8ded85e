"""What a machine does to a server: its clock jumps, its disk is full, its database is silent, thousands hold on.

Each fault is given to a twin, too, which believes the clock or says "stored" first, and must be caught.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from support.campaign_lab import FAR, Lab, Running, new_lab, now, running, sqlite_url, stub_estimate
from support.campaign_postgres_here import Postgres
from support.campaign_server_abuse import slow
from support.campaign_server_wire import Answer, ask_once

DAY = 86_400
# For so many seconds PostgreSQL may be silent in the drill; a server gives it 60.
SILENT = 5


def asked(server: Running, method: str, path: str, token: str = "", body: bytes = b"") -> Answer:
    """One request and its answer; a server that does not answer in 90 seconds has failed the drill."""
    shown = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{shown}Content-Length: {len(body)}\r\n"
    head += "Content-Type: application/octet-stream\r\n" if body else ""
    answer = asyncio.run(ask_once(server.host, server.port, f"{head}\r\n".encode() + body, 90))
    assert answer is not None, (method, path)
    return answer


def put(server: Running, place: int) -> int:
    lab = server.lab
    return asked(server, "PUT", lab.path(place), lab.tokens[place], lab.report(place)).status


def state(server: Running) -> tuple[str, int]:
    said = json.loads(asked(server, "GET", "/v1/rounds/1").body)
    return str(said["state"]), int(said["received"])


# ── the clock ──


@dataclass
class Jumps:
    """What a clock that is a day wrong did to an open round, and whether the server said so."""

    closed: int = 0
    refused: int = 0
    lost: int = 0
    jumps_told: list[int] = field(default_factory=list)


def jumps(folder: Path, *twin: str) -> Jumps:
    """A round with an hour to go and too few reports so far: a day ahead, right, a day behind, and right again."""
    folder.mkdir(exist_ok=True)
    lab = new_lab(folder / "lab", 12, "degrees", (int(time.time()) + 3_600,), fewest=11)
    wall, found = folder / "wall", Jumps()
    wall.write_text("0")
    with running(lab, sqlite_url(folder), "--wall", str(wall), *twin) as server:
        taken = 0
        for place, offset in enumerate((0, DAY, 0, -DAY, 0)):
            wall.write_text(str(offset))
            time.sleep(1.5)  # deadlines are looked at each half second
            found.closed += state(server)[0] != "open"
            status = put(server, place)
            taken, found.refused = taken + (status == 201), found.refused + (status != 201)
            text = asked(server, "GET", "/metrics").body.decode()
            found.jumps_told += [
                int(float(line.split()[1]))
                for line in text.splitlines()
                if "clock_jump_seconds " in line and line[0] != "#"
            ]
    with running(lab, sqlite_url(folder)) as server:
        again = [asked(server, "GET", lab.path(place), lab.tokens[place]).status for place in range(5)]
        found.lost = taken - again.count(200) if state(server)[0] == "open" else taken
    return found


# ── the disk ──


@contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of four megabytes, which takes somebody who may mount one."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", name], check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Nothing more fits, until this ends."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        for size in (1 << 16, 1 << 12, 1):
            with suppress(OSError):
                while file.write(bytes(size)) == size:
                    pass
    try:
        yield
    finally:
        filler.unlink()


@dataclass
class FullDisk:
    """What a full disk did in each place, and whether all went on when there was room."""

    refused: dict[str, str] = field(default_factory=dict)
    went_on: dict[str, int] = field(default_factory=dict)
    health: str = ""
    acknowledged: int = 0
    lost: int = 0
    same_answers: bool = False


def full_disk(folder: Path, *twin: str) -> FullDisk:
    """Reports are taken; then the disk is full, for uploads, closing and the answers; each time there is room again."""
    found, lab = FullDisk(), new_lab(folder / "lab", 40, "degrees", (FAR,))
    with small_disk() as disk, running(lab, sqlite_url(disk), *twin) as server:
        acknowledged = [place for place in range(10) if put(server, place) == 201]
        with full(disk):
            acknowledged += [place for place in range(10, 30) if put(server, place) == 201]
            found.refused["upload"] = asked(server, "PUT", lab.path(30), lab.tokens[30], lab.report(30)).problem
            found.health = str(json.loads(asked(server, "GET", "/healthz").body).get("detail", ""))
        found.went_on["upload"] = put(server, 30)
        acknowledged += [30] if found.went_on["upload"] == 201 else []
        for name, path in (("close", "/v1/rounds/1/close"), ("estimate", "/v1/estimate")):
            with full(disk):
                found.refused[name] = asked(server, "POST", path, lab.operator).problem
            answer = asked(server, "POST", path, lab.operator)
            found.went_on[name] = answer.status
        kept = [
            place for place in acknowledged if asked(server, "GET", lab.path(place), lab.tokens[place]).status == 200
        ]
        found.acknowledged, found.lost = len(acknowledged), len(acknowledged) - len(kept)
        found.same_answers = answer.body == stub_estimate(
            None, None, {1: {each: lab.report(each) for each in acknowledged}}
        )
    return found


def told(lab: Lab, store: str) -> tuple[int, str]:
    """The exit code and the last sentence of a server that cannot start."""
    words = [sys.executable, "-m", "visibility_aware_edge_ldp.campaign.server.serving", str(lab.directory)]
    ended = subprocess.run(
        [*words, "--port", "0", "--store", store], capture_output=True, text=True, timeout=60, check=False
    )
    return ended.returncode, ended.stderr.strip().splitlines()[-1]


def other_stores(folder: Path) -> dict[str, tuple[int, str]]:
    """What a server says of a store that may only be read, and of one that another server has under another name."""
    found, lab = dict[str, tuple[int, str]](), new_lab(folder / "lab", 12, "degrees", (FAR,))
    with small_disk() as disk:
        with running(lab, sqlite_url(disk)) as server:
            put(server, 0)
            for name in ("a symlink", "a hard link"):
                other = disk / f"{name}.db"
                other.symlink_to(disk / "store.db") if name == "a symlink" else other.hardlink_to(disk / "store.db")
                found[name] = told(lab, f"sqlite:///{other}")
                other.unlink()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        found["read-only"] = told(lab, sqlite_url(disk))
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        with running(lab, sqlite_url(disk)) as server:
            found["with rights again"] = (0, f"{state(server)[1]} report is there")
    return found


# ── the database ──


@dataclass
class Frozen:
    """A database that is silent, and one that is started again: seconds until uploads are refused, and taken again."""

    refused_after: float = 0.0
    taken_after: float = 0.0
    stopped_after: float = 0.0
    restarted_after: float = 0.0
    acknowledged: int = 0
    lost: int = 0


def _backends(postgres: Postgres) -> list[int]:
    """The processes that serve connections, and not those that keep the server alive."""
    assert postgres.process is not None
    shown = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(postgres.process.pid)], capture_output=True, text=True, check=True
    )
    return [int(line.split()[0]) for line in shown.stdout.splitlines() if "tester" in line]


def _until_taken(server: Running, place: int) -> float:
    begun = now()
    while put(server, place) not in (200, 201):
        assert now() - begun < 60
        time.sleep(0.1)
    return now() - begun


def frozen(postgres: Postgres, folder: Path, *twin: str) -> Frozen:
    """Its processes are stopped under an upload, go on, and are killed; at last they are stopped under SIGTERM."""
    found, lab, url = Frozen(), new_lab(folder / "lab", 12, "degrees", (FAR,)), postgres.new_database()
    with running(lab, url, "--longest", str(SILENT), *twin) as server:
        acknowledged = [place for place in range(3) if put(server, place) == 201]
        stopped = _backends(postgres)
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        begun = now()
        acknowledged += [3] if put(server, 3) == 201 else []
        found.refused_after = now() - begun
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
        found.taken_after = _until_taken(server, 4)
        postgres.kill()
        acknowledged += [4] + ([5] if put(server, 5) == 201 else [])
        postgres.start()
        found.restarted_after = _until_taken(server, 6)
        acknowledged += [6]
        stopped = _backends(postgres)
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        begun = now()
        server.stop()
        found.stopped_after = now() - begun
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
    with running(lab, url) as server:
        kept = [asked(server, "GET", lab.path(place), lab.tokens[place]).status for place in acknowledged]
    found.acknowledged, found.lost = len(acknowledged), len(acknowledged) - kept.count(200)
    return found


# ── connections ──


def held_connections(people: int, connections: int, hurries: float = 4.0) -> dict[str, object]:
    """Honest uploads alone, and beside so many connections that send a byte now and then.

    ``hurries`` is how long the server lets a request take to arrive; a twin gives it ten minutes.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lab = new_lab(folder / "lab", people, "position", (FAR,))
        with running(lab, sqlite_url(folder), "--seconds", str(hurries)) as server:
            before = server.memory
            found = asyncio.run(slow(server, connections, 4.0))
            grown = server.memory - before
    times = {"honest p99 alone, ms": 1000 * found.alone, "beside them, ms": 1000 * found.beside, "ratio": found.ratio}
    return {**times, "they were told": dict(found.answered), "memory grown by KiB": grown >> 10}
