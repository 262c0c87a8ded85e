"""Planes of which only tiles with ones are kept, against matrices of bits; the compiled kernels against their twins."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.engines import Task, count
from visibility_aware_edge_ldp.compute.plain import bitset, tile_table
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, WORDS
from visibility_aware_edge_ldp.compute.tile_layout import TilesOfTable

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.tile_table", reason="numba is not installed")
BOTH = pytest.mark.parametrize("kernels", [tile_table, compiled], ids=["plain", "compiled"])
N, SIDES = 1300, 3


def matrix(seed: int, density: float = 0.1) -> np.ndarray:
    """Symmetric bits of nodes, none between the first ones and the last ones."""
    bits = np.triu(np.random.default_rng(seed).random((N, N)) < density, 1)
    bits[:600, 1000:] = False
    return bits | bits.T


def placed(kernels: ModuleType, bits: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The table and the tiles of a plane."""
    flat = np.packbits(bits[np.triu_indices(N, 1)], bitorder="little")
    there = kernels.sides_with_ones(flat, slots, SIDES)
    table = np.zeros(there.shape, np.int64)
    table[there] = np.arange(1, there.sum() + 1)
    tiles = np.zeros((int(there.sum()) + 1, SIDE, WORDS), np.uint64)
    kernels.place(flat, slots, table, tiles)
    return table, tiles


def in_slots(bits: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """The same bits, by slots."""
    found = np.zeros((SIDES * SIDE, SIDES * SIDE), bool)
    found[np.ix_(slots, slots)] = bits
    return found


@BOTH
@pytest.mark.parametrize("seed", [None, 1])
def test_bits_go_to_their_tiles_and_empty_ones_are_not_kept(kernels: ModuleType, seed: int | None) -> None:
    slots = np.arange(N) if seed is None else np.random.default_rng(seed).permutation(N)
    table, tiles = placed(kernels, matrix(3), slots)
    everything = np.arange(SIDES)
    rows = tile_table.rows_in_order(table, tiles, np.arange(SIDES * SIDE), everything)
    assert (bitset.unpack_rows(rows, SIDES * SIDE) == in_slots(matrix(3), slots)).all()
    assert not tiles[0].any()
    assert tiles[1:].any(axis=(1, 2)).all()
    assert len(tiles) == (8 if seed is None else 10)


@BOTH
def test_nothing_is_kept_of_an_empty_plane(kernels: ModuleType) -> None:
    table, tiles = placed(kernels, np.zeros((N, N), bool), np.arange(N))
    assert not table.any()
    assert len(tiles) == 1


@BOTH
@pytest.mark.parametrize("bounds", [[0, 1, 64, 130, 640, N], [0, N], [0, 512, 513, 515, N]])
def test_ones_by_run(kernels: ModuleType, bounds: list[int]) -> None:
    bits = matrix(5)
    found = kernels.ones_within(*placed(kernels, bits, np.arange(N)), np.array(bounds))
    expected = np.add.reduceat(bits.astype(int), bounds[:-1], axis=1).T
    assert (found == expected).all()


@BOTH
def test_paths_that_close(kernels: ModuleType) -> None:
    planes = [matrix(seed, density) for seed, density in ((1, 0.005), (2, 0.1), (3, 0.2))]
    tables, tiles = [], [np.zeros((1, SIDE, WORDS), np.uint64)]
    for bits in planes:
        table, own = placed(kernels, bits, np.arange(N))
        tables.append(np.where(table, table + sum(map(len, tiles)) - 1, 0))
        tiles.append(own[1:])
    few, near, far = (np.triu(planes[0]), *(bits.astype(np.float64) for bits in planes[1:]))
    assert kernels.closed_paths(*tables, np.concatenate(tiles)) == round((few * (near @ far)).sum())


@BOTH
def test_shared_slots_of_some_sides_through_others(kernels: ModuleType) -> None:
    bits = matrix(7)
    table, tiles = placed(kernels, bits, np.arange(N))
    slots, middles, sides = np.array([3, 511, 1299]), np.array([0, 2]), np.array([1, 2])
    counts = np.ones((3, 2 * SIDE), np.int32)
    kernels.add_shared(table, table, tiles, slots, middles, sides, counts)
    whole = in_slots(bits, np.arange(N)).astype(int)
    through = np.r_[0:SIDE, 2 * SIDE : 3 * SIDE]
    assert (counts == 1 + (whole[slots][:, through] @ whole[through])[:, SIDE:]).all()


def test_triangles_of_tiles_are_those_of_the_matrix() -> None:
    bits = matrix(9)
    source = TilesOfTable(*placed(compiled, bits, np.arange(N)))
    whole = bits.astype(np.float64)
    found = sum(int(count(source, Task(0, j + 1, (j, j + 1), (j, SIDES))).sum()) for j in range(SIDES))
    assert found == round(((whole @ whole) * whole).sum() / 6)
