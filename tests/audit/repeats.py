"""Audits in worlds that are drawn, again and again, each time in another one: how often do they ring on the real code?

    python tests/audit/repeats.py                 1,000 repeats of each, some minutes
    python tests/audit/repeats.py 50 ledger       50 of those with this in their name

The audits themselves look at fixed worlds and leave nothing to chance. Here the worlds are others, so that a ring would
be a fault of the audit, or of the software. Status 1 where one rings.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from visibility_aware_edge_ldp.audit.at_size import curator, neighbourhood, rows_worlds
from visibility_aware_edge_ldp.audit.at_size.rows_worlds import MIXED, Setting, World
from visibility_aware_edge_ldp.audit.campaigns.ledgers import audit_ledgers
from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine import small_worlds
from visibility_aware_edge_ldp.audit.engine.findings import Finding, exact_finding
from visibility_aware_edge_ldp.audit.scope_rest import RestCase, audit_rest
from visibility_aware_edge_ldp.public.surveys.neighbourhood import CLIPPED, WEIGHTED
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

REPEATS = 1000
# Seeds that no audit uses.
FIRST = 10_000


def rows(statistic: str, n: int) -> Callable[[int], Finding]:
    """Both rounds of rows: a random graph, random first answers, one position of each class."""

    def run(seed: int) -> Finding:
        setting = Setting(n, statistic, MIXED.guarded("3", "1") if seed % 2 else MIXED)
        ones, edges = rows_worlds.some(setting, 0.5, seed), rows_worlds.crowd(setting, 0.2, seed)
        places = [rows_worlds._of_class(setting, 1, kind) for kind in NON_PUBLIC]
        worlds = [World(setting, ones, edges, 1, each[seed % len(each)]) for each in places if len(each)]
        return rows_worlds.audit_rows("", lambda: worlds, "")

    return run


def counts(guard: str) -> Callable[[int], Finding]:
    """Counts of owned triangles in a random graph, with random bounds."""

    def run(seed: int) -> Finding:
        policy = neighbourhood.MIXED.guarded("3", "1") if seed % 2 else neighbourhood.NOTHING
        world = neighbourhood.random_world(guard, 24, 0.4, seed, policy)
        for there in (True, False):
            neighbourhood.refuse_other_counts(world, there)
        return large.finding_of("", [neighbourhood.case_of(world)], "")

    return run


def centre(statistic: str) -> Callable[[int], Finding]:
    """One answer of a centre about a random graph."""

    def run(seed: int) -> Finding:
        policy = curator.MIXED.guarded("3", "1") if seed % 2 else curator.NOTHING
        world = curator.crowd(statistic, 40, 0.2, seed, policy)
        for there in (True, False):
            curator.refuse_other_bounds(world, there)
        return exact_finding("", [curator.loss_of(world)], 1, "")

    return run


def rest(seed: int) -> Finding:
    """A scope and a sample of the rest: random classes, a random scope, another coin."""
    dice, patterns = large.Dice(seed), small_worlds.patterns_up_to_names(3)
    whole = patterns[dice.between(len(patterns))]
    inside = frozenset(place for place in range(3) if dice.share() < 0.5)
    return audit_rest("", [RestCase(whole, 3, inside, "1/2", seed, 1 + seed % 2)], "")


WAYS: dict[str, Callable[[int], Finding]] = {
    "campaign ledger": lambda seed: audit_ledgers("", range(seed, seed + 1), ""),
    "user triangles, at size": rows("triangles", 40),
    "user 4-cycles, at size": rows("four_cycles", 24),
    "neighbourhood (a), weighted, at size": counts(WEIGHTED),
    "neighbourhood (a), clipped, at size": counts(CLIPPED),
    "curator triangles, at size": centre("triangles"),
    "curator 2-stars, at size": centre("stars:2"),
    "scope, position with a sample of the rest": rest,
}


def rang(name: str, seed: int) -> bool:
    """Whether one repeat found more than is claimed; where there was nothing to look at, nothing rings."""
    finding = WAYS[name](seed)
    return bool(finding.losses) and not finding.holds


def main(repeats: int = REPEATS, part: str = "") -> int:
    """Print how often each rang."""
    total = 0
    for name in (each for each in WAYS if part in each):
        start = time.monotonic()
        found = [seed for seed in range(FIRST, FIRST + repeats) if rang(name, seed)]
        total += len(found)
        print(
            f"{name:45} {repeats:,} audits, {len(found)} rang {found[:9] or ''} [{time.monotonic() - start:.0f} s]",
            flush=True,
        )
    return int(total > 0)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else REPEATS, *given[1:]))
