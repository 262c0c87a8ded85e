"""Compiled kernels of randomized response: on long arrays, cut anywhere, the octets of their plain twins."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain import response

compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.response", reason="numba is not installed")
SIZES = (1, 8, 511, 512, 513, 70_001, 1_000_003)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("head", [0, 69, 255])
def test_comparing_and_settling_long_arrays(size: int, head: int) -> None:
    draws = np.random.default_rng(size)
    coins = draws.integers(0, 256, size + 5, dtype=np.uint8)[5:]  # from an odd address
    below = np.full((2, (size + 7) // 8), 0xAA, np.uint8)
    plain, fast = (each.compare(coins, head, bits) for each, bits in zip((response, compiled), below, strict=True))
    assert fast.tolist() == plain.tolist()
    assert below[1].tobytes() == below[0].tobytes()
    words = draws.integers(0, 256, 7 * plain.size, dtype=np.uint8)
    for each, bits in zip((response, compiled), below, strict=True):
        each.settle(bits, plain, words, 1 << 55)
    assert below[1].tobytes() == below[0].tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_depositing_long_arrays(size: int) -> None:
    draws = np.random.default_rng(size)
    places, bits = draws.integers(0, 256, (2, size), dtype=np.uint8)
    assert compiled.ones_in(places) == response.ones_in(places) > 0
    assert compiled.deposit(bits, places).tobytes() == response.deposit(bits, places).tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_ones_between_places(size: int) -> None:
    """Places may be equal, and the last one is the end."""
    draws = np.random.default_rng(size)
    octets = draws.integers(0, 256, size, dtype=np.uint8)
    places = np.sort(np.append(draws.integers(0, 8 * size + 1, 40), [0, 8 * size]))
    found = compiled.ones_between(octets, places)
    assert found.tolist() == response.ones_between(octets, places).tolist()
    assert found.sum() == response.ones_in(octets)
