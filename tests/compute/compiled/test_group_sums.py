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
@pytest.mark.parametrize("forms", [3, 8])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 9), (48, 300)])
def test_sums_of_all_planes_are_their_twins_to_the_last_digit(planes: int, forms: int, rows: int, columns: int) -> None:
    names = ("group_sums", "pair_sums")
    fast, old = (pytest.importorskip(f"visibility_aware_edge_ldp.compute.compiled.{name}") for name in names)
    draw, pairs = np.random.default_rng(columns), planes * (planes + 1) // 2
    ordered = draw.integers(0, 900, (planes, planes, rows, columns + 9)).astype(np.uint16)[..., 5 : 5 + columns]
    bits, weights = draw.random((planes, rows, columns)) < 0.3, draw.normal(size=(forms, pairs))
    weights[0, 0] = 0
    skew, own, ends = draw.normal(size=pairs - planes), draw.normal(size=(2, planes)), draw.normal(size=columns)
    found = np.zeros((2, 13 if forms == 8 else 5, columns))
    for kernel, sums in zip((fast, group_sums), found, strict=True):
        kernel.add_pair_sums(ordered, bits, weights, skew, own, ends, sums)
    assert (found[0] == found[1]).all()
    counts, differences = pair_sums.both_ways(ordered)
    triangles = old.triangle_sums(counts, weights[:3], bits, own, ends)
    assert found[0, :5].sum(axis=1).tolist() == triangles.tolist()
    if forms == 8 and planes > 1:
        cycles = old.cycle_sums(counts, differences, weights, skew)
        assert pair_sums.whole_cycles(found[0, 5:].sum(axis=1)).tolist() == cycles.tolist()
    assert columns == 1 or np.abs(found[0].sum(axis=1)).max() > 0
