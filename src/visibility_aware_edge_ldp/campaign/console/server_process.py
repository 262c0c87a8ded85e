"""A campaign's server as a process of its own, which never holds the issuer's key; started and ended by the console."""

import contextlib
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from visibility_aware_edge_ldp.errors import BadInput

_SERVER = "visibility_aware_edge_ldp.campaign.server.serving"
_PATIENCE = 30.0
LOG = "server.log"


@dataclass
class ServerProcesses:
    """The servers that this console runs, by the study's name.

    ``store`` is the address of a PostgreSQL database, which all studies then share; a SQLite file in each one's folder
    by default. A server ends with the console, however that ends: it stops when its standard input does.
    """

    store: str = ""
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def start(self, name: str, directory: Path, port: int) -> None:
        """Start a server for this directory, and wait until it listens; nothing where it runs already."""
        with self._turn:
            if self.is_running(name):
                return
            log = directory.parent / LOG
            with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as errors:
                process = subprocess.Popen(  # noqa: S603 - this program's own module
                    [sys.executable, "-m", _SERVER, str(directory), "--port", str(port), "--child", *self._kept],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    start_new_session=True,  # an interrupt at the terminal reaches the console, which ends the others
                )
            if process.stdout is None or not process.stdout.readline():
                _ended(process)
                lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                raise BadInput(f"The server did not start: {lines[-1] if lines else 'it gave no reason.'}")
            self.running[name] = process

    @property
    def _kept(self) -> list[str]:
        return ["--store", self.store, "--shared"] if self.store else []

    def is_running(self, name: str) -> bool:
        process = self.running.get(name)
        return process is not None and process.poll() is None

    def stop(self, name: str) -> None:
        """What the server has accepted is finished first."""
        with self._turn:
            if (process := self.running.pop(name, None)) is not None:
                _ended(process)

    def stop_all(self) -> None:
        for name in list(self.running):
            self.stop(name)


def _ended(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
