"""Loops over neighbour lists: the compiled kernels against their plain twins, and against every triple."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain import bitset
from visibility_aware_edge_ldp.compute.plain import common_neighbours as triangles
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


@pytest.mark.parametrize("seed", range(3))
def test_owned_sums_agree_with_their_twin_and_with_every_triple(seed: int) -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    from visibility_aware_edge_ldp.compute.compiled import common_neighbours as compiled

    random, n, part = np.random.default_rng(seed), 25, 1 << 20
    ends = np.array([pair for pair in combinations(range(n), 2) if random.random() < 0.4], np.int32)
    ranks = random.permutation(n)
    rising = triangles.RisingEdges.of(ends, ranks)
    counted, weights = random.random(len(ends)) < 0.3, random.integers(1, part * part, n)
    found = compiled.owned_sums(rising, counted, weights, part)
    assert (found == triangles.owned_sums(rising, counted, weights, part)).all()
    side = {(int(a), int(b)): bool(kept) for a, b, kept in zip(rising.low, rising.high, counted, strict=True)}
    expected = np.zeros(n, np.int64)
    for a, b, c in combinations(range(n), 3):
        sides = [side.get(pair) for pair in ((a, b), (a, c), (b, c))]
        if None not in sides and any(sides):
            expected[c] += sorted(weights[[a, b, c]])[1]
    assert expected.any()
    assert (found[0] * part + found[1] == expected).all()


@pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 3), (40, 300), (300, 4000)])
def test_triangles_of_successors_agree_with_their_twin(n: int, m: int) -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    from visibility_aware_edge_ldp.compute.compiled import common_neighbours as compiled

    graph = erdos_renyi(n, m, seed=n)
    joined = np.zeros((n, n), np.int64)
    joined[graph.edges[:, 0], graph.edges[:, 1]] = 1
    joined += joined.T
    expected = int((joined @ joined * joined).sum()) // 6
    assert compiled.count_triangles(n, graph.edges) == triangles.count_triangles(n, graph.edges) == expected
    assert (expected > 0) == (m > 1)


def test_two_paths_in_lists_are_what_rows_share() -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    from visibility_aware_edge_ldp.compute.compiled import common_neighbours as compiled

    n, random = 70, np.random.default_rng(8)
    upper = np.triu(random.random((n, n)) < 0.1, 1)
    whole = upper | upper.T
    offsets = np.concatenate([[0], np.cumsum(whole.sum(axis=1))])
    members = np.nonzero(whole)[1].astype(np.int32)
    rows, plane = np.array([3, 0, 69, 40]), bitset.pack_rows(whole, n)
    for first in (0, 5, 69):
        expected = bitset.shared_counts(plane[rows], plane[first:])
        for kernels in (compiled, triangles):
            found = kernels.shared_in_lists(offsets, members, rows, first)
            assert found.dtype == np.int32
            assert (found == expected).all()
