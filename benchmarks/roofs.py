"""What this machine would allow: measured in the same run, for the parts of the work that nobody can leave out.

A random byte for every position, at the speed of the machine's own AES; and every word of every row that must be
added, read once from the nearest cache. Both are bounds from below on the time, not times that a program has reached.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np

from benchmarks.timing import seconds
from visibility_aware_edge_ldp.mechanisms.randomness import secure_coins

OCTETS, TRIES = 1 << 16, 99  # so few that no page of memory is new
NEAR_WORDS, PASSES = 2048, 20_000  # 16 KiB: half of the nearest cache


@cache
def seconds_per_octet() -> float:
    """The time of one octet of AES keystream, on one core."""
    coins = secure_coins()
    return min(seconds(lambda: coins(OCTETS)) for _ in range(TRIES)) / OCTETS


@cache
def seconds_per_word() -> float | None:
    """The time to read 64 bits from the nearest cache and combine them, on one core; None without numba."""
    try:
        from numba import njit
    except ImportError:
        return None

    @njit
    def read(words: np.ndarray, passes: int) -> int:
        total = np.uint64(0)
        for turn in range(passes):
            for i in range(words.size):  # over an index, which the compiler can take several at a time
                total += words[i] ^ np.uint64(turn)
        return total

    words = np.arange(NEAR_WORDS, dtype=np.uint64)
    read(words, 1)
    return min(seconds(lambda: read(words, PASSES)) for _ in range(TRIES)) / (NEAR_WORDS * PASSES)


def cores() -> int:
    """How many threads everybody may use."""
    return os.cpu_count() or 1


def answers(positions: int) -> float:
    """The least time for randomizing so many positions on one core."""
    return positions * seconds_per_octet()


def noisy_triangles(n: int, share_of_ones: float) -> float | None:
    """The least time for adding, for each i, the rows of its later neighbours: about ones·n³/(6·64) words."""
    each = seconds_per_word()
    return None if each is None else share_of_ones * n**3 / (6 * 64) * each / cores()


def all_pairs(n: int) -> float | None:
    """The least time for reading a row for every pair: what common neighbours of all pairs need, n³/(2·64) words."""
    each = seconds_per_word()
    return None if each is None else n**3 / (2 * 64) * each / cores()
