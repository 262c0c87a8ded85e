"""The compiled twins of planes of which only tiles with ones are kept: identical integers, many middle sides too."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain import tile_table
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows, unpack_rows
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, WORDS

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.tile_table", reason="numba is not installed")


def test_more_middle_sides_than_a_panel_holds() -> None:
    draw, sides = np.random.default_rng(4), compiled.NEAR_SIDES + 2
    words = draw.integers(0, 2**63, (2, 5, SIDE, WORDS)).astype(np.uint64)
    tiles = words[0] & words[1]
    tiles[0] = 0
    near = draw.integers(0, 5, (sides, sides))
    far = np.zeros((sides, sides), np.int64)
    # The plain kernel reads the mirror image of what the compiled one reads.
    slots, middles, columns = np.array([0, 700, 5000]), np.arange(sides), np.array([1, 3])
    mirrored = np.stack([pack_rows(unpack_rows(tile, SIDE).T, SIDE) for tile in tiles])
    both = np.concatenate([tiles, mirrored])
    for middle in range(sides):
        for column in columns:
            if middle not in columns or middle < column:
                far[middle, column] = draw.integers(0, 5)
                far[column, middle] = far[middle, column] + 5 * (far[middle, column] > 0)
    found, expected = np.zeros((2, 3, 2 * SIDE), np.int32)
    compiled.add_shared(near, far, both, slots, middles, columns, found)
    tile_table.add_shared(near, far, both, slots, middles, columns, expected)
    assert expected.any()
    assert (found == expected).all()
