"""Sums over pairs of nodes of products of forms, against loops over all pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain import pair_sums


def block(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Counts of three kinds and one bit of two planes, for a block of rows."""
    draws = np.random.default_rng(seed)
    return draws.integers(0, 9, (3, rows, columns), dtype=np.int32), draws.random((2, rows, columns)) < 0.5, draws


def pairs_of(rows: int, columns: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(rows) for j in range(i + 1, columns)]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 3), (4, 11)])
def test_triangle_sums_term_by_term(rows: int, columns: int) -> None:
    counts, bits, draws = block(rows, columns, columns)
    forms, own, ends = draws.normal(size=(3, 3)), draws.normal(size=(2, 2)), draws.normal(size=columns)
    expected = np.zeros(5)
    for i, j in pairs_of(rows, columns):
        paths, squares, noisy = forms @ counts[:, i, j]
        here, noise = own @ bits[:, i, j]
        both = ends[i] + ends[j]
        expected += [
            here * paths,
            noise * (paths**2 + paths - squares),
            here * noisy,
            noise * noisy,
            noise * paths * (both - 2 * here),
        ]
    assert pair_sums.triangle_sums(counts, forms, bits, own, ends) == pytest.approx(expected)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 3), (4, 11)])
def test_cycle_sums_term_by_term(rows: int, columns: int) -> None:
    counts, _, draws = block(rows, columns, columns)
    differences = draws.integers(-5, 5, (1, rows, columns), dtype=np.int32)
    forms, skew = draws.normal(size=(8, 3)), draws.normal(size=1)
    expected = np.zeros(5)
    for i, j in pairs_of(rows, columns):
        paths, squares, noisy, mixed, scored, both, three, four = forms @ counts[:, i, j]
        odd = skew[0] * differences[0, i, j]
        expected += [
            paths**2 - squares,
            noisy * paths**2 - 2 * paths * scored + both,
            mixed**2 - odd**2 - both,
            2 * (noisy * mixed - three),
            noisy**2 - four,
        ]
    assert pair_sums.cycle_sums(counts, differences, forms, skew) == pytest.approx(expected)


def test_paths_through_a_complete_plane_are_a_matrix_product() -> None:
    """Plane a joins every two of some nodes; all rows at once, so that the block is the whole matrix."""
    n, draws = 30, np.random.default_rng(1)
    nodes = draws.random(n) < 0.5
    upper = np.triu(draws.random((n, n)) < 0.4, 1)
    b = (upper | upper.T).astype(np.int32)
    a = np.outer(nodes, nodes).astype(np.int32)
    np.fill_diagonal(a, 0)
    degrees = b[:, nodes].sum(axis=1, dtype=np.int32)
    total, difference = np.empty((2, n, n), np.int32)
    pair_sums.through_complete(nodes, b.astype(bool), degrees, degrees, total, difference)
    for u, v in combinations(range(n), 2):
        there, back = (a @ b)[u, v], (b @ a)[u, v]
        assert (total[u, v], difference[u, v]) == (there + back, there - back)


@pytest.mark.parametrize("size", [1, 2, 20])
def test_a_root_solves_its_system(size: int) -> None:
    half = np.random.default_rng(size).normal(size=(size + 2, size))
    product = half.T @ half
    matrix = np.tril(product) + np.tril(product, -1).T
    root = pair_sums.cholesky(matrix)
    assert (np.triu(root, 1) == 0).all()
    np.testing.assert_allclose(root @ root.T, matrix, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(matrix @ pair_sums.solved(root, np.eye(size)), np.eye(size), rtol=1e-6, atol=1e-6)
