"""Triangles where answers go by groups: the same sums as pair by pair.  [SCOPE.6]"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows
from visibility_aware_edge_ldp.counts.group_pairs import rows_by_group
from visibility_aware_edge_ldp.counts.group_planes import GroupPlane, ScopeScores, scope_scores
from visibility_aware_edge_ldp.counts.scope_triangles import scope_triangle_sums
from visibility_aware_edge_ldp.counts.scores import Scores
from visibility_aware_edge_ldp.counts.triangles import NAMES, sum_over_pairs, triangle_sums

KINDS = {
    # Public edges, one class that answered once, and two classes that answered twice.
    "once": (np.array([1.0, -0.3, 1.4]), np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1]], bool), 1),
    "twice, two classes": (
        np.array([1.0, -0.3, 0.2, 1.4, -0.1, 0.5, 1.2]),
        np.array(
            [
                [1, 0, 0, 0, 0, 0, 0],
                [0, 1, 0, 0, 0, 0, 0],
                [0, 1, 1, 0, 0, 0, 0],
                [0, 1, 1, 1, 0, 0, 0],
                [0, 0, 0, 0, 1, 0, 0],
                [0, 0, 0, 0, 1, 1, 0],
                [0, 0, 0, 0, 1, 1, 1],
            ],
            bool,
        ),
        2,
    ),
}


def symmetric(bits: np.ndarray) -> np.ndarray:
    above = np.triu(bits, 1)
    return above | above.T


def flat(plane: np.ndarray) -> np.ndarray:
    return np.packbits(plane[np.triu_indices(len(plane), 1)], bitorder="little")


def by_tables(planes: list[np.ndarray], values: np.ndarray, member: np.ndarray, known: dict) -> ScopeScores | None:
    """The scores of planes that go by groups, whose outcomes are given as ``member`` says."""
    starts = [i for i in range(len(planes)) if not member[i, :i].any()]
    outcomes = [
        ([flat(plane) for plane in planes[a:b]], values[a:b].tolist()) for a, b in pairwise([*starts, len(planes)])
    ]
    return scope_scores(outcomes, len(planes[0]), known)


def planes_of_world(n: int, kind: str, seed: int) -> tuple[list[np.ndarray], dict[int, GroupPlane]]:
    draw = np.random.default_rng(seed)
    values, _, classes = KINDS[kind]
    groups = draw.integers(0, 7, n)
    asked = draw.integers(0, 2 + classes, (7, 7))
    asked = np.maximum(asked, asked.T)
    held = [asked == 1 + each for each in range(classes)]
    inside = [table[np.ix_(groups, groups)] & ~np.eye(n, dtype=bool) for table in held]
    planes = [symmetric(draw.random((n, n)) < 0.05) & ~np.logical_or.reduce(inside)]
    known = {}
    for table, plane in zip(held, inside, strict=True):
        known[len(planes)] = GroupPlane(groups, table)
        planes += [plane, plane & symmetric(draw.random((n, n)) < 0.4)]
        if len(values) > 3:
            planes.append(planes[-1] & symmetric(draw.random((n, n)) < 0.5))
    return planes, known


def world(n: int, kind: str, seed: int) -> tuple[ScopeScores, Scores]:
    """Scores whose asked planes go by groups, and the same ones that do not know it."""
    (planes, known), (values, member, _) = planes_of_world(n, kind, seed), KINDS[kind]
    found = by_tables(planes, values, member, known)
    assert found is not None
    return found, Scores(n, np.stack([pack_rows(each, n) for each in planes]), values, member)


@pytest.mark.parametrize("kernel", ["plain", "compiled"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [60, 610])
def test_sums_are_those_pair_by_pair(n: int, kind: str, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", kernel)
    known, counted = world(n, kind, n)
    found = scope_triangle_sums(known, np.arange(n), np.ones(n))
    expected = sum_over_pairs(counted, triangle_sums)
    assert tuple(found) == NAMES
    assert found == pytest.approx(expected, rel=1e-8)


def test_a_sample_of_rows_changes_what_goes_by_pairs_alone() -> None:
    known, _ = world(200, "once", 3)
    whole = scope_triangle_sums(known, np.arange(200), np.ones(200))
    halves = [scope_triangle_sums(known, np.arange(half, 200, 2), np.full(100, 2.0)) for half in range(2)]
    for name in NAMES:
        assert whole[name] == pytest.approx((halves[0][name] + halves[1][name]) / 2, rel=1e-9)
    assert halves[0]["count"] == whole["count"]
    assert halves[0]["one noisy"] != whole["one noisy"]


def test_what_is_known_of_nodes_is_what_the_planes_say() -> None:
    known, counted = world(610, "twice, two classes", 4)
    vector = np.random.default_rng(2).normal(size=610)
    assert (known.plane_degrees == counted.plane_degrees).all()
    assert (known.symbol_counts == counted.symbol_counts).all()
    for symbol in range(7):
        assert known.symbol_form(symbol, vector) == pytest.approx(counted.symbol_form(symbol, vector), rel=1e-9)


def test_only_tiles_with_ones_are_kept() -> None:
    """Two thousand nodes in four groups that are asked among themselves: four tiles of sixteen, and the empty one."""
    groups, table = np.arange(2048) // 512, np.eye(4, dtype=bool)
    inside = table[np.ix_(groups, groups)] & ~np.eye(2048, dtype=bool)
    ones = inside & symmetric(np.random.default_rng(1).random((2048, 2048)) < 0.4)
    plane = GroupPlane(groups, table)
    scores = by_tables([inside, ones], np.array([-0.5, 1.5]), np.tri(2, dtype=bool), {0: plane})
    assert scores is not None
    assert len(scores.tiles) == 5
    assert (scores.plane_degrees[1] == ones.sum(axis=1)).all()


def test_a_class_in_which_somebody_is_away_does_not_go_by_groups() -> None:
    planes, known = planes_of_world(60, "twice, two classes", 1)
    first = min(known)
    values, member, _ = KINDS["twice, two classes"]
    assert by_tables(planes, values, member, {first: known[first]}) is None
    assert by_tables(planes, values, member, {}) is None


def test_a_plane_of_all_positions_among_some_nodes_has_another_way() -> None:
    groups = np.arange(40) % 4
    inside = (groups[:, None] < 2) & (groups < 2) & ~np.eye(40, dtype=bool)
    table = np.outer(np.arange(4) < 2, np.arange(4) < 2)
    assert (
        by_tables([inside, inside], np.array([-0.5, 1.5]), np.tri(2, dtype=bool), {0: GroupPlane(groups, table)})
        is None
    )
    assert not GroupPlane(groups, np.eye(4, dtype=bool)).is_complete


def test_with_nothing_public_and_no_ones_there_is_nothing_to_count() -> None:
    groups, table = np.arange(40) % 4, np.eye(4, dtype=bool)
    inside = table[np.ix_(groups, groups)] & ~np.eye(40, dtype=bool)
    planes, plane = [inside, np.zeros((40, 40), bool)], GroupPlane(groups, table)
    scores = by_tables(planes, np.array([-0.5, 1.5]), np.tri(2, dtype=bool), {0: plane})
    assert scores is not None
    assert scope_triangle_sums(scores, np.arange(40), np.ones(40))["count"] == pytest.approx(-(0.5**3) * 3 * 4 * 120)


@pytest.mark.long
def test_rows_of_groups_are_right_on_average_over_coins() -> None:
    """Of what goes by pairs; the twin in which every row stands for equally many is not."""
    known, _ = world(400, "once", 5)
    whole = scope_triangle_sums(known, np.arange(400), np.ones(400))["one noisy"]
    found, even = [], []
    for coin in range(40):
        nodes, weights = rows_by_group(known, 80, str(coin))
        assert nodes.size == np.unique(nodes).size < 120
        found.append(scope_triangle_sums(known, nodes, weights)["one noisy"] / whole - 1)
        even.append(scope_triangle_sums(known, nodes, np.full(nodes.size, 400 / nodes.size))["one noisy"] / whole - 1)
    assert abs(np.mean(found)) < 4 * np.std(found) / 40**0.5
    assert np.std(found) < 0.1
    assert abs(np.mean(even)) > 4 * np.std(even) / 40**0.5


def test_all_rows_where_there_are_no_more() -> None:
    known, _ = world(60, "once", 5)
    nodes, weights = rows_by_group(known, 60, "coin")
    assert nodes.tolist() == list(range(60))
    assert (weights == 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_counts_between_other_groups_are_those_of_planes(kind: str) -> None:
    tables, planes = world(600, kind, 1)
    members = np.arange(600) % 5
    assert (tables.counts_between(members, 5) == planes.counts_between(members, 5)).all()
