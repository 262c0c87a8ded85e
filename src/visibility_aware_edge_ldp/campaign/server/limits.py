"""What one connection may cost: how long a request takes to arrive, how large its head is, how many there are.

Uvicorn waits for a head or a body as long as the other side pleases. The classes here are its own, with a clock: a
request that has not arrived as a whole when its time is up is answered 408, and the connection is closed. Of too many
connections the one that has kept us waiting longest makes room.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from visibility_aware_edge_ldp.campaign.problems import PROBLEMS
from visibility_aware_edge_ldp.campaign.server.replies import BAD_REQUEST, Reply, problem_reply, raw
from visibility_aware_edge_ldp.campaign.server.requests import HEAD


@dataclass(frozen=True)
class Limits:
    """Seconds for a whole request, octets of its head, connections at a time, octets of an unwanted body to skip."""

    seconds: float = 20.0
    head: int = HEAD
    connections: int = 4_096
    skipped: int = 1 << 20


class Watch:
    """Who keeps us waiting, the longest first; shared by all connections of a server."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.waiting: dict[Any, asyncio.TimerHandle] = {}
        self.connections: dict[Any, None] = {}
        self.dropped = 0
        self.malformed = 0

    @property
    def open(self) -> int:
        return len(self.connections)

    def make_room(self) -> bool:
        """Whether one more connection has room, after the slowest, or else one that is idle, has gone."""
        if self.open < self.limits.connections:
            return True
        slowest = next(iter(self.waiting), None)
        if slowest is not None:
            slowest.too_slow()
            return True
        idle = next((each for each in self.connections if each.is_idle), None)
        if idle is not None:
            idle.transport.close()
        return idle is not None


if TYPE_CHECKING:
    _Base = H11Protocol
else:
    _Base = object


class _Watched(_Base):
    """Mixed into one of uvicorn's protocols; needs its ``cycle``, ``data_received`` and ``send_400_response``."""

    watch: Watch
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        admitted = self.watch.make_room()
        self.watch.connections[self] = None
        if admitted:
            self._start_clock()
        else:
            self._refuse(problem_reply(PROBLEMS["too-many"], "Every connection is taken."))

    def connection_lost(self, exc: Exception | None) -> None:
        self.watch.connections.pop(self, None)
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._head = 0
            if cycle.more_body:
                self._start_clock()
            else:
                self._stop_clock()
        elif not self.transport.is_closing():
            self._in_the_head(len(data))

    def _in_the_head(self, octets: int) -> None:
        self._start_clock()
        self._head += octets
        # After an answer the rest of a body may still come in, and is skipped: it is not a head that grows.
        answered = self.cycle is not None and self.cycle.more_body
        if self._head > (self.watch.limits.skipped if answered else self.watch.limits.head):
            self._refuse(problem_reply(PROBLEMS["header-too-large"]))

    @property
    def is_idle(self) -> bool:
        """Between two requests."""
        return self.cycle is not None and self.cycle.response_complete and not self.transport.is_closing()

    def too_slow(self) -> None:
        """Its time is up, or others need its place."""
        self.watch.dropped += 1
        self._refuse(problem_reply(PROBLEMS["deadline"], f"It took over {self.watch.limits.seconds:g} s to arrive."))

    def send_400_response(self, msg: str) -> None:
        """Uvicorn's answer to what its parser refuses, as a problem."""
        self.watch.malformed += 1
        self._refuse(problem_reply(BAD_REQUEST, "The request is not HTTP/1.1 as it should be."))

    def _refuse(self, reply: Reply) -> None:
        self._stop_clock()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(raw(reply))
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the application must not answer a second time
            self.cycle.message_event.set()
        self.transport.close()

    def _start_clock(self) -> None:
        if self not in self.watch.waiting:
            self.watch.waiting[self] = self.loop.call_later(self.watch.limits.seconds, self.too_slow)

    def _stop_clock(self) -> None:
        clock = self.watch.waiting.pop(self, None)
        if clock is not None:
            clock.cancel()


def watched_protocol(watch: Watch) -> type[asyncio.Protocol]:
    """Uvicorn's protocol with limits: the quick parser where it is installed, the other one else."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Base
    except ImportError:
        Base = H11Protocol  # type: ignore[assignment,misc]  # noqa: N806
    return type("WatchedProtocol", (_Watched, Base), {"watch": watch})
