"""Runs audits: on all cores at once, but for those that read a clock, which run alone and last.

How long a run will take is forecast from the usual times of its parts, those of one core of an ordinary machine. Most
audits take about as long as others of their way; those that take far longer are named. A statistical audit grows with
its runs. How fast the machine is, and how busy, is seen on one short audit.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

from visibility_aware_edge_ldp.audit.catalogue import (
    ALL,
    LONG_SECONDS,
    REAL_NAMES,
    RUNS,
    USUAL,
    Choice,
    chosen,
    original_of,
    registered,
)
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding
from visibility_aware_edge_ldp.audit.protocols import histogram
from visibility_aware_edge_ldp.audit.smallest_faults import SmallestFault, smallest_faults, subject, unexplained
from visibility_aware_edge_ldp.audit.statistical.audits import FalseAlarms, false_alarms
from visibility_aware_edge_ldp.audit.statistical.lower_bound import ALPHA
from visibility_aware_edge_ldp.compute.threads import usable_cores
from visibility_aware_edge_ldp.simulation.memory import BASE
from visibility_aware_edge_ldp.tabular import Records, Tabular

Progress = Callable[[int], None]
# The auditor's own chance of a ring, and one that is large enough to be seen in some hundred audits.
ALPHAS = (ALPHA, 0.05)
NOTHING = "There was nothing to look at: no loss, or no case."
# So many audits of a correct mechanism in every run, and where its rate is asked for.
FEW_REPEATS, REPEATS = 100, 1000
# The audit on which speed is seen, and what it usually takes.
TRIAL, TRIAL_SECONDS = "user histogram, whole degrees", 0.55
# What a process takes to start, in seconds; what a repeat of false alarms takes; below what nothing is looked at.
START, REPEAT, SHORT = 2.0, 0.05, 5.0


@dataclass(frozen=True)
class Outcome:
    """What came of one audit: a finding, or the trouble, in a sentence, that kept it from one.

    ``twin_of`` is the audited name that a twin is a twin of; the rest is as on the audit.
    """

    name: str
    way: str
    broken: str
    twin_of: str
    finding: Finding | None
    trouble: str
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the real code keeps its claim; of a twin, whether it was caught. Trouble and NaN are neither."""
        if self.finding is None:
            return False
        return self.finding.caught if self.broken else self.finding.holds

    def records(self) -> Records:
        """One row for each class whose loss was looked for, or one where there was trouble."""
        common = {"mechanism": self.name, "way": self.way, "broken": self.broken}
        losses = self.finding.losses if self.finding else ()
        rows = [{"class": loss.kind, "claimed": loss.claimed, "found": loss.found} for loss in losses]
        rows = rows or [{"class": "", "claimed": math.nan, "found": math.nan}]
        return [{**common, **row, "passed": self.passed, "trouble": self.trouble} for row in rows]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a loss without bound is also said in words: JSON has no infinity."""
        told: dict[str, Any] = {"losses": (), "cases": 0, "about": "", "holds": None}
        told |= self.finding.as_dict() if self.finding else {}
        losses = [{**loss, "infinite": not math.isfinite(loss["found"])} for loss in told["losses"]]
        told |= {"name": self.name, "way": self.way, "losses": losses}
        of_twin = {"broken": self.broken, "twin_of": self.twin_of, "caught": self.passed} if self.broken else {}
        return {**told, **of_twin, "trouble": self.trouble, "passed": self.passed, "seconds": round(self.seconds, 3)}


@dataclass(frozen=True)
class Audited(Tabular):
    """A whole run of the audit."""

    choice: Choice
    outcomes: tuple[Outcome, ...]
    alarms: tuple[FalseAlarms, ...]
    seconds: float
    cores: int

    @property
    def passed(self) -> bool:
        """Whether every claim was kept, every twin caught, no slack unexplained, and no false alarm too many."""
        kept = all(outcome.passed for outcome in self.outcomes) and all(alarm.holds for alarm in self.alarms)
        return kept and not self.unexplained

    @property
    def unexplained(self) -> list[SmallestFault]:
        """Of a whole run: where less than nine tenths of a claim were found, and nobody says why.

        Fewer runs show less, and what other programs have registered is theirs to explain.
        """
        if (self.choice.mechanism, self.choice.way) != (ALL, ALL) or self.choice.runs < RUNS:
            return []
        ours = {*map(subject, REAL_NAMES)}
        return [fault for fault in unexplained(smallest_faults(self.real)) if fault.mechanism in ours]

    @property
    def real(self) -> tuple[Outcome, ...]:
        """What was found of the real code."""
        return tuple(outcome for outcome in self.outcomes if not outcome.broken)

    @property
    def twins(self) -> tuple[Outcome, ...]:
        """What was found of its broken twins."""
        return tuple(outcome for outcome in self.outcomes if outcome.broken)

    def records(self) -> Records:
        """One row for each loss that was looked for: of the real code, and of its broken twins."""
        return [row for outcome in self.outcomes for row in outcome.records()]

    def __repr__(self) -> str:
        return f"<Audited: {len(self.outcomes)} audits, {'passed' if self.passed else 'failed'}>"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "passed": self.passed,
            **asdict(self.choice),
            "seconds": round(self.seconds, 1),
            "cores": self.cores,
            "findings": [outcome.as_dict() for outcome in self.real],
            "smallest_faults": [fault.as_dict() for fault in smallest_faults(self.real)],
            "broken_twins": [outcome.as_dict() for outcome in self.twins],
            "false_alarms": [alarm.as_dict() for alarm in self.alarms],
        }


def audit(mechanism: str | None = None, *, way: str = ALL, runs: int = RUNS, twins: bool = True) -> Audited:
    """Check privacy claims on this machine; what ``va-edge-ldp audit`` prints, as data.

    Parameters
    ----------
    mechanism
        A part of the audited name, such as "position"; None for all.
    way
        "exact", "statistical", "time", or "all".
    runs
        Runs a side of a statistical audit.
    twins
        Whether deliberately broken code is audited too, which must be caught.
    """
    choice = Choice(mechanism or ALL, way, runs, twins)
    return run(choice, wanted_repeats(choice, many=False))


def run(choice: Choice, repeats: int = 0, progress: Progress | None = None, cores: int | None = None) -> Audited:
    """Run what was chosen, and count false alarms over so many audits of correct mechanisms."""
    start, workers, step = time.perf_counter(), cores or usable_cores(), progress or (lambda _: None)
    audits = chosen(choice)
    # Other processes know only the audits of this package.
    own = {audit.name for audit in registered()}
    here = [i for i, audit in enumerate(audits) if audit.name in own]
    clocked = [i for i, audit in enumerate(audits) if audit.way == "time" and i not in here]
    others = sorted(set(range(len(audits))) - {*clocked, *here}, key=lambda i: (bool(audits[i].broken), audits[i].way))
    done: dict[int, Outcome] = {}
    with _pool(workers) as pool:
        alarms = [pool.submit(false_alarms, repeats, alpha=alpha) for alpha in ALPHAS if repeats]
        tasks = {pool.submit(_numbered, choice, i): i for i in others}
        for task in as_completed(tasks):
            done[tasks[task]] = _result(task, audits[tasks[task]])
            step(1)
        counted, troubles = _counted(alarms)
    for i in here:
        done[i] = measured(audits[i])
        step(1)
    # A process of its own: nothing else runs in it, and nothing else of ours runs beside it.
    with _pool(1) as pool:
        for i in clocked:
            done[i] = _result(pool.submit(_numbered, choice, i), audits[i])
            step(1)
    outcomes = (*(done[i] for i in range(len(audits))), *troubles)
    return Audited(choice, outcomes, counted, time.perf_counter() - start, workers)


def wanted_repeats(choice: Choice, many: bool) -> int:
    """A few audits of correct mechanisms go with every whole statistical audit; many, where they are asked for."""
    if many:
        return REPEATS
    return FEW_REPEATS if choice.mechanism == ALL and choice.way in (ALL, "statistical") else 0


def measured(audit: Audit) -> Outcome:
    """Run one audit here; whatever it raises becomes a sentence."""
    start = time.perf_counter()
    finding, trouble = None, ""
    try:
        finding = audit.run()
    except Exception as error:  # an audit that cannot be finished is a failed one, whatever the reason
        trouble = sentence(error)
    return _outcome(audit, finding, trouble, time.perf_counter() - start)


def sentence(error: BaseException) -> str:
    """An error as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes: what this one has started, such as threads, is not copied into them."""
    # On Ctrl-C they end without a word; the one that started them says that it was stopped.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_DFL))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@lru_cache(maxsize=1)
def _audits(choice: Choice) -> Sequence[Audit]:
    return chosen(choice)


def _numbered(choice: Choice, number: int) -> Outcome:
    """Audits hold functions that cannot be sent; the choice and a number say which one is meant."""
    return measured(_audits(choice)[number])


def _result(task: Future[Outcome], audit: Audit) -> Outcome:
    """What the task gave, or the trouble of a process that ended before it could tell."""
    error = task.exception()
    return task.result() if error is None else _outcome(audit, None, sentence(error), 0.0)


def _counted(tasks: Sequence[Future[tuple[FalseAlarms, ...]]]) -> tuple[tuple[FalseAlarms, ...], list[Outcome]]:
    """The rates of false alarms, and what kept others from being counted."""
    errors = [error for task in tasks if (error := task.exception()) is not None]
    counted = tuple(rate for task in tasks if task.exception() is None for rate in task.result())
    return counted, [Outcome("false alarms", "statistical", "", "", None, sentence(error), 0.0) for error in errors]


def _outcome(audit: Audit, finding: Finding | None, trouble: str, seconds: float) -> Outcome:
    of = original_of(audit) if audit.broken else ""
    if finding is not None and not finding.looked:
        # It would hold, or be caught, whatever the code does.
        finding, trouble = None, NOTHING
    return Outcome(audit.name, audit.way, audit.broken, of, finding, trouble, seconds)


def usual_seconds(audit: Audit, runs: int) -> float:
    """Of one audit on one core of an ordinary machine."""
    if audit.way == "exact" and not audit.broken and audit.name in LONG_SECONDS:
        return LONG_SECONDS[audit.name]
    each, million = USUAL[audit.way]
    return each + million * runs / 1e6


def runtime_forecast(choice: Choice, repeats: int, speed: Callable[[], float] | None = None) -> tuple[int, float]:
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
    trial = next(audit for audit in histogram.AUDITS if audit.name == TRIAL)
    trial.run()  # loads what it needs
    begin = time.perf_counter()
    trial.run()
    return (time.perf_counter() - begin) / TRIAL_SECONDS
