"""Campaigns to try servers with: reports that a server takes, and servers in processes of their own."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from visibility_aware_edge_ldp.campaign.directory import ServedCampaign, new_campaign
from visibility_aware_edge_ldp.campaign.wire_format import SALT
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.surveys.degrees import degree_report
from visibility_aware_edge_ldp.public.surveys.degrees import encode as encode_degrees
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, encode
from visibility_aware_edge_ldp.public.surveys.rows import RowReport, encode_rows

ROOT = Path(__file__).parents[2]
FAR = 4_000_000_000


@dataclass(frozen=True, eq=False)
class Lab:
    """A campaign's directory with all that a test needs of it."""

    directory: Path
    served: ServedCampaign = field(repr=False)

    @cached_property
    def tokens(self) -> list[str]:
        with (self.directory / "tokens.csv").open() as file:
            return [row["token"] for row in csv.DictReader(file)]

    @cached_property
    def operator(self) -> str:
        return (self.directory / "operator.token").read_text()

    @property
    def asked(self) -> list[int]:
        return np.flatnonzero(self.served.terms.asked(1)).tolist()

    def report(self, participant: int, number: int = 1, variant: int = 0, transcript: str = "") -> bytes:
        """An upload that the server takes: of some hundred variants, one a number; each has a salt of its own."""
        salt = _coins(self.served.charter.identity, participant, number, "salt")[:SALT]
        return salt + self._unsalted(participant, number, variant, transcript)

    def _unsalted(self, participant: int, number: int, variant: int, transcript: str) -> bytes:
        terms = self.served.terms
        question, survey = self.served.charter.question, terms.survey
        coins = _coins(self.served.charter.identity, participant, number, variant)
        if question == "triangles" and number == 2:
            one, some = np.ones(1, np.bool_), np.array([coins[0] * 256 + variant], np.int64)
            return encode_rows(RowReport(survey.identity, transcript, participant, one, some, -some))
        if question == "degrees":
            values = np.array([[coins[0] * 256 + variant]] * len(survey.classes), np.int64)
            return encode_degrees(degree_report(survey.identity, participant, np.ones(1, np.bool_), values))
        n = self.served.view.n
        mask = terms._row_mask(participant)
        # Round 2 asks where round 1 said 1: here it says 1 nowhere, in whatever variant.
        ones = np.frombuffer(coins, np.uint8)[: mask.size] & mask if number == 1 else np.zeros_like(mask)
        start, count = row_start(n, participant), n - 1 - participant
        report = PositionReport(terms.row_survey.identity, number, start, count, mask.tobytes(), ones.tobytes())
        return encode(report)

    def path(self, participant: int, number: int = 1) -> str:
        return f"/v1/rounds/{number}/reports/{participant}"

    def request(self, participant: int, body: bytes, number: int = 1, token: str = "") -> bytes:
        """A whole PUT, as it goes over the wire."""
        head = (
            f"PUT {self.path(participant, number)} HTTP/1.1\r\nHost: here\r\n"
            f"Authorization: Bearer {token or self.tokens[participant]}\r\n"
            f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def _coins(*parts: object) -> bytes:
    return hashlib.shake_128(repr(parts).encode()).digest(4096)


def new_lab(
    directory: Path,
    people: int = 40,
    question: str = "position",
    closes: Sequence[int] = (FAR,),
    fewest: int = 1,
    retention: int = 0,
    consent: int = 0,
    share: str = "1",
) -> Lab:
    """A campaign in a directory that does not exist yet."""
    statistics = {"position": ["edges"], "degrees": ["edges"], "triangles": ["triangles"], "hubs": ["triangles"]}
    new_campaign(
        directory,
        names=[f"p{i}" for i in range(people)],
        policy=VisibilityPolicy.nothing(),
        question=question,
        epsilon=2,
        statistics=statistics[question],
        closes=closes,
        fewest=fewest,
        title="A campaign to try servers with",
        epoch="trial",
        retention=retention,
        consent=consent,
        share=share,
    )
    return Lab(directory, ServedCampaign.read(directory))


def stub_estimate(charter: object, view: object, reports: object) -> bytes:
    """A stand-in for the estimate: depends on every byte of every report, and on nothing else."""
    digest = hashlib.sha256()
    for number, bodies in sorted(reports.items()):  # type: ignore[attr-defined]
        for participant, body in sorted(bodies.items()):
            digest.update(f"{number}/{participant}/{len(body)}/".encode() + body)
    return b'{"digest":"' + digest.hexdigest().encode() + b'"}'


class Running:
    """A server in a process of its own."""

    def __init__(self, lab: Lab, store_url: str, *options: str) -> None:
        command = [sys.executable, "-m", "support.campaign_server_process", str(lab.directory), store_url, *options]
        self.lab = lab
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": _path()}
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode().strip()
        if not line.startswith("http://"):
            raise RuntimeError(f"The server did not start: {self.process.communicate()[1].decode()[-2000:]}")
        self.host, _, port = line.removeprefix("http://").rpartition(":")
        self.port = int(port)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._ended()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def _ended(self) -> int:
        code = self.process.wait(60)
        self.log = self.process.stderr.read().decode() if self.process.stderr else ""
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()
        return code

    @property
    def memory(self) -> int:
        """Resident octets."""
        with Path(f"/proc/{self.process.pid}/statm").open() as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _path() -> str:
    return os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src")])


@contextlib.contextmanager
def running(lab: Lab, store_url: str, *options: str) -> Iterator[Running]:
    server = Running(lab, store_url, *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


def sqlite_url(directory: Path) -> str:
    return f"sqlite:///{directory / 'store.db'}"


def now() -> float:
    return time.perf_counter()
