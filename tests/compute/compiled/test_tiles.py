"""Compiled tiles against their plain twins, tile by tile and beyond one panel."""

from __future__ import annotations

import numpy as np
import pytest

from support.tile_planes import in_strips, random_matrix
from visibility_aware_edge_ldp.compute.plain import tiles
from visibility_aware_edge_ldp.compute.tile_layout import TilesOfPlane

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.tiles", reason="numba is not installed")


def test_tile_triples_one_by_one_agree_with_their_twin() -> None:
    source = TilesOfPlane(in_strips(random_matrix(1300, 0.3, 5), np.arange(1300), 3))
    for j in range(3):
        for k in range(j, 3):
            columns = source.column(0, j + 1, k), source.column(j, j + 1, k)[0]
            plain, fast = (
                each.triangle_counts(each.listed(source.column(0, j + 1, j)), *columns) for each in (tiles, compiled)
            )
            assert plain.tolist() == fast.tolist()


def test_more_sides_than_a_panel_holds_share_the_same_ones() -> None:
    """Nine sides: the ninth is added from a second panel."""
    n, sides = 9 * 512, 9
    matrix = random_matrix(n, 0.3, 2)
    plane, chosen = in_strips(matrix, np.arange(n), sides), np.array([0, 7, 4607])
    found = np.zeros((2, 3, tiles.SIDE), np.int32)
    for each, counts in zip((tiles, compiled), found, strict=True):
        each.add_shared(plane, plane, chosen, 8, (0, 9), counts)
    assert (found[0] == found[1]).all()
    assert found.min() > 0


@pytest.mark.parametrize("first_column", [0, 2])
@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_counts_among_planes_agree_with_their_twin(first_column: int, kind: type[np.unsignedinteger]) -> None:
    """Classes as a hash draws them, one of which need not be counted; and the same where all are counted."""
    n, sides, draw = 1300, 3, np.random.default_rng(4)
    upper, classes = np.triu(np.ones((n, n), np.bool_), 1), draw.random((n, n))
    cuts = [
        upper & (low <= classes) & (classes < high) for low, high in ((0, 0.3), (0.3, 0.8), (0.8, 0.801), (0.801, 1))
    ]
    parts = [cuts[0], cuts[0] & (draw.random((n, n)) < 0.2), cuts[1], cuts[2], cuts[3]]
    matrices = [part | part.T for part in parts]
    planes = np.stack([in_strips(each, np.arange(n), sides) for each in matrices])
    degrees, chosen = np.zeros((4, sides * tiles.SIDE), np.int64), np.array([0, 511, 512, 1299])
    degrees[:, :n] = [each.sum(axis=1) for each in matrices[:4]]
    found = np.empty((3, 4, 4, 4, (sides - first_column) * tiles.SIDE), kind)
    tiles.shared_among(planes, degrees, 2, (0, 3, 4), chosen, first_column, found[0])
    compiled.shared_among(planes, degrees, 2, (0, 3, 4), chosen, first_column, found[1])
    compiled.shared_among(planes[:4], degrees, -1, (), chosen, first_column, found[2])
    there = found[..., : n - first_column * tiles.SIDE]
    assert (there[0] == there[1]).all()
    assert (there[0] == there[2]).all()
    assert there.max() > 256
