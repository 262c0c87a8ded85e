"""The search for the positions that decide, against a look at every position: all classes, all sorts of graphs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from visibility_aware_edge_ldp.client.sensitivity import triangle_profile
from visibility_aware_edge_ldp.compute import backend, ranked_graph
from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility

Bits = npt.NDArray[np.bool_]
Table = npt.NDArray[np.uint8]
SHAPES = ("sparse", "dense", "stars", "hubs", "clique")
POLICIES = ("one class", "drawn", "public hubs", "types", "by bit", "nearly all public")


def graph_of(rng: np.random.Generator, shape: str, n: int) -> Bits:
    chance = np.full((n, n), {"sparse": 0.06, "dense": 0.8}.get(shape, 0.03))
    if shape == "stars":
        chance[: min(n, 3)] = 0.9
    if shape == "hubs":
        weight = rng.random(n) ** 3
        chance = np.outer(weight, weight)
    if shape == "clique":
        chance[: n // 3, : n // 3] = 1
    upper = np.triu(rng.random((n, n)) < chance, 1)
    order = rng.permutation(n)
    matrix: Bits = (upper | upper.T)[np.ix_(order, order)]
    return matrix


def table_of(rng: np.random.Generator, policy: str, matrix: Bits) -> Table:
    n = len(matrix)
    table = np.full((n, n), rng.integers(0, 3))
    if policy == "drawn":
        table = rng.choice(3, (n, n), p=rng.dirichlet([1, 1, 1]))
    if policy == "public hubs":
        hub = np.argsort(np.argsort(-matrix.sum(axis=0))) < rng.integers(0, n + 1)
        table = np.where(hub[:, None] | hub, 0, rng.integers(1, 3))
    if policy == "types":
        kinds = rng.integers(0, 3, n)
        table = rng.integers(0, 3, (3, 3))[np.ix_(kinds, kinds)]
    if policy == "by bit":
        table = np.where(matrix, *rng.integers(0, 3, 2))
    if policy == "nearly all public":
        table = np.where(rng.random((n, n)) < 0.04, rng.integers(1, 3, (n, n)), 0)
    upper = np.triu(table, 1)
    return (upper + upper.T).astype(np.uint8)


def by_looking_at_all(matrix: Bits, table: Table, w: int, horizon: int) -> tuple[Fraction, ...]:
    """For every non-public position: sort what each other node costs, and take while the budget lasts.  [SENS.3]"""
    n, budgets = len(matrix), np.arange(horizon + 1)
    change = np.array([10**6, w, 1])[table]
    missing, best = np.where(matrix, 0, change), np.zeros(horizon + 1, dtype=np.int64)
    for i, j in zip(*np.nonzero(np.triu(table != Visibility.PUBLIC, 1)), strict=True):
        costs = missing[i] + missing[j]
        costs[[i, j]] = 10**6
        taken = np.searchsorted(np.cumsum(np.sort(costs)), budgets, side="right")
        best = np.maximum(best, np.minimum(taken, n - 2) * (w // change[i, j]))
    return tuple(Fraction(int(value), w) for value in best)


def disagreements(seed: int, cases: int) -> list[tuple[object, ...]]:
    rng, wrong = np.random.default_rng(seed), []
    for case in range(cases):
        shape, policy = SHAPES[case % len(SHAPES)], POLICIES[case % len(POLICIES)]
        n, w = int(rng.integers(2, 61)), int(rng.integers(1, 5))
        matrix = graph_of(rng, shape, n)
        table = table_of(rng, policy, matrix)
        edges = np.argwhere(np.triu(matrix)).astype(np.int32)
        classes = BoundPolicy(n, lambda u, v, table=table: table[u, v])
        profile = triangle_profile(n, edges, classes, w, int(rng.choice([0, 1, 2, 5, 24])))
        if profile.within != by_looking_at_all(matrix, table, w, profile.horizon):
            wrong.append((case, shape, policy, n, w, profile.horizon))
    return wrong


@pytest.mark.parametrize("loops", ["compiled", "plain"])
@pytest.mark.parametrize(("hubs", "growth"), [(1, 2), (3, 8), (64, 8)])
def test_the_search_finds_what_a_look_at_every_position_finds(
    monkeypatch: pytest.MonkeyPatch, hubs: int, growth: int, loops: str
) -> None:
    monkeypatch.setattr(ranked_graph, "HUBS", hubs)
    monkeypatch.setattr(ranked_graph, "GROWTH", growth)
    if loops == "plain":
        monkeypatch.setattr(ranked_graph, "loops", lambda: backend.PLAIN["common_neighbours"])
    assert not disagreements(seed=hubs, cases=60)


def test_a_search_that_stops_among_its_first_hubs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: nobody but the first hubs matters."""
    monkeypatch.setattr(ranked_graph, "HUBS", 8)
    monkeypatch.setattr(ranked_graph.Ranking, "reach", lambda self, _: min(8, len(self.node)))
    assert disagreements(seed=0, cases=30)


def test_a_reach_of_one_rank_too_few_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_graph, "HUBS", 1)
    reach = ranked_graph.Ranking.reach
    monkeypatch.setattr(ranked_graph.Ranking, "reach", lambda self, floor: reach(self, floor) - 1)
    assert disagreements(seed=1, cases=90)


def test_positions_that_were_not_visited_for_want_of_private_edges_are_visited_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Edges are public, the rest is private: no seed is ever found, and the hubs' empty positions decide."""
    monkeypatch.setattr(ranked_graph, "HUBS", 2)
    monkeypatch.setattr(ranked_graph, "GROWTH", 2)
    rng, n = np.random.default_rng(2), 40
    matrix = graph_of(rng, "dense", n)
    table = np.where(matrix, Visibility.PUBLIC, Visibility.PRIVATE).astype(np.uint8)
    edges = np.argwhere(np.triu(matrix)).astype(np.int32)
    profile = triangle_profile(n, edges, BoundPolicy(n, lambda u, v: table[u, v]), 2, 10)
    assert profile.within == by_looking_at_all(matrix, table, 2, 10)
    assert profile.within[0] > 0
