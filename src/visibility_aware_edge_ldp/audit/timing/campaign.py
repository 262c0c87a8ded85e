"""When an upload leaves the participant's program: what a campaign's server sees of it, timed.  [PACE.2-5]

A server sees how long it takes from its last reply, that it holds no answer yet, to the first byte of the upload. The
real :func:`answer` runs, from a list that somebody else brings, name by name; only the way to the server is replaced,
by one that looks at the clock. Ledgers lie in memory where they can: a disk's delays would blunt the measurement.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np

from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding
from visibility_aware_edge_ldp.audit.protocols.chain import EPOCH, contexts, folder, laid_out
from visibility_aware_edge_ldp.audit.timing import measure as timing
from visibility_aware_edge_ldp.campaign.charter import SignedCharter
from visibility_aware_edge_ldp.campaign.http_client import Declined, Patience, Reply, Transport
from visibility_aware_edge_ldp.campaign.participant import enrolment as enrolments
from visibility_aware_edge_ldp.campaign.participant import program
from visibility_aware_edge_ldp.campaign.participant.enrolment import Enrolment, Surroundings
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext, pace_of
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint, new_token
from visibility_aware_edge_ldp.campaign.wire_format import Receipt
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
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
            return Reply(200, {}, b"[]" if path == "/v1/amendments" else b'{"round":1,"state":"open"}')
        finally:
            self._watch.replied = time.perf_counter_ns()

    def put(self, path: str, body: bytes) -> Reply:
        self._watch.came, self._watch.upload = time.perf_counter_ns(), body
        context = _context()
        return Reply(
            201, {}, Receipt(context.charter.identity, 1, context.number, hashlib.sha256(body).hexdigest()).to_bytes()
        )


@cache
def _key() -> bytes:
    return keyed_random_bytes(seeded_key("issuer"))(32)


@cache
def _context() -> ParticipantContext:
    names = [f"person {number}" for number in range(PEOPLE)]
    return contexts(names, VisibilityPolicy.nothing(), [("position", "1")], issuer=fingerprint(_key()))[0]


@contextmanager
def at_home() -> Iterator[Path]:
    """The folder of somebody who is enrolled and has answered nothing."""
    context, token = _context(), new_token()
    signed, own = SignedCharter.of(context.charter, _key()), context.names[context.number]
    with folder() as home:
        with laid_out(home).writing() as page:
            page.append(Entry("epoch", EPOCH, own))
        enrolments.keep(Enrolment(URL, own, context.charter.issuer, token, signed, context.documents.data), home)
        yield home


def brought(side: int) -> list[str]:
    """Nobody's name, or everybody's; the longer list takes longer to come."""
    names = list(_context().names[1:]) if side else []
    time.sleep(SECONDS_A_NAME * len(names))
    return names


def watched(side: int, home: Path, pace: float, early: bool = False) -> Watch:
    """One answer, as its server sees it; a mutant's list comes ``early``, before the pace begins."""
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


def measure(runs: int, pace: float, seed: str = "", early: bool = False) -> timing.Timings:
    """So many pairs of answers, one of each side."""

    def pair(sides: tuple[int, int]) -> Iterator[timing.Seen]:
        # Both homes are made before either is timed.
        with at_home() as one, at_home() as other:
            for side, home in zip(sides, (one, other), strict=True):
                watch = watched(side, home, pace, early)
                yield watch.waited, len(watch.upload), watch.waited > 1.5e9 * (pace or least_pace())

    return timing.in_random_order(runs, seed, pair)


def find(name: str, runs: int, pace: Pace, early: bool = False) -> Finding:
    """Time the program at a pace that is long enough for the longest list, or at a mutant's."""
    warm = measure(timing.WARM_UP, AT_ONCE)
    short, long = (float(np.median(side)) / 1e9 for side in (warm.first, warm.second))
    # Waiting for the list is no work, and not slower on a busy machine; the rest, as much as a short list's, is.
    due = timing.PACE_REST + long + (timing.PACE_MARGIN - 1) * short + timing.longest_stall()
    taken = pace(due)
    timings = measure(runs, taken, name, early)
    return timing.finding_of(name, timings, (taken or least_pace()) if taken != AT_ONCE else None)


def as_due(seconds: float) -> float:
    """The real program's: longer than the longest list takes."""
    return seconds


def its_own(seconds: float) -> float:
    """None is given, so that the real program finds its pace on this machine.  [PACE.6]"""
    return 0.0


def least_pace() -> float:
    """What the real program's pace is at the least: that of a list that takes no time."""
    return pace_of(_context(), 0.0)


def at_once(seconds: float) -> float:
    """A mutant's: none."""
    return AT_ONCE


def _audit(name: str, runs: int, pace: Pace, broken: str = "", early: bool = False) -> Audit:
    run = partial(find, name, runs, pace, early)
    return Audit(name, "time", partial(timing.until_caught, run) if broken else run, broken)


AUDITS = (
    _audit("campaign rows, paced", 25, as_due),
    _audit("campaign rows, at its own pace", 16, its_own),
)
MUTANTS = (
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
