"""A small HTTP client on bare sockets: quick enough to load a server, and free to send what no library would."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from support.campaign_lab import Running


@dataclass(frozen=True)
class Answer:
    """A status, the head as it came, and the body."""

    status: int
    head: bytes
    body: bytes

    @property
    def problem(self) -> str:
        """The registered name of a problem, or nothing."""
        import json

        if b"application/problem+json" not in self.head:
            return ""
        return str(json.loads(self.body)["type"]).rpartition(":")[2]

    def header(self, name: str) -> str:
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.encode():
                return value.strip().decode()
        return ""


class Wire:
    """One connection, kept open."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)

    async def ask(self, request: bytes) -> Answer:
        """Send a whole request, and read the answer."""
        if self._writer is None:
            await self.open()
        assert self._writer is not None
        self._writer.write(request)
        return await self.answer()

    async def answer(self) -> Answer:
        assert self._reader is not None
        head = await self._reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        place = head.lower().find(b"content-length:")
        length = int(head[place + 15 : head.index(b"\r", place)]) if place >= 0 and status != 304 else 0
        body = await self._reader.readexactly(length) if length else b""
        if b"connection: close" in head.lower():
            self.close()
        return Answer(status, head, body)

    async def send(self, data: bytes) -> None:
        if self._writer is None:
            await self.open()
        assert self._writer is not None
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()
        self._reader = self._writer = None


async def ask_once(host: str, port: int, request: bytes, seconds: float = 10.0) -> Answer | None:
    """One request on a connection of its own; nothing if the server hung up without a word."""
    wire = Wire(host, port)
    try:
        return await asyncio.wait_for(wire.ask(request), seconds)
    except (ConnectionError, asyncio.IncompleteReadError):
        return None
    finally:
        wire.close()


def ask(server: Running, request: bytes) -> Answer:
    """The same, of a server that must answer."""
    answer = asyncio.run(ask_once(server.host, server.port, request))
    assert answer is not None
    return answer
