"""The processes of a rehearsal: the server, and those that act for people; none outlives the rehearsal."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from visibility_aware_edge_ldp.simulation.rehearsal_worker import Done, Plan, RehearsalFailed

_SERVER = "visibility_aware_edge_ldp.campaign.server"
_WORKER = "visibility_aware_edge_ldp.simulation.rehearsal_worker"
_PATIENCE = 30.0
# Each process is one of several, and takes one core.
_SINGLE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


@contextmanager
def serving(place: Path) -> Iterator[str]:
    """The campaign's server as a process of its own; its address."""
    log = place / "server.log"
    process = _started([_SERVER, str(place / "campaign"), "--port", "0"], log, dict(os.environ))
    try:
        address = _pipe(process.stdout).readline().strip()
        if not address:
            raise RehearsalFailed(f"The server did not start: {_last_line(log)}")
        yield address
    finally:
        _ended(process)


class Workers:
    """Processes that act for people, each for its own share of them."""

    def __init__(self, place: Path, plans: Sequence[Plan]) -> None:
        self._place, self._plans = place, plans
        self._processes: list[subprocess.Popen[str]] = []
        self._logs: list[Path] = []
        self._said: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()

    def __enter__(self) -> Workers:
        try:
            for number, plan in enumerate(self._plans):
                path, log = self._place / f"worker-{number}.json", self._place / f"worker-{number}.log"
                path.touch(mode=0o600)
                path.write_text(plan.to_text(), encoding="utf-8")
                self._processes.append(_started([_WORKER, str(path)], log, {**os.environ, **_SINGLE}))
                self._logs.append(log)
                threading.Thread(target=self._listen, args=(number,), daemon=True).start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *why: object) -> None:
        for process in self._processes:
            _ended(process)

    def run(self, word: str, people: Iterable[int]) -> Iterator[Done]:
        """Give everybody its turn; what became of each, as it is done."""
        count, shares = len(self._processes), [list[int]() for _ in self._processes]
        for person in people:
            shares[person % count].append(person // count)
        for process, share in zip(self._processes, shares, strict=True):
            with suppress(BrokenPipeError):  # its listener says that it has ended
                pipe = _pipe(process.stdin)
                pipe.write(json.dumps({"word": word, "people": share}) + "\n")
                pipe.flush()
        for _ in range(sum(map(len, shares))):
            number, line = self._said.get()
            if not line:
                raise RehearsalFailed(f"A process that acts for people ended: {_last_line(self._logs[number])}")
            yield Done.from_text(line)

    def _listen(self, number: int) -> None:
        for line in _pipe(self._processes[number].stdout):
            self._said.put((number, line))
        self._said.put((number, ""))


def _started(words: Sequence[str], log: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """A process in a session of its own: an interrupt at the terminal reaches the rehearsal, which ends the others."""
    with log.open("w") as errors:
        return subprocess.Popen(  # noqa: S603 - this program's own modules
            [sys.executable, "-m", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            env=environment,
            start_new_session=True,
        )


def _ended(process: subprocess.Popen[str]) -> None:
    """Told to end, waited for, and killed if that does not help."""
    process.terminate()
    with suppress(BrokenPipeError):
        _pipe(process.stdin).close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _pipe(process.stdout).close()


def _pipe(end: IO[str] | None) -> IO[str]:
    if end is None:
        raise RehearsalFailed("A process has no pipes.")
    return end


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it gave no reason."
