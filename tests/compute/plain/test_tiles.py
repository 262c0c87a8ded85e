"""Tiles against plain matrices, and the compiled kernels against their twins: identical integers."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.tile_planes import in_strips, random_matrix
from visibility_aware_edge_ldp.compute.engines import Task, count, on_threads
from visibility_aware_edge_ldp.compute.plain import bitset, tiles
from visibility_aware_edge_ldp.compute.tile_layout import TilesInMemory, TilesOfPlane

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.tiles", reason="numba is not installed")
BOTH = pytest.mark.parametrize("kernels", [tiles, compiled], ids=["plain", "compiled"])


def shuffled_slots(n: int, sides: int, seed: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(sides * tiles.SIDE)[:n].astype(np.int64)


@BOTH
@pytest.mark.parametrize("n", [1, 63, 512, 700])
def test_nodes_go_to_their_slots(kernels: ModuleType, n: int) -> None:
    matrix, sides = random_matrix(n, 0.3, n), 2
    for slots in (np.arange(n), shuffled_slots(n, sides, n)):
        plane = kernels.arranged(bitset.pack_rows(matrix, n), slots, sides)
        rows = bitset.unpack_rows(tiles.rows_of(plane, slots), sides * tiles.SIDE)
        assert (rows[:, slots] == matrix).all()
        assert rows.sum() == matrix.sum() == np.bitwise_count(plane).sum()


@BOTH
@settings(deadline=None, max_examples=15)
@given(st.integers(1, 1500), st.sampled_from([0.0, 0.02, 0.27, 0.9, 1.0]), st.integers(0, 99))
def test_triangles_of_all_tile_triples_add_up(kernels: ModuleType, n: int, density: float, seed: int) -> None:
    matrix, sides = random_matrix(n, density, seed), -(-n // tiles.SIDE)
    whole = matrix.astype(np.float64)
    expected = round(float(((whole @ whole) * whole).sum()) / 6)
    source = TilesOfPlane(in_strips(matrix, np.arange(n), sides))
    total = 0
    for j in range(sides):
        lists = kernels.listed(source.column(0, j + 1, j))
        for k in range(j, sides):
            total += int(
                kernels.triangle_counts(lists, source.column(0, j + 1, k), source.column(j, j + 1, k)[0]).sum()
            )
    assert total == expected


def test_tiles_cut_out_are_tiles_kept() -> None:
    plane = in_strips(random_matrix(1300, 0.3, 6), np.arange(1300), 3)
    kept, cut = TilesInMemory(tiles.tiles_of(plane), 3), TilesOfPlane(plane)
    before = plane.copy()
    for k in range(3):
        for first in range(k + 1):
            for last in range(first + 1, k + 2):
                assert (kept.column(first, last, k) == cut.column(first, last, k)).all()
    assert (plane == before).all()


@pytest.mark.parametrize("block", [1, 2, 5])
def test_any_cut_into_tasks_gives_the_same_triangles(block: int) -> None:
    matrix, sides = random_matrix(2300, 0.27, 7), 5
    source = TilesOfPlane(in_strips(matrix, np.arange(2300), sides))
    ranges = [(first, min(first + block, sides)) for first in range(0, sides, block)]
    tasks = [
        Task(*firsts, middle, end)
        for i, firsts in enumerate(ranges)
        for j, middle in enumerate(ranges[i:], i)
        for end in ranges[j:]
    ]
    whole = matrix.astype(np.float32)
    assert sum(int(found.sum()) for _, found in on_threads(source, tasks)) == round(
        float(((whole @ whole) * whole).sum(dtype=np.float64)) / 6
    )
    assert [task for task, _ in on_threads(source, tasks)] == tasks
    assert count(source, Task(3, 4, (0, 2), (0, 5))).tolist() == [0]  # nothing comes before the first slot


@pytest.mark.long
@BOTH
@pytest.mark.parametrize(("n", "density"), [(40, 0.5), (1100, 0.27), (1100, 1.0)])
def test_shared_ones_are_a_matrix_product(kernels: ModuleType, n: int, density: float) -> None:
    sides = -(-n // tiles.SIDE)
    matrix, slots = random_matrix(n, density, n), shuffled_slots(n, sides, 1)
    plane = in_strips(matrix, slots, sides)
    wide = np.zeros((sides * tiles.SIDE,) * 2, np.int64)
    wide[np.ix_(slots, slots)] = matrix
    chosen = slots[:: max(1, n // 20)]
    for columns in {(0, sides), (sides - 1, sides)}:
        for through in {(0, sides), (0, 1), (sides - 1, sides)}:
            inside = slice(through[0] * tiles.SIDE, through[1] * tiles.SIDE)
            expected = wide[chosen][:, inside] @ wide[inside]
            found = np.ones((len(chosen), (columns[1] - columns[0]) * tiles.SIDE), np.int32)
            kernels.add_shared(plane, plane, chosen, columns[0], through, found)
            assert (found == 1 + expected[:, columns[0] * tiles.SIDE : columns[1] * tiles.SIDE]).all()


@BOTH
def test_two_planes_join_slots_one_after_the_other(kernels: ModuleType) -> None:
    n, sides = 700, 2
    near, far = (random_matrix(n, density, seed) for density, seed in ((0.2, 1), (0.6, 2)))
    strips = [in_strips(matrix, np.arange(n), sides) for matrix in (near, far)]
    chosen, found = np.array([0, 5, 699]), np.zeros((3, sides * tiles.SIDE), np.int32)
    kernels.add_shared(*strips, chosen, 0, (0, sides), found)
    assert (found[:, :n] == near[chosen].astype(int) @ far).all()
    assert (found[:, :n] != far[chosen].astype(int) @ near).any()


@BOTH
@pytest.mark.parametrize("columns", [1, 64, 70])
def test_a_plane_times_numbers_is_a_matrix_product(kernels: ModuleType, columns: int) -> None:
    n, sides = 900, 2
    matrix, slots = random_matrix(n, 0.3, 3), shuffled_slots(n, sides, 2)
    numbers = np.zeros((sides * tiles.SIDE, columns), np.float32)
    numbers[slots] = np.random.default_rng(4).normal(size=(n, columns))
    wide = np.zeros((sides * tiles.SIDE,) * 2, np.float32)
    wide[np.ix_(slots, slots)] = matrix
    for first, last in ((0, 1024), (100, 101), (500, 600)):
        found = kernels.times(in_strips(matrix, slots, sides), numbers, first, last)
        np.testing.assert_allclose(found, wide[first:last] @ numbers, rtol=1e-4, atol=1e-3)
