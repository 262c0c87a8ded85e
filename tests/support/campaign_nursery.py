"""The participant's program in a process of its own, which dies at a chosen point or is killed at a moment.

The process has everything loaded and no threads; for each order it lets a copy of itself answer, and says how it ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from visibility_aware_edge_ldp.campaign.http_client import Patience, Reply, Transport, connection_to
from visibility_aware_edge_ldp.campaign.participant import program
from visibility_aware_edge_ldp.campaign.participant.answering import Quote, Task, record
from visibility_aware_edge_ldp.campaign.participant.enrolment import Surroundings, load
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Source, read_friends
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.errors import VaEdgeLdpError
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, secure_random_bytes

TOWN = [f"person {number:02}" for number in range(40)]
POINTS = ("noise", "commit", "half sent", "sent")
QUICK = Surroundings(pace=0.001, patience=Patience(attempt=5, first=0.01, most=0.05, total=5))


@contextmanager
def nursery() -> Iterator[Callable[[dict[str, Any]], int]]:
    """A process without threads that starts the participant's program by forking, and kills it."""
    command = [sys.executable, "-m", "support.campaign_nursery"]
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    root = str(Path(__file__).parent.parent)
    process = subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **single}
    )
    with process:
        wanted, heard = _pipe(process.stdin), _pipe(process.stdout)

        def run(order: dict[str, Any]) -> int:
            wanted.write(json.dumps(order) + "\n")
            wanted.flush()
            return int(heard.readline())

        try:
            yield run
        finally:
            wanted.close()


def _pipe(end: IO[str] | None) -> IO[str]:
    if end is None:
        raise RuntimeError("The other process has no pipes.")
    return end


def main() -> None:
    """Take orders from standard input; each is one run of the program, and whether it was killed is the answer."""
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                _live(Path(order["home"]), order["way"], Death(order["point"], order["time"]))
            finally:
                os._exit(0)
        if order["point"] == "moment":
            time.sleep(order["after"])
            os.kill(child, signal.SIGKILL)
        _, ended = os.waitpid(child, 0)
        print(int(os.WIFSIGNALED(ended)), flush=True)


@dataclass
class Death:
    """Ends this process at the chosen point, when it is reached for the time that was said."""

    point: str
    left: int

    def at(self, point: str) -> bool:
        """Whether it is time."""
        self.left -= point == self.point
        return point == self.point and self.left < 0

    def now(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def _live(home: Path, way: str, death: Death) -> None:
    """Answer every campaign; somewhere on the way the process may end."""
    if way == "send first":
        program._made = partial(_sends_first, death)
        # An honest server would stop the twin by showing a receipt that its ledger does not know.
        program.statements.held_reply = lambda *anything: None
    around = replace(QUICK, random_bytes=partial(_random_bytes, death), transport=partial(Mortal, death))
    for campaign in program.enrolments.enrolled(home):
        friends = [name for name in TOWN[::3] if name != load(home, campaign).name]
        try:
            program.answer(friends, home, lambda lines: True, campaign, lambda line: None, around)
        except VaEdgeLdpError:
            continue  # a twin's second answer is in conflict with its first; the next campaign hears it as well


def _random_bytes(death: Death) -> RandomBytes:
    draw = secure_random_bytes()

    def deadly(count: int) -> bytes:
        drawn = draw(count)
        if death.at("noise"):
            death.now()
        return drawn

    return deadly


class Mortal(Transport):
    """A transport whose process may die at a chosen point of an upload."""

    def __init__(self, death: Death, url: str, token: str = "", patience: Patience | None = None) -> None:
        super().__init__(url, token, patience)
        self._death = death

    def put(self, path: str, body: bytes) -> Reply:
        if self._death.at("commit"):
            self._death.now()
        if self._death.at("half sent"):
            self._half(path, body)
        reply = super().put(path, body)
        if self._death.at("sent"):
            self._death.now()
        return reply

    def _half(self, path: str, body: bytes) -> None:
        connection = connection_to(self._url, self._patience.attempt)
        connection.putrequest("PUT", self._url.path + path)
        connection.putheader("Authorization", f"Bearer {self._token}")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[: len(body) // 2])
        self._death.now()


def _sends_first(
    death: Death, ledger: Ledger, task: Task, agreed: Quote, source: Source, random_bytes: RandomBytes
) -> tuple[bytes, list[str]]:
    """Twin: what was made leaves inside the transaction, and is committed afterwards."""
    enrolment = load(Path(ledger._path).parent, task.context.charter.identity)
    given = read_friends(source, task.context.names, task.context.number)
    with ledger.writing() as page:
        upload = record(page, task, given, agreed, random_bytes)
        server = Mortal(death, enrolment.url, enrolment.token, QUICK.patience)
        server.put(f"/v1/rounds/{task.round}/reports/{task.context.number}", upload)
    return upload, []


if __name__ == "__main__":
    main()
