"""The positions that decide the sensitivity of k-stars, against every position and every split.  [SENS.7-9]"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.star_frontier import StarEnd, StarPoint, star_frontier
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N, HORIZON = 12, 9


def by_brute_force(point: StarPoint, budget: int) -> int:
    """The most k-stars on a position over every split of the budget between its ends."""
    splits = np.arange(budget + 1)
    first, second = point.first.grown(splits), point.second.grown(budget - splits)
    return max(comb(int(a), point.k - 1) + comb(int(b), point.k - 1) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("w", [1, 2, 3])
def test_a_point_finds_its_best_split(k: int, w: int) -> None:
    random = np.random.default_rng(10 * k + w)
    for _ in range(40):
        ends = [StarEnd(*(int(x) for x in random.integers(0, 6, 3)), w) for _ in range(2)]
        point, budgets = StarPoint(k, ends[0], ends[1], 1), np.arange(25)
        assert point.changes(budgets).tolist() == [by_brute_force(point, budget) for budget in budgets.tolist()]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_few_points_do_for_every_distance_where_nothing_is_public(k: int, seed: int) -> None:
    graph = erdos_renyi(N, 20, seed)
    edges = {(int(u), int(v)) for u, v in graph.edges}
    found = star_frontier(N, graph.edges, VisibilityPolicy.nothing().bind(range(N)), k, 2, HORIZON)
    budgets, degrees = np.arange(HORIZON + 1), graph.degrees
    every = []
    for u, v in combinations(range(N), 2):
        ends = (int(degrees[end]) - ((u, v) in edges) for end in (u, v))
        first, second = (StarEnd(degree, N - 2 - degree) for degree in ends)
        every.append(StarPoint(k, first, second, 1).changes(budgets))
    kept = np.max([point.changes(budgets) for point in found.points], axis=0)
    assert kept.tolist() == np.max(every, axis=0).tolist()
    assert len(found.points) < len(every)


def test_where_everything_is_public_no_position_decides() -> None:
    graph = erdos_renyi(N, 20, 1)
    found = star_frontier(N, graph.edges, VisibilityPolicy(1).bind(range(N)), 2, 2, HORIZON)
    assert found.points == ()


def test_an_end_grows_at_one_first_and_wastes_what_is_left() -> None:
    end = StarEnd(degree=3, at_one=2, at_w=2, w=3)
    assert end.grown(np.arange(10)).tolist() == [3, 4, 5, 5, 5, 6, 6, 6, 7, 7]
    assert end.steps == (0, 2, 8)
    assert end.wasted(np.array([2, 4, 5, 6])).tolist() == [0, 2, 0, 1]
