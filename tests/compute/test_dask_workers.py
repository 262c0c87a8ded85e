"""Every engine gives the same integers: from memory or a file, in tasks of any size, and when a worker is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute import backend, dask_workers
from visibility_aware_edge_ldp.compute.engines import (
    LostTask,
    Task,
    Threads,
    Workers,
    open_engine,
    plan_tasks,
    seconds_for,
    work_of,
)
from visibility_aware_edge_ldp.compute.plain.bitset import unpack_rows
from visibility_aware_edge_ldp.compute.plain.tiles import tiles_of
from visibility_aware_edge_ldp.compute.tile_file import TileFile, in_order, write_tiles
from visibility_aware_edge_ldp.compute.tile_layout import TilesInMemory, TileSource
from visibility_aware_edge_ldp.errors import BadInput, MissingPart

SIZES = (1300, 900)  # five sides: three and two
PLACES = in_order(SIZES)
BLOCKS = (1, 2, 5)


def random_bits() -> np.ndarray:
    n = sum(SIZES)
    return np.packbits(np.random.default_rng(2).random(n * (n - 1) // 2) < 0.3, bitorder="little")


PLANE = backend.plane_of(random_bits(), sum(SIZES))


@pytest.fixture(scope="module")
def truth() -> list[int]:
    """Triangles by the kinds of their nodes, by a product of matrices."""
    dense = unpack_rows(PLANE, len(PLANE)).astype(np.float32)
    sides = [slice(0, SIZES[0]), slice(SIZES[0], None)]
    found = []
    for a, b, c in combinations_with_replacement(sides, 3):
        ordered = float(((dense[a, b] @ dense[b, c]) * dense[a, c]).sum(dtype=np.float64))
        found.append(round(ordered / {1: 6, 2: 2, 3: 1}[len({a.start, b.start, c.start})]))
    return found


@pytest.fixture(scope="module")
def memory() -> TilesInMemory:
    arranged = backend.kernels("tiles").arranged(PLANE, PLACES.slots, PLACES.sides)
    return TilesInMemory(tiles_of(arranged), PLACES.sides)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> TileFile:
    return write_tiles(tmp_path_factory.mktemp("tiles") / "a.tiles", random_bits(), PLACES, "survey")


def tasks_of(block: int, **limits: int) -> list[Task]:
    return plan_tasks(PLACES.sides, block, PLACES.first_sides.tolist(), **limits)


def by_kinds(engine: Callable[..., Any], source: TileSource, tasks: Sequence[Task]) -> list[int]:
    """Triangles by the kinds of their nodes, from an engine's results."""
    counts, kinds = Counter[tuple[int, int, int]](), PLACES.side_groups.tolist()
    for task, found in engine(source, tasks):
        for side, number in enumerate(found.tolist(), task.first):
            counts[kinds[side], kinds[task.middle[0]], kinds[task.end[0]]] += number
    return [counts[key] for key in combinations_with_replacement(range(2), 3)]


@pytest.fixture(scope="module")
def two_workers() -> Iterator[dask_workers.DaskWorkers]:
    pytest.importorskip("distributed")
    with open_engine("dask:2") as engine:
        assert isinstance(engine, dask_workers.DaskWorkers)
        yield engine


@pytest.fixture(scope="module")
def one_worker() -> Iterator[dask_workers.DaskWorkers]:
    """A cluster in which a task may not outlive its worker."""
    pytest.importorskip("distributed")
    import dask

    # The setting is undone before other clusters start, whose tasks do outlive their workers.
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        opened = open_engine("dask:1")
    with opened as engine:
        assert isinstance(engine, dask_workers.DaskWorkers)
        yield engine


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("name", ["threads:1", "threads:2", "threads"])
def test_threads_count_the_same(name: str, block: int, truth: list[int], memory: TilesInMemory, file: TileFile) -> None:
    with open_engine(name) as engine:
        assert by_kinds(engine, memory, tasks_of(block)) == truth
        assert by_kinds(engine, file, tasks_of(block, memory=1 << 20, longest=3)) == truth


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS)
def test_two_dask_workers_count_the_same(
    two_workers: Workers, block: int, truth: list[int], memory: TilesInMemory, file: TileFile
) -> None:
    assert by_kinds(two_workers, file, tasks_of(block)) == truth
    assert by_kinds(two_workers, memory, tasks_of(block)) == truth
    assert len(list(two_workers.folder().iterdir())) == 1  # copied to a file once


def test_one_dask_worker_counts_the_same(one_worker: Workers, truth: list[int], file: TileFile) -> None:
    assert one_worker.cores == 1
    assert by_kinds(one_worker, file, tasks_of(2, longest=4)) == truth


def test_a_killed_worker_changes_nothing(
    two_workers: dask_workers.DaskWorkers, truth: list[int], file: TileFile
) -> None:
    before = list(two_workers._client.run(os.getpid).values())
    tasks, killed = tasks_of(1, longest=2), []

    def slowly(task: Task) -> Any:
        import time

        from visibility_aware_edge_ldp.compute.engines import count

        time.sleep(0.05)  # so that a task is under way when its worker is killed
        return count(file, task)

    def kill(done: float, total: float, left: float) -> None:
        if not killed and done < total:
            killed.append(before[0])
            os.kill(before[0], signal.SIGKILL)

    two_workers.progress = kill
    try:
        assert by_kinds(lambda source, asked: two_workers.each(slowly, asked), file, tasks) == truth
    finally:
        two_workers.progress = None
    assert killed
    assert before[0] not in list(two_workers._client.run(os.getpid).values())
    assert by_kinds(two_workers, file, tasks_of(2)) == truth


def test_a_task_that_kills_every_worker_is_given_up(one_worker: Workers) -> None:
    def die(item: int) -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(BadInput, match="died at the same task"):
        list(one_worker.each(die, [1]))


def test_an_error_in_a_task_comes_home(two_workers: Workers, file: TileFile, tmp_path: Path) -> None:
    lost = write_tiles(tmp_path / "b.tiles", random_bits(), PLACES, "survey")
    lost.path.unlink()
    with pytest.raises(BadInput, match="cannot be read"):
        list(two_workers(lost, tasks_of(2)))


class Careless(Threads):
    """A broken twin: forgets the last task, or gives the first one's result twice."""

    def __init__(self, fault: str) -> None:
        super().__init__(1)
        self.fault = fault

    def results(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        found = list(super().results(work, items))
        yield from found[:-1] if self.fault == "forgets" else [*found, found[0]]


@pytest.mark.parametrize(("fault", "words"), [("forgets", "no result for 1 of"), ("repeats", "two results")])
def test_a_careless_engine_is_caught(fault: str, words: str, memory: TilesInMemory) -> None:
    with pytest.raises(LostTask, match=words):
        by_kinds(Careless(fault), memory, tasks_of(2))


def test_threads_keep_few_tasks_and_stop_early() -> None:
    started: list[int] = []
    with Threads(1) as engine:
        results = engine.each(lambda item: started.append(item) or item, list(range(1000)))
        assert next(results)[1] in (0, 1)
        results.close()  # type: ignore[attr-defined]
    assert len(started) < 10


def test_progress_ends_with_everything_done(memory: TilesInMemory) -> None:
    said: list[tuple[float, float, float]] = []
    tasks = tasks_of(1)
    with open_engine("threads:1", lambda *each: said.append(each)) as engine:
        by_kinds(engine, memory, tasks)
    steps = np.diff([0.0, *(done for done, _, _ in said)])
    assert sorted(steps) == pytest.approx(sorted(work_of(task) for task in tasks))
    assert said[-1][0] == pytest.approx(said[-1][1])
    assert said[0][2] > said[-1][2] == pytest.approx(0, abs=1e-6)


def test_time_is_foretold_by_the_work(memory: TilesInMemory) -> None:
    work = sum(map(work_of, tasks_of(1)))
    assert 0 < seconds_for(memory, work, 1) < 60


@pytest.mark.parametrize("name", ["", "dusk", "threads:0", "dask:", "dask:-1", "dask://host", "dask://:1 2", "thread"])
def test_an_unknown_engine_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="is not an engine"):
        open_engine(name)


@pytest.mark.parametrize("name", ["dask", "dask:2", "dask://127.0.0.1:8786"])
def test_without_dask_it_is_said_how_to_get_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPart, match=r"pip install 'visibility-aware-edge-ldp\[cluster\]'"):
        open_engine(name)


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask_workers, "CONNECT_SECONDS", 0.3)
    with pytest.raises(BadInput, match=r"No Dask scheduler answers at tcp://127.0.0.1:9\."):
        open_engine("dask://127.0.0.1:9")


def test_an_encrypted_scheduler_needs_keys() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(BadInput, match="Name your keys in Dask's settings"):
        open_engine("dask+tls://127.0.0.1:9")


def test_by_address(
    two_workers: dask_workers.DaskWorkers, file: TileFile, truth: list[int], memory: TilesInMemory
) -> None:
    """A scheduler that runs already; ours speaks TLS, so its keys are needed."""
    from distributed import Client

    cluster = two_workers._cluster
    with dask_workers.DaskWorkers(
        Client(cluster.scheduler_address, security=cluster.security, set_as_default=False), None, None, None
    ) as engine:
        assert by_kinds(engine, file, tasks_of(2)) == truth
        with pytest.raises(BadInput, match="Name a folder that all of them see"):
            engine(memory, tasks_of(2))


def test_another_version_is_refused() -> None:
    assert dask_workers._Job(dask_workers.__version__, abs)(-1) == 1
    with pytest.raises(BadInput, match=r"has version .*, and the run has 0\."):
        dask_workers._Job("0", abs)(-1)


def test_no_worker(one_worker: dask_workers.DaskWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(number: int, timeout: float) -> None:
        raise TimeoutError

    monkeypatch.setattr(one_worker._client, "wait_for_workers", never)
    with pytest.raises(BadInput, match="No worker has joined"):
        list(one_worker.each(abs, [1]))


def test_a_folder_goes_with_its_engine() -> None:
    with Threads(1) as engine:
        folder = engine.folder()
        assert folder.is_dir()
        assert engine.folder() == folder
    assert not folder.exists()
