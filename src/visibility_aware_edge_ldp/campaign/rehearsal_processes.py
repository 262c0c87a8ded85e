"""The processes of a rehearsal: the server, and those that act for people; none outlives the rehearsal."""

import base64
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from visibility_aware_edge_ldp.campaign.http_client import LARGEST, Patience, Reply, Transport
from visibility_aware_edge_ldp.campaign.participant import program
from visibility_aware_edge_ldp.campaign.participant.consenting import consent
from visibility_aware_edge_ldp.campaign.participant.enrolment import Surroundings
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError
from visibility_aware_edge_ldp.public.visibility import Visibility

_SERVER = "visibility_aware_edge_ldp.campaign.server.serving"
_WORKER = "visibility_aware_edge_ldp.campaign.rehearsal_processes"
_PATIENCE = 30.0
# Each process is one of several, and takes one core.
_SINGLE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
ENROL, CONSENT, ANSWER = "enrol", "consent", "answer"
# Nobody watches a rehearsal by the clock, so nobody waits for the pace that real answers keep.
PACE = 1e-4


@dataclass(frozen=True)
class Person:
    """Who it is, where its ledger lives, and the file with what it knows: its friends, or the edges that a hub sees."""

    participant: int
    name: str
    token: str
    home: str
    friends: str


@dataclass(frozen=True)
class Plan:
    """What a worker needs to know: the server, the issuer, what everybody allows per class, and its people."""

    url: str
    issuer: str
    caps: dict[str, str]
    people: list[Person]

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "Plan":
        content = json.loads(text)
        return cls(**{**content, "people": [Person(**each) for each in content["people"]]})


@dataclass
class Done:
    """One person's turn: octets of the bodies sent and received, and the report that the server took, if any."""

    participant: int
    sent: int = 0
    received: int = 0
    report: bytes = field(default=b"", repr=False)

    def to_text(self) -> str:
        return json.dumps({**asdict(self), "report": base64.b64encode(self.report).decode()})

    @classmethod
    def from_text(cls, text: str) -> "Done":
        content = json.loads(text)
        if "error" in content:
            raise RehearsalFailed(content["error"])
        return cls(**{**content, "report": base64.b64decode(content["report"])})


class RehearsalFailed(VaEdgeLdpError):  # noqa: N818
    """Ours: the campaign did not do in rehearsal what it must do."""


class Shared(Transport):
    """The participant's transport, with a cache between it and the server that all people of this process use.

    Only what the server declares immutable is kept, names too, since all people here have tokens; every program checks
    the bytes by itself, and the traffic is counted as if nobody had shared anything.
    """

    _kept: dict[str, Reply] = {}  # noqa: RUF012 - one process asks one server

    def __init__(self, done: Done, url: str, token: str = "", patience: Patience | None = None) -> None:
        super().__init__(url, token, patience)
        self._done = done

    def get(self, path: str, most: int = LARGEST, own: bool = False) -> Reply:
        reply = self._kept.get(path) or super().get(path, most, own)
        if "immutable" in reply.headers.get("cache-control", ""):
            self._kept[path] = reply
        self._done.received += len(reply.body)
        return reply

    def put(self, path: str, body: bytes) -> Reply:
        reply = super().put(path, body)
        self._done.sent += len(body)
        self._done.received += len(reply.body)
        self._done.report = body
        return reply


def turn(plan: Plan, order: str, person: Person) -> Done:
    """One person enrols, or answers the round that is open."""
    done, home = Done(person.participant), Path(person.home)
    around = Surroundings(pace=PACE, transport=partial(Shared, done))
    if order == ENROL:
        caps = {Visibility[name]: cap for name, cap in plan.caps.items()}
        program.enroll(plan.url, person.name, person.token, plan.issuer, home, caps, surroundings=around)
    elif order == CONSENT:
        consent(home, lambda lines: True, surroundings=around)
    else:
        program.answer(Path(person.friends), home, lambda lines: True, say=lambda line: None, surroundings=around)
    return done


def main(arguments: list[str] | None = None) -> None:
    """Follow orders: a word, and the places of those whose turn it is."""
    (path,) = sys.argv[1:] if arguments is None else arguments
    plan = Plan.from_text(Path(path).read_text(encoding="utf-8"))
    for line in sys.stdin:
        order: Any = json.loads(line)
        for place in order["people"]:
            person = plan.people[place]
            try:
                print(turn(plan, order["word"], person).to_text(), flush=True)
            except VaEdgeLdpError as error:
                print(json.dumps({"error": f"{person.name}: {error}"}), flush=True)
                return


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

    def __enter__(self) -> "Workers":
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


@contextmanager
def new_place(keep: Path | None) -> Iterator[Path]:
    """A directory for everything; unless it is kept, nothing of it is left, whatever happens."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="va-edge-ldp-rehearsal-", ignore_cleanup_errors=True) as place:
            yield Path(place)
        return
    if keep.exists():
        raise BadInput(f"{keep} exists already; name a directory that does not.")
    keep.mkdir(parents=True, mode=0o700)
    yield keep


if __name__ == "__main__":
    main()
