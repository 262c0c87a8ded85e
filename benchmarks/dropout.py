"""Every estimator on unlike graphs, with users (or positions) away: bias, coverage and calibration, as a table.

VA_EDGE_LDP_DATA=folder python -m benchmarks.dropout [--graphs "dense core" fb100-caltech] [--policies nothing hubs]
    [--away 0 0.3] [--ways degrees rows] [--epsilon 4] [--runs 300] [--first 0] [--again 300] [--workers 1]
    [--file runs.jsonl]

With a file, runs that are in it are not made again, so that a table can be continued, or printed with ``--runs 0``.
All cells grow together, so that a run that is stopped has about as many in each. ``--first`` is the number of the first
run: other numbers are other seeds.
``--again`` adds so many runs to every cell whose coverage is outside 93–97 % after the first.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from support.estimator_runs import AWAY, POLICIES, Cell, Run, Setting, cells_of
from support.estimator_ways import ways
from support.interval_checks import LEAST, MOST, any_runs, findings, groups, ratio, share, z_of_bias
from support.unlike_graphs import UNLIKE, unlike_graph

EPSILON, RUNS, BATCH = 4.0, 300, 10
# A cell is named as wrong where a right estimator would look so less often than this.
CHANCE = 1e-3
FEWEST = 30


class Piece(NamedTuple):
    """Some runs of one way in one setting, by their numbers: what one worker does at a time."""

    setting: Setting
    way: str
    numbers: tuple[int, ...]


def made(piece: Piece) -> tuple[Piece, list[Cell]]:
    """The runs of a piece."""
    return piece, cells_of(*piece)


class Runs:
    """All runs so far, in memory and in a file with one line for each piece."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.cells: dict[tuple[Setting, str, str], Cell] = {}
        self.done = defaultdict[tuple[Setting, str], set[int]](set)
        for line in _whole_lines(file) if file is not None and file.is_file() else ():
            known = json.loads(line)
            setting, way, told = Setting(*known["setting"]), known["way"], known["cells"].items()
            cells = [Cell(setting, way, name, [Run(*run) for run in runs], no) for name, (runs, no) in told]
            self.add(Piece(setting, way, tuple(known["numbers"])), cells)

    def add(self, piece: Piece, cells: Iterable[Cell]) -> None:
        """Keep the runs of a piece."""
        self.done[piece.setting, piece.way].update(piece.numbers)
        for cell in cells:
            key = (cell.setting, cell.way, cell.statistic)
            before = self.cells.get(key, Cell(*key))
            self.cells[key] = Cell(*key, [*before.runs, *cell.runs], [*before.refusals, *cell.refusals])

    def write(self, piece: Piece, cells: Sequence[Cell]) -> None:
        """The same, in the file too."""
        self.add(piece, cells)
        if self.file is not None:
            told = {cell.statistic: (cell.runs, sorted(set(cell.refusals))) for cell in cells}
            setting = list(vars(piece.setting).values())
            known = {"setting": setting, "way": piece.way, "numbers": piece.numbers, "cells": told}
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known) + "\n")

    def missing(self, settings: Iterable[Setting], asked: Sequence[str], runs: int, first: int = 0) -> list[Piece]:
        """What has to be done until there are so many runs from the first one on, all cells together."""
        found = []
        for setting, way in product(settings, asked):
            wanted = min(runs, 1) if setting.away and ways()[way].nobody_away else runs
            numbers = [each for each in range(first, first + wanted) if each not in self.done[setting, way]]
            found += [Piece(setting, way, tuple(each)) for each in batched(numbers)]
        return sorted(found, key=lambda piece: piece.numbers[0])


def _whole_lines(file: Path) -> list[str]:
    """The lines of a file; cuts off one that was not finished."""
    text = file.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return whole.splitlines()


def batched(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """A few at a time."""
    return (numbers[first : first + BATCH] for first in range(0, len(numbers), BATCH))


def outside(cell: Cell) -> bool:
    """Whether fewer than 93 % of the intervals hold the truth, or more than 97 % of those that do not say so."""
    plain = [run for run in cell.runs if not run.conservative]
    return (bool(cell.runs) and share(cell.runs) < LEAST) or share(plain) > MOST


def make(runs: Runs, pieces: Sequence[Piece], workers: int) -> None:
    """Do all pieces, and say how far it is."""
    begin = last = time.monotonic()
    with get_context("spawn").Pool(workers) if workers > 1 else nullcontext() as pool:
        results = map(made, pieces) if pool is None else pool.imap_unordered(made, pieces)
        for number, (piece, cells) in enumerate(results, start=1):
            runs.write(piece, cells)
            now = time.monotonic()
            if now - last > 20 or number == len(pieces):
                left = (now - begin) / number * (len(pieces) - number) / 60
                print(f"{number} of {len(pieces)} pieces, {left:.0f} minutes left: {piece.setting}", file=sys.stderr)
                last = now


# ── the tables


def summary(cells: Iterable[Cell]) -> Iterator[str]:
    """A line for each estimator: pooled coverage by share away, and its worst cells."""
    by_estimator = defaultdict[str, list[Cell]](list)
    for cell in cells:
        by_estimator[cell.estimator].append(cell)
    shares = sorted({cell.setting.away for cells in by_estimator.values() for cell in cells})
    away = [f"{share:.0%} away" for share in shares]
    yield _row(["estimator", "cells", "refused", *away, "lowest cell", "worst bias, z", "errors / s.e.", "wrong cells"])
    yield _row(["---"] * (7 + len(away)))
    for name, each in by_estimator.items():
        full = [cell for cell in each if len(cell.runs) >= FEWEST]
        if not full:
            yield _row([name, "0", str(len(each)), *["–"] * (len(away) + 4)])
            continue
        pooled = [any_runs([cell for cell in full if cell.setting.away == part]) for part in shares]
        coverage = (f"{share(runs):.1%}" if runs else "–" for runs in pooled)
        lowest = min(full, key=lambda cell: share(cell.runs))
        least = f"{share(lowest.runs):.1%} ({_place(lowest.setting)})"
        unbiased = [z_of_bias([cell]) for cell in full if any(run.unbiased for run in cell.runs)]
        worst = f"{max(unbiased, key=abs):+.1f}" if unbiased else "stated"
        ratios = [one for cell in full if math.isfinite(one := ratio([cell]))]
        spread = f"{min(ratios):.2f}–{max(ratios):.2f}" if ratios else "–"
        wrong = sum(bool(findings([cell], CHANCE)) for cell in full)
        yield _row([name, str(len(full)), str(len(each) - len(full)), *coverage, least, worst, spread, str(wrong)])


def wrong_cells(cells: Iterable[Cell]) -> Iterator[str]:
    """A line for each cell that is wrong, and not by chance."""
    yield _row(["estimator", "graph", "policy", "away", "runs", "held", "below / above", "wrong"])
    yield _row(["---"] * 8)
    for cell in cells:
        if len(cell.runs) >= FEWEST and (wrong := findings([cell], CHANCE)):
            at, count = cell.setting, len(cell.runs)
            sides = (math.fsum(getattr(run, side) for run in cell.runs) / count for side in ("below", "above"))
            words = (f"{share(cell.runs):.1%}", " / ".join(f"{side:.1%}" for side in sides), "; ".join(map(str, wrong)))
            yield _row([cell.estimator, at.graph, at.policy, f"{at.away:.0%}", str(count), *words])


def wrong_groups(cells: Sequence[Cell]) -> Iterator[str]:
    """A line for each graph, policy or share away where an estimator is wrong over all cells."""
    for name, group in groups(cells).items():
        if len(any_runs(group)) >= FEWEST and (wrong := findings(group, CHANCE)):
            yield f"- {name}: {'; '.join(map(str, wrong))}"


def refusals(cells: Iterable[Cell]) -> Iterator[str]:
    """A line for each reason why there is no estimate; numbers in it are left out."""
    told = {(cell.estimator, re.sub(r"[0-9][0-9,.]*", "…", each)) for cell in cells for each in cell.refusals}
    return (f"- {estimator}: {reason}" for estimator, reason in sorted(told))


def _place(setting: Setting) -> str:
    return f"{setting.graph}, {setting.policy}, {setting.away:.0%}"


def _row(words: Sequence[str]) -> str:
    return f"| {' | '.join(words)} |"


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """What was asked for."""
    told = argparse.ArgumentParser(prog="python -m benchmarks.dropout", description=__doc__.partition("\n")[0])
    told.add_argument("--graphs", nargs="+", default=list(UNLIKE))
    told.add_argument("--policies", nargs="+", default=list(POLICIES))
    told.add_argument("--away", nargs="+", type=float, default=list(AWAY))
    told.add_argument("--ways", nargs="+", default=list(ways()), choices=list(ways()))
    told.add_argument("--epsilon", type=float, default=EPSILON)
    told.add_argument("--runs", type=int, default=RUNS)
    told.add_argument("--first", type=int, default=0)
    told.add_argument("--again", type=int, default=0)
    told.add_argument("--workers", type=int, default=1)
    told.add_argument("--file", type=Path)
    return told.parse_args(words)


def settings_of(asked: argparse.Namespace) -> list[Setting]:
    """All settings on graphs that are on this machine; says which are not."""
    here = []
    for name in asked.graphs:
        try:
            unlike_graph(name)
            here.append(name)
        except LookupError as reason:
            print(reason, file=sys.stderr)
    parts = product(here, asked.policies, asked.away)
    return [Setting(graph, policy, asked.epsilon, away) for graph, policy, away in parts]


def main(words: Sequence[str]) -> int:
    """Make the runs that are missing, and print the tables."""
    asked = arguments(words)
    settings, runs = settings_of(asked), Runs(asked.file)

    def cells() -> list[Cell]:
        return [each for each in runs.cells.values() if each.setting in settings and each.way in asked.ways]

    make(runs, runs.missing(settings, asked.ways, asked.runs, asked.first), asked.workers)
    unclear = dict.fromkeys((cell.setting, cell.way) for cell in cells() if asked.again and outside(cell))
    again = (runs.missing([at], [way], asked.runs + asked.again, asked.first) for at, way in unclear)
    make(runs, list(chain.from_iterable(again)), asked.workers)
    parts = (
        summary(cells()),
        ("", "Wrong over all cells of a graph, a policy or a share away:", ""),
        wrong_groups(cells()),
        ("", "Wrong cells:", ""),
        wrong_cells(cells()),
        ("", "Refused:", ""),
        refusals(cells()),
    )
    print("\n".join(chain.from_iterable(parts)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
