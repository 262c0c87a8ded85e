"""Ones of each node in a run of positions: both kernels, every beginning, the same integers as a plain loop."""

from __future__ import annotations

from itertools import combinations
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.kernels import bitset, choice, node_ones

FIXED = settings(derandomize=True, deadline=None, max_examples=60)


def kernel(name: str) -> ModuleType:
    if name == "plain":
        return node_ones
    return pytest.importorskip("visibility_aware_edge_ldp.kernels.node_ones_compiled", reason="numba is not installed")


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
    kernel(name).add_node_ones(np.packbits(bits, bitorder="little"), first, skip, counts)
    assert counts.tolist() == wanted.tolist()


def test_the_kernel_that_runs_is_chosen_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "kernels", lambda: bitset)
    assert node_ones.fastest() is node_ones
