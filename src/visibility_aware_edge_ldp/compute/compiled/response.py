"""The compiled twins of the kernels in ``response``. Need numba, the extra ``fast``.

Written with vectors of 64 bytes: the compiler cuts them to what the processor has.
"""

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types, uint8, uint64
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled import instructions as code
from visibility_aware_edge_ldp.compute.compiled import njit
from visibility_aware_edge_ldp.compute.compiled.instructions import lowest_one, popcount
from visibility_aware_edge_ldp.compute.plain.response import refuse_missing_bits, refuse_other_sizes, refuse_other_words

LANES = 64
WORDS_AT_ONCE = 512
_VECTOR = ir.VectorType(code.OCTET, LANES)
_ALL = 0xFFFFFFFFFFFFFFFF


def _compared(operator: str) -> Any:
    """The 64 bytes at an address compared with one byte: a bit each."""

    def write(builder: Any, address: Any, head: Any) -> Any:
        coins = builder.load(builder.inttoptr(address, _VECTOR.as_pointer()), align=1)
        heads = code.everywhere(builder, head, _VECTOR)
        return builder.bitcast(builder.icmp_unsigned(operator, coins, heads), code.WORD)

    return intrinsic(lambda typing, address, head: code.written(types.uint64(types.int64, types.uint8), write))


_below, _equal = _compared("<"), _compared("==")


@intrinsic  # type: ignore[untyped-decorator]
def _load(typing: Any, address: Any) -> Any:
    """The word at an address that need not be a multiple of eight."""

    def write(builder: Any, address: Any) -> Any:
        return builder.load(builder.inttoptr(address, code.WORD.as_pointer()), align=1)

    return code.written(types.uint64(types.int64), write)


@intrinsic  # type: ignore[untyped-decorator]
def _store(typing: Any, word: Any, address: Any) -> Any:
    """Put a word at an address that need not be a multiple of eight."""

    def write(builder: Any, word: Any, address: Any) -> None:
        builder.store(word, builder.inttoptr(address, code.WORD.as_pointer()), align=1)

    return code.written(types.void(types.uint64, types.int64), write)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _compare_blocks(coins: Any, head: Any, below: Any, masks: Any, where: Any) -> Any:
    """The blocks of 64 bytes: how many of them hold ties, and how many ties; each block's mask and number."""
    source, target = coins.ctypes.data, below.ctypes.data
    blocks, ties = 0, uint64(0)
    for block in range(coins.size // LANES):
        _store(_below(source + block * LANES, head), target + block * 8)
        mask = _equal(source + block * LANES, head)
        # Without a branch: one block in four or five holds a tie, and nobody could guess which.
        masks[blocks], where[blocks] = mask, block
        blocks += mask != uint64(0)
        ties += popcount(mask)
    return blocks, ties


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _compare(coins: Any, head: Any, below: Any) -> Any:
    whole = coins.size // LANES
    masks, where = np.empty(whole + 1, np.uint64), np.empty(whole + 1, np.int64)
    blocks, ties = _compare_blocks(coins, head, below, masks, where)
    places, size = np.empty(ties + uint64(LANES), np.int64), 0
    for i in range(blocks):
        mask = masks[i]
        while mask:
            places[size] = where[i] * LANES + lowest_one(mask)
            size += 1
            mask &= mask - uint64(1)
    # Fewer than 64 bytes are left: one by one, so that nothing after them is read.
    below[whole * 8 :] = uint8(0)
    for place in range(whole * LANES, coins.size):
        below[place >> 3] |= uint8(coins[place] < head) << uint8(place & 7)
        places[size] = place
        size += coins[place] == head
    return places[:size]


def compare(coins: Any, head: int, below: Any) -> Any:
    """As ``response.compare``: 64 bytes at a time."""
    refuse_other_sizes(coins, below)
    return _compare(coins, uint8(head), below)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _settle(bits: Any, places: Any, coins: Any, tail: Any) -> None:
    for i in range(places.size):
        word = uint64(0)
        for octet in range(7):
            word = word << uint64(8) | uint64(coins[7 * i + octet])
        bits[places[i] >> 3] |= uint8(word < tail) << uint8(places[i] & 7)


def settle(bits: Any, places: Any, coins: Any, tail: int) -> None:
    """As ``response.settle``."""
    refuse_other_words(places, coins)
    _settle(bits, places, coins, uint64(tail))


@cache
def _table() -> tuple[Any, Any]:
    """For every mask of eight places and every byte, the byte's lowest bits spread over the places; how many places."""
    masks, values = np.arange(256, dtype=np.uint8)[:, None], np.arange(256, dtype=np.uint8)[None, :]
    spread, used = np.zeros((256, 256), np.uint8), np.zeros((256, 1), np.uint8)
    for bit in range(8):
        here = masks >> bit & 1
        spread |= (values >> used & here) << bit
        used += here
    return spread.ravel(), used.ravel().astype(np.uint64)


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _spread(pending: Any, mask: Any, octets: Any, table: Any, used: Any) -> Any:
    """The lowest bits of a word, spread over the ones of so many octets of a mask."""
    word = uint64(0)
    for octet in range(octets):
        here = (mask >> uint64(8 * octet)) & uint64(255)
        word |= uint64(table[here << uint64(8) | pending & uint64(255)]) << uint64(8 * octet)
        pending >>= used[here]
    return word


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _bits_at(words: Any, at: Any) -> Any:
    """The 64 bits from the one numbered ``at`` on."""
    place, offset = at >> uint64(6), at & uint64(63)
    # Shifted twice, because a shift by all 64 places is not defined.
    return words[place] >> offset | words[place + uint64(1)] << (uint64(63) - offset) << uint64(1)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _words_with_ones(source: Any, first: Any, last: Any, found: Any) -> Any:
    """The numbers of the words that are not empty; without a branch, which a sparse mask would make guesswork."""
    size = 0
    for w in range(first, last):
        found[size] = w
        size += _load(source + w * 8) != uint64(0)
    return size


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _deposit(words: Any, places: Any, table: Any, used: Any, spread: Any) -> None:
    """Into zeros."""
    whole, at = places.size // 8, uint64(0)
    source, target = places.ctypes.data, spread.ctypes.data
    found = np.empty(WORDS_AT_ONCE, np.int64)
    for first in range(0, whole, WORDS_AT_ONCE):
        for i in range(_words_with_ones(source, first, min(first + WORDS_AT_ONCE, whole), found)):
            mask, pending = _load(source + found[i] * 8), _bits_at(words, at)
            if mask & (mask - uint64(1)) == uint64(0):
                pending = mask * (pending & uint64(1))
            elif mask != uint64(_ALL):
                pending = _spread(pending, mask, 8, table, used)
            _store(pending, target + found[i] * 8)
            at += popcount(mask)
    for octet in range(whole * 8, places.size):
        mask = uint64(places[octet])
        spread[octet] = _spread(_bits_at(words, at), mask, 1, table, used)
        at += used[mask]


def deposit(bits: Any, places: Any) -> Any:
    """As ``response.deposit``: whole words where a word of the mask is all ones or all zeros, a table elsewhere."""
    refuse_missing_bits(bits, ones_in(places))
    # Two words of room: those that begin anywhere may be read whole.
    words = np.zeros(bits.size // 8 + 2, np.uint64)
    words.view(np.uint8)[: bits.size] = bits
    spread = np.zeros(places.size, np.uint8)
    _deposit(words, places, *_table(), spread)
    return spread


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _ones_in(octets: Any) -> Any:
    whole, total = octets.size // 8, uint64(0)
    source = octets.ctypes.data
    for w in range(whole):
        total += popcount(_load(source + w * 8))
    for octet in range(whole * 8, octets.size):
        total += popcount(uint64(octets[octet]))
    return total


def ones_in(octets: Any) -> int:
    """As ``response.ones_in``."""
    return int(_ones_in(octets))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _ones_between(octets: Any, places: Any, found: Any) -> None:
    source = octets.ctypes.data
    for i in range(found.size):
        start, stop, total = places[i], places[i + 1], uint64(0)
        while start < stop and (start & 7 or stop - start < 64):  # up to a whole octet, or to the end
            total += uint64(octets[start >> 3] >> (start & 7)) & uint64(1)
            start += 1
        while stop - start >= 64:
            total += popcount(_load(source + (start >> 3)))
            start += 64
        while start < stop:
            total += uint64(octets[start >> 3] >> (start & 7)) & uint64(1)
            start += 1
        found[i] = total


def ones_between(octets: Any, places: Any) -> Any:
    """As ``response.ones_between``."""
    found = np.empty(max(places.size - 1, 0), np.int64)
    _ones_between(octets, places, found)
    return found
