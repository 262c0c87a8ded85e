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
