"""Answers that are made chunk by chunk: the numbers of a run in memory, whatever was killed on the way."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute import checkpoint
from visibility_aware_edge_ldp.compute.engines import LostTask
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import TILE
from visibility_aware_edge_ldp.simulation import chunks
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

NAMES = ("edges", "degrees", "max_degree", "stars:2", "stars:3")
NODES, EDGES = 3000, 20_000
WORLD = VisibilityAwareGraph(powerlaw(NODES, EDGES, 1), VisibilityPolicy.nothing())

OTHER = VisibilityAwareGraph(powerlaw(NODES, EDGES, 2), VisibilityPolicy.nothing())


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine chunks, each kept at once."""
    monkeypatch.setattr(chunks, "SMALLEST", TILE)
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)


def run(folder: Path, world: VisibilityAwareGraph = WORLD, **given: Any) -> Any:
    options = {"statistics": NAMES, "seed": 7, "checkpoint": folder, **given}
    return estimate(world, "position", options.pop("epsilon", 1), **options)


def same(one: Any, other: Any, exactly: bool = True) -> None:
    for name in NAMES:
        for a, b in ((one[name].value, other[name].value), (one[name].variance, other[name].variance)):
            np.testing.assert_array_equal(a, b) if exactly else np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.fixture(scope="module")
def wanted() -> Any:
    return estimate(WORLD, "position", 1, NAMES, seed=7)


@pytest.mark.parametrize("positions", [0, 1, TILE, TILE + 1, 10**7, 2 * 10**10, 5 * 10**11])
def test_chunks_are_all_positions(positions: int) -> None:
    found = chunks.chunks_of(positions)
    assert [begin for begin, _ in found] == [0, *(end for _, end in found)][:-1] if found else positions == 0
    assert not found or found[-1][1] == positions
    assert all(begin % TILE == 0 for begin, _ in found)
    assert len(found) <= chunks.CHUNKS + 1


def test_the_numbers_are_those_of_a_run_in_memory(tmp_path: Path, wanted: Any) -> None:
    found = run(tmp_path)
    same(found, wanted, exactly=False)
    assert found.certificate.simulated
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [".lock", ".sums", ".sums"]


@pytest.mark.parametrize("engine", ["threads:2", pytest.param("dask:2", marks=pytest.mark.long)])
def test_every_engine_finds_the_same(engine: str, tmp_path: Path) -> None:
    if engine.startswith("dask"):
        pytest.importorskip("distributed")
    same(run(tmp_path / "a", engine=engine), run(tmp_path / "b", engine="threads:1"))


def test_a_run_that_is_done_answers_at_once_and_another_question_is_counted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, before = run(tmp_path, statistics=["edges"]), chunks.count_chunk
    taken = list[bool]()

    def counted(source: Any, all_chunks: Any, look: Any, number: int) -> Any:
        taken.append(look is not None)
        return before(source, all_chunks, look, number)

    monkeypatch.setattr(chunks, "count_chunk", counted)
    assert run(tmp_path, statistics=["edges"])["edges"].value == first["edges"].value
    assert taken == []
    run(tmp_path, statistics=["stars:2"])
    assert taken == [True] * 9  # nobody was counted for a second time


@pytest.mark.parametrize(
    "other",
    [{"seed": 8}, {"epsilon": 2}, {"dropout": 0.1}, {"rounds": 2}, {"world": OTHER}],
    ids=["seed", "epsilon", "dropout", "rounds", "graph"],
)
def test_another_run_s_folder_is_refused(other: dict[str, Any], tmp_path: Path) -> None:
    run(tmp_path, statistics=["edges"])
    with pytest.raises(BadInput, match="of another run"):
        run(tmp_path, **other)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seed": None}, "takes a seed"),
        ({"statistics": ["edges", "triangles"]}, "triangles is not a sum over chunks of the answers"),
        ({"work": 0.5}, "leave the others out"),
        ({"sample_positions": "0.1"}, "leave the others out"),
        ({"estimator": "ipw_capped", "rounds": 2}, "leave the others out"),
        ({"rest": "sample:0.1"}, "leave the others out"),
    ],
)
def test_what_goes_into_no_chunks_is_refused(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises((BadInput, BadStatistic), match=said):
        run(tmp_path / "none", **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fault", ["forgets", "doubles"])
def test_a_checkpoint_that_forgets_or_doubles_a_chunk_is_noticed(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = checkpoint.Checkpoint._add

    def careless(kept: checkpoint.Checkpoint, chunk: int, found: Any) -> None:
        if chunk != 4:
            add(kept, chunk, found)
        elif fault == "forgets":
            kept._state[0][chunk] = True
        else:
            add(kept, chunk, found)
            kept._state[0][chunk] = False
            add(kept, chunk, found)

    monkeypatch.setattr(checkpoint.Checkpoint, "_add", careless)
    with pytest.raises(LostTask, match="do not have every chunk once"):
        run(tmp_path)
    monkeypatch.undo()
    with pytest.raises((LostTask, BadInput)):  # and the file that it has left is not believed
        run(tmp_path)


def test_other_answers_at_the_second_look_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, other = chunks.count_chunk, chunks.ReproducibleAnswers(WORLD, None, 8)  # type: ignore[arg-type]

    def changed(source: Any, all_chunks: Any, look: Any, number: int) -> Any:
        again = source()
        return counted(lambda: again if look is None else replace(other, survey=again.survey), all_chunks, look, number)

    monkeypatch.setattr(chunks, "count_chunk", changed)
    with pytest.raises(BadInput, match="were others when they were made again"):
        run(tmp_path)


@pytest.mark.parametrize("statistics", [NAMES, ["edges"]], ids=["two looks", "one"])
def test_progress_ends_with_everything(statistics: Sequence[str], tmp_path: Path) -> None:
    said = list[float]()
    run(tmp_path, statistics=statistics, progress=lambda done, total: said.append(done / total))
    assert said == sorted(said)
    assert said[-1] == pytest.approx(0.5)  # answers are the first half of a run's phases


CHILD = """
import sys, time
from visibility_aware_edge_ldp.compute import checkpoint
from visibility_aware_edge_ldp.simulation import chunks
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

def say(done, total):
    print(done / total, flush=True)
    time.sleep(0.02)

if __name__ == "__main__":
    chunks.SMALLEST, checkpoint.EVERY_SECONDS = {least}, float(sys.argv[2])
    world = VisibilityAwareGraph(powerlaw({nodes}, {edges}, 1))
    names = {names}
    found = estimate(world, "position", 1, names, seed=7, checkpoint=sys.argv[1], engine=sys.argv[3], progress=say)
    told = [(float(found[name].value), float(found[name].variance)) for name in ("edges", "stars:2", "stars:3")]
    print("found", repr(told))
"""


def child(folder: Path, every: float, engine: str) -> subprocess.Popen[str]:
    script = folder.parent / "child.py"
    script.write_text(CHILD.format(least=TILE, nodes=NODES, edges=EDGES, names=NAMES))
    return subprocess.Popen(
        [sys.executable, str(script), str(folder), str(every), engine],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.long
@pytest.mark.parametrize(("engine", "every"), [("threads:2", 0.0), ("threads:1", 0.1), ("dask:2", 0.0)])
def test_killed_again_and_again_it_finds_the_same(engine: str, every: float, tmp_path: Path) -> None:
    """The process is killed, and Dask's scheduler and workers with it, after some chunks, until a run ends."""
    if engine.startswith("dask"):
        pytest.importorskip("distributed")
    draw, folder, killed, lines = random.Random(3), tmp_path / "kept", 0, list[str]()
    for _ in range(30):
        process, lines = child(folder, every, engine), []
        left = draw.randint(4, 9)
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if len(lines) == left and not line.startswith("found"):
                os.killpg(process.pid, signal.SIGKILL)
                killed += 1
        process.wait()
        if lines and lines[-1].startswith("found"):
            break
    assert killed >= 2
    whole = run(tmp_path / "whole")
    assert lines[-1].removeprefix("found ").strip() == repr(
        [(float(whole[name].value), float(whole[name].variance)) for name in ("edges", "stars:2", "stars:3")]
    )


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Starts a Dask scheduler and a worker, as a user would; what was started is ended with the test."""
    pytest.importorskip("distributed")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    started = list[subprocess.Popen[bytes]]()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def start() -> tuple[str, subprocess.Popen[bytes]]:
        address = f"tcp://127.0.0.1:{port}"
        for command in (
            ["dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"],
            ["dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
        ):
            module = [sys.executable, "-m", f"distributed.cli.{command[0]}", *command[1:]]
            started.append(subprocess.Popen(module, stderr=subprocess.DEVNULL, cwd=tmp_path))
            time.sleep(2)
        return f"dask://127.0.0.1:{port}", started[-2]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.long
def test_when_the_scheduler_dies_a_new_one_goes_on(scheduler: Any, tmp_path: Path) -> None:
    (address, process), killed = scheduler(), list[float]()

    def kill(done: float, total: float) -> None:
        if done / total > 0.1 and not killed:
            killed.append(done / total)
            process.kill()

    with pytest.raises(BadInput, match="The Dask scheduler has gone"):
        run(tmp_path / "kept", engine=address, progress=kill)
    process.wait()
    address, _ = scheduler()
    said = list[float]()
    found = run(tmp_path / "kept", engine=address, progress=lambda done, total: said.append(done / total))
    assert said[0] >= killed[0]
    same(found, run(tmp_path / "whole"))


def test_the_time_is_foretold_from_a_measurement() -> None:
    assert 0 < chunks.nanoseconds(5000) < 1e4
    once, twice = chunks.ChunksForecast(10_000, 50_000), chunks.ChunksForecast(10_000, 50_000, stars=2)
    assert once.processor_seconds < twice.processor_seconds
    million = chunks.ChunksForecast(1_000_000, 5_000_000, stars=2)
    assert million.processor_seconds / twice.processor_seconds == pytest.approx(
        10_000 * million.each / twice.each, rel=0.01
    )
    assert million.as_dict() == {
        "chunks": len(chunks.chunks_of(499_999_500_000)),
        "nanoseconds_an_answer": million.each,
        "processor_seconds": million.processor_seconds,
        "bytes_a_worker": million.worker_octets,
    }


@pytest.mark.parametrize(("engine", "cores"), [("threads:3", 3), ("dask:2", 2), ("dask://host:8786", 1)])
def test_the_cores_of_an_engine(engine: str, cores: int) -> None:
    assert chunks.engine_cores(engine) == cores
    assert chunks.engine_cores(None) == (os.cpu_count() or 1)
