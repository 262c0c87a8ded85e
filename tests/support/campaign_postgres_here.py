"""A PostgreSQL server in a temporary directory, on a socket, for as long as a test needs it."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_PLACES = ["/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin"]


@dataclass
class Postgres:
    """A server that runs."""

    binaries: Path
    directory: Path
    process: subprocess.Popen[bytes] | None = None
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def url(self, database: str) -> str:
        return f"postgresql://tester@/{database}?host={self.directory}"

    def new_database(self) -> str:
        import psycopg

        name = f"d{next(self.numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def start(self) -> None:
        command = [self.binaries / "postgres", "-D", self.directory / "data", "-k", self.directory]
        options = ["-c", "listen_addresses=", "-c", "max_connections=40", "-c", "shared_buffers=16MB"]
        self.process = subprocess.Popen(
            [*map(str, command), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **_as_somebody()
        )
        self._wait()

    def _wait(self) -> None:
        import psycopg

        until = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """As a loss of power would: at once, and every process of it."""
        assert self.process is not None
        subprocess.run(
            [self.binaries / "pg_ctl", "-D", self.directory / "data", "-m", "immediate", "stop"],
            check=False,
            stdout=subprocess.DEVNULL,
            **_as_somebody(),
        )
        self.process.wait()


def _as_somebody() -> dict[str, object]:
    """PostgreSQL does not run as root; a test that does becomes somebody with no rights."""
    if os.geteuid():
        return {}
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _binaries() -> Path | None:
    found = [place for pattern in _PLACES for place in sorted(Path("/").glob(pattern[1:]))]
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else (found[-1] if found else None)


@contextmanager
def postgres_here() -> Iterator[Postgres]:
    """The server; the test is skipped where there is none."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed here")
    # A socket's path has at most 107 characters, and whoever runs the server must reach it.
    directory = Path(tempfile.mkdtemp(prefix="pg"))
    somebody = _as_somebody()
    if somebody:
        os.chown(directory, somebody["user"], somebody["group"])  # type: ignore[arg-type]
    init = [binaries / "initdb", "-D", directory / "data", "-U", "tester", "-A", "trust", "-N", "--locale=C"]
    subprocess.run([*map(str, init), "-E", "UTF8"], check=True, stdout=subprocess.DEVNULL, cwd="/", **somebody)
    server = Postgres(binaries, directory)
    server.start()
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(directory, ignore_errors=True)
