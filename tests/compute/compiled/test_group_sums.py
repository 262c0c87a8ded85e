"""Compiled sums over pairs of two groups: the plain ones to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from support.tile_planes import in_strips, random_matrix
from visibility_aware_edge_ldp.compute.plain import group_sums, pair_sums

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.group_sums", reason="numba is not installed")


@pytest.mark.parametrize("groups", [[[0, 4]], [[0, 1], [1, 4]], [[0, 1], [1, 2], [2, 3], [3, 4]]])
@pytest.mark.parametrize("forms", [3, 9])
def test_sums_by_group_are_the_twins_to_the_last_digit(forms: int, groups: list[list[int]]) -> None:
    draws, n, rows, kinds = np.random.default_rng(forms), 1700, np.array([3, 5, 70, 599, 1699]), len(groups)
    plane = in_strips(random_matrix(n, 0.3, 1), np.arange(n), 4)
    parts = list[tuple]()
    for first_slot, size in ((0, 1), (0, 9), (0, 1024), (0, 1699), (512, 88), (512, 1188), (1536, 7)):
        for begins in (np.zeros(5, np.int64), np.minimum([0, 2, 88, 600, 1699], size)):
            terms = draws.normal(size=(forms, 5)), draws.normal(size=(forms, size + 3))[:, 3:], draws.normal(size=forms)
            shared, own, ends, others = (draws.normal(size=shape) for shape in ((forms, kinds), (2, 2), 5, size))
            parts.append((first_slot, *terms, shared, own, ends, others, begins))
    for part in range(0, len(parts), 5):
        chosen, across = parts[part : part + 5], np.zeros((2, 5, n))
        plain, fast = (
            each.block_sums(
                plane, rows, np.array(groups), [(*p, t[: p[7].size]) for p, t in zip(chosen, total, strict=False)]
            )
            for each, total in zip((group_sums, compiled), across, strict=True)
        )
        assert [each.tobytes() for each in fast] == [each.tobytes() for each in plain]
        assert across[1].tobytes() == across[0].tobytes()
        assert np.abs(plain).max() > 0


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
