"""Sums over pairs of scores by group: those of planes, and samples of rows.  [KINDS.2-3]"""

from __future__ import annotations

import numpy as np
import pytest

from support.grouped_scores import POLICIES, both_kinds
from visibility_aware_edge_ldp.counts import cycles, group_pairs, triangles
from visibility_aware_edge_ldp.counts import triangles as pairs
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.scores import Scores


def test_sums_over_pairs_are_those_of_planes(two_ways: tuple[Scores, GroupScores]) -> None:
    planes, kinds = two_ways
    expected = pairs.sum_over_pairs(
        planes,
        lambda block: {
            **{f"triangles/{name}": value for name, value in triangles.triangle_sums(block).items()},
            **{f"cycles/{name}": value for name, value in cycles.cycle_sums(block).items()},
        },
    )
    all_but_two = group_pairs.RowSample(np.arange(698), np.array([698, 699]), 2)
    each_pair_once, rows = group_pairs.sum_pairs(kinds, True)
    each_row, same_rows = group_pairs.sum_pairs(kinds, True, all_but_two)
    assert each_row.pop("cycles/sampling") == 0
    for name, value in expected.items():
        assert each_pair_once[name] == pytest.approx(value, rel=1e-8, abs=1e-4)
        assert each_row[name] == pytest.approx(value, rel=1e-8, abs=1e-4)
    np.testing.assert_allclose(rows.squares, same_rows.squares, rtol=1e-9)
    only_triangles, _ = group_pairs.sum_pairs(kinds, False)
    assert only_triangles["triangles/count"] == pytest.approx(expected["triangles/count"], rel=1e-8)
    assert only_triangles["cycles/count"] == 0


def test_a_sample_of_rows_is_right_on_average_and_says_its_variance() -> None:
    """Of 4-cycles, by [KINDS.3]; the twin that forgets the rows left out is told apart."""
    _, kinds = both_kinds(400, POLICIES["any"])
    whole = group_pairs.sum_pairs(kinds, True)[0]["cycles/count"]
    values, claimed = [], []
    for i in range(150):
        sums, _ = group_pairs.sum_pairs(kinds, True, group_pairs.drawn_rows(kinds, 200, f"coin {i}"))
        values.append(sums["cycles/count"])
        claimed.append(sums["cycles/sampling"])
    error = np.std(values, ddof=1)
    assert abs(np.mean(values) - whole) < 3.5 * error / np.sqrt(len(values))
    assert 0.75 < np.mean(claimed) / error**2 < 1.33
    without_correction = np.mean(claimed) / (1 - 100 / 300)
    assert without_correction / error**2 > 1.33


def test_the_same_coin_draws_the_same_rows() -> None:
    _, kinds = both_kinds(400, POLICIES["nothing"])
    first, again, other = (group_pairs.drawn_rows(kinds, 300, coin) for coin in ("a", "a", "b"))
    assert first is not None
    assert again is not None
    assert other is not None
    assert (first.drawn == again.drawn).all()
    assert not (first.drawn == other.drawn).all()
    assert len(first.certain) + len(first.drawn) == 300
    assert group_pairs.drawn_rows(kinds, 400, "a") is None
