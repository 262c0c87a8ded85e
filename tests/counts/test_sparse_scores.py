"""Scores in lists are those of planes: sums over nodes, forms, and the sums behind triangles.  [SAMPLE.5]"""

from __future__ import annotations

import numpy as np
import pytest

from support.score_planes import planes_of
from visibility_aware_edge_ldp.counts import triangles
from visibility_aware_edge_ldp.counts.scores import Scores, score, spread
from visibility_aware_edge_ldp.counts.sparse_scores import ListedScores

VALUES = np.array([-0.3, 1.3])


@pytest.fixture(scope="module")
def two_ways() -> tuple[Scores, ListedScores]:
    """The same scores of 60 nodes, most of them 0."""
    n, random = 60, np.random.default_rng(2)
    held = np.triu(random.random((n, n)) < 0.3, 1)
    ones = held & (random.random((n, n)) < 0.5)
    planes = Scores(n, planes_of(held, ones), VALUES, np.tri(2, dtype=bool))
    starts = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    rows, targets = np.nonzero(held)
    return planes, ListedScores(starts, targets.astype(np.int32), ones[rows, targets].astype(np.uint8), VALUES)


def test_sums_over_nodes_and_forms_are_those_of_planes(two_ways: tuple[Scores, ListedScores]) -> None:
    planes, listed = two_ways
    vector = np.random.default_rng(4).integers(-9, 9, planes.n).astype(np.float64)
    assert (listed.symbol_counts == planes.symbol_counts).all()
    for function in (score, spread):
        assert listed.node_sums(function) == pytest.approx(planes.node_sums(function))
    for symbol in (0, 1):
        assert listed.symbol_form(symbol, vector) == pytest.approx(planes.symbol_form(symbol, vector))


def test_sums_behind_triangles_are_those_of_planes(two_ways: tuple[Scores, ListedScores]) -> None:
    planes, listed = two_ways
    expected, found = triangles.sum_over_pairs(planes, triangles.triangle_sums), listed.triangle_sums()
    assert triangles.triangles(found) == pytest.approx(triangles.triangles(expected))
    covariances = [triangles.covariance_with_two_stars(sums) for sums in (found, expected)]
    assert covariances[0] == pytest.approx(covariances[1])
    assert found["count"] == pytest.approx(expected["count"])


def test_blocks_of_lists_change_nothing(two_ways: tuple[Scores, ListedScores], monkeypatch: pytest.MonkeyPatch) -> None:
    from visibility_aware_edge_ldp.counts import sparse_scores

    _, listed = two_ways
    monkeypatch.setattr(sparse_scores, "_BLOCK", 7)
    again = ListedScores(listed.starts, listed.targets, listed.symbols, listed.values)
    assert (again.symbol_counts == listed.symbol_counts).all()


def test_counts_between_groups_are_those_of_planes(two_ways: tuple[Scores, ListedScores]) -> None:
    planes, listed = two_ways
    members = np.arange(60) % 4
    assert (listed.counts_between(members, 4) == planes.counts_between(members, 4)).all()
