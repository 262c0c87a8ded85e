"""How long an audit will take, before it starts: usual times of its parts, and how fast this machine is now.

Usual times are those of one core of an ordinary machine. Most audits take about as long as others of their way; those
that take far longer are named. A statistical audit grows with its runs. How fast the machine is, and how busy, is seen
on one short audit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from visibility_aware_edge_ldp.evaluation.audit import exact_histogram
from visibility_aware_edge_ldp.evaluation.audit.catalogue import Choice, chosen
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.evaluation.audit.runner import usable_cores
from visibility_aware_edge_ldp.simulation.memory import BASE

# The audit on which speed is seen, and what it usually takes.
TRIAL, TRIAL_SECONDS = "user histogram, whole degrees", 0.55
# Seconds of one audit, and of a million runs a side.
USUAL: dict[str, tuple[float, float]] = {
    "exact": (0.7, 0.0),
    "statistical": (0.2, 1.6),
    "one run": (0.2, 1.6),
    "time": (4.0, 0.0),
}
# The exact audits of the real code that take far longer.
LONG: dict[str, float] = {
    "user triangles, two rounds": 31.1,
    "position, one round": 11.9,
    "campaign rows": 10.0,
    "user 4-cycles, two rounds": 9.4,
    "neighbourhood (a), believed": 8.0,
    "curator 2-stars": 7.0,
    "curator triangles, with delta": 5.9,
    "campaign triangles, round 1": 4.0,
    "curator 3-stars": 5.8,
    "neighbourhood (a), weighted": 5.2,
    "curator triangles": 4.5,
    "neighbourhood (b), plain": 4.5,
    "user degrees": 4.5,
    "position, two rounds": 4.4,
    "neighbourhood (a), clipped": 4.2,
    "neighbourhood (b), shared": 3.1,
    "position, a sample": 2.5,
    "user histogram, one edge": 2.3,
}
# What a process takes to start, in seconds; and what counting false alarms takes for each repeat.
START, REPEAT = 2.0, 0.05
# Below so many usual seconds nothing is looked at.
SHORT = 5.0


def usual_seconds(audit: Audit, runs: int) -> float:
    """Of one audit on one core of an ordinary machine."""
    if audit.way == "exact" and not audit.broken and audit.name in LONG:
        return LONG[audit.name]
    each, million = USUAL[audit.way]
    return each + million * runs / 1e6


def foretold(choice: Choice, repeats: int, speed: Callable[[], float] | None = None) -> tuple[int, float]:
    """The memory in octets, and about the seconds, that a run of what was chosen will take here."""
    cores, audits = usable_cores(), chosen(choice)
    alone = sum(usual_seconds(audit, choice.runs) for audit in audits if audit.way == "time")
    shared = sum(usual_seconds(audit, choice.runs) for audit in audits if audit.way != "time") + REPEAT * repeats
    usual = START + shared / cores + alone
    if usual > SHORT:
        usual *= (speed or slowness)()
    return (1 + cores) * BASE, usual


def slowness() -> float:
    """How many times longer than usual this machine takes now."""
    trial = next(audit for audit in exact_histogram.AUDITS if audit.name == TRIAL)
    trial.run()  # loads what it needs
    begin = time.perf_counter()
    trial.run()
    return (time.perf_counter() - begin) / TRIAL_SECONDS
