"""4-cycles over rows: each is counted once, whatever the numbering of its vertices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows
from visibility_aware_edge_ldp.counts import exact
from visibility_aware_edge_ldp.counts.row_cycles import Rates, cycle_pulls, largest_path, path_scores
from visibility_aware_edge_ldp.counts.rows import later, over_rows
from visibility_aware_edge_ldp.counts.scores import Scores
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph


def random_graph(n: int, share: float, seed: int) -> tuple[Graph, np.ndarray]:
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < share, 1)
    edges = np.argwhere(upper)
    return read_graph(edges, nodes=range(n)), upper | upper.T


def bits_as_scores(joined: np.ndarray) -> Scores:
    n = len(joined)
    return Scores(n, pack_rows(joined, n)[None], np.ones(1), np.ones((1, 1), dtype=np.bool_))


def lists_of(joined: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum(joined.sum(axis=1))])
    return later(0, offsets, np.nonzero(joined)[1].astype(np.int32))


@pytest.mark.parametrize(("n", "share", "seed"), [(4, 1.0, 0), (9, 0.6, 1), (40, 0.3, 2), (150, 0.1, 3)])
def test_true_bits_give_every_4_cycle_once(n: int, share: float, seed: int) -> None:
    graph, joined = random_graph(n, share, seed)
    scores = bits_as_scores(joined)
    totals = over_rows(scores, 0, *lists_of(joined), lambda block: block.totals, cycle_pulls(path_scores(scores)))
    assert np.concatenate(totals).sum() == exact.cycles(graph)


def test_a_pull_is_what_one_friend_more_or_less_changes() -> None:
    _, joined = random_graph(12, 0.5, 4)
    scores = bits_as_scores(joined)
    pulls = cycle_pulls(path_scores(scores))

    def total(friends: list[int]) -> tuple[float, np.ndarray]:
        offsets, members = np.array([0, len(friends)]), np.array(friends, dtype=np.int32)
        (block,) = over_rows(scores, 2, offsets, members, lambda block: block, pulls)
        return float(block.totals[0]), block.pulls[0]

    with_friend, without = total([4, 6, 9, 11]), total([4, 6, 11])
    assert with_friend[0] - without[0] == pytest.approx(with_friend[1][9])
    assert with_friend[1][9] == pytest.approx(without[1][9])
    changes = np.abs(with_friend[1] - without[1])[3:]
    assert changes.max() <= largest_path(path_scores(scores), scores)


@pytest.mark.parametrize("heard", [3, 4, 5])
@pytest.mark.parametrize("public", [0, 1], ids=["nothing public", "one user's row public"])
def test_every_choice_of_rows_that_are_missing_averages_to_the_truth(heard: int, public: int) -> None:
    """[CYCLE.1] without noise: users 0 to 5 hold a row each, or 1 to 5 and user 0's row is public."""
    n, asked = 7, 6 - public
    graph, joined = random_graph(n, 0.8, 6)
    open_edges = np.zeros_like(joined)
    open_edges[:public], open_edges[:, :public] = joined[:public], joined[:, :public]
    one, two = (heard - 1) / (asked - 1), (heard - 1) * (heard - 2) / ((asked - 1) * (asked - 2))
    chances = {True: (one, two), False: (heard / asked, one * heard / asked)}
    found, forgetful = [], []
    for chosen in combinations(range(public, 6), heard):
        total = plain = 0.0
        for user in range(6):
            rates = Rates(*chances[user >= public], public)
            scores = with_missing_rows(joined, open_edges, [*range(public), *chosen], rates.one)
            offsets, members = lists_of(joined & (np.arange(n) == user)[:, None])
            if user < public or user in chosen:
                worth = 1 if user < public else asked / heard
                for each in (rates, Rates()):
                    pulls = cycle_pulls(path_scores(scores, each), each)
                    here = worth * sum(over_rows(scores, 0, offsets, members, lambda b: b.totals.sum(), pulls))
                    total, plain = (total + here, plain) if each is rates else (total, plain + here)
        found.append(total)
        forgetful.append(plain)
    assert np.mean(found) == pytest.approx(exact.cycles(graph))
    if heard < asked:
        # The twin that takes every two holders for different ones is biased.
        assert np.mean(forgetful) != pytest.approx(exact.cycles(graph), rel=0.001)


def with_missing_rows(joined: np.ndarray, open_edges: np.ndarray, heard: list[int], rate: float) -> Scores:
    """Public edges with score 1, and the others' bits where their first user was heard, divided by the rate."""
    n = len(joined)
    answered = np.triu(joined & np.isin(np.arange(n), heard)[:, None], 1)
    planes = [open_edges, (answered | answered.T) & ~open_edges]
    kept = slice(0 if open_edges.any() else 1, 2)
    values = np.array([1.0, 1 / rate])[kept]
    return Scores(n, np.stack([pack_rows(p, n) for p in planes[kept]]), values, np.eye(len(values), dtype=np.bool_))
