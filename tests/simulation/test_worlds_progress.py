"""How far work has come: steps, phases, and an engine that is watched."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.compute.engines import Task, work_of
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation import worlds
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.worlds import ANSWERS, COUNTING, PATHS, ROWS, Phases, Steps, watched
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(60, 200, 1), VisibilityPolicy.nothing())


def test_steps_add_up() -> None:
    heard: list[tuple[float, float]] = []
    steps = Steps(lambda done, total: heard.append((done, total)), 5)
    steps()
    steps(4)
    Steps(None, 1)()
    assert heard == [(1, 5), (5, 5)]


def test_phases_follow_each_other() -> None:
    heard: list[tuple[float, float]] = []
    phases = Phases(lambda done, total: heard.append((done, total)), {ANSWERS: 2.0, COUNTING: 6.0})
    phases.of(ANSWERS)(50, 100)
    phases.of(COUNTING)(1, 2)
    phases.of(COUNTING)(0, 0)
    Phases(None).of(ANSWERS)(1, 1)
    assert heard == [(1, 8), (5, 8), (8, 8)]


def test_a_watched_engine_tells_of_every_task() -> None:
    heard: list[tuple[float, float]] = []
    tasks = [Task(0, 1, (0, 1), (0, 1)), Task(0, 2, (1, 2), (1, 2))]
    engine = watched(lambda source, these: [(task, source) for task in these], lambda d, t: heard.append((d, t)))  # type: ignore[arg-type,return-value]
    assert [task for task, _ in engine("tiles", tasks)] == tasks  # type: ignore[arg-type]
    works = [work_of(task) for task in tasks]
    assert heard == [(works[0], sum(works)), (sum(works), sum(works))]


@pytest.mark.parametrize("statistics", ["edges", "triangles"])
def test_an_estimate_tells_of_its_answers(statistics: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "TILE", 800)
    heard: list[tuple[float, float]] = []
    estimate(WORLD, "position", 1, statistics, seed=1, progress=lambda done, total: heard.append((done, total)))
    assert {total for _, total in heard} == {2.0}
    assert [done for done, _ in heard[:3]] == pytest.approx([800 / 1770, 1600 / 1770, 1])


def test_rows_and_paths_are_heard_of_too() -> None:
    """No long work goes by in silence: of twelve hundred nodes, none is more than a few steps."""
    world = VisibilityAwareGraph(erdos_renyi(1200, 5000, 1), VisibilityPolicy.nothing())
    heard: list[tuple[float, float]] = []
    sizes = {ANSWERS: 1.0, ROWS: 1.0, COUNTING: 1.0, PATHS: 1.0}
    phases = Phases(lambda done, total: heard.append((done, total)), sizes)
    estimate(world, "position", 1, "triangles,four_cycles", work=0.5, seed=1, progress=phases)
    parts = [[done - phase for done, _ in heard if phase < done <= phase + 1] for phase in range(4)]
    assert all(max(part) == pytest.approx(1) for part in parts)
    assert len(parts[1]) >= 4
    assert len(parts[3]) >= 2
    assert sorted(heard) == heard


@pytest.mark.parametrize("policy", [VisibilityPolicy.nothing(), VisibilityPolicy("0.1", "0.4", "0.5")], ids=str)
@pytest.mark.parametrize("engine", [None, "threads"])
def test_users_are_heard_of_in_three_phases(policy: VisibilityPolicy, engine: str | None) -> None:
    """They answer for their rows, they sum, and the paths behind the standard error are followed."""
    world = VisibilityAwareGraph(erdos_renyi(1200, 5000, 1), policy)
    heard: list[tuple[float, float]] = []
    phases = Phases(lambda done, total: heard.append((done, total)), {ANSWERS: 1.0, ROWS: 1.0, PATHS: 1.0})
    estimate(world, "user", 1, "triangles", engine=engine, seed=1, progress=phases)
    parts = [[done - phase for done, _ in heard if phase < done <= phase + 1 + 1e-9] for phase in range(3)]
    assert all(max(part) == pytest.approx(1) and len(part) >= 2 for part in parts)
    assert sorted(heard) == heard
