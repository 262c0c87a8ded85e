"""Planes that go by groups of nodes need no counting, and give the same counts.  [SCOPE.5]"""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows, unpack_rows
from visibility_aware_edge_ldp.counts.cycles import cycle_sums
from visibility_aware_edge_ldp.counts.group_planes import GroupPlane
from visibility_aware_edge_ldp.counts.plane_products import PlaneMatrix, joined
from visibility_aware_edge_ldp.counts.scores import Scores
from visibility_aware_edge_ldp.counts.triangles import sum_over_pairs, triangle_sums

N = 150
VALUES = np.array([1.0, -0.3, 1.4])
MEMBER = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1]], bool)


def world(seed: int) -> tuple[Scores, Scores]:
    """Scores that know which plane goes by groups, and the same ones that do not."""
    draw = np.random.default_rng(seed)
    groups, table = draw.integers(0, 6, N), draw.random((6, 6)) < 0.4
    table |= table.T
    held = table[np.ix_(groups, groups)] & ~np.eye(N, dtype=bool)
    bits = np.triu(draw.random((N, N)) < 0.3, 1)
    ones, public = held & (bits | bits.T), np.triu(draw.random((N, N)) < 0.05, 1)
    public = (public | public.T) & ~held
    planes = np.stack([pack_rows(each, N) for each in (public, held, ones)])
    known = Scores(N, planes, VALUES, MEMBER, by_groups={1: GroupPlane(groups, table)})
    return known, Scores(N, planes, VALUES, MEMBER)


@pytest.mark.parametrize("seed", range(4))
def test_two_paths_are_those_that_are_counted(seed: int) -> None:
    known, counted = world(seed)
    for a in range(3):
        for b in range(3):
            for rows, first, last in ((slice(0, 20), 0, None), (slice(40, 90), 40, 130), (np.array([3, 77]), 5, 149)):
                found, expected = (joined(each, a, b, rows, first, last) for each in (known, counted))
                off_diagonal = np.arange(N)[rows][:, None] != np.arange(first, last or N)
                assert (found == expected)[off_diagonal].all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kernel", ["plain", "compiled"])
def test_sums_over_pairs_are_the_same(seed: int, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", kernel)
    known, counted = world(seed)
    for summand in (triangle_sums, cycle_sums):
        found, expected = (sum_over_pairs(each, summand) for each in (known, counted))
        assert found == pytest.approx(expected, rel=1e-9)
    assert sum_over_pairs(known, triangle_sums, scored_only=True) == pytest.approx(
        sum_over_pairs(counted, triangle_sums), rel=1e-9
    )


def test_products_and_forms_are_the_same() -> None:
    known, counted = world(7)
    left = np.random.default_rng(1).random((5, N)).astype(np.float32)
    assert PlaneMatrix(known).times(left) == pytest.approx(PlaneMatrix(counted).times(left), rel=1e-4, abs=1e-3)
    vector = np.random.default_rng(2).random(N)
    for symbol in range(3):
        assert known.symbol_form(symbol, vector) == pytest.approx(counted.symbol_form(symbol, vector), rel=1e-9)


def test_the_order_puts_joined_groups_close_together() -> None:
    groups = np.arange(N) % 5
    plane = GroupPlane(groups, np.eye(5, dtype=bool))
    order = plane.order()
    assert sorted(order.tolist()) == list(range(N))
    assert (np.diff(groups[order]) != 0).sum() == 4


def test_ones_between_other_groups_are_counted_without_the_plane() -> None:
    known, _ = world(3)
    members = np.arange(N) % 4
    inside = (members == np.arange(4)[:, None]).astype(np.int64)
    bits = unpack_rows(known.planes[1], N).astype(np.int64)
    assert (known.by_groups[1].ones_between(members, 4) == inside @ bits @ inside.T).all()
