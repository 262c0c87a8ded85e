"""The positions that decide the sensitivity of k-stars, against every position and every split.  [SENS.7-9]"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
import pytest

from support.slow_star_frontier import slow_star_frontier
from visibility_aware_edge_ldp.client import star_frontier as module
from visibility_aware_edge_ldp.client.star_frontier import StarEnd, StarPoint, joined_curves, star_frontier
from visibility_aware_edge_ldp.public.policy import BoundPolicy, VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility
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


def random_classes(random: np.random.Generator, n: int) -> BoundPolicy:
    """A table of classes, uneven, with some nodes all of whose positions are PUBLIC."""
    table = random.choice(3, size=(n, n), p=random.dirichlet([0.5] * 3)).astype(np.uint8)
    table = np.minimum(table, table.T)
    hidden = random.random(n) < random.choice([0, 0.2])
    table[hidden, :] = table[:, hidden] = Visibility.PUBLIC
    return BoundPolicy(n, lambda u, v: table[u, v])


def random_policy(random: np.random.Generator, n: int) -> BoundPolicy:
    """Classes by a table, by a hash, by kinds of nodes, or the same for all."""
    choices = [
        VisibilityPolicy(Fraction(1, 4), Fraction(1, 2)),
        VisibilityPolicy(Fraction(1, 2), Fraction(1, 2)),
        VisibilityPolicy.from_profiles({i: "public" for i in range(n) if random.random() < 0.4}),
        VisibilityPolicy.from_positions(otherwise="friend_visible"),
        VisibilityPolicy.nothing(),
    ]
    at = int(random.integers(0, 2 * len(choices)))
    return choices[at].bind(range(n)) if at < len(choices) else random_classes(random, n)


@pytest.mark.parametrize("seed", range(60))
def test_the_values_are_those_of_the_search_over_all_pairs(seed: int) -> None:
    """Graphs from sparse to dense, k up to numbers beyond 64 bits, and few nodes at a time."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 36))
    edges = erdos_renyi(n, int(random.integers(0, n * (n - 1) // 2 + 1)), seed).edges
    classes, k = random_policy(random, n), int(random.choice([2, 3, 4, 7]))
    w, horizon = int(random.integers(1, 5)), int(random.choice([0, 1, 5, 20, 64]))
    found = star_frontier(n, edges, classes, k, w, horizon)
    points, seen = slow_star_frontier(n, edges, classes, k, w, horizon, prune=False)
    budgets = np.arange(horizon + 1)
    assert values_of(found.points, budgets) == values_of(points, budgets)
    assert bool(found.free) == (seen or (horizon < k - 1 and classes.present != {Visibility.PUBLIC})), (n, k)


def values_of(points: Sequence[StarPoint], budgets: npt.NDArray[np.int64]) -> list[Fraction]:
    """The largest change for a unit of cost at each budget."""
    each = [[Fraction(int(value), point.divisor) for value in point.changes(budgets)] for point in points]
    return [max(column) for column in zip(*each, strict=True)] or [Fraction(0)] * len(budgets)


def test_numbers_beyond_64_bits_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, classes = erdos_renyi(90, 2500, 1), VisibilityPolicy(Fraction(1, 4), Fraction(3, 4)).bind(range(90))
    found = star_frontier(90, graph.edges, classes, 30, 2, 12)
    points, _ = slow_star_frontier(90, graph.edges, classes, 30, 2, 12)
    assert values_of(found.points, np.arange(13)) == values_of(points, np.arange(13))
    assert max(values_of(found.points, np.arange(13))) > 2**64
    monkeypatch.setattr(module, "FIRST", 1)
    monkeypatch.setattr(module, "GROWTH", 2)
    assert values_of(star_frontier(90, graph.edges, classes, 30, 2, 12).points, np.arange(13)) == values_of(
        points, np.arange(13)
    )


def test_a_search_that_forgets_the_later_ranks_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above can fail: looking at the first ranks alone misses positions."""
    random, missed = np.random.default_rng(0), 0
    monkeypatch.setattr(module, "FIRST", 2)
    monkeypatch.setattr(module._StarSearch, "_others_promise", lambda search, known: known == 0)
    for seed in range(10):
        edges, classes = erdos_renyi(20, 60, seed).edges, random_classes(random, 20)
        points, _ = slow_star_frontier(20, edges, classes, 3, 2, 8)
        budgets = np.arange(9)
        found = star_frontier(20, edges, classes, 3, 2, 8).points
        missed += values_of(found, budgets) != values_of(points, budgets)
    assert missed > 0


def test_two_ends_share_a_budget_in_every_way() -> None:
    one, other = np.array([0, 1, 5, 5]), np.array([2, 2, 2, 10])
    assert joined_curves(one, other).tolist() == [2, 3, 7, 10]
    assert joined_curves(np.stack([one, one]), other[None]).tolist() == [[2, 3, 7, 10]] * 2
