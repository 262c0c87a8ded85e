"""Randomized response on packed bits, eight a byte, the first in the lowest bit.

Three kernels: coins are compared with a byte, ties are settled, and bits are spread over the places of a mask.
"""

import numpy as np
import numpy.typing as npt

Octets = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


def compare(coins: Octets, head: int, below: Octets) -> Ints:
    """Which bytes are below ``head``, as packed bits into an array of the right size; and where ``head`` itself is."""
    refuse_other_sizes(coins, below)
    below[:] = np.packbits(coins < head, bitorder="little")
    return np.flatnonzero(coins == head)


def refuse_other_sizes(coins: Octets, below: Octets) -> None:
    """Bits that no coin has decided must not be taken for answers."""
    if below.size != (coins.size + 7) // 8:
        raise ValueError(f"{coins.size} coins decide {(coins.size + 7) // 8} packed bytes, not {below.size}.")


def settle(bits: Octets, places: Ints, coins: Octets, tail: int) -> None:
    """Set the packed bits at those places whose seven bytes, the highest first, are a number below ``tail``."""
    refuse_other_words(places, coins)
    # Eight bytes are read, from the one before on, which is then taken away.
    eight = np.ndarray(places.shape, ">u8", b"\0" + coins.tobytes(), strides=(7,))
    where = places[eight.astype(np.uint64) & np.uint64((1 << 56) - 1) < tail]
    np.bitwise_or.at(bits, where >> 3, np.uint8(1) << (where & 7).astype(np.uint8))


def refuse_other_words(places: Ints, coins: Octets) -> None:
    """Seven bytes a place, or bytes that are nobody's would be read."""
    if coins.size != 7 * places.size:
        raise ValueError(f"{places.size} ties are settled by {7 * places.size} bytes, not {coins.size}.")


def deposit(bits: Octets, places: Octets) -> Octets:
    """Packed bits, spread in their order over the ones of ``places``; zeros elsewhere.

    There must be a bit for every one; what follows the last is not looked at.
    """
    wanted = ones_in(places)
    refuse_missing_bits(bits, wanted)
    chosen = np.unpackbits(places, bitorder="little").view(np.bool_)
    spread = np.zeros(chosen.size, np.uint8)
    spread[chosen] = np.unpackbits(bits, count=wanted, bitorder="little")
    return np.packbits(spread, bitorder="little")


def refuse_missing_bits(bits: Octets, wanted: int) -> None:
    """A flip that is missing would be taken for none."""
    if 8 * bits.size < wanted:
        raise ValueError(f"{wanted} places need as many bits; there are {8 * bits.size}.")


def ones_in(octets: Octets) -> int:
    """How many bits are one."""
    whole = octets.size // 8 * 8
    words = np.bitwise_count(octets[:whole].view(np.uint64)).sum(dtype=np.int64)
    return int(words + np.bitwise_count(octets[whole:]).sum(dtype=np.int64))


def ones_between(octets: Octets, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many ones there are in packed bits from each place to the next; places rise."""
    words = np.zeros(octets.size // 8 + 1, "<u8")
    words.view(np.uint8)[: octets.size] = octets
    before = np.concatenate([[0], np.cumsum(np.bitwise_count(words), dtype=np.int64)])
    word, bit = places >> 6, (places & 63).astype(np.uint64)
    inside = words[word] & ((np.uint64(1) << bit) - np.uint64(1))
    between: npt.NDArray[np.int64] = np.diff(before[word] + np.bitwise_count(inside))
    return between
