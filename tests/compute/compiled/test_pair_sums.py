"""Sums over pairs of nodes and small systems of equations: the compiled kernels against their plain twins."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain import pair_sums


@pytest.mark.parametrize("columns", [1, 7, 256, 257, 600])
def test_pair_sums_agree_with_their_twins(columns: int) -> None:
    compiled = pytest.importorskip(
        "visibility_aware_edge_ldp.compute.compiled.pair_sums", reason="numba is not installed"
    )
    random, rows = np.random.default_rng(columns), min(columns, 5)
    counts = random.integers(0, 90, (3, rows, columns), dtype=np.int32)
    odd = random.integers(-9, 9, (1, rows, columns), dtype=np.int32)
    bits, ends = random.random((2, rows, columns)) < 0.5, random.normal(size=columns)
    forms, own, skew = random.normal(size=(8, 3)), random.normal(size=(2, 2)), random.normal(size=1)
    forms[2, 1] = 0
    for name, arguments in {
        "triangle_sums": (counts, forms[:3], bits, own, ends),
        "cycle_sums": (counts, odd, forms, skew),
    }.items():
        expected = getattr(pair_sums, name)(*arguments)
        assert getattr(compiled, name)(*arguments) == pytest.approx(expected, rel=1e-9, abs=1e-6)
        assert columns == 1 or abs(expected).min() > 0


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 9), (3, 300)])
def test_counts_through_complete_planes_agree_with_their_twin(rows: int, columns: int) -> None:
    compiled = pytest.importorskip(
        "visibility_aware_edge_ldp.compute.compiled.pair_sums", reason="numba is not installed"
    )
    random = np.random.default_rng(columns)
    nodes, bits = random.random(columns) < 0.5, random.random((rows, columns)) < 0.5
    degrees = random.integers(1, 50, columns, dtype=np.int32)
    found = np.empty((2, 2, rows, columns), np.int32)
    for kernel, (total, difference) in zip((compiled, pair_sums), found, strict=True):
        kernel.through_complete(nodes, bits, degrees[:rows], degrees, total, difference)
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 9), (3, 300)])
def test_counts_through_groups_agree_with_their_twin(rows: int, columns: int) -> None:
    compiled = pytest.importorskip(
        "visibility_aware_edge_ldp.compute.compiled.pair_sums", reason="numba is not installed"
    )
    random = np.random.default_rng(columns)
    groups, closed = random.integers(0, 4, columns), random.integers(0, 2, 4).astype(np.int32)
    bits, degrees = random.random((rows, columns)) < 0.5, random.integers(1, 50, (4, columns), dtype=np.int32)
    found = np.empty((2, 2, rows, columns), np.int32)
    for kernel, (total, difference) in zip((compiled, pair_sums), found, strict=True):
        kernel.through_groups(groups, closed, bits, degrees[:, :rows], degrees, total, difference)
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("size", [1, 2, 20, 33])
def test_systems_of_equations(size: int) -> None:
    random = np.random.default_rng(7)
    half = random.normal(size=(size + 2, size))
    product = half.T @ half
    matrix, vector = np.tril(product) + np.tril(product, -1).T, random.normal(size=size)
    root = pair_sums.cholesky(matrix)
    np.testing.assert_allclose(root @ root.T, matrix, rtol=1e-9, atol=1e-9)
    assert (np.triu(root, 1) == 0).all()
    several = np.column_stack([vector, np.eye(size)])
    found, columns = pair_sums.solved(root, vector), pair_sums.solved(root, several)
    np.testing.assert_allclose(matrix @ found, vector, rtol=1e-6, atol=1e-6)
    assert columns[:, 0].tobytes() == found.tobytes(), "a vector is solved by the steps of a column"
    twin = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.pair_sums", reason="numba is not installed")
    assert twin.cholesky(matrix).tobytes() == root.tobytes()
    assert twin.solved(root, vector).tobytes() == found.tobytes()
    assert twin.solved(root, several).tobytes() == columns.tobytes()


@pytest.mark.parametrize("planes", [0, 2])
def test_sums_of_two_paths_are_their_twins_to_the_last_digit(planes: int) -> None:
    compiled = pytest.importorskip(
        "visibility_aware_edge_ldp.compute.compiled.pair_sums", reason="numba is not installed"
    )
    draw = np.random.default_rng(planes)
    bits = draw.integers(0, 2, (planes, 2, 512)).astype(np.uint8)
    itself, others = np.array([3, -1]), np.sort(draw.integers(0, 3, 64))
    places = np.sort(draw.permutation(100)[:64]) + np.where(np.arange(64) > 40, 300, 0)
    arguments = (
        draw.integers(0, 9, (3, 2, 512)).astype(np.int32), draw.normal(size=3), bits, itself, places,
        draw.normal(size=(2, 3)), others, draw.normal(size=(4, 64)), draw.normal(size=(planes, 64)),
        draw.normal(size=(2, planes)), draw.normal(size=2),
    )  # fmt: skip
    found, expected = (each.path_sums(*arguments) for each in (compiled, pair_sums))
    assert found.shape == (2, 2)
    assert (found == expected).all()
