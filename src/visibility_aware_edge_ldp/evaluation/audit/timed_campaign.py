"""When an upload leaves the participant's program: what a campaign's server sees of it, timed.  [PACE.2-5]

A server sees how long it takes from its last reply, that it holds no answer yet, to the first byte of the upload. The
real :func:`answer` runs, from a list that somebody else brings, name by name; only the way to the server is replaced,
by one that looks at the clock. Ledgers lie in memory where they can: a disk's delays would blunt the measurement.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np

from visibility_aware_edge_ldp.campaign import signing
from visibility_aware_edge_ldp.campaign.charter import SignedCharter
from visibility_aware_edge_ldp.campaign.participant import enrolment as enrolments
from visibility_aware_edge_ldp.campaign.participant import program
from visibility_aware_edge_ldp.campaign.participant.enrolment import Enrolment
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry
from visibility_aware_edge_ldp.campaign.participant.program import Surroundings
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.campaign.participant.transport import Declined, Patience, Reply, Transport
from visibility_aware_edge_ldp.campaign.receipt import Receipt
from visibility_aware_edge_ldp.evaluation.audit.campaign_stage import EPOCH, folder, laid_out, seats
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.timing import (
    LIMIT,
    PACE_MARGIN,
    PACE_REST,
    SURPRISE,
    WARM_UP,
    Timings,
    longest_stall,
)
from visibility_aware_edge_ldp.mechanisms.entropy import keyed_coins, seeded_key
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

PEOPLE = 400
# A slow address book: everybody's names take sixty milliseconds, which shows on a busy machine too.
SECONDS_A_NAME = 1.5e-4
URL = "https://campaign.example"
# As short as no work is: the upload leaves as soon as it is written down.
AT_ONCE = 1e-9
Pace = Callable[[float], float]
"""The pace that is taken where this one is due."""


@dataclass
class Watch:
    """When the server last replied, and when the upload came."""

    replied: int = 0
    came: int = 0
    upload: bytes = field(default=b"", repr=False)

    @property
    def waited(self) -> int:
        """Nanoseconds."""
        return self.came - self.replied


class Watching(Transport):
    """The way to a server that holds nothing yet, and looks at the clock."""

    def __init__(self, watch: Watch, url: str, token: str, patience: Patience) -> None:
        super().__init__(url, token, patience)
        self._watch = watch

    def get(self, path: str, most: int = 0, own: bool = False) -> Reply:
        try:
            if own:
                raise Declined(404, "not-found", "There is no such upload.")
            return Reply(200, {}, b'{"round":1,"state":"open"}')
        finally:
            self._watch.replied = time.perf_counter_ns()

    def put(self, path: str, body: bytes) -> Reply:
        self._watch.came, self._watch.upload = time.perf_counter_ns(), body
        seat = _seat()
        return Reply(
            201, {}, Receipt(seat.charter.identity, 1, seat.number, hashlib.sha256(body).hexdigest()).to_bytes()
        )


@cache
def _key() -> bytes:
    return keyed_coins(seeded_key("issuer"))(32)


@cache
def _seat() -> Seat:
    names = [f"person {number}" for number in range(PEOPLE)]
    return seats(names, VisibilityPolicy.nothing(), [("position", "1")], issuer=signing.fingerprint(_key()))[0]


@contextmanager
def at_home() -> Iterator[Path]:
    """The folder of somebody who is enrolled and has answered nothing."""
    seat, token = _seat(), signing.new_token()
    papers = seat.documents.roster_bytes, seat.documents.policy_bytes, seat.documents.edges_bytes
    signed, own = SignedCharter.of(seat.charter, _key()), seat.names[seat.number]
    with folder() as home:
        with laid_out(home).writing() as page:
            page.append(Entry("epoch", EPOCH, own))
        enrolments.keep(Enrolment(URL, own, seat.charter.issuer, token, signed, papers), home)
        yield home


def brought(side: int) -> list[str]:
    """Nobody's name, or everybody's; the longer list takes longer to come."""
    names = list(_seat().names[1:]) if side else []
    time.sleep(SECONDS_A_NAME * len(names))
    return names


def watched(side: int, home: Path, pace: float, early: bool = False) -> Watch:
    """One answer, as its server sees it; a twin's list comes ``early``, before the pace begins."""
    watch = Watch()
    around = Surroundings(pace=pace, transport=partial(Watching, watch))
    come = list[str]()

    def consent(lines: list[str]) -> bool:
        # The program has shown the cost, and has not begun to keep its pace.
        come.extend(brought(side) if early else [])
        return True

    source = (lambda: come) if early else partial(brought, side)
    program.answer(source, home, consent, say=lambda line: None, surroundings=around)
    return watch


def measure(runs: int, pace: float, seed: str = "", early: bool = False) -> Timings:
    """So many pairs of answers, one of each side, in an order that coins decide."""
    order = np.frombuffer(keyed_coins(seeded_key(seed, "order"))(runs), np.uint8) & 1
    times, lengths, collecting = np.empty((2, runs)), set[int](), gc.isenabled()
    gc.disable()
    try:
        for run in range(runs):
            # Both homes are made before either is timed.
            with at_home() as one, at_home() as other:
                for side, home in zip((order[run], 1 - order[run]), (one, other), strict=True):
                    watch = watched(int(side), home, pace, early)
                    times[side, run] = watch.waited
                    lengths.add(len(watch.upload))
            gc.collect(0)
    finally:
        if collecting:
            gc.enable()
    late = times > 1.5e9 * pace
    return Timings(times[0], times[1], frozenset(lengths), (late[0], late[1]))


def find(name: str, runs: int, pace: Pace, early: bool = False) -> Finding:
    """Time the program at a pace that is long enough for the longest list, or at a twin's."""
    warm = measure(WARM_UP, AT_ONCE)
    short, long = (float(np.median(side)) / 1e9 for side in (warm.first, warm.second))
    # Waiting for the list is no work, and not slower on a busy machine; the rest, as much as a short list's, is.
    due = PACE_REST + long + (PACE_MARGIN - 1) * short + longest_stall()
    taken = pace(due)
    timings = measure(runs, taken, name, early)
    losses = [
        Loss("time", LIMIT, timings.t),
        Loss("slowest", SURPRISE, timings.slowest),
        *([Loss("overruns", SURPRISE, timings.overruns)] if taken > AT_ONCE else []),
        Loss("length", 0, max(timings.lengths) - min(timings.lengths)),
    ]
    medians = "medians {:,.1f} and {:,.1f} µs".format(*(np.median(s) / 1e3 for s in (timings.first, timings.second)))
    late = " and ".join(str(int(side.sum())) for side in timings.overran)
    about = f"{medians}, pace {taken * 1e3:,.1f} ms, overruns {late}" if taken > AT_ONCE else medians
    return Finding(name, "time", tuple(losses), runs, about)


def as_due(seconds: float) -> float:
    """The real program's: longer than the longest list takes."""
    return seconds


def at_once(seconds: float) -> float:
    """A twin's: none."""
    return AT_ONCE


def _audit(name: str, runs: int, pace: Pace, broken: str = "", early: bool = False) -> Audit:
    return Audit(name, "time", partial(find, name, runs, pace, early), broken)


AUDITS = (_audit("campaign rows, paced", 25, as_due),)
TWINS = (
    _audit(
        "campaign rows, as soon as written",
        40,
        at_once,
        "The upload leaves as soon as it is written down, and a longer list takes longer to come.",
    ),
    _audit(
        "campaign rows, a list before its pace",
        20,
        as_due,
        "The list is read while consent is asked for, before the pace begins.",
        early=True,
    ),
)
