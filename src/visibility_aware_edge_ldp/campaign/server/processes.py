"""A server in several processes, which share a port and a store: start them, start again what ends, and stop them."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from visibility_aware_edge_ldp.campaign.server.app import refuse_alone
from visibility_aware_edge_ldp.campaign.server.serving import listener_at, written_address
from visibility_aware_edge_ldp.campaign.server.telemetry import event
from visibility_aware_edge_ldp.errors import BadInput

# Seconds between two looks at the processes, before one that ended is started again, and for all to stop.
_LOOK, _REST, _GRACE = 0.1, 1.0, 60.0
MOST = 64


class _Process:
    """One process of the server. It holds one end of a pipe, and stops when ours is closed: when we are gone."""

    def __init__(self, command: list[str]) -> None:
        self._command, self._again = command, 0.0
        self._running = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - ourselves

    def address(self) -> str:
        """Where it listens, once it does; nothing if it ended before."""
        said = self._running.stdout
        return said.readline().decode().strip() if said is not None else ""

    def keep(self) -> None:
        """Start it again if it has ended, after a rest."""
        if self._running.poll() is None:
            return
        if not self._again:
            event("process ended", logging.WARNING, code=self._running.returncode)
            self._again = time.monotonic() + _REST
        elif time.monotonic() >= self._again:
            self._close()
            self._running, self._again = self._started(), 0.0

    def stop(self) -> None:
        """Ask it to finish what it has accepted."""
        if self._running.poll() is None:
            self._running.terminate()

    def end(self) -> None:
        """Wait until it has."""
        with suppress(subprocess.TimeoutExpired):
            self._running.wait(_GRACE)
        self._running.kill()
        self._running.wait()
        self._close()

    def _close(self) -> None:
        for pipe in (self._running.stdin, self._running.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def serve_in_processes(
    directories: Sequence[Path],
    store: str,
    host: str,
    port: int,
    processes: int,
    ready: Callable[[str], None] = lambda address: None,
    broadcast: Path | None = None,
) -> None:
    """Serve these campaigns in so many processes, until SIGTERM or SIGINT.

    All listen on ``port``, and each on one of its own: the next ones, or any that are free where ``port`` is 0.
    """
    if not 1 <= processes <= MOST:
        raise BadInput(f"--processes is a number from 1 to {MOST}; got {processes}.")
    refuse_alone(store)
    stopped, members = threading.Event(), list[_Process]()
    with ExitStack() as stack:
        held = stack.enter_context(listener_at(host, port, shared=True, listens=False))  # nobody else takes the port
        for each in (signal.SIGTERM, signal.SIGINT):
            stack.callback(signal.signal, each, signal.signal(each, lambda *_: stopped.set()))
        stack.callback(_stop, members)
        for number in range(1, processes + 1):
            own = port + number if port else 0
            members.append(_Process(_command(directories, store, host, held.getsockname()[1], own, broadcast)))
        if not all(member.address() for member in members):
            raise BadInput("A process of the server did not start; what it says above is why.")
        ready(f"http://{written_address(held)}")
        while not stopped.wait(_LOOK):
            for member in members:
                member.keep()


def _command(
    directories: Sequence[Path], store: str, host: str, port: int, own: int, broadcast: Path | None
) -> list[str]:
    module = "visibility_aware_edge_ldp.campaign.server.serving"
    where = ["--store", store, "--host", host, "--port", str(port), "--own-port", str(own)]
    where += [] if broadcast is None else ["--broadcast", str(broadcast)]
    return [sys.executable, "-m", module, *map(str, directories), *where, "--shared", "--child"]


def _stop(members: Sequence[_Process]) -> None:
    for member in members:
        member.stop()
    for member in members:
        member.end()
