"""Speed, side by side with other ways, in one run: ``make bench``.

python -m benchmarks [NAME …] [--long] [--strict] [--growth-budget SECONDS]
                     [--json FILE] [--markdown FILE] [--figures FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.comparisons import GROWTH, REGISTRY
from benchmarks.growth import BUDGET, Growth, goal, grow
from benchmarks.registry import Comparison, Measured, measure, skipped
from benchmarks.report import Run, as_json, as_markdown, lines_of, load, machine, put_into


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for, print as it comes, and write what is wanted."""
    asked = parsed(arguments)
    before, growth, measured = load(), Growth(()), []
    for name in asked.names or (*REGISTRY, GROWTH):
        if name == GROWTH:
            growth = grow(budget=asked.growth_budget)
            measured.append(goal(growth))
        else:
            measured.append(one(REGISTRY[name], asked.long or bool(asked.names)))
        print(*lines_of(measured[-1]), sep="\n", flush=True)
    run = Run(machine(before), tuple(measured), growth)
    write(run, asked)
    judged = sum(verdict.met is not None for each in measured for verdict in each.verdicts)
    print(f"{judged - run.missed} of {judged} targets that were measured are met, {run.missed} are missed")
    return int(asked.strict and run.missed > 0)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    reader = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed, side by side with other ways.")
    reader.add_argument("names", nargs="*", metavar="NAME", help=", ".join((*REGISTRY, GROWTH)) + "; default: all")
    reader.add_argument("--long", action="store_true", help="also what takes minutes or many gigabytes")
    reader.add_argument("--strict", action="store_true", help="fail when a target is missed")
    reader.add_argument("--growth-budget", type=float, default=BUDGET, help="seconds for the growth curve")
    reader.add_argument("--json", type=Path, help="all numbers")
    reader.add_argument("--markdown", type=Path, help="the tables, put between the marks where the page has them")
    reader.add_argument("--figures", type=Path, help="a folder for bench-targets.svg and bench-growth.svg")
    asked = reader.parse_args(arguments)
    unknown = [name for name in asked.names if name not in (*REGISTRY, GROWTH)]
    if unknown:
        reader.error(f"there is no comparison {unknown[0]!r}; choose from {', '.join((*REGISTRY, GROWTH))}")
    return asked


def one(comparison: Comparison, long: bool) -> Measured:
    """A comparison, unless it is a long one that was not asked for."""
    if comparison.long and not long:
        return skipped(comparison, "it is a long one; ask for it by name or with --long")
    return measure(comparison)


def write(run: Run, asked: argparse.Namespace) -> None:
    """The files that were asked for."""
    for path, text in ((asked.json, as_json), (asked.markdown, as_markdown)):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            put_into(path, text(run))
    if asked.figures is not None:
        from benchmarks.figures import write_figures

        write_figures(run, asked.figures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
