"""Millions of users from a stream: the same releases and numbers as in memory, in any number of walks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.errors import BadGraph, BadStatistic, TooLarge
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.simulation import memory
from visibility_aware_edge_ldp.simulation.streamed_degrees import counted, estimate_streamed
from visibility_aware_edge_ldp.truth.edge_stream import EdgeStream
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

USERS = 70_000  # two blocks of users
GRAPH = powerlaw(USERS, 150_000, seed=2)
GROUPS = Groups("ward", ("a", "b", "c"), np.arange(USERS) % 3)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("edges") / "edges.bin"
    GRAPH.edges.astype("<i4").tofile(path)
    return path


def test_the_same_releases_and_numbers_as_in_memory(file: Path) -> None:
    names = ["edges", "stars:2", "tail:5", "mean_degree"]
    streamed, whole = estimate_streamed(file, USERS, 1, names, seed=3), va.estimate(GRAPH, "user", 1, names, seed=3)
    assert streamed["edges"].releases == whole["edges"].releases  # named by the bytes that arrived
    for name in names:
        assert streamed[name].value == pytest.approx(whole[name].value, rel=1e-12)
        assert streamed[name].standard_error == pytest.approx(whole[name].standard_error, rel=1e-9)
    assert streamed.bill == whole.bill


def test_groups_in_several_walks_are_those_in_memory(file: Path) -> None:
    names, told = ["edges", "mixing"], list[float]()
    streamed = estimate_streamed(
        file, USERS, 1, names, groups=GROUPS, seed=3, most=1, progress=lambda done, of: told.append(done / of)
    )
    assert told == pytest.approx([65_536 / USERS, 1.0])  # two walks
    whole = va.estimate(va.VisibilityAwareGraph(GRAPH).grouped(GROUPS), "user", 1, names, seed=3)
    assert streamed["edges"].value == pytest.approx(whole["edges"].value, rel=1e-12)
    assert np.array_equal(streamed["mixing"].value, whole["mixing"].value)


def test_counts_are_degrees_by_group(file: Path) -> None:
    (start, counts), *others = counted(EdgeStream(file, USERS), GROUPS)
    assert (start, others) == (0, [])
    assert (counts.sum(axis=1) == GRAPH.degrees).all()
    ends = np.concatenate([GRAPH.edges, GRAPH.edges[:, ::-1]])
    assert (counts[:, 1] == np.bincount(ends[ends[:, 1] % 3 == 1, 0], minlength=USERS)).all()


def test_what_a_stream_does_not_tell_is_said_or_refused(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "lists every edge once" not in str(estimate_streamed(file, USERS, seed=1).certificate)
    mixed = tmp_path / "mixed.bin"
    np.concatenate([GRAPH.edges[::-1], [[4, 4]]]).astype("<i4").tofile(mixed)
    told = str(estimate_streamed(mixed, USERS, seed=1).certificate)
    assert "Assumes that mixed.bin lists every edge once" in told
    assert "1 loops were left out" in told
    for name in ("triangles", "max_degree"):
        with pytest.raises(BadStatistic):
            estimate_streamed(file, USERS, 1, [name], seed=1)
    with pytest.raises(BadGraph, match="names users beyond"):
        estimate_streamed(file, USERS - 1, seed=1)
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**8)
    with pytest.raises(TooLarge, match="Give fewer groups"):
        estimate_streamed(file, USERS)
