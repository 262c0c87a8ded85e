"""A town's campaign, served by a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.campaign_town import Town, new_town


@dataclass
class Served:
    """A server of a town, in a process of its own."""

    town: Town
    process: subprocess.Popen[bytes]
    address: str

    def call(self, method: str, path: str, token: str = "", body: bytes | None = None) -> bytes:
        request = urllib.request.Request(self.address + path, method=method, data=body)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.add_header("Content-Type", "application/octet-stream")
        with urllib.request.urlopen(request, timeout=30) as reply:
            return bytes(reply.read())

    def send(self, first: int, last: int, number: int = 1, transcript: bytes = b"") -> None:
        for participant in self.town.asked[first:last]:
            body = self.town.report(participant, number, transcript=transcript)
            self.call("PUT", self.town.path(participant, number), self.town.tokens[participant], body)

    def operate(self, path: str) -> None:
        self.call("POST", path, self.town.operator)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=60)


@contextlib.contextmanager
def served(folder: Path, question: str, title: str = "Friendships in our town") -> Iterator[Served]:
    now = int(time.time())
    closes = (now + 200_000, now + 400_000)[: 2 if question == "triangles" else 1]
    town = new_town(folder / question, question, closes=closes, title=title)
    command = [
        sys.executable,
        "-m",
        "visibility_aware_edge_ldp.campaign.server.serving",
        str(town.directory),
        "--port",
        "0",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    found = Served(town, process, process.stdout.readline().decode().strip())
    try:
        yield found
    finally:
        found.stop()
