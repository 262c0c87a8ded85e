"""What one connection may cost: how long a request takes to arrive, how large its head is, how many there are.

Uvicorn waits for a head or a body, and for an answer to be read, as long as the other side pleases. The classes here
are its own, with clocks: a request that has not arrived as a whole when its time is up is answered 408, and the
connection is closed; a connection on which an answer waits and nothing of it is read in that time is cut. Of too many
connections the one that has kept us waiting longest makes room.
"""

import asyncio
import contextlib
import signal
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from visibility_aware_edge_ldp.campaign.server.messages import (
    BAD_REQUEST,
    CLOSE,
    HEAD,
    Header,
    Message,
    Reply,
    problem_reply,
    raw,
)
from visibility_aware_edge_ldp.campaign.server.uploads import Expected
from visibility_aware_edge_ldp.campaign.wire_format import PROBLEMS
from visibility_aware_edge_ldp.errors import MissingPart

try:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as missing:
    raise MissingPart("uvicorn", "serve", "Serving a campaign") from missing

Expects = Callable[[Message], Expected | None]


@dataclass(frozen=True)
class Limits:
    """What each connection may take."""

    seconds: float = 20.0  # for a whole request to arrive; and in which something of an answer must be read
    head: int = HEAD  # octets of a request's head
    connections: int = 4_096  # at a time
    skipped: int = 1 << 20  # octets of an unwanted body to skip
    progress: int = 4_096  # octets of an answer that are something, if they are not all of it
    grace: float = 5.0  # seconds for unread answers after the server was told to stop


class Watch:
    """Who keeps us waiting, the longest first; shared by all connections of a server."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.waiting: dict[Any, asyncio.TimerHandle] = {}
        self.reading: dict[Any, None] = {}  # those with a large answer, in the order in which it got stuck
        self.connections: dict[Any, None] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self.dropped = 0
        self.malformed = 0

    @property
    def open(self) -> int:
        return len(self.connections)

    def make_room(self) -> bool:
        """Whether one more connection has room, after the slowest sender, an idle one or the slowest reader is gone."""
        if self.open < self.limits.connections:
            return True
        slowest = next(iter(self.waiting), None)
        if slowest is not None:
            slowest.too_slow()
            return True
        idle = next((each for each in self.connections if each.is_idle and not each.unread), None)
        if idle is not None:
            idle.transport.close()
            return True
        reader = next((each for each in (*self.reading, *self.connections) if each.unread), None)
        if reader is not None:
            reader.cut()
        return reader is not None

    def keep_sweeping(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look at all answers twice in the time that they have; one timer for all, as most are read at once."""
        if self._sweeper is None and self.connections:
            self._sweeper = loop.call_later(self.limits.seconds / 2, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweeper = None
        for each in list(self.connections):
            if each.is_stuck():
                each.cut()
        self.keep_sweeping(loop)

    def cut_readers(self) -> None:
        """Wait no longer for anybody to read an answer."""
        for each in list(self.connections):
            if each.unread:
                each.cut()


class OrderlyServer(uvicorn.Server):
    """Uvicorn kills itself by the signal that stopped it; this one lets its caller finish, and leave with 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


if TYPE_CHECKING:
    _Base = H11Protocol
else:
    _Base = object


class _Watched(_Base):
    """Mixed into one of uvicorn's protocols; needs its ``cycle``, ``data_received`` and ``send_400_response``."""

    watch: Watch
    _head = 0
    _left: int | None = None  # how much of an answer was unread when we last looked
    _idle_looks = 0
    _cut = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        admitted = self.watch.make_room()
        self.watch.connections[self] = None
        self.watch.keep_sweeping(self.loop)
        if admitted:
            self._start_clock()
        else:
            self._refuse(problem_reply(PROBLEMS["too-many"], "Every connection is taken."))

    def connection_lost(self, exc: Exception | None) -> None:
        self.watch.connections.pop(self, None)
        self.watch.reading.pop(self, None)
        self._stop_clock()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self.watch.reading.setdefault(self)
        super().pause_writing()

    def resume_writing(self) -> None:
        """A part of an answer has gone; the connection keeps its place among readers until the whole has."""
        self._left = None
        if self.cycle is None or self.cycle.response_complete:
            self.watch.reading.pop(self, None)
        super().resume_writing()

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

    @property
    def unread(self) -> int:
        """Octets of answers that we still hold because the other side does not read them."""
        return 0 if self._cut else self.transport.get_write_buffer_size()

    def is_stuck(self) -> bool:
        """Whether too little of an answer was read since the last two looks."""
        if not self.unread:
            self._left, self._idle_looks = None, 0
            return False
        left = self.unread + _in_the_system(self.transport)
        moved = self._left is None or self._left - left >= self.watch.limits.progress
        self._idle_looks = 0 if moved else self._idle_looks + 1
        self._left = left if moved else self._left
        return self._idle_looks >= 2

    def cut(self) -> None:
        """End the connection without waiting for what is still to be read."""
        self._cut = True
        self.watch.dropped += 1
        self._stop_clock()
        self.transport.abort()

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


class _TakesUploads(_Base):
    """Mixed in as well, into the protocol that starts its tasks by ``_start_asgi_task``: uploads need none."""

    expects: Expects
    _upload: tuple[Any, Any, Any] | None = None  # whose body is coming in, its cycle and the application

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        found = None if cycle.waiting_for_100_continue or self.flow.write_paused else self.expects(cycle.scope)
        if found is None:
            super()._start_asgi_task(cycle, app)  # type: ignore[misc]
            return
        self._upload = found, cycle, app
        if not cycle.more_body:
            self._arrived()

    def on_message_complete(self) -> None:
        super().on_message_complete()  # type: ignore[misc]
        if self._upload is not None:
            self._arrived()

    def _arrived(self) -> None:
        (found, cycle, app), self._upload = self._upload, None  # type: ignore[misc]
        if not cycle.disconnected and not found.put(bytes(cycle.body), partial(self._told, cycle, app, found.more)):
            super()._start_asgi_task(cycle, app)  # type: ignore[misc]

    def _told(self, cycle: Any, app: Any, more: tuple[Header, ...], reply: Reply | None) -> None:
        """Answer an upload; without a reply, the application looks at the request from the beginning."""
        if cycle.disconnected or self.transport.is_closing():
            return
        if reply is None:
            super()._start_asgi_task(cycle, app)  # type: ignore[misc]
            return
        self.transport.write(
            raw(reply, self.server_state.default_headers, more if cycle.keep_alive else (*more, CLOSE))
        )
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()


def _in_the_system(transport: asyncio.Transport) -> int:
    """Octets that the operating system has taken from us and the other side has not: they move before ours do."""
    sock = transport.get_extra_info("socket")
    with contextlib.suppress(ImportError, OSError, AttributeError, ValueError):
        import fcntl
        import termios

        return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0" * 4))[0])
    return 0


def watched_protocol(watch: Watch, expects: Expects = lambda scope: None) -> type[asyncio.Protocol]:
    """Uvicorn's protocol with limits: the quick parser where it is installed, the other one else.

    ``expects`` says which upload a head announces, if it is to be taken as it comes.
    """
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Base
    except ImportError:
        Base = H11Protocol  # type: ignore[assignment,misc]  # noqa: N806
    quick = (_TakesUploads,) if hasattr(Base, "_start_asgi_task") else ()
    return type("WatchedProtocol", (*quick, _Watched, Base), {"watch": watch, "expects": staticmethod(expects)})
