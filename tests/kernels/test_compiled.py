"""The compiled kernel is what runs where numba is installed, and gives the twin's integers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.kernels import bitset, choice, owned_triangles, pair_sums
from visibility_aware_edge_ldp.subgraphs import sparse
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


def test_compiled_kernel_is_chosen_and_identical() -> None:
    compiled = pytest.importorskip("visibility_aware_edge_ldp.kernels.compiled", reason="numba is not installed")
    choice.kernels.cache_clear()
    assert choice.shared_counts() is compiled.shared_counts
    words = np.random.default_rng(5).integers(0, 2**64, size=(37, 9), dtype=np.uint64)
    assert (compiled.shared_counts(words, words[5:]) == bitset.shared_counts(words, words[5:])).all()


def test_empty_rows_share_nothing_with_anybody() -> None:
    compiled = pytest.importorskip("visibility_aware_edge_ldp.kernels.compiled", reason="numba is not installed")
    random = np.random.default_rng(6)
    words = random.integers(0, 2**64, size=(50, 3), dtype=np.uint64)
    words[random.random(50) < 0.6] = 0
    assert (compiled.shared_counts(words, words) == bitset.shared_counts(words, words)).all()


@pytest.mark.parametrize("columns", [1, 7, 256, 257, 600])
def test_pair_sums_agree_with_their_twins(columns: int) -> None:
    compiled = pytest.importorskip(
        "visibility_aware_edge_ldp.kernels.pair_sums_compiled", reason="numba is not installed"
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


@pytest.mark.parametrize("seed", range(3))
def test_owned_sums_agree_with_their_twin_and_with_every_triple(seed: int) -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    from visibility_aware_edge_ldp.kernels import common_neighbours_compiled as compiled

    random, n, part = np.random.default_rng(seed), 25, 1 << 20
    ends = np.array([pair for pair in combinations(range(n), 2) if random.random() < 0.4], np.int32)
    ranks = random.permutation(n)
    rising = owned_triangles.RisingEdges.of(ends, ranks)
    counted, weights = random.random(len(ends)) < 0.3, random.integers(1, part * part, n)
    found = compiled.owned_sums(rising, counted, weights, part)
    assert (found == owned_triangles.owned_sums(rising, counted, weights, part)).all()
    side = {(int(a), int(b)): bool(kept) for a, b, kept in zip(rising.low, rising.high, counted, strict=True)}
    expected = np.zeros(n, np.int64)
    for a, b, c in combinations(range(n), 3):
        sides = [side.get(pair) for pair in ((a, b), (a, c), (b, c))]
        if None not in sides and any(sides):
            expected[c] += min(weights[b], weights[c])
    assert expected.any()
    assert (found[0] * part + found[1] == expected).all()


@pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 3), (40, 300), (300, 4000)])
def test_triangles_of_successors_agree_with_their_twin(n: int, m: int) -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    from visibility_aware_edge_ldp.kernels import common_neighbours_compiled as compiled

    ranked = sparse.Ranked.of(erdos_renyi(n, m, seed=n))
    expected = sparse.looked_up_triangles(ranked)
    assert compiled.successor_triangles(ranked.starts, ranked.below, ranked.targets) == expected
    assert (expected > 0) == (m > 1)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 9), (3, 300)])
def test_counts_through_complete_planes_agree_with_their_twin(rows: int, columns: int) -> None:
    compiled = pytest.importorskip(
        "visibility_aware_edge_ldp.kernels.pair_sums_compiled", reason="numba is not installed"
    )
    random = np.random.default_rng(columns)
    nodes, bits = random.random(columns) < 0.5, random.random((rows, columns)) < 0.5
    degrees = random.integers(1, 50, columns, dtype=np.int32)
    found = np.empty((2, 2, rows, columns), np.int32)
    for kernel, (total, difference) in zip((compiled, pair_sums), found, strict=True):
        kernel.through_complete(nodes, bits, degrees[:rows], degrees, total, difference)
    assert (found[0] == found[1]).all()


def test_two_paths_in_lists_are_what_rows_share() -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    from visibility_aware_edge_ldp.kernels import common_neighbours_compiled as compiled

    n, random = 70, np.random.default_rng(8)
    upper = np.triu(random.random((n, n)) < 0.1, 1)
    whole = upper | upper.T
    offsets = np.concatenate([[0], np.cumsum(whole.sum(axis=1))])
    members = np.nonzero(whole)[1].astype(np.int32)
    rows, plane = np.array([3, 0, 69, 40]), bitset.pack_rows(whole, n)
    for first in (0, 5, 69):
        found = compiled.shared_in_lists(offsets, members, rows, first)
        assert (found == bitset.shared_counts(plane[rows], plane[first:])).all()
