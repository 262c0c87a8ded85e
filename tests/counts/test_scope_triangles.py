"""Triangles where answers go by groups: the same sums as pair by pair.  [SCOPE.6]"""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows
from visibility_aware_edge_ldp.counts.group_pairs import rows_by_group
from visibility_aware_edge_ldp.counts.group_planes import GroupPlane
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


def world(n: int, kind: str, seed: int) -> tuple[Scores, Scores]:
    """Scores whose asked planes go by groups, and the same ones that do not know it."""
    draw = np.random.default_rng(seed)
    values, member, classes = KINDS[kind]
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
    packed = np.stack([pack_rows(each, n) for each in planes])
    return Scores(n, packed, values, member, by_groups=known), Scores(n, packed, values, member)


@pytest.mark.parametrize("kernel", ["plain", "compiled"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [60, 610])
def test_sums_are_those_pair_by_pair(n: int, kind: str, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", kernel)
    known, counted = world(n, kind, n)
    assert known.asked_by_groups
    assert not counted.asked_by_groups
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


def test_a_class_in_which_somebody_is_away_does_not_go_by_groups() -> None:
    known, _ = world(60, "twice, two classes", 1)
    first = min(known.by_groups)
    partly = Scores(known.n, known.planes, known.values, known.member, by_groups={first: known.by_groups[first]})
    assert not partly.asked_by_groups


def test_with_nothing_public_and_no_ones_there_is_nothing_to_count() -> None:
    groups, table = np.arange(40) % 4, np.eye(4, dtype=bool)
    inside = table[np.ix_(groups, groups)] & ~np.eye(40, dtype=bool)
    planes = np.stack([pack_rows(each, 40) for each in (inside, np.zeros((40, 40), bool))])
    scores = Scores(40, planes, np.array([-0.5, 1.5]), np.tri(2, dtype=bool), by_groups={0: GroupPlane(groups, table)})
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
