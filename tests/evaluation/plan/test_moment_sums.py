"""Sums of one pass, against matrices."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation.plan import moment_sums
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import Links, moments_of
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(60, 240, 3)


POLICIES = {"nothing": VisibilityPolicy.nothing(), "mixed": VisibilityPolicy("0.3", "0.3")}


def adjacency() -> np.ndarray:
    matrix = np.zeros((60, 60))
    u, v = GRAPH.edges.T
    matrix[u, v] = matrix[v, u] = 1
    return matrix


def world(policy: str) -> tuple[VisibilityAwareGraph, np.ndarray]:
    made = VisibilityAwareGraph(GRAPH, POLICIES[policy])
    u, v = np.indices((60, 60)).reshape(2, -1)
    kinds = made.public.classes.of(u, v).reshape(60, 60)
    return made, kinds


def by_class(values: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    upper = np.triu(np.ones((60, 60), bool), 1)
    return np.array([values[upper & (kinds == kind)].sum() for kind in range(3)])


def test_links_are_matrices() -> None:
    links, a = Links(*GRAPH.neighbours), adjacency()
    some = np.array([0, 7, 59])
    assert np.array_equal(links.columns(some), a[:, some])
    assert np.array_equal(links.paths(some, links), (a @ a)[:, some])
    assert np.array_equal(links.later.paths(some, links.earlier), (np.triu(a) @ np.triu(a).T)[:, some])
    assert np.allclose(links.earlier.times(a[:, some].astype(np.float32)), (np.tril(a) @ a)[:, some])


@pytest.mark.parametrize("policy", POLICIES)
def test_sums_by_class(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moment_sums, "_BLOCK", 60 * 7)  # several blocks, the last one short
    (made, kinds), a = world(policy), adjacency()
    found = moments_of(made, cycles=True)
    shared = a @ a
    early = np.array([[(a[: min(j, k), j] * a[: min(j, k), k]).sum() for k in range(60)] for j in range(60)])
    degrees = a.sum(axis=0)
    closing = a @ a @ a - a * (degrees[:, None] + degrees - 1)
    assert np.allclose(found.shared_squares, by_class(shared**2, kinds))
    assert np.allclose(found.earlier_squares, by_class(early**2, kinds))
    assert np.allclose(found.closing_squares, by_class(closing**2, kinds))
    assert np.allclose(found.shared_ends, by_class(shared * (degrees[:, None] + degrees - 2 * a), kinds))
    assert np.allclose(found.positions, by_class(np.ones((60, 60)), kinds))
    assert found.triangles == exact(GRAPH, "triangles")


def test_the_pulls_of_4_cycles_are_those_of_true_bits() -> None:
    (made, _), a = world("nothing"), adjacency()
    found = moments_of(made, cycles=True)
    for i in (0, 5, 30):
        friends = [k for k in range(i + 1, 60) if a[i, k]]
        pulls = []
        for x in range(i + 1, 60):
            total = 0.0
            for k in (k for k in friends if k != x):
                total += sum(a[k, m] * a[m, x] * (0.5 if m < min(k, x) else 1.0) for m in range(60) if m != i)
            pulls.append(total)
        assert found.cycle_pulls.sums[i].sum() == pytest.approx(sum(pulls), rel=1e-4)
        assert found.cycle_pulls.counts[i].sum() == len(pulls)


def test_a_sample_stands_for_all() -> None:
    graph = powerlaw(1500, 9000, 1)
    made = VisibilityAwareGraph(graph, VisibilityPolicy.nothing())
    whole = moments_of(made)
    part: Moments = moments_of(made, rows=600)
    assert part.chosen.size == 600
    assert part.weights.sum() == pytest.approx(1500)
    assert part.shared_squares.sum() == pytest.approx(whole.shared_squares.sum(), rel=0.05)
