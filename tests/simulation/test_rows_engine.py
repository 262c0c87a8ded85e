"""USER triangles on an engine: the same reports as without one, and the same again when a task is run again."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.compute.engines import Threads, Workers, open_engine
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.rows import row_surveys
from visibility_aware_edge_ldp.simulation import rows, worlds
from visibility_aware_edge_ldp.simulation.rows import _Clients, collect_rows, collect_rows_on
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(1500, 9000, seed=1)  # two blocks of users
POLICIES = {"private": VisibilityPolicy.nothing(), "profiles": VisibilityPolicy.public_profiles("0.3", rule="both")}


@pytest.fixture(scope="module", params=["threads:2", "dask:2"])
def engine(request: pytest.FixtureRequest) -> Iterator[Workers]:
    if request.param.startswith("dask"):
        pytest.importorskip("distributed")
    with open_engine(request.param) as opened:
        yield opened


def same(left: RowCollection, right: RowCollection) -> bool:
    arrays = ((each.answered, each.reaches, each.totals) for each in (left, right))
    return left.releases == right.releases and all(map(np.array_equal, *arrays))


@pytest.mark.parametrize(
    ("policy", "statistics", "dropout"),
    [("private", ("triangles",), 0.0), ("profiles", ("triangles", "four_cycles"), 0.2)],
    ids=["triangles", "both with dropout"],
)
def test_the_same_reports_as_without_an_engine(
    engine: Workers, policy: str, statistics: tuple[str, ...], dropout: float
) -> None:
    world = VisibilityAwareGraph(GRAPH, POLICIES[policy])
    surveys = row_surveys(world.public, Fraction(1), statistics)
    here = collect_rows(world, surveys, seed=4, dropout=dropout)
    there = collect_rows_on(engine, world, surveys, seed=4, dropout=dropout)
    assert here.keys() == there.keys()
    assert all(same(here[name], there[name]) for name in surveys)
    assert list(engine.folder().iterdir()) == []


def clients(key: str) -> _Clients:
    """Two blocks of users who have held their first round."""
    world = VisibilityAwareGraph(GRAPH, POLICIES["private"])
    surveys = row_surveys(world.public, Fraction(1), ("triangles",))
    found = _Clients(world, dict(surveys), key, 0.0)
    collection = RowCollection(surveys["triangles"], world.public)
    for block in range(len(found.lists)):
        collection.absorb_answers(found.answer("triangles", block)[1])
    found.transcripts["triangles"] = collection.close_first_round()
    return found


def test_a_task_run_again_repeats_its_answer() -> None:
    """By another worker, who has read the file anew; and another key gives another answer."""
    first, other = clients("one"), clients("two")
    again = pickle.loads(pickle.dumps(first))
    for block in range(2):
        assert again.total("triangles", block) == first.total("triangles", block) == first.total("triangles", block)
        assert other.total("triangles", block) != first.total("triangles", block)


def test_blocks_do_not_share_coins() -> None:
    found = clients("one")
    drawn = {
        found.random_bytes(purpose, start)(16) for purpose in ("row answers", "triangles sums") for start in (0, 1024)
    }
    assert len(drawn) == 4


def test_without_a_seed_no_two_runs_are_alike() -> None:
    world = VisibilityAwareGraph(powerlaw(60, 200, seed=1), POLICIES["private"])
    surveys = row_surveys(world.public, Fraction(1), ("triangles",))
    with Threads(1) as engine:
        one, two = (collect_rows_on(engine, world, surveys)["triangles"] for _ in range(2))
    assert not np.array_equal(one.totals, two.totals)


def test_a_worker_that_draws_fresh_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: coins from the operating system in a task, so that a task run again would be a second answer."""
    found = clients("one")
    monkeypatch.setitem(found.__dict__, "random_bytes", worlds.random_bytes_for(None))
    assert found.total("triangles", 0) != found.total("triangles", 0)


def test_blocks_are_those_of_the_local_run() -> None:
    assert clients("one").lists[1].start == rows.USERS_AT_ONCE


def test_surveys_with_two_first_rounds_are_refused_before_anybody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits with the same coins at two thresholds: where the answers differ, the bit would be certain."""
    world = VisibilityAwareGraph(GRAPH, POLICIES["private"])
    first, second = (row_surveys(world.public, Fraction(epsilon), ("triangles",))["triangles"] for epsilon in (1, 2))
    monkeypatch.setattr(_Clients, "answer", lambda *_: pytest.fail("somebody answered"))
    with pytest.raises(ProtocolViolation, match="first round"), Threads(1) as engine:
        collect_rows_on(engine, world, {"triangles": first, "again": second})


def test_what_workers_read_is_for_their_eyes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    world = VisibilityAwareGraph(GRAPH, POLICIES["private"])
    seen: list[int] = []

    def look(path: Path, item: tuple[str, int]) -> bytes:
        seen.append(path.stat().st_mode & 0o777)
        return rows._clients_in(path).total(*item)

    monkeypatch.setattr(rows, "_second_report", look)
    with Threads(1) as engine:
        collect_rows_on(engine, world, row_surveys(world.public, Fraction(1), ("triangles",)), seed=1)
    assert set(seen) == {0o600}
    assert "secret key" not in repr(_Clients(world, {}, "secret key", 0.0))
