"""Which kernels run: the compiled ones where numba is installed, the plain ones elsewhere.

``compute.plain`` and ``compute.compiled`` have modules of the same names with functions of the same names, which give
the same numbers.
"""

import os
from functools import cache
from types import ModuleType
from typing import Literal

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain import (
    bitset,
    common_neighbours,
    group_sums,
    linear,
    pair_sums,
    response,
    rows,
    shared,
    tiles,
)
from visibility_aware_edge_ldp.compute.plain.bitset import Sums, Words

Kernels = Literal[
    "bitset", "common_neighbours", "group_sums", "linear", "pair_sums", "response", "rows", "shared", "tiles"
]
PLAIN: dict[Kernels, ModuleType] = {
    "bitset": bitset,
    "common_neighbours": common_neighbours,
    "group_sums": group_sums,
    "linear": linear,
    "pair_sums": pair_sums,
    "response": response,
    "rows": rows,
    "shared": shared,
    "tiles": tiles,
}
Offsets = npt.NDArray[np.int64]
Members = npt.NDArray[np.int32]


@cache
def name() -> Literal["plain", "compiled"]:
    """The fastest backend of this machine. ``VA_EDGE_LDP_KERNEL=plain`` asks for the plain one."""
    if os.environ.get("VA_EDGE_LDP_KERNEL") == "plain":
        return "plain"
    try:
        _compiled("bitset")
    except ImportError:
        return "plain"
    return "compiled"


def kernels(subject: Kernels) -> ModuleType:
    """The module of kernels on this subject."""
    return _compiled(subject) if name() == "compiled" else PLAIN[subject]


def _compiled(subject: Kernels) -> ModuleType:
    """One at a time: to load a module of compiled kernels takes as long as some estimates."""
    match subject:
        case "bitset":
            from visibility_aware_edge_ldp.compute.compiled import bitset as bitset_compiled

            return bitset_compiled
        case "common_neighbours":
            from visibility_aware_edge_ldp.compute.compiled import common_neighbours as common_neighbours_compiled

            return common_neighbours_compiled
        case "group_sums":
            from visibility_aware_edge_ldp.compute.compiled import group_sums as group_sums_compiled

            return group_sums_compiled
        case "linear":
            from visibility_aware_edge_ldp.compute.compiled import linear as linear_compiled

            return linear_compiled
        case "pair_sums":
            from visibility_aware_edge_ldp.compute.compiled import pair_sums as pair_sums_compiled

            return pair_sums_compiled
        case "response":
            from visibility_aware_edge_ldp.compute.compiled import response as response_compiled

            return response_compiled
        case "rows":
            from visibility_aware_edge_ldp.compute.compiled import rows as rows_compiled

            return rows_compiled
        case "shared":
            from visibility_aware_edge_ldp.compute.compiled import shared as shared_compiled

            return shared_compiled
        case "tiles":
            from visibility_aware_edge_ldp.compute.compiled import tiles as tiles_compiled

            return tiles_compiled


def compiled_lists() -> ModuleType | None:
    """The compiled kernels on lists of neighbours, where numba is installed."""
    return kernels("common_neighbours") if name() == "compiled" else None


def plane_of(flat: npt.NDArray[np.uint8], n: int) -> Words:
    """A plane from the flat bits of all positions."""
    plane: Words = kernels("bitset").plane_of(flat, n)
    return plane


def shared_counts(left: Words, right: Words) -> npt.NDArray[np.int32]:
    """For each row of ``left`` and each of ``right``: how many columns hold a one in both."""
    counts: npt.NDArray[np.int32] = kernels("bitset").shared_counts(left, right)
    return counts


def plane_times(plane: Words, vector: Sums) -> Sums:
    """A plane times a vector."""
    sums: Sums = kernels("bitset").plane_times(plane, vector)
    return sums


def list_sums(matrix: npt.NDArray[np.float32], offsets: Offsets, members: Members) -> Sums:
    """For each list of rows and each column: the sum of the list's rows there."""
    sums: Sums = kernels("bitset").list_sums(matrix, offsets, members)
    return sums
