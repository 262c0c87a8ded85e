"""What first answers add to the variance of sums over rows: term by term, and nothing on true bits.  [ROWS.2]"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from support.row_scores import EVERY_GRAPH, GRAPHS, flat, mixed_scores, true_scores
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows
from visibility_aware_edge_ldp.counts.row_noise import first_vertex_noise, shape_of, whole_rows
from visibility_aware_edge_ldp.counts.scores import scores_of


@pytest.mark.parametrize("n", [2, 3, 64, 65, 130])
def test_whole_rows_are_told_from_parts(n: int) -> None:
    random = np.random.default_rng(n)
    heard = random.random(n) < 0.7
    upper = np.triu(np.repeat(heard[:, None], n, axis=1), 1)
    found = whole_rows(pack_rows(upper | upper.T, n), n)
    assert found is not None
    assert found[:-1].tolist() == heard[:-1].tolist()
    if n > 2:
        upper[0, n - 1] = ~upper[0, n - 1]
        assert whole_rows(pack_rows(upper | upper.T, n), n) is None


def brute_noise(whole: np.ndarray) -> float:
    """[ROWS.2] term by term."""
    total = 0.0
    for j, k in combinations(range(len(whole)), 2):
        paths = whole[:j, j] * whole[:j, k]
        total += (whole[j, k] ** 2 - whole[j, k]) * (paths.sum() ** 2 - (paths**2).sum() + paths.sum())
    return total


@pytest.mark.parametrize("n", [2, 3, 50, 130])
@pytest.mark.parametrize("everybody", [False, True], ids=["three groups", "one group of all positions"])
def test_the_first_answers_noise_term_by_term(n: int, everybody: bool) -> None:
    scores, whole = mixed_scores(n, n, everybody)
    assert first_vertex_noise(scores) == pytest.approx(brute_noise(whole), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [3, 50, 130])
def test_the_first_answers_noise_with_rows_that_stayed_away(n: int) -> None:
    random = np.random.default_rng(n)
    held = np.triu(np.repeat((random.random(n) < 0.7)[:, None], n, axis=1), 1)
    ones = held & (random.random((n, n)) < 0.4)
    scores = scores_of([([flat(held), flat(ones)], [-0.6, 1.3])], n)
    whole = np.where(ones, 1.3, -0.6) * held
    assert first_vertex_noise(scores) == pytest.approx(brute_noise(whole + whole.T), rel=1e-9, abs=1e-9)


@EVERY_GRAPH
def test_true_bits_have_no_noise(name: str) -> None:
    assert first_vertex_noise(true_scores(GRAPHS[name])) == 0


def test_the_pass_for_one_class_tells_how_much_is_done() -> None:
    everything = np.triu(np.ones((130, 130), bool), 1)
    ones = everything & (np.random.default_rng(5).random((130, 130)) < 0.4)
    scores, shares = scores_of([([flat(everything), flat(ones)], [-0.6, 1.3])], 130), list[float]()
    first_vertex_noise(scores, shares.append)
    assert sum(shares) == pytest.approx(1)


def test_two_stars_of_a_graph_without_order_are_not_taken_for_noise() -> None:
    """On true bits nothing is noise: the shape has the graph's own edges and 2-stars.  [TRIANGLE.6]"""
    graph = GRAPHS["power law"]
    shape = shape_of(true_scores(graph), 1.0)
    stars = float((graph.degrees * (graph.degrees - 1)).sum()) / 2
    assert (shape.edges, shape.variance) == (graph.m, 0)
    assert shape.stars == pytest.approx(stars)
    assert shape.own_noise == 0
