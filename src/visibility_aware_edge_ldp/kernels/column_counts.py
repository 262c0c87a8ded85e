"""How many of some listed rows hold a one in each column: the part that several compiled kernels share.

Needs numba, the extra ``fast``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from visibility_aware_edge_ldp.kernels.adders import GROUP, LEVELS, SLICES, WORDS, add_rows
from visibility_aware_edge_ldp.kernels.cached import njit
from visibility_aware_edge_ldp.kernels.slices import spread_bits, spread_slices


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def count_columns(panel: Any, listed: Any, begin: Any, end: Any, slices: Any, counts: Any) -> None:
    """How many of the listed rows hold a one in each column of a panel; ``slices`` are a workspace."""
    levels = LEVELS
    while (end - begin) >> levels:
        levels += 1
    slices[: (levels + 7) & ~7] = uint64(0)
    add_rows(panel, listed, begin, end, slices, levels)
    while levels > 8 and _is_empty(slices[levels - 1]):  # few columns hold as many ones as there are rows
        levels -= 1
    spread_slices(slices, levels, counts)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _is_empty(row: Any) -> Any:
    found = uint64(0)
    for word in row:
        found |= word
    return found == uint64(0)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def workspace() -> Any:
    return np.zeros((SLICES, WORDS), np.uint64)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def bits_of(row: Any, bits: Any) -> None:
    """The bits of a panel's row, one number each."""
    spread_bits(row, bits)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def whole_groups(offsets: Any, members: Any, empty: Any) -> Any:
    """The same lists, each filled up to whole groups with the empty row."""
    ends = np.empty(offsets.size, np.int64)
    listed = np.empty(members.size + offsets.size * GROUP, np.uint32)
    end = ends[0] = 0
    for i in range(offsets.size - 1):
        for member in members[offsets[i] : offsets[i + 1]]:
            listed[end] = member
            end += 1
        while end & (GROUP - 1):
            listed[end] = empty
            end += 1
        ends[i + 1] = end
    return ends, listed
