"""Large graphs over Dask: two workers of this machine against two threads, and 200,000 nodes by tiles, or in chunks.

python -m benchmarks.cluster NODES          triangles: what was foretold, what it took, and a worker's memory
python -m benchmarks.cluster chunks NODES    edges, degrees and stars chunk by chunk: the same
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.registry import OURS, Comparison, NotHereError, Setting, Target, Verdict, Work, work

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.compute.engines import Progress, Workers

EPSILON, MEAN_DEGREE, WORKERS = 1, 44, 2
TRIAL_NODES = 10_000
GOAL_NODES, GOAL_SECONDS, GOAL_MEGABYTES, GOAL_ERROR = 200_000, 600.0, 500.0, 1.3
SPOKEN_EVERY = 30.0
SUMMED, PART_SECONDS, PART_MEGABYTES = ("edges", "degrees", "stars:2", "stars:3"), 480.0, 700.0
RIVAL, RIVAL_ROWS = "NumPy, plainly, on some rows and scaled", 100


@dataclass(frozen=True)
class Run:
    """One size: the seconds foretold before it began, those of answering and of counting, and a worker's memory."""

    nodes: int
    predicted: float
    answering: float
    counting: float
    megabytes: float
    triangles: int

    @property
    def seconds(self) -> float:
        """All of it, from the first answer to the last triangle."""
        return self.answering + self.counting

    @property
    def error(self) -> float:
        """How many times longer or shorter than foretold."""
        return max(self.predicted / self.seconds, self.seconds / self.predicted)


def answers(nodes: int, path: Path) -> float:
    """Every position of a power-law graph answers into a file, by the clients' own code; how long that took."""
    from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
    from visibility_aware_edge_ldp.public.surveys.position import position_survey
    from visibility_aware_edge_ldp.simulation.simulate import collect_tiles
    from visibility_aware_edge_ldp.truth.synthetic import powerlaw

    world = VisibilityAwareGraph(powerlaw(nodes, MEAN_DEGREE * nodes // 2, seed=1), VisibilityPolicy.nothing())
    survey = position_survey(world.public, EPSILON)
    begin = time.perf_counter()
    collect_tiles(world, survey, path)
    return time.perf_counter() - begin


def one_size(nodes: int) -> Run:
    """Foretell, answer, count."""
    from visibility_aware_edge_ldp.compute.engines import open_engine, plan_tasks, seconds_for, work_of
    from visibility_aware_edge_ldp.compute.tile_file import open_tiles

    with open_engine(f"dask:{WORKERS}", spoken()) as engine:
        trial, path = engine.folder() / "trial.tiles", engine.folder() / "all.tiles"
        tasks = plan_tasks(-(-nodes // 512))
        answers(1000, engine.folder() / "small.tiles")  # loads the kernels
        trial_nodes = min(TRIAL_NODES, nodes)
        predicted = answers(trial_nodes, trial) * (nodes / trial_nodes) ** 2
        predicted += seconds_for(open_tiles(trial), sum(map(work_of, tasks)), WORKERS)
        print(f"{nodes:,} nodes: {predicted:,.0f} s are foretold", file=sys.stderr)
        answering = answers(nodes, path)
        begin = time.perf_counter()
        triangles = sum(int(found.sum()) for _, found in engine(open_tiles(path), tasks))
        counting = time.perf_counter() - begin
        return Run(nodes, predicted, answering, counting, worker_megabytes(engine), triangles)


def spoken() -> Progress:
    """Says now and then how far it is."""
    last = time.perf_counter()

    def say(done: float, total: float, left: float) -> None:
        nonlocal last
        if time.perf_counter() - last > SPOKEN_EVERY:
            last = time.perf_counter()
            print(f"{done / total:.0%} done, {left:,.0f} s left", file=sys.stderr, flush=True)

    return say


def worker_megabytes(engine: Workers) -> float:
    """The most memory that any worker has held."""
    processes = engine._client.run(os.getpid).values()
    statuses = [Path(f"/proc/{process}/status").read_text(encoding="ascii") for process in processes]
    lines = [dict(line.split(":", 1) for line in status.splitlines()) for status in statuses]
    return max(int(each["VmHWM"].split()[0]) / 1024 for each in lines)


def in_chunks(nodes: int) -> Run:
    """Foretell, let everybody answer chunk by chunk, and estimate; a worker's memory is the largest process's."""
    from tempfile import TemporaryDirectory

    from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
    from visibility_aware_edge_ldp.simulation.chunks import ChunksForecast
    from visibility_aware_edge_ldp.simulation.estimate import estimate
    from visibility_aware_edge_ldp.truth.synthetic import powerlaw

    edges = MEAN_DEGREE * nodes // 2
    world = VisibilityAwareGraph(powerlaw(nodes, edges, seed=1), VisibilityPolicy.nothing())
    predicted = ChunksForecast(nodes, edges, stars=2).processor_seconds / WORKERS
    with TemporaryDirectory(prefix="va-edge-ldp-") as folder:
        begin, engine = time.perf_counter(), f"dask:{WORKERS}"
        found = estimate(world, "position", EPSILON, SUMMED, seed=1, checkpoint=folder, engine=engine)
        took = time.perf_counter() - begin
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{children.ru_utime + children.ru_stime:,.0f} s of processor time in workers", file=sys.stderr)
    error = abs(float(found["stars:2"].value) - float((world.graph.degrees * (world.graph.degrees - 1)).sum()) / 2)
    print(f"2-stars: {error / float(found['stars:2'].standard_error):.2f} standard errors off", file=sys.stderr)
    return Run(nodes, predicted, took, 0.0, children.ru_maxrss / 1024, 0)


def numpy_rows(nodes: int) -> Callable[[], float]:
    """The same sums as one would write them: floats for coins, a row at a time; of all rows, on as many cores.

    Its coins are not cryptographic, nothing is encoded, checked or named by a digest, and it keeps each row for the
    second sum, for which ours makes every answer again.
    """
    import numpy as np

    def take() -> float:
        draw, flip = np.random.default_rng(1), 1 / (1 + np.exp(EPSILON))
        counts, numbers, total = np.zeros(nodes, np.int64), np.ones((4, nodes)), 0
        begin = time.process_time()
        for row in range(min(RIVAL_ROWS, nodes - 1)):
            answers = draw.random(nodes - 1 - row) < flip
            counts[row] += answers.sum()
            counts[row + 1 :] += answers
            _ = numbers[:, row + 1 :] @ answers
            total += answers.size
        return (time.process_time() - begin) * nodes * (nodes - 1) / 2 / total / WORKERS

    return take


def large_parts(nodes: int) -> Setting:
    """Answers, sums and estimates; run once, because it takes minutes."""
    needs_dask()
    run = cache(lambda: in_a_process(nodes, "chunks"))
    return Setting(
        f"a power-law graph of {nodes:,} nodes, everything private: {', '.join(SUMMED)}",
        (Work(OURS, lambda: run().seconds), Work("foretold", lambda: run().predicted), Work(RIVAL, numpy_rows(nodes))),
        also=lambda: beside_targets(run(), PART_MEGABYTES),
    )


def in_a_process(nodes: int, *how: str) -> Run:
    """In a fresh process, whose workers load what they need and nothing of the other benchmarks."""
    command = [sys.executable, "-m", "benchmarks.cluster", *how, str(nodes)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent)
    return Run(**json.loads(done.stdout))


def large(nodes: int) -> Setting:
    """Everything from the first answer on; run once, because it takes minutes."""
    needs_dask()
    run = cache(lambda: in_a_process(nodes))
    return Setting(
        f"a power-law graph of {nodes:,} nodes, everything private",
        (Work(OURS, lambda: run().seconds), Work("foretold", lambda: run().predicted)),
        also=lambda: beside_targets(run()),
    )


def beside_targets(run: Run, megabytes: float = GOAL_MEGABYTES) -> tuple[Verdict, ...]:
    """A worker's memory and the prediction's error, judged."""
    return (
        Verdict(f"≤ {megabytes:,.0f} MB", "the larger worker", run.megabytes, run.megabytes <= megabytes),
        Verdict(f"≤ {GOAL_ERROR:g}×", "what was foretold, either way", run.error, run.error <= GOAL_ERROR),
    )


def against_threads(nodes: int) -> Setting:
    """The same tasks over the same file, by two worker processes that run already, and by two threads of this one."""
    from visibility_aware_edge_ldp.compute.engines import plan_tasks
    from visibility_aware_edge_ldp.compute.tile_file import open_tiles

    needs_dask()
    engines = {name: started(name) for name in (f"dask:{WORKERS}", f"threads:{WORKERS}")}
    path = engines[f"dask:{WORKERS}"].folder() / "answers.tiles"
    answers(nodes, path)
    tiles, tasks = open_tiles(path), plan_tasks(-(-nodes // 512))
    works = [
        work(name, lambda engine=engine: sum(int(found.sum()) for _, found in engine(tiles, tasks)))
        for name, engine in zip((OURS, f"{WORKERS} threads"), engines.values(), strict=True)
    ]
    return Setting(f"a power-law graph of {nodes:,} nodes, its answers in a file of tiles", tuple(works))


def started(name: str) -> Workers:
    """An engine that is stopped when all benchmarks are done."""
    from visibility_aware_edge_ldp.compute.engines import open_engine

    engine = open_engine(name)
    atexit.register(engine.__exit__, None, None, None)
    return engine


def needs_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise NotHereError("the library distributed is not installed") from None


COMPARISONS = (
    Comparison(
        "dask-200000",
        "200,000 nodes over Dask, 2 workers",
        lambda: large(GOAL_NODES),
        (Target("seconds", GOAL_SECONDS),),
        rounds=1,
        long=True,
    ),
    Comparison(
        "chunks-200000",
        "200,000 nodes chunk by chunk over Dask, 2 workers",
        lambda: large_parts(GOAL_NODES),
        (Target("seconds", PART_SECONDS),),
        rounds=1,
        long=True,
    ),
    Comparison(
        "dask",
        "Dask with 2 workers, 50,000 nodes",
        lambda: against_threads(50_000),
        (Target("times", 1.15, "2 threads"),),
        rounds=3,
        long=True,
    ),
)


if __name__ == "__main__":
    one = in_chunks if sys.argv[1] == "chunks" else one_size
    print(json.dumps(asdict(one(int(sys.argv[-1])))))
