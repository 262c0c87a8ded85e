"""Estimates of more positions than memory holds: the same numbers through files, and no file that stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from support.command import run_main
from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.aggregator.collection import public_positions
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import row_sums
from visibility_aware_edge_ldp.errors import TooLarge
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation import memory, simulate
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.execution import Run
from visibility_aware_edge_ldp.simulation.simulate import collect_tiles
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

EVERYTHING = ("edges", "degrees", "max_degree", "stars:2", "triangles", "transitivity", "four_cycles")
# With mixed kinds in the roster, and all in order.
WORLDS = {
    policy: VisibilityAwareGraph(powerlaw(1600, 9000, seed=1), open_policy(policy))
    for policy in ("nothing", "profiles:0.4")
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files go; nothing may be left in it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def through_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine whose memory does not do, which is hard to come by for so few nodes."""
    monkeypatch.setattr(Run, "_goes_into_a_file", property(lambda _: True))


def same(one: Answers, other: Answers) -> None:
    for name, found in one.items():
        np.testing.assert_array_equal(found.value, other[name].value)
        np.testing.assert_array_equal(found.variance, other[name].variance)
        np.testing.assert_array_equal(found.interval(), other[name].interval())
    assert one.certificate == other.certificate


@pytest.mark.parametrize("work", [None, 0.3], ids=["whole", "a part"])
@pytest.mark.parametrize("policy", WORLDS)
def test_the_same_estimates_as_in_memory(
    policy: str, work: float | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = estimate(WORLDS[policy], "position", 1, EVERYTHING, work=work, seed=3)
    through_files(monkeypatch)
    heard: list[tuple[float, float]] = []
    tell = lambda done, total: heard.append((done, total))  # noqa: E731
    same(estimate(WORLDS[policy], "position", 1, EVERYTHING, work=work, seed=3, progress=tell), expected)
    assert list(folder.iterdir()) == []
    assert max(done for done, _ in heard if done <= 1) == pytest.approx(1)  # all answers and strips


@pytest.mark.long
@pytest.mark.parametrize("policy", WORLDS)
def test_the_same_estimates_from_dask(policy: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    asked = ("edges", "triangles", "transitivity")
    expected = estimate(WORLDS[policy], "position", 1, asked, seed=3)
    through_files(monkeypatch)
    same(estimate(WORLDS[policy], "position", 1, asked, engine="dask:2", seed=3), expected)
    assert list(folder.glob("va-edge-ldp-*")) == []


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("where", ["estimate", "reports"])
def test_no_file_is_left_when_a_run_breaks_off(
    where: str, trouble: type[BaseException], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    through_files(monkeypatch)
    seen: list[Path] = []

    def fail(*_: object) -> None:
        seen.extend(folder.iterdir())
        raise trouble

    monkeypatch.setattr(simulate, where, fail)
    with pytest.raises(trouble):
        estimate(WORLDS["nothing"], "position", 1, ["triangles"], seed=3)
    assert seen
    assert list(folder.iterdir()) == []


TOLD_TO_END = """
import signal
import sys
from visibility_aware_edge_ldp import cli
from visibility_aware_edge_ldp.simulation import simulate
from visibility_aware_edge_ldp.simulation.execution import Run
Run._goes_into_a_file = property(lambda _: True)
def wait(*_):
    print("waiting", flush=True)
    import time
    time.sleep(60)
simulate.estimate = wait
sys.argv = ["va-edge-ldp", "estimate", "random:300,900", "--trust", "position", "--statistics", "triangles", "--json"]
signal.signal(signal.SIGINT, signal.default_int_handler)  # though nobody listened before
cli.main()
"""


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_no_file_is_left_by_a_command_that_is_told_to_end(number: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", TOLD_TO_END], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        assert list(tmp_path.iterdir())
        time.sleep(0.05)
        process.send_signal(number)
        process.wait(20)
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []


def run(**options: object) -> Run:
    world = VisibilityAwareGraph(powerlaw(40_000, 80_000, seed=1), open_policy("nothing"))
    return Run(world, "position", ("triangles",), **options)  # type: ignore[arg-type]


def test_memory_decides_and_then_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = run(filed=False).need.still_to_come, run(filed=True).need.still_to_come
    assert there < here / 1.5
    disk = run(filed=True).disk
    for free, room, way in (
        (here, 0, "kinds"),
        (here - 1, disk, "filed"),
        (there, disk, "filed"),
        (there - 1, disk, "kinds"),
        (there, disk - 1, "kinds"),
    ):
        monkeypatch.setattr(memory, "available_bytes", lambda free=free: free)
        monkeypatch.setattr(memory, "free_disk", lambda room=room: room)
        asked = run()
        assert asked.strategy == way
        if way == "kinds" and free < here:
            with pytest.raises(TooLarge, match="this would need about") as refused:
                asked.refuse_too_large()
            assert ("Let TMPDIR name a folder with" in str(refused.value)) == (room < disk)
        else:
            asked.refuse_too_large()


@pytest.mark.parametrize(
    ("options", "planes", "tiles"),
    [({}, 1, 1), ({"work": 0.1}, 2, 0), ({"engine": "dask"}, 1, 1), ({"engine": "dask:2", "work": 0.1}, 2, 2)],
)
def test_what_files_take(options: dict[str, object], planes: int, tiles: int) -> None:
    plane, half = memory.plane_octets(79), memory.file_octets([40_000])
    assert run(**options).disk == planes * plane + tiles * half
    assert half == pytest.approx(plane / 2, rel=0.02)


def test_the_command_says_what_files_it_needs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    through_files(monkeypatch)
    monkeypatch.setattr("visibility_aware_edge_ldp.simulation.runtime_forecast.is_large", lambda _: True)
    said = run_main(
        monkeypatch, capsys, "estimate", "random:300,900", "--trust", "position", "--statistics", "triangles"
    )
    assert said.code == 0, said.err
    assert f"of files in {folder} (" in said.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("policy", [*WORLDS, "document-001"])
def test_classes_are_counted_without_a_table_of_all_positions(policy: str, tmp_path: Path) -> None:
    view = VisibilityAwareGraph(powerlaw(300, 900, seed=1), open_policy(policy)).public
    plane = backend.plane_of(view.class_bits[Visibility.PUBLIC], view.n)
    assert np.array_equal(public_positions(view), row_sums(plane))
    if policy in WORLDS:
        world = WORLDS[policy]
        found = collect_tiles(world, position_survey(world.public, 1), tmp_path / "a.tiles", seed=1)
        assert found.class_sizes == world.public.class_sizes
