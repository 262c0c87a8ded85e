"""Runs a comparison's trials, on all cores at once; whatever is finished is kept."""

import os
import pickle
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from multiprocessing import get_context
from typing import Any, Self

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.client.curator import WorkedOut
from visibility_aware_edge_ldp.errors import TooLarge
from visibility_aware_edge_ldp.evaluation.compare.checkpoint import Checkpoint, Trial
from visibility_aware_edge_ldp.evaluation.compare.design import HISTOGRAM, Cell, Design
from visibility_aware_edge_ldp.evaluation.compare.largest_degree import with_excess
from visibility_aware_edge_ldp.evaluation.expected_errors import measured
from visibility_aware_edge_ldp.evaluation.results import Histogram, Matrix, Progress
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.statistic import STATISTICS, Statistic, is_matrix
from visibility_aware_edge_ldp.public.trust import CURATOR
from visibility_aware_edge_ldp.simulation.curator import Centre, ask_within
from visibility_aware_edge_ldp.simulation.estimate import estimate, in_shape
from visibility_aware_edge_ldp.simulation.execution import Run
from visibility_aware_edge_ldp.simulation.memory import BASE, available_bytes
from visibility_aware_edge_ldp.simulation.runtime_forecast import seconds_of

# Other processes take about this long to start; shorter work is done before they would be there.
ALONE_SECONDS = 1.0
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_design: Design | None = None


def missing(design: Design, checkpoint: Checkpoint, cells: Sequence[Cell] | None = None) -> list[Cell]:
    """The cells that are still to be run: of the design's, unless they are given."""
    return [cell for cell in (design.cells if cells is None else cells) if cell not in checkpoint.trials]


class Workers:
    """As many processes as cores, started when they are first needed, for a design and others made from it."""

    def __init__(self, design: Design, cores: int = 1, progress: Progress | None = None) -> None:
        sent = not design.asks_registered_protocols and _can_be_sent(design.own_statistics)
        self._design, self._count = design, min(cores, fitting(design)) if sent else 1
        self._step, self._open = progress or (lambda _: None), ExitStack()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def run(self, checkpoint: Checkpoint, wanted: Sequence[Cell] | None = None, **changes: Any) -> Mapping[Cell, Trial]:
        """Run what is missing of the design with these changes. What takes longer than a second runs elsewhere."""
        design, start = replace(self._design, **changes) if changes else self._design, time.perf_counter()
        cells = missing(design, checkpoint, wanted)
        while cells and self._pool is None and (self._count < 2 or time.perf_counter() - start < ALONE_SECONDS):
            cell = cells.pop(0)
            checkpoint.add(cell, run_cell(design, cell))
            self._step(1)
        if cells:
            for cell, trial in self._elsewhere(cells, pickle.dumps(changes)):
                checkpoint.add(cell, trial)
                self._step(1)
        return checkpoint.trials

    def _elsewhere(self, cells: Sequence[Cell], changes: bytes) -> Iterator[tuple[Cell, Trial]]:
        """Results as they come."""
        self._pool = self._pool or self._open.enter_context(_pool(self._design, min(self._count, len(cells))))
        tasks = {self._pool.submit(_run_there, changes, cell): cell for cell in cells}
        try:
            for task in as_completed(tasks):
                yield tasks[task], task.result()
        except BrokenProcessPool as error:
            raise TooLarge(
                "A process of the comparison was ended from outside, perhaps for want of memory; "
                "use fewer with --cores 1. With --output, finished trials are kept and the same command goes on."
            ) from error


def _can_be_sent(statistics: Sequence[Statistic]) -> bool:
    """Whether other processes can be told of these statistics: functions that have no name of their own cannot go."""
    try:
        pickle.dumps(statistics)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def run_cell(design: Design, cell: Cell) -> Trial:
    """One collection beside the truth."""
    start, asked, world = time.perf_counter(), design.asked(cell), design.worlds[cell.policy]
    options = design.options[cell.trust]
    known = design.worked_out[cell.policy] if cell.trust == CURATOR.name else None
    spent = design.left(cell.policy, cell.epsilon)
    found = collected(world, cell.trust, spent, asked, options, design.label(cell), known)
    seconds = time.perf_counter() - start
    truths = {name: design.truths[name] for name in design.questions[cell.trust] if name in found}
    drawn = None if cell.trial else found.get(HISTOGRAM)
    beside = with_excess(design, cell, found, measured(cell.trust, found, in_shape(truths, found)))
    matrices = {name: _matrix(each) for name, each in found.items() if not cell.trial and is_matrix(name)}
    return Trial(seconds, beside, None if drawn is None else _histogram(drawn), matrices)


def collected(
    world: VisibilityAwareGraph,
    trust: str,
    epsilon: Fraction,
    statistics: Sequence[str],
    options: Mapping[str, Any],
    seed: int | str | None,
    worked_out: WorkedOut | None = None,
) -> Mapping[str, Estimate]:
    """Everybody's answers for one epsilon in total, as ``estimate`` gives them; a centre is told what it worked out."""
    if trust != CURATOR.name:
        return estimate(world, trust, epsilon, statistics, seed=seed, **options)
    # A new centre each time: the same one would repeat itself.
    delta = options.get("delta", 0)
    answers, _ = ask_within(Centre(world, worked_out=worked_out), epsilon, delta, statistics, seed=seed)
    return {name: answer.estimate for name, answer in answers.items()}


def fitting(design: Design) -> int:
    """How many trials fit into this machine's memory side by side."""
    return max(1, available_bytes() // largest_need(design))


def largest_need(design: Design) -> int:
    """The memory that one trial takes, in octets."""
    return max(run.need.octets for run in _runs(design))


def forecast(design: Design, cells: int, cores: int) -> tuple[int, float, int]:
    """The memory in octets, about the seconds, and the processes that so many of the design's trials will take."""
    runs, workers = _runs(design), min(cores, fitting(design), cells)
    each = -(-cells // len(runs))
    alone = sum(seconds_of(run, each) for run in runs) * cells / (each * len(runs))
    if workers < 2 or alone < ALONE_SECONDS:
        return largest_need(design), alone, 1
    return BASE + workers * largest_need(design), alone / workers, 1 + workers


def refuse_too_large(design: Design) -> None:
    """Say before the first trial which of them does not fit."""
    for each in _runs(design):
        each.refuse_too_large()


def _runs(design: Design) -> list[Run]:
    """One for each model and policy."""
    known = ("rounds", "dropout", "estimator")
    return [
        Run(world, trust, names, **{name: value for name, value in design.options[trust].items() if name in known})
        for trust, names in design.questions.items()
        for world in design.worlds.values()
    ]


def _matrix(found: Estimate) -> Matrix:
    pairs: list[Any] = list(found.labels or ())
    low, high = found.shown_interval()
    numbers = (tuple(np.asarray(each, np.float64).tolist()) for each in (found.value, low, high))
    return Matrix(tuple((str(a), str(b)) for a, b in pairs), *numbers)


def _histogram(found: Estimate) -> Histogram:
    bins: list[Any] = list(found.labels or ())
    return Histogram(tuple((int(a), int(b)) for a, b in bins), tuple(float(value) for value in found.value))  # type: ignore[union-attr]


@contextmanager
def _pool(design: Design, workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes: what this one has started, such as threads, is not copied into them."""
    with _one_thread_each():
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _prepare, (design, design.own_statistics))
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """New processes read here how many threads linear algebra may start; one each, because there is one per core."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _prepare(design: Design, own: Sequence[Statistic] = ()) -> None:
    """In a new process: take the design, one core's worth of threads, and end without a word on Ctrl-C."""
    global _design  # what a process is for is sent to it once, not with every cell
    _design = design
    STATISTICS.update({each.name: each for each in own})
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.cpu_count = lambda: 1  # the kernels ask it how many threads to start


def _run_there(changes: bytes, cell: Cell) -> Trial:
    return run_cell(_changed(changes), cell)


@lru_cache(maxsize=2)
def _changed(changes: bytes) -> Design:
    """This process's design with changes, which are few beside it."""
    if _design is None:
        raise RuntimeError("This process was not given a design.")
    return replace(_design, **pickle.loads(changes))  # noqa: S301 (written by this program)
