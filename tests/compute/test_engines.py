"""Tasks count every tile triple once, and by the same kernels from beginning to end."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.engines import TILE_OCTETS, Task, count, plan_tasks, work_of
from visibility_aware_edge_ldp.compute.plain.bitset import strips_of
from visibility_aware_edge_ldp.compute.tile_layout import TilesOfPlane

BLOCKS = (1, 2, 5)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 14), st.sampled_from([None, *BLOCKS]), st.sets(st.integers(1, 13)), st.integers(0, 9), st.data())
def test_a_plan_has_every_triple_once(
    sides: int, block: int | None, cuts: set[int], memory: int, data: st.DataObject
) -> None:
    inside = sorted(cut for cut in cuts if cut < sides)
    longest = data.draw(st.sampled_from([1, 7, 1 << 17]))
    tasks = plan_tasks(sides, block, inside, memory << 20, longest)
    triples = [
        (i, j, k)
        for task in tasks
        for j in range(*task.middle)
        for i in range(task.first, min(task.last, j + 1))
        for k in range(max(j, task.end[0]), task.end[1])
    ]
    assert sorted(triples) == list(combinations_with_replacement(range(sides), 3))
    for part in (part for task in tasks for part in (task.middle, task.end)):
        assert not any(part[0] < cut < part[1] for cut in inside)
    works = [work_of(task) for task in tasks]
    assert works == sorted(works, reverse=True)
    assert max(task.last - task.first for task in tasks) <= max(1, (memory << 20) // (9 << 16))


def test_large_plans_are_neither_few_nor_many() -> None:
    for nodes, fewest, most in ((50_000, 40, 60), (200_000, 300, 600)):
        tasks = plan_tasks(-(-nodes // 512))
        assert fewest <= len(tasks) <= most
        assert work_of(tasks[0]) < 2 * sum(map(work_of, tasks)) / len(tasks)


def test_a_tasks_work_says_which_kernels_count_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that plain kernels made is nothing for compiled ones, so that one kind runs for a whole task."""
    n = 1300
    flat = np.packbits(np.random.default_rng(1).random(n * (n - 1) // 2) < 0.3, bitorder="little")
    source, whole = TilesOfPlane(strips_of(flat, n, 3)), Task(0, 3, (0, 3), (0, 3))
    asked: list[tuple[str, int]] = []

    def plain(subject: backend.Kernels, octets: int) -> object:
        asked.append((subject, octets))
        return backend.PLAIN[subject]

    compiled = count(source, whole)
    monkeypatch.setattr(backend, "kernels_for", plain)
    assert count(source, whole).tolist() == compiled.tolist()
    assert asked == [("tiles", int(work_of(whole) * TILE_OCTETS))]
