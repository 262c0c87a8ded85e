"""Triangles of scores by group: all of them against the matrix, and samples of triples of blocks.  [KINDS.4-5]"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from support.grouped_scores import POLICIES, both_kinds
from visibility_aware_edge_ldp.compute.plain import tiles
from visibility_aware_edge_ldp.compute.tile_layout import Places
from visibility_aware_edge_ldp.counts import group_triangles
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.plane_products import PlaneMatrix
from visibility_aware_edge_ldp.counts.scores import Scores


def test_triangles_from_integers_are_those_of_the_scores(two_ways: tuple[Scores, GroupScores]) -> None:
    planes, kinds = two_ways
    dense = PlaneMatrix(planes).rows(np.arange(700)).astype(np.float64)
    expected = np.trace(dense @ dense @ dense) / 6
    assert group_triangles.triangle_total(kinds).value == pytest.approx(expected, rel=1e-4, abs=1)
    whole = group_triangles.sampled_total(kinds, 1.0, "a coin")
    assert (whole.value, whole.sampling) == (pytest.approx(group_triangles.triangle_total(kinds).value, rel=1e-9), 0)


@pytest.mark.parametrize("sizes", [(3,), (1, 2), (2, 1, 3), (1, 1, 1, 1)])
def test_every_triple_of_blocks_is_what_its_nodes_say(monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]) -> None:
    """Blocks of one side each, on so few nodes that all triples can be multiplied out by hand.  [KINDS.4]"""
    kinds = np.repeat(np.arange(len(sizes)), sizes)
    draws = np.random.default_rng(sum(sizes) + len(sizes))
    n = kinds.size
    upper = np.triu(draws.random((n, n)) < 0.5, 1)
    low, high = (np.triu(draws.normal(size=(len(sizes), len(sizes)))) for _ in range(2))
    low, high = low + np.triu(low, 1).T, high + np.triu(high, 1).T
    places = Places(kinds)
    plane = tiles.arranged(tiles.pack_rows(upper | upper.T, n), places.slots, places.sides)
    scores = GroupScores(places, low, high, plane)
    value = np.where(upper | upper.T, high[kinds][:, kinds], low[kinds][:, kinds])
    blocks = group_triangles.Blocks(scores, places.first_sides)
    for triple in {tuple(sorted(kinds[list(nodes)].tolist())) for nodes in combinations(range(n), 3)}:
        members = [nodes for nodes in combinations(range(n), 3) if tuple(sorted(kinds[list(nodes)])) == triple]
        ones = sum(bool(upper[a, b] and upper[b, c] and upper[a, c]) for a, b, c in members)
        expected = sum(value[a, b] * value[b, c] * value[a, c] for a, b, c in members)
        found = blocks.scored(np.array([triple]), np.array([ones]))
        assert found[0] == pytest.approx(expected)


def test_a_sample_of_triples_is_right_on_average_and_says_its_variance() -> None:
    """1,300 nodes of two kinds have few blocks, so that every stratum is small: the hardest case.  [KINDS.5]"""
    _, kinds = both_kinds(1300, POLICIES["both"])
    whole = group_triangles.triangle_total(kinds).value
    drawn = [group_triangles.sampled_total(kinds, 0.4, f"coin {i}") for i in range(120)]
    values, claimed = (np.array(column) for column in zip(*drawn, strict=True))
    error = values.std(ddof=1)
    assert abs(values.mean() - whole) < 3.5 * error / np.sqrt(len(drawn))
    assert 0.75 < claimed.mean() / error**2 < 1.33
    # Without the shuffle, a roster in which friends stand together would not be sampled fairly.
    assert len({round(value, 3) for value in values}) > 100


def test_the_twin_that_forgets_what_was_not_drawn_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawn triples' own sum: far from the whole by the same measure that the real one keeps."""
    _, kinds = both_kinds(1300, POLICIES["both"])
    whole = group_triangles.triangle_total(kinds).value
    monkeypatch.setattr(
        group_triangles, "_expanded", lambda size, drawn: group_triangles.Total(float(drawn.sum()), 0.0)
    )
    values = np.array([group_triangles.sampled_total(kinds, 0.4, f"coin {i}").value for i in range(120)])
    assert abs(values.mean() - whole) > 3.5 * values.std(ddof=1) / np.sqrt(len(values))
