"""The kernels of randomized response: bit for bit what a plain loop does, compiled or not, and nothing beyond."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain import response

FIXED = settings(derandomize=True, deadline=None, max_examples=150)
SIZES = (0, 1, 7, 8, 9, 63, 64, 65, 71, 72, 127, 128, 129, 640, 4097)
NAMES = ("plain", "compiled")


def kernels(name: str) -> ModuleType:
    if name == "plain":
        return response
    return pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.response", reason="numba is not installed")


def packed(bits: list[int]) -> list[int]:
    """Eight bits a byte, the first in the lowest bit."""
    return [sum(bit << i for i, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8)]


def unpacked(octets: list[int]) -> list[int]:
    return [octet >> i & 1 for octet in octets for i in range(8)]


def spread(bits: list[int], places: list[int]) -> list[int]:
    left = iter(bits)
    return packed([next(left) if place else 0 for place in unpacked(places)])


@pytest.mark.parametrize("name", NAMES)
@FIXED
@given(st.binary(max_size=300), st.integers(0, 255), st.integers(0, 8))
def test_comparing_is_what_a_loop_does(name: str, drawn: bytes, head: int, rare: int) -> None:
    """Every ``rare``-th byte and more is a tie; 0 leaves the bytes as drawn."""
    coins = np.frombuffer(drawn, np.uint8).copy()
    if rare:
        coins[::rare] = head
    below = np.full((coins.size + 7) // 8, 0xAA, np.uint8)
    ties = kernels(name).compare(coins, head, below)
    assert below.tolist() == packed([int(coin < head) for coin in coins.tolist()])
    assert ties.tolist() == [place for place, coin in enumerate(coins.tolist()) if coin == head]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("head", [0, 1, 127, 128, 255])
def test_nothing_is_read_or_written_beyond_the_ends(name: str, size: int, head: int) -> None:
    """Around the coins there are ties and around the bits a pattern, from an odd address on."""
    around = np.full(size + 200, head, np.uint8)
    coins, room = around[67 : 67 + size], np.full((size + 7) // 8 + 40, 0xAA, np.uint8)
    coins[:] = np.random.default_rng(size).integers(0, 256, size)
    below = room[13 : room.size - 27]
    ties = kernels(name).compare(coins, head, below)
    assert ties.tolist() == np.flatnonzero(coins == head).tolist()
    assert below.tolist() == packed((coins < head).astype(int).tolist())
    assert (room[:13] == 0xAA).all()
    assert (room[-27:] == 0xAA).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("head", range(256))
def test_all_bytes_against_all_heads(name: str, head: int) -> None:
    below = np.empty(32, np.uint8)
    assert kernels(name).compare(np.arange(256, dtype=np.uint8), head, below).tolist() == [head]
    assert unpacked(below.tolist()) == [1] * head + [0] * (256 - head)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("coins", "octets"), [(8, 2), (9, 1), (1, 5), (0, 1)])
def test_bits_that_no_coin_decides_are_refused(name: str, coins: int, octets: int) -> None:
    with pytest.raises(ValueError, match=f"{coins} coins decide"):
        kernels(name).compare(np.zeros(coins, np.uint8), 1, np.empty(octets, np.uint8))


@st.composite
def masks(draw: st.DrawFn) -> bytes:
    """Masks with empty words, whole words, words of a single one, and any others."""
    single = st.integers(0, 63).map(lambda bit: (1 << bit).to_bytes(8, "little"))
    words = st.one_of(st.just(bytes(8)), st.just(b"\xff" * 8), single, st.binary(min_size=8, max_size=8))
    return b"".join(draw(st.lists(words, max_size=12))) + draw(st.binary(max_size=7))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@FIXED
@given(masks(), st.data())
def test_depositing_is_what_a_loop_does(name: str, mask: bytes, data: st.DataObject) -> None:
    places = np.frombuffer(mask, np.uint8)
    wanted = sum(octet.bit_count() for octet in mask)
    bits = np.frombuffer(data.draw(st.binary(min_size=(wanted + 7) // 8, max_size=(wanted + 7) // 8 + 9)), np.uint8)
    assert kernels(name).ones_in(places) == wanted
    assert kernels(name).deposit(bits, places).tolist() == spread(unpacked(bits.tolist()), list(mask))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("bits", "places"), [(0, b"\x01"), (1, b"\xff\x80"), (8, b"\xff" * 8 + b"\x01")])
def test_places_without_a_bit_are_refused(name: str, bits: int, places: bytes) -> None:
    with pytest.raises(ValueError, match="need as many bits"):
        kernels(name).deposit(np.zeros(bits, np.uint8), np.frombuffer(places, np.uint8))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("density", [0, 1 / 256, 0.5, 0.999, 1])
def test_long_masks_from_an_odd_address(name: str, density: float) -> None:
    """Longer than the words that are looked through at once."""
    random = np.random.default_rng(1)
    places = np.packbits(random.random(8 * 9001) < density)[3:]
    bits = random.integers(0, 256, places.size, dtype=np.uint8)
    assert kernels(name).deposit(bits, places).tolist() == spread(unpacked(bits.tolist()), places.tolist())
    assert kernels(name).ones_in(places) == sum(unpacked(places.tolist()))


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_over_every_mask(name: str) -> None:
    deposit: Callable[..., np.ndarray] = kernels(name).deposit
    for mask in range(256):
        # One mask for every byte, each reading its bits from where the last one ended.
        bits = np.arange(256, dtype=np.uint8)
        found = deposit(bits, np.full(256, mask, np.uint8))
        assert found.tolist() == spread(unpacked(bits.tolist()), [mask] * 256)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@FIXED
@given(st.lists(st.integers(0, 199), unique=True), st.integers(0, 2**56 - 1), st.data())
def test_settling_sets_those_below_and_no_others(name: str, places: list[int], tail: int, data: st.DataObject) -> None:
    """Many numbers are the last below, the first that is not, or beside them by a whole byte."""
    beside = st.sampled_from([-(1 << 48), -1, 0, 1, 1 << 48]).map(lambda step: (tail + step) % (1 << 56))
    numbers = st.lists(beside | st.integers(0, 2**56 - 1), min_size=len(places), max_size=len(places))
    drawn, bits = data.draw(numbers), np.zeros(25, np.uint8)
    bits[3] = 0b10000001
    expected = {24, 31} | {place for place, number in zip(places, drawn, strict=True) if number < tail}
    coins = np.frombuffer(b"".join(number.to_bytes(7, "big") for number in drawn), np.uint8)
    kernels(name).settle(bits, np.array(places, np.int64), coins, tail)
    assert np.flatnonzero(unpacked(bits.tolist())).tolist() == sorted(expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0, 6, 8, 13, 15, 21])
def test_ties_without_their_seven_bytes_are_refused(name: str, size: int) -> None:
    with pytest.raises(ValueError, match="2 ties are settled by 14 bytes"):
        kernels(name).settle(np.zeros(1, np.uint8), np.array([1, 2]), np.zeros(size, np.uint8), 5)


def test_the_compiled_kernels_are_chosen_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    assert backend.kernels("response") is kernels(backend.name())
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", "plain")
    backend.name.cache_clear()
    assert backend.kernels("response") is response
    monkeypatch.undo()
    backend.name.cache_clear()
