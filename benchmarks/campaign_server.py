"""The campaign server's figures: ``python -m benchmarks.campaign_server [NAME …] [--small]``.

Names: kills, power, rounds, split, rollback, charters, takeover, clock, disk, frozen, connections, malformed, abuse,
load. A full disk takes somebody who may mount one (root).
``load --processes 1,2,4`` loads so many processes on one PostgreSQL in place of one on SQLite.
Each says what was found and whether the target is met; a twin that breaks the promise must be caught in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from support.campaign_lab import FAR, new_lab, now, running, sqlite_url
from support.campaign_postgres_here import postgres_here
from support.campaign_server_abuse import malformed, malformed_requests, slow
from support.campaign_server_faults import frozen, full_disk, held_connections, jumps, other_stores
from support.campaign_server_kills import Tally, kills
from support.campaign_server_lies import rolled_back, split, two_charters
from support.campaign_server_load import figures as load_figures
from support.campaign_server_load import process_figures
from support.campaign_server_power import power
from support.campaign_server_rounds import rounds
from support.campaign_server_takeover import takeover_figures

Figures = dict[str, object]


def kill_figures(small: bool) -> Figures:
    tally, wanted, each = Tally(), *((10, 5) if small else (200, 20))
    # Two sieges at a time, as a server that starts keeps one core busy and its clients wait meanwhile.
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for found in as_completed([pool.submit(kills, each, 100 * siege) for siege in range(wanted // each)]):
            tally += found.result()
            print(tally, file=sys.stderr, flush=True)  # it takes minutes, and what was found so far is not lost
    twin = kills(9, 1, 2_000, sqlite_url, "--twin", "acknowledges-first")
    met = tally.clean and twin.lost > 0
    return {**vars(tally), "the twin that acknowledges first lost": twin.lost, "met": met}


def power_figures(small: bool) -> Figures:
    full, normal = power(20 if small else 100), power(20 if small else 100, "NORMAL")
    return {"FULL": vars(full), "the twin NORMAL": vars(normal), "met": not full.lost and normal.lost > 0}


def round_figures(small: bool) -> Figures:
    same = rounds(people=10 if small else 100)
    twin = rounds(("between",), 10, "salted")
    met = all(same.values()) and not any(twin.values())
    return {"the same root and answers after a kill": same, "the twin with a salt": twin, "met": met}


def split_figures(small: bool) -> Figures:
    found = split(2 if small else 12)
    return {**vars(found), "met": found.met}


def rollback_figures(small: bool) -> Figures:
    found = rolled_back(3 if small else 12)
    counted = {name: value for name, value in vars(found).items() if name != "sentences"}
    return {**counted, "said": sorted(found.sentences), "met": found.met}


def charter_figures(small: bool) -> Figures:
    found = two_charters()
    return {**vars(found), "met": found.met}


def clock_figures(small: bool) -> Figures:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        found, twin = jumps(Path(one)), jumps(Path(two), "--twin", "believes-the-clock")
    met = not found.closed + found.refused + found.lost and any(found.jumps_told) and twin.lost > 0
    return {"a day ahead and behind": vars(found), "the twin that believes its clock": vars(twin), "met": met}


def disk_figures(small: bool) -> Figures:
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as two,
        tempfile.TemporaryDirectory() as on,
    ):
        found, twin = full_disk(Path(one)), full_disk(Path(two), "--twin", "acknowledges-first")
        said = other_stores(Path(on))
    went_on = set(found.refused.values()) == {"store-unavailable"} and set(found.went_on.values()) <= {200, 201}
    told = "the disk is full" in found.health and all(code for name, (code, _) in said.items() if "rights" not in name)
    met = went_on and told and found.same_answers and not found.lost and twin.lost > 0
    return {**vars(found), "other stores": said, "the twin that acknowledges first lost": twin.lost, "met": met}


def frozen_figures(small: bool) -> Figures:
    with postgres_here() as postgres, tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        found = frozen(postgres, Path(one))
        twin = frozen(postgres, Path(two), "--twin", "acknowledges-first")
    quick = max(found.refused_after, found.taken_after, found.restarted_after, found.stopped_after) < 30
    return {
        **vars(found),
        "the twin that acknowledges first lost": twin.lost,
        "met": quick and not found.lost and twin.lost > 0,
    }


def connection_figures(small: bool) -> Figures:
    found = held_connections(1_000 if small else 4_000, 2_000)
    twin = held_connections(300, 300, 600.0)["they were told"]
    met = found["ratio"] < 2 and found["they were told"] == {"deadline": 2_000}  # type: ignore[operator]
    return {**found, "the twin that hurries nobody told 300": twin, "met": met and twin == {"held": 300}}


def malformed_figures(small: bool) -> Figures:
    count = 5_000 if small else 100_000
    with tempfile.TemporaryDirectory() as folder:
        lab = new_lab(Path(folder) / "lab", 300, "position", (FAR,))
        with running(lab, sqlite_url(Path(folder)), "--seconds", "5") as server:
            asyncio.run(malformed(server, malformed_requests(lab, 1_000, 1)))
            found = asyncio.run(malformed(server, _counted(malformed_requests(lab, count)), 64))
            twin = asyncio.run(malformed(server, iter([lab.request(7, lab.report(7))])))
    counted = {"sent": found.sent, "5xx": found.failures, "untyped": len(found.untyped), "no answer": found.silent}
    kept = {"rows": found.rows, "memory grown by KiB": found.grown >> 10, "problems": dict(found.problems)}
    met = found.clean and found.grown < 16 << 20 and not twin.clean
    return {**counted, **kept, "a good request is told from them": not twin.clean, "met": met}


def _counted(requests: Iterator[bytes]) -> Iterator[bytes]:
    """The same requests, with a word now and then on how far they are."""
    begun = now()
    for number, request in enumerate(requests, 1):
        yield request
        if number % 5_000 == 0:
            print(f"{number:,} requests, {number / (now() - begun):,.0f} a second", file=sys.stderr, flush=True)


def abuse_figures(small: bool) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        lab = new_lab(Path(folder) / "lab", 1_000 if small else 4_000, "position", (FAR,))
        with running(lab, sqlite_url(Path(folder)), "--seconds", "3") as server:
            found = asyncio.run(slow(server, 500, 3.0))
    times = {"honest p99 alone, ms": 1000 * found.alone, "beside 500 slow ones, ms": 1000 * found.beside}
    rest = {"ratio": found.ratio, "slow ones were told": dict(found.answered), "longest, s": found.longest}
    return {**times, **rest, "met": found.ratio < 2 and found.answered == {"deadline": 500}}


def durable_load_figures(small: bool) -> Figures:
    return load_figures(people=1_500 if small else 9_600)


FIGURES: dict[str, Callable[[bool], Figures]] = {
    "kills": kill_figures,
    "power": power_figures,
    "rounds": round_figures,
    "split": split_figures,
    "rollback": rollback_figures,
    "charters": charter_figures,
    "takeover": takeover_figures,
    "clock": clock_figures,
    "disk": disk_figures,
    "frozen": frozen_figures,
    "connections": connection_figures,
    "malformed": malformed_figures,
    "abuse": abuse_figures,
    "load": durable_load_figures,
}


def main(arguments: Sequence[str]) -> int:
    """Print every figure as it comes; 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaign_server")
    parser.add_argument("names", nargs="*", choices=[*FIGURES, []], metavar="NAME")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--processes", help="numbers of processes for the load, such as 1,2,4")
    given = parser.parse_args(arguments)
    if given.processes:
        counts = [int(each) for each in given.processes.split(",")]
        FIGURES["load"] = lambda small: process_figures(counts, 1_500 if small else 9_600)
    missed = 0
    for name in given.names or FIGURES:
        begun = now()
        found = FIGURES[name](given.small)
        missed += not found["met"]
        print(json.dumps({"figure": name, **found, "seconds": round(now() - begun, 1)}, indent=2), flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
