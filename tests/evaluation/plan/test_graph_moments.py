"""Sums of one pass, against matrices."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation.plan import graph_moments
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import moments_of
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw


@pytest.mark.parametrize("rule", ["hash", "profiles"])
def test_shares_of_triples(rule: str) -> None:
    policy = VisibilityPolicy("0.4") if rule == "hash" else VisibilityPolicy.public_profiles("0.4")
    found = moments_of(VisibilityAwareGraph(erdos_renyi(60, 240), policy))
    u, v = np.indices((60, 60)).reshape(2, -1)
    hidden = found.world.public.classes.of(u, v).reshape(60, 60) == 2
    hidden &= ~np.eye(60, dtype=bool)
    true = np.einsum("ab,bc,ca", *(hidden.astype(float) for _ in range(3))) / (60 * 59 * 58)
    assert found.triples[2, 2, 2] == pytest.approx(true, rel=0.03)
    assert found.triples.sum() == pytest.approx(1)


def test_some_users_and_some_triangles_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = powerlaw(1500, 20_000, 1)
    whole, part = (moments_of(VisibilityAwareGraph(graph, VisibilityPolicy.nothing())) for _ in range(2))
    monkeypatch.setattr(graph_moments, "_SOME_USERS", 1500)
    users, weights = whole.some_users
    assert users.size == np.count_nonzero(whole.triangle_pulls.counts.any(axis=1))
    monkeypatch.setattr(graph_moments, "_SOME_USERS", 500)
    monkeypatch.setattr(graph_moments, "_SOME_TRIANGLES", 1000)
    few, stands_for = part.some_users
    assert few.size == 500
    assert len(set(few.tolist())) == 500
    assert stands_for.sum() == pytest.approx(weights.sum())
    lengths = whole.list_lengths**2
    assert stands_for @ lengths[few] == pytest.approx(weights @ lengths[users], rel=0.05)
    corners, each = part.some_triangles
    assert len(corners) * each == pytest.approx(exact(graph, "triangles"))
    assert 1000 <= len(corners) <= 2000
    edges = {tuple(edge) for edge in graph.edges.tolist()}
    assert all(tuple(sorted(pair)) in edges for a, b, c in corners[:50].tolist() for pair in ((a, b), (b, c), (a, c)))
