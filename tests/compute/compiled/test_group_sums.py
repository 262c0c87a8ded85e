"""Compiled sums over pairs of two groups: the plain ones to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from support.tile_planes import in_strips, random_matrix
from visibility_aware_edge_ldp.compute.plain import group_sums, pair_sums, tiles

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.group_sums", reason="numba is not installed")


@pytest.mark.parametrize("kinds", [1, 2, 4])
@pytest.mark.parametrize("size", [1, 7, 8, 9, 88, 300])
@pytest.mark.parametrize("forms", [3, 9])
def test_sums_by_group_are_the_twins_to_the_last_digit(forms: int, size: int, kinds: int) -> None:
    draws = np.random.default_rng(forms + size)
    n, sides, rows = 600, 2, np.array([3, 5, 70, 599])
    words = tiles.rows_of(in_strips(random_matrix(n, 0.3, 1), np.arange(n), sides), rows)
    counts = draws.integers(0, 90, (kinds, 4, size + 5)).astype(np.int32)[:, :, 2 : size + 2]  # a part of larger rows
    terms = (draws.normal(size=(forms, 4)), draws.normal(size=(forms, size)), draws.normal(size=forms))
    shared, own, ends, others = (draws.normal(size=shape) for shape in ((forms, kinds), (2, 2), 4, size))
    for begins in (np.zeros(4, np.int64), np.minimum([0, 2, 80, 88], size)):
        for first_slot in (0, 64, 512):
            across = np.zeros((2, size))
            plain, fast = (
                each.group_sums(counts, words, rows, first_slot, *terms, shared, own, ends, others, begins, total)
                for each, total in zip((group_sums, compiled), across, strict=True)
            )
            assert fast.tobytes() == plain.tobytes()
            assert across[1].tobytes() == across[0].tobytes()


@pytest.mark.parametrize("planes", [1, 5])
@pytest.mark.parametrize("forms", [3, 5])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 9), (48, 600)])
def test_sums_of_all_planes_are_their_twins_to_the_last_digit(planes: int, forms: int, rows: int, columns: int) -> None:
    """The first three planes have no weight in the third form, and the last one none in the fifth."""
    names = ("group_sums", "pair_sums")
    fast, old = (pytest.importorskip(f"visibility_aware_edge_ldp.compute.compiled.{name}") for name in names)
    draw, pairs = np.random.default_rng(columns), [(a, b) for a in range(planes) for b in range(a + 1)]
    ordered = draw.integers(0, 900, (planes, planes, rows, columns + 9)).astype(np.uint16)[..., 5 : 5 + columns]
    bits, weights = draw.random((planes, rows, columns)) < 0.3, draw.normal(size=(8, len(pairs)))
    weights[0, 0] = 0
    quiet = np.array([a < 3 and planes > 3 for a in range(planes)])
    weights[2] = [0 if quiet[a] or quiet[b] else each for (a, b), each in zip(pairs, weights[2], strict=True)]
    weights[3] = [0 if quiet[a] and quiet[b] else each for (a, b), each in zip(pairs, weights[3], strict=True)]
    weights[4] = [0 if planes - 1 in (a, b) else each for (a, b), each in zip(pairs, weights[4], strict=True)]
    skew = np.array([0 if quiet[a] and quiet[b] else draw.normal() for a, b in pairs if a != b])
    own, ends = draw.normal(size=(2, planes)), draw.normal(size=columns)
    found, squares = np.zeros((2, 10 if forms == 5 else 5, columns)), np.zeros((2, rows))
    for kernel, sums, across in zip((fast, group_sums), found, squares, strict=True):
        kernel.add_pair_sums(ordered, bits, weights[:forms], skew, own, ends, sums, across)
    assert found[0].tobytes() == found[1].tobytes()
    assert squares[0].tobytes() == squares[1].tobytes()
    counts, differences = pair_sums.both_ways(ordered)
    triangles = old.triangle_sums(counts, weights[:3], bits, own, ends)
    assert found[0, :5].sum(axis=1).tolist() == triangles.tolist()
    if forms == 5 and planes > 1:
        inside = pair_sums.upper(rows, columns)
        alone = [(pair_sums.combined(weights[q : q + 1], counts)[0] * inside).sum() for q in (1, 5, 6, 7)]
        sums = found[0, 5:].sum(axis=1)
        assert squares[0].sum() == pytest.approx(sums[0])
        cycles = old.cycle_sums(counts, differences, weights, skew)
        again = pair_sums.whole_cycles(np.concatenate([[sums[0] - alone[0]], sums[1:], alone[1:]]))
        assert again == pytest.approx(cycles, rel=1e-9)
    assert columns == 1 or np.abs(found[0].sum(axis=1)).max() > 0
