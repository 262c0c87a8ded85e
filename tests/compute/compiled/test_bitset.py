"""Packed bit matrices: lists of rows, planes and ones of nodes, by both kernels, against plain matrices."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.compute import backend, threads
from visibility_aware_edge_ldp.compute.plain import bitset
from visibility_aware_edge_ldp.compute.reproducible_math import on_grid
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

SIZES = [2, 3, 63, 64, 65, 130, 600]


def some_lists(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Five lists: of everybody, of nobody, of one, of the last, and of about a third."""
    drawn = np.flatnonzero(np.random.default_rng(seed).random(n) < 0.3)
    lists = [np.arange(n), np.empty(0, int), np.array([n // 2]), np.array([n - 1]), drawn]
    return np.cumsum([0, *map(len, lists)]), np.concatenate(lists).astype(np.int32)


def plain_counts(whole: np.ndarray, offsets: np.ndarray, members: np.ndarray) -> np.ndarray:
    return np.stack([whole[members[a:b]].sum(axis=0) for a, b in pairwise(offsets)])


def kernel(name: str, what: str) -> Callable[..., np.ndarray]:
    if name == "compiled":
        pytest.importorskip("numba", reason="numba is not installed")
        from visibility_aware_edge_ldp.compute.compiled import bitset as compiled

        return getattr(compiled, what)  # type: ignore[no-any-return]
    return getattr(bitset, what)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("n", SIZES)
def test_list_counts_are_sums_of_rows(n: int, name: str) -> None:
    upper = np.triu(np.random.default_rng(n).random((n, n)) < 0.4, 1)
    whole = upper | upper.T
    lists = some_lists(n, n + 1)
    before = np.random.default_rng(n + 2).normal(size=(5, n))
    totals = before.copy()
    kernel(name, "add_list_counts")(bitset.pack_rows(whole, n), 0.1, *lists, totals)
    assert (totals == before + 0.1 * plain_counts(whole, *lists)).all()
    whole[0, 1] = ~whole[0, 1]
    assert (totals != before + 0.1 * plain_counts(whole, *lists)).any()


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("n", [3, 65])
def test_list_sums_are_sums_of_rows_in_double_precision(n: int, name: str) -> None:
    matrix = np.random.default_rng(n).normal(size=(n, n)).astype(np.float32)
    lists = some_lists(n, n + 1)
    sums = kernel(name, "list_sums")(matrix, *lists)
    assert sums.dtype == np.float64
    assert sums == pytest.approx(plain_counts(matrix.astype(np.float64), *lists), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("n", SIZES)
def test_sums_over_the_ones_of_a_plane(n: int, name: str) -> None:
    """Of two numbers each, and among the members of lists."""
    random = np.random.default_rng(n)
    upper = np.triu(random.random((n, n)) < 0.4, 1)
    whole, vector = upper | upper.T, random.normal(size=n)
    plane, (offsets, members) = bitset.pack_rows(whole, n), some_lists(n, n + 1)
    assert kernel(name, "plane_times")(plane, vector) == pytest.approx(whole @ vector, rel=1e-9)
    inside = [members[a:b] for a, b in pairwise(offsets)]
    total = sum(int(whole[np.ix_(mine, mine)].sum()) for mine in inside)
    assert kernel(name, "list_total")(plane, offsets, members) == total


@pytest.mark.parametrize("n", [1, 8, 64, 65, 700])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_sums_of_numbers_on_a_grid_are_exact_on_every_number_of_cores(
    n: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(n)
    upper = np.triu(random.random((n, n)) < share, 1)
    plane, vector = bitset.pack_rows(upper | upper.T, n), on_grid(random.normal(size=n), n)
    expected = kernel("plain", "plane_times")(plane, vector)
    for cores in (1, 3):
        monkeypatch.setattr(threads, "number_of_cores", lambda cores=cores: cores)
        assert np.array_equal(kernel("compiled", "plane_times")(plane, vector), expected)


def test_the_plain_kernel_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", "plain")
    backend.name.cache_clear()
    try:
        assert backend.kernels("bitset") is bitset
    finally:
        backend.name.cache_clear()


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("n", [*SIZES, 1, 513, 1030])
def test_planes_from_flat_bits(n: int, name: str) -> None:
    """One packed bit a position, row by row; bits after the last position do not matter."""
    bits = np.random.default_rng(n).random(n * (n - 1) // 2) < 0.5
    whole = np.zeros((n, n), bool)
    whole[np.triu_indices(n, 1)] = bits
    whole |= whole.T
    flat = np.packbits(bits, bitorder="little")
    if bits.size % 8:
        flat[-1] |= np.uint8(0xFF << bits.size % 8 & 0xFF)
    assert (kernel(name, "plane_of")(flat, n) == bitset.pack_rows(whole, n)).all()


FIXED = settings(derandomize=True, deadline=None, max_examples=60)


def kernels(name: str) -> ModuleType:
    if name == "plain":
        return bitset
    return pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.bitset", reason="numba is not installed")


@pytest.mark.parametrize("name", ["plain", "compiled"])
@FIXED
@given(st.integers(2, 150), st.data())
def test_runs_anywhere_count_as_a_plain_loop_does(name: str, n: int, data: st.DataObject) -> None:
    pairs = list(combinations(range(n), 2))
    begin = data.draw(st.integers(0, len(pairs) - 1))
    end = data.draw(st.integers(begin, len(pairs)))
    bits = np.random.default_rng(data.draw(st.integers(0, 99))).random(end - begin) < data.draw(st.floats(0, 1))
    wanted = np.full(n, 5, np.int32)
    for (u, v), bit in zip(pairs[begin:end], bits.tolist(), strict=True):
        wanted[u] += bit
        wanted[v] += bit
    counts, first = np.full(n, 5, np.int32), pairs[begin][0]
    skip = begin - pairs.index((first, first + 1))
    kernels(name).add_node_ones(np.packbits(bits, bitorder="little"), first, skip, counts)
    assert counts.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", ["plain", "compiled"])
@FIXED
@given(st.integers(2, 150), st.data())
def test_later_sums_of_runs_are_those_of_a_plain_loop(name: str, n: int, data: st.DataObject) -> None:
    pairs = list(combinations(range(n), 2))
    begin = data.draw(st.integers(0, len(pairs) - 1))
    end = data.draw(st.integers(begin, len(pairs)))
    bits = np.random.default_rng(data.draw(st.integers(0, 99))).random(end - begin) < data.draw(st.floats(0, 1))
    vectors = np.random.default_rng(n).integers(-1000, 1000, (3, n)).astype(np.float64)
    wanted = np.full((3, n), 7.0)
    for (u, v), bit in zip(pairs[begin:end], bits.tolist(), strict=True):
        wanted[:, u] += bit * vectors[:, v]
    sums, first = np.full((3, n), 7.0), pairs[begin][0]
    skip = begin - pairs.index((first, first + 1))
    kernels(name).add_later_sums(np.packbits(bits, bitorder="little"), first, skip, vectors, sums)
    assert sums.tolist() == wanted.tolist()


def test_the_kernel_that_runs_is_chosen_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "name", lambda: "plain")
    assert backend.kernels("bitset") is bitset


def test_compiled_kernel_is_chosen_and_identical() -> None:
    compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.bitset", reason="numba is not installed")
    backend.name.cache_clear()
    assert backend.kernels("bitset") is compiled
    words = np.random.default_rng(5).integers(0, 2**64, size=(37, 9), dtype=np.uint64)
    assert (compiled.shared_counts(words, words[5:]) == bitset.shared_counts(words, words[5:])).all()


def test_empty_rows_share_nothing_with_anybody() -> None:
    compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.bitset", reason="numba is not installed")
    random = np.random.default_rng(6)
    words = random.integers(0, 2**64, size=(50, 3), dtype=np.uint64)
    words[random.random(50) < 0.6] = 0
    assert (compiled.shared_counts(words, words) == bitset.shared_counts(words, words)).all()


@pytest.mark.parametrize(("n", "edges"), [(2, 1), (9, 0), (40, 300), (300, 900)])
def test_lists_of_friends_rise(n: int, edges: int) -> None:
    graph = erdos_renyi(n, edges, seed=n)
    both = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    expected = [sorted(both[both[:, 0] == user, 1].tolist()) for user in range(n)]
    for name in ("plain", "compiled"):
        starts, friends = kernel(name, "lists_of")(graph.edges, graph.degrees)
        assert [friends[a:b].tolist() for a, b in pairwise(starts)] == expected


@pytest.mark.parametrize("grouped", [False, True])
def test_ends_are_counted_alike(grouped: bool) -> None:
    draw = np.random.default_rng(3)
    edges = draw.integers(0, 50, (400, 2)).astype(np.int32)
    members = draw.integers(0, 4, 50 * grouped).astype(np.int32)
    found, expected = np.zeros((2, 20, 4 if grouped else 1), np.int32)
    compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.bitset", reason="numba is not installed")
    compiled.add_ends(edges, members, 15, found)
    bitset.add_ends(edges, members, 15, expected)
    assert (found == expected).all()
    friends = np.concatenate([edges, edges[:, ::-1]])
    assert found.sum(axis=1).tolist() == [int((friends[:, 0] == user).sum()) for user in range(15, 35)]
