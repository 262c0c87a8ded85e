"""The participant's side of campaigns, measured: ``python -m benchmarks.campaign_participant kills|speed``.

``kills`` ends the real program with SIGKILL at random moments and at chosen ones, between noise, ledger and sending,
and looks on the server's side for positions with two different answers. A twin that sends before it commits must be
caught.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from support.campaign_nursery import POINTS, QUICK, TOWN, nursery
from support.campaign_stub import Served, Stub
from visibility_aware_edge_ldp.campaign.directory import new_campaign
from visibility_aware_edge_ldp.campaign.participant import program
from visibility_aware_edge_ldp.campaign.participant.accounts import caps_entry
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger, create_ledger
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.mechanisms.chain import Level, chained
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import secure_random_bytes
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import position as codec
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

# What is asked of one person, one campaign after the other: thresholds return, under other names and in other classes.
ASKED: tuple[tuple[str, str, int], ...] = (
    ("position", "1", 40),
    ("position", "1", 30),
    ("position", "1/2", 40),
    ("degrees", "1/2", 40),
    ("position", "2", 35),
)


@dataclass
class Found:
    """How often the program was killed, where, and how many positions, or reports, had two different answers."""

    kills: int = 0
    trials: int = 0
    contradictions: int = 0
    unanswered: int = 0
    points: dict[str, int] = field(default_factory=dict)


def kills(
    count: int,
    way: str = "honest",
    seed: int = 0,
    asked: Sequence[tuple[str, str, int]] = ASKED,
    points: Sequence[str] = (*POINTS, *("moment",) * len(POINTS)),
) -> Found:
    """Kill so many times; after each trial, the program is let through once and all that was heard is compared.

    ``points`` are drawn from: "moment" is any moment, the others are chosen places in the program.
    """
    found, draws = Found(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, Stub() as stub, nursery() as run:
        template = _enrolled(Path(folder), stub, asked)
        whole = _timed(Path(folder), template, run)
        while found.kills < count:
            home = _copy(template, Path(folder) / "home")
            _forget(stub)
            for _ in range(draws.randrange(1, 6)):
                point = draws.choice(points)
                when = {"after": draws.random() * whole, "time": draws.randrange(len(asked))}
                killed = run({"home": str(home), "way": way, "point": point, **when})
                found.kills += killed
                found.points[point] = found.points.get(point, 0) + killed
            run({"home": str(home), "way": way, "point": "", "time": 0})
            found.trials += 1
            found.contradictions += sum(contradictions(stub.served.values()))
            found.unanswered += sum(not served.kept for served in stub.served.values())
    return found


def contradictions(campaigns: Iterable[Served]) -> tuple[int, int, int]:
    """How many (position, threshold) pairs and surveys of degrees have two answers, and rounds or torn uploads two."""
    bits: dict[tuple[str, int], set[bool]] = {}
    reports: dict[str, set[bytes]] = {}
    torn = 0
    for served in campaigns:
        survey, whole = served.terms.survey, {body for _, _, body in served.heard}
        torn += sum(not any(each.startswith(part) for each in whole) for part in served.torn)
        torn += len(whole) - len({(number, who) for number, who, _ in served.heard})  # another salt is another upload
        for _, who, body in served.heard:
            if isinstance(survey, PositionSurvey):
                for key, bit in _said(served, survey, who, body):
                    bits.setdefault(key, set()).add(bit)
            else:
                reports.setdefault(survey.identity, set()).add(report_in(body))
    return sum(len(each) > 1 for each in bits.values()), sum(len(each) > 1 for each in reports.values()), torn


def _said(served: Served, survey: PositionSurvey, who: int, body: bytes) -> Iterator[tuple[tuple[str, int], bool]]:
    report, view = codec.decode(report_in(body)), served.campaign.documents.view
    classes = view.classes.range(report.start, report.count)
    for place, bit in enumerate(unpack(report.ones, report.count)):
        kind = Visibility(int(classes[place]))
        if kind in NON_PUBLIC:
            yield (str(view.names[who + 1 + place]), survey.mechanism(kind, 1).threshold), bool(bit)


def _enrolled(folder: Path, stub: Stub, asked: Sequence[tuple[str, str, int]]) -> Path:
    """A home of one person who is enrolled everywhere and has answered nothing."""
    home = folder / "template"
    for number, (question, epsilon, size) in enumerate(asked):
        directory, policy = folder / f"campaign {number}", VisibilityPolicy(0.2, 0.4, salt="kills")
        key, key_file = bytes(range(32)), folder / "issuer.key"
        key_file.write_text(key.hex())
        new_campaign(
            directory,
            names=TOWN[:size],
            policy=policy,
            question=question,
            epsilon=epsilon,
            statistics=["edges"],
            closes=[4_000_000_000],
            fewest=1,
            title=f"Campaign {number}",
            epoch="spring",
            key=key,
            key_file=key_file,
        )
        served = stub.add(directory)
        # The one among the first thirty who comes first holds a long row in every roster.
        own = next(str(name) for name in served.campaign.documents.roster if str(name) in TOWN[:30])
        caps = dict.fromkeys(NON_PUBLIC, 100)
        program.enroll(served.url, own, served.tokens[own], served.issuer, home, caps, surroundings=QUICK)
    return home


def _copy(template: Path, home: Path) -> Path:
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(template, home)
    return home


def _forget(stub: Stub) -> None:
    with stub.lock:
        for served in stub.served.values():
            served.kept.clear()
            served.heard.clear()
            served.torn.clear()


def _timed(folder: Path, template: Path, run: Callable[[dict[str, Any]], int]) -> float:
    """How long one run takes that is not killed."""
    times = []
    for _ in range(3):
        home = _copy(template, folder / "home")
        begun = time.perf_counter()
        run({"home": str(home), "way": "honest", "point": "", "time": 0})
        times.append(time.perf_counter() - begun)
    return min(times)


# ── speed ──


def speed() -> dict[str, float]:
    """Milliseconds: chained answers for a row of a million, one durable answer, opening a ledger of 1,000 entries."""
    count, random_bytes = 10**6, secure_random_bytes()
    half, one, two = (RandomizedResponse(program.Fraction(e)).threshold for e in ("1/2", "1", "2"))
    bits, known = np.zeros(count, np.bool_), np.ones(count, np.bool_)
    levels = [Level(each, known, chained(each, bits, [], random_bytes)) for each in (half, two)]
    figures = {
        "chained row of 1,000,000, two neighbours": _milliseconds(lambda: chained(one, bits, levels, random_bytes))
    }
    with tempfile.TemporaryDirectory() as folder:
        ledger = create_ledger(Path(folder) / "ledger.db", caps_entry({}))
        figures["one durable entry, with its mark"] = _milliseconds(lambda: _append(ledger, 1))
        _append(ledger, 1000)
        figures["opening a ledger of 1,000 entries"] = _milliseconds(lambda: Ledger(Path(folder) / "ledger.db"))
    return figures


def _append(ledger: Ledger, count: int) -> None:
    with ledger.writing() as page:
        for _ in range(count):
            page.append(Entry("level", "spring", "1", "names", bytes(1250)))


def _milliseconds(work: Callable[[], object], rounds: int = 7) -> float:
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return 1000 * sorted(times)[rounds // 2]


def main() -> int:
    """The command."""
    reader = argparse.ArgumentParser(prog="python -m benchmarks.campaign_participant", description=__doc__)
    reader.add_argument("what", choices=("kills", "speed"))
    reader.add_argument("--count", type=int, default=200)
    asked = reader.parse_args()
    if asked.what == "speed":
        print(*(f"{name}: {value:.1f} ms" for name, value in speed().items()), sep="\n")
        return 0
    honest, twin = kills(asked.count), kills(max(20, asked.count // 5), "send first")
    print(f"honest: {honest}\nsends first: {twin}")
    return int(honest.contradictions > 0 or honest.unanswered > 0 or twin.contradictions == 0)


if __name__ == "__main__":
    sys.exit(main())
