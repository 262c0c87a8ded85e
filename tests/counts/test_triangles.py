"""One formula, two readers: on true bits every count is exact, with variance 0; on scores, see simulation/."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.score_planes import planes_of
from visibility_aware_edge_ldp.counts import cycles, stars, triangles
from visibility_aware_edge_ldp.counts import stars as edges
from visibility_aware_edge_ldp.counts import triangles as pairs
from visibility_aware_edge_ldp.counts.plane_products import PlaneMatrix
from visibility_aware_edge_ldp.counts.row_cycles import path_scores
from visibility_aware_edge_ldp.counts.row_noise import first_vertex_noise
from visibility_aware_edge_ldp.counts.scores import Scores, complete_among, score, spread
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


def on_true_bits(n: int, m: int, seed: int) -> tuple[object, Scores]:
    graph = erdos_renyi(n, m, seed)
    bits = np.zeros((n, n), bool)
    bits[graph.edges[:, 0], graph.edges[:, 1]] = True
    return graph, Scores(n, planes_of(bits), np.array([1.0]), np.array([[True]]))


@settings(max_examples=25, deadline=None)
@given(n=st.integers(5, 70), share=st.floats(0, 1), seed=st.integers(0, 10**6))
def test_counts_on_true_bits_are_the_truth(n: int, share: float, seed: int) -> None:
    graph, scores = on_true_bits(n, round(share * n * (n - 1) / 2), seed)
    three = pairs.sum_over_pairs(scores, triangles.triangle_sums)
    four = pairs.sum_over_pairs(scores, cycles.cycle_sums)
    found = {
        "edges": edges.edges(scores),
        "triangles": triangles.triangles(three),
        "four_cycles": cycles.cycles(scores, four),
        **{f"stars:{k}": stars.stars(scores, k) for k in (2, 3, 4)},
    }
    for name, (value, variance) in found.items():
        assert value == pytest.approx(exact(graph, name), rel=1e-9, abs=1e-6), name
        assert variance == pytest.approx(0, abs=1e-6 * max(1.0, value**2)), name
    assert triangles.covariance_with_two_stars(three) == pytest.approx(0, abs=1e-6)


def dense(n: int, seed: int) -> tuple[np.ndarray, Scores]:
    """Arbitrary scores of three symbols, as a matrix and as planes."""
    rng = np.random.default_rng(seed)
    upper = np.triu(np.ones((n, n), bool), 1)
    held = upper & (rng.random((n, n)) < 0.8)
    ones, other = held & (rng.random((n, n)) < 0.5), upper & ~held & (rng.random((n, n)) < 0.5)
    values = np.array([-0.4, 1.7, 1.0])
    member = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]], bool)
    matrix = np.where(ones, 1.7, np.where(held, -0.4, np.where(other, 1.0, 0.0)))
    return matrix + matrix.T, Scores(n, planes_of(held, ones, other), values, member)


def test_counts_on_any_scores_are_the_polynomials() -> None:
    n = 11
    matrix, scores = dense(n, 4)
    assert scores.node_sums(score) == pytest.approx(matrix.sum(axis=1))
    assert scores.node_sums(spread) == pytest.approx((matrix**2 - matrix).sum(axis=1))
    assert scores.rows(slice(2, 5)) == pytest.approx(matrix[2:5], rel=1e-6)
    three = sum(matrix[a, b] * matrix[b, c] * matrix[a, c] for a, b, c in combinations(range(n), 3))
    assert triangles.triangles(pairs.sum_over_pairs(scores, triangles.triangle_sums))[0] == pytest.approx(three)
    rings = ((a, b, c, d) for a, b, c, d in combinations(range(n), 4))
    orders = [ring for a, b, c, d in rings for ring in ((a, b, c, d), (a, c, b, d), (a, b, d, c))]
    four = sum(matrix[a, b] * matrix[b, c] * matrix[c, d] * matrix[d, a] for a, b, c, d in orders)
    assert cycles.cycles(scores, pairs.sum_over_pairs(scores, cycles.cycle_sums))[0] == pytest.approx(four)
    for k in (2, 3, 5):
        leaves = [np.prod(matrix[v, list(chosen)]) for v in range(n) for chosen in combinations(others(v, n), k)]
        assert stars.stars(scores, k)[0] == pytest.approx(sum(leaves)), k


def others(node: int, n: int) -> list[int]:
    return [other for other in range(n) if other != node]


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_complete_plane_need_not_be_counted(share: float) -> None:
    """A plane of all positions among some users, answers within it, and public edges anywhere."""
    n = 150
    rng = np.random.default_rng(0)
    private = rng.random(n) < share
    upper = np.triu(np.ones((n, n), bool), 1)
    held = upper & private & private[:, None]
    planes = planes_of(held, held & (rng.random((n, n)) < 0.4), upper & ~held & (rng.random((n, n)) < 0.05))
    member, values = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]], bool), np.array([-0.3, 1.3, 1.0])
    known, counted = (Scores(n, planes, values, member, complete) for complete in (complete_among(planes), {}))
    assert list(known.complete) == [0] if share < 1 else 0 in known.complete
    for summand in (triangles.triangle_sums, cycles.cycle_sums):
        a, b = pairs.sum_over_pairs(known, summand), pairs.sum_over_pairs(counted, summand)
        assert a == pytest.approx(b, rel=1e-9)
    assert first_vertex_noise(known) == pytest.approx(first_vertex_noise(counted), rel=1e-9)
    assert path_scores(known) == pytest.approx(path_scores(counted), rel=1e-6, abs=1e-4)
    left = rng.normal(size=(3, n)).astype(np.float32)
    assert PlaneMatrix(known).times(left) == pytest.approx(left @ counted.rows(slice(None)), rel=1e-4, abs=1e-4)
    assert PlaneMatrix(counted).times(left) == pytest.approx(left @ counted.rows(slice(None)), rel=1e-4, abs=1e-4)
    for k in (2, 3):
        assert stars.stars(known, k) == pytest.approx(stars.stars(counted, k), rel=1e-9)


def test_blocks_of_any_size_give_the_same_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    _, scores = dense(90, 9)
    sums = []
    for size in (1, 7, 48, 200):
        monkeypatch.setattr(pairs, "BLOCK", size)
        sums.append(pairs.sum_over_pairs(scores, cycles.cycle_sums))
    assert all(other == pytest.approx(sums[0], rel=1e-9) for other in sums[1:])
