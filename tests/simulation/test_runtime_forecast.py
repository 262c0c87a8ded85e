"""How long a run will take: its work is counted exactly, and times of smaller runs are carried on.

Whether the seconds are right within 30 % is for a quiet machine: python -m benchmarks foretold.
"""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.engines import plan_tasks, work_of
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation import runtime_forecast
from visibility_aware_edge_ldp.simulation.execution import Run
from visibility_aware_edge_ldp.simulation.runtime_forecast import Forecast, Work, fitted, forecast, work_of_run
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

EVERYTHING = ("edges", "triangles", "four_cycles", "stars:2")


def run(trust: str = "position", nodes: int = 3000, policy: str = "nothing", **options: object) -> Run:
    world = VisibilityAwareGraph(erdos_renyi(nodes, 10 * nodes, 1), open_policy(policy))
    return Run(world, trust, **{"statistics": EVERYTHING, **options})  # type: ignore[arg-type]


POSITIONS = 3000 * 2999 / 2
PAIRS, WORDS, PADDED = 3000**2 / 2, 47, 48


@pytest.mark.parametrize(
    ("asked", "work"),
    [
        ({}, Work(0, POSITIONS, PAIRS * PADDED)),
        ({"policy": "profiles:0.5"}, Work(0, POSITIONS, PAIRS * PADDED)),
        ({"statistics": ("stars:2",)}, Work(0, POSITIONS)),
        ({"statistics": ("edges",), "rounds": 2}, Work(0, 2 * POSITIONS)),
        ({"statistics": ("stars:2",), "checkpoint": "kept"}, Work(0, 2 * POSITIONS)),
        ({"statistics": ("triangles",)}, Work(0, POSITIONS, 512 * 3000 * PADDED, 56 + 1.7 * 21)),
        ({"work": 0.5, "statistics": ("triangles",)}, Work(0, POSITIONS, 1500 * 3000 * PADDED, 28 + 1.7 * 10.5)),
        ({"rounds": 2}, Work(3000, 2 * POSITIONS, 9 * PAIRS * WORDS)),
        ({"policy": "document-001"}, Work(3000, POSITIONS, 25 * PAIRS * WORDS)),
        ({"trust": "user", "statistics": ("triangles",)}, Work(3000, POSITIONS, (PAIRS / 16 + 2 * 30_000) * WORDS)),
        ({"trust": "user", "statistics": ("edges",)}, Work(0, 33_000 * 50)),
        ({"trust": "curator", "statistics": ("edges",)}, Work(0, 33_000 * 50)),
    ],
)
def test_work_is_counted_exactly(asked: dict[str, object], work: Work) -> None:
    found = work_of_run(run(**asked))  # type: ignore[arg-type]
    assert vars(found) == pytest.approx(vars(work))


@pytest.mark.parametrize("sides", [1, 2, 7, 20])
def test_tile_triples_are_those_of_the_tasks(sides: int) -> None:
    assert runtime_forecast.tile_triples(sides) == pytest.approx(sum(map(work_of, plan_tasks(sides, 1))))


def test_a_run_in_chunks_is_foretold_from_its_own_measurement() -> None:
    one, two = (run(statistics=("stars:2",), checkpoint="kept", engine=f"threads:{cores}") for cores in (1, 2))
    assert forecast(one).seconds == pytest.approx(2 * forecast(two).seconds)
    assert 0 < forecast(one).seconds < 10


def test_rates_are_found_again() -> None:
    terms = np.array([[1.0, n, n * n, n**3] for n in (64, 512, 1024, 2048, 4096)])
    rates = np.array([0.02, 1e-5, 0.0, 3e-11])
    np.testing.assert_allclose(fitted(terms, terms @ rates), rates, rtol=1e-6, atol=1e-12)


def test_no_rate_is_below_nothing() -> None:
    terms = np.array([[1.0, 0.0, n * n, n**3] for n in (64.0, 512.0, 1024.0)])
    found = fitted(terms, np.array([1.0, 0.8, 0.5]))
    assert (found >= 0).all()
    assert found[1] == 0


def test_a_law_is_carried_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """With clocks that obey the law, what is foretold is the law."""
    monkeypatch.setattr(runtime_forecast, "_known", {})
    monkeypatch.setattr(runtime_forecast, "seconds_of_a_triple", lambda: 1e-4)

    def law(each: Run) -> Forecast:
        work = work_of_run(each)
        return Forecast(0.01 + 1e-8 * work.positions, 1e-9 * work.positions + 2e-10 * work.words + 1e-4 * work.triples)

    monkeypatch.setattr(runtime_forecast, "_taken", law)
    for asked in (run(nodes=20_000), run(nodes=20_000, statistics=("triangles",)), run(nodes=9_000, rounds=2)):
        found = forecast(asked)
        assert found.answers == pytest.approx(law(asked).answers, rel=0.02)
        assert found.counting == pytest.approx(law(asked).counting, rel=0.02)


def test_a_run_through_files_is_timed_through_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_forecast, "_known", {})
    monkeypatch.setattr(runtime_forecast, "FIRST", 80)
    filed = run(nodes=200, statistics=("triangles",), filed=True)
    assert runtime_forecast.smaller(filed, 100).strategy == "filed"
    assert work_of_run(filed) == work_of_run(run(nodes=200, statistics=("triangles",)))
    found = forecast(filed)
    assert 0 < found.answers < found.seconds < 60


def test_smaller_worlds_keep_policy_names_and_mean_friends() -> None:
    asked = run(policy="profiles:0.5")
    small = runtime_forecast.smaller(asked, 500)
    assert (small.n, small.m) == (500, 5000)
    assert small.world.policy == asked.world.policy
    assert set(small.world.graph.names) < set(asked.world.graph.names)
    assert runtime_forecast.smaller(asked, 3000) is asked


@pytest.mark.parametrize("scope", [None, "lists"])
def test_smaller_worlds_of_a_policy_that_names_nodes_are_asked_alike(scope: str | None) -> None:
    """A policy of the whole roster says nothing of a part of it; neither does a scope."""
    graph = powerlaw(900, 3000)
    policy = VisibilityPolicy.from_profiles(dict.fromkeys(graph.names[:20], "public"), rule="any")
    world = VisibilityAwareGraph(graph, policy)
    asked = Run(world if scope is None else world.inside(scope), "position", ("triangles",))
    small = runtime_forecast.smaller(asked, 300)
    assert (small.n, small.strategy) == (300, asked.strategy)
    assert (small.world.policy.scope is None) == (scope is None)
    views = (small.world.public, asked.world.public)
    share, whole = (view.class_sizes[Visibility.PRIVATE] / view.positions for view in views)
    assert share == pytest.approx(whole, rel=0.15)
    assert runtime_forecast.forecast(asked).seconds > 0


def test_small_runs_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_forecast, "forecast", lambda _: pytest.fail("a small run was looked at"))
    assert not runtime_forecast.is_large(run())
    assert 0 < runtime_forecast.seconds_of(run()) < 2
    assert runtime_forecast.is_large(run(nodes=20_000))


@pytest.mark.parametrize("trust", ["position", "user", "neighbourhood", "curator"])
def test_every_model_can_really_be_timed(trust: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_forecast, "_known", {})
    monkeypatch.setattr(runtime_forecast, "FIRST", 80)
    found = forecast(run(trust, 200, statistics=("triangles",)))
    assert 0 < found.seconds < 60
    assert sum(found.phases.values()) == pytest.approx(found.seconds)


def test_phases_add_up() -> None:
    assert Forecast(1.0, 2.0).seconds == 3.0
