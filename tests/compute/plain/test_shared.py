"""What rows share, and a plane times numbers: both kernels against plain matrices."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from visibility_aware_edge_ldp.compute.plain import bitset, rows, shared, tiles
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows

fast_shared = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.shared")
SHARED = pytest.mark.parametrize("kernels", [shared, fast_shared], ids=["plain", "compiled"])
Matrix = npt.NDArray[np.bool_]
SIZES = [1, 2, 3, 63, 64, 65, 130, 512, 513, 1100]
EVERY_SIZE = pytest.mark.parametrize("n", SIZES)
BOTH = pytest.mark.parametrize("name", ["plain", "compiled"])


def random_matrix(n: int, density: float, seed: int) -> Matrix:
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    return upper | upper.T


def in_strips(matrix: Matrix, slots: npt.NDArray[np.int64], sides: int) -> npt.NDArray[np.uint64]:
    return tiles.arranged(bitset.pack_rows(matrix, len(matrix)), slots, sides)


def shuffled_slots(n: int, sides: int, seed: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(sides * tiles.SIDE)[:n].astype(np.int64)


def symmetric(n: int, share: float, seed: int) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < share, 1)
    return upper | upper.T


def in_panels(*planes: np.ndarray) -> np.ndarray:
    return np.stack([rows.panels_of(pack_rows(plane, len(plane))) for plane in planes])


@pytest.mark.long
@SHARED
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


@SHARED
def test_two_planes_join_slots_one_after_the_other(kernels: ModuleType) -> None:
    n, sides = 700, 2
    near, far = (random_matrix(n, density, seed) for density, seed in ((0.2, 1), (0.6, 2)))
    strips = [in_strips(matrix, np.arange(n), sides) for matrix in (near, far)]
    chosen, found = np.array([0, 5, 699]), np.zeros((3, sides * tiles.SIDE), np.int32)
    kernels.add_shared(*strips, chosen, 0, (0, sides), found)
    assert (found[:, :n] == near[chosen].astype(int) @ far).all()
    assert (found[:, :n] != far[chosen].astype(int) @ near).any()


def test_more_sides_than_a_panel_holds_share_the_same_ones() -> None:
    """Nine sides: the ninth is added from a second panel."""
    n, sides = 9 * 512, 9
    matrix = random_matrix(n, 0.3, 2)
    plane, chosen = in_strips(matrix, np.arange(n), sides), np.array([0, 7, 4607])
    found = np.zeros((2, 3, tiles.SIDE), np.int32)
    for each, counts in zip((shared, fast_shared), found, strict=True):
        each.add_shared(plane, plane, chosen, 8, (0, 9), counts)
    assert (found[0] == found[1]).all()
    assert found.min() > 0


@SHARED
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


def compiled_shared() -> ModuleType:
    return pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.shared", reason="numba is not installed")


def plain_sums(plane: np.ndarray, wanted: np.ndarray, j: int) -> list[list[int]]:
    """[ROWS.2]'s sums for one user, by their definition."""
    before = plane[:j].astype(int)
    shared, early = (before * before[:, [j]]).sum(axis=0)[j + 1 :], before.sum(axis=0)[j + 1 :]
    products = shared, early, shared**2, shared * early, early**2
    sides = np.ones(len(plane) - j - 1, bool), plane[j, j + 1 :]
    return [[int(each[side].sum()) * bool(wanted[j]) for each in products] for side in sides]


@BOTH
@EVERY_SIZE
def test_sums_over_earlier_users(n: int, name: str) -> None:
    plane, wanted = symmetric(n, 0.4, n), np.random.default_rng(n).random(n) < 0.8
    expected = [plain_sums(plane, wanted, j) for j in range(n)]
    sizes = [int(plane[j, :j].sum()) * bool(wanted[j]) for j in range(n)]
    for start, stop in {(0, n), (n // 3, n // 2 + 1), (n - 1, n)}:
        kernel = shared if name == "plain" else compiled_shared()
        sums, found = kernel.earlier_sums(in_panels(plane)[0], wanted, start, stop)
        assert sums.tolist() == expected[start:stop]
        assert found.tolist() == sizes[start:stop]


def test_products_of_every_width_are_the_same() -> None:
    """Up to 2^13 users in 32 bits, up to 2^15 in halves, and beyond one by one."""
    compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.shared", reason="numba is not installed")
    from numba import njit

    @njit  # type: ignore[untyped-decorator]
    def narrow(shared: np.ndarray, early: np.ndarray, bits: np.ndarray, sums: np.ndarray) -> None:
        compiled._add_products(shared, early, bits, sums)

    @njit  # type: ignore[untyped-decorator]
    def wide(shared: np.ndarray, early: np.ndarray, bits: np.ndarray, sums: np.ndarray) -> None:
        compiled._add_wide_products(shared, early, bits, sums)

    def added(add: Any, *columns: np.ndarray) -> list[list[int]]:
        sums = np.zeros((2, 5), np.int64)
        add(*columns, sums)
        found: list[list[int]] = sums.tolist()
        return found

    random = np.random.default_rng(1)
    for most, same in ((4, True), (1 << 13, True), (1 << 15, False)):
        for largest in (40, 512):
            shared, early = random.integers(0, most, (2, 512)).astype(np.uint16)
            shared[:largest] = early[:largest] = most - 1
            bits = (random.random(512) < 0.7).astype(np.uint16)
            sides = ([each[side].astype(np.int64) for each in (shared, early)] for side in (bits < 2, bits > 0))
            expected = [[s.sum(), t.sum(), (s * s).sum(), (s * t).sum(), (t * t).sum()] for s, t in sides]
            assert added(wide, shared, early, bits) == added(compiled._add_long_products, shared, early, bits)
            assert added(wide, shared, early, bits) == expected
            # Beyond its limit the narrow one does overflow.
            assert (added(narrow, shared, early, bits) == expected) is same
