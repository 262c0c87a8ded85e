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
    pair_sums,
    response,
    rows,
    tiles,
)
from visibility_aware_edge_ldp.compute.plain.bitset import Sums, Words

Kernels = Literal["bitset", "common_neighbours", "group_sums", "pair_sums", "response", "rows", "tiles"]
PLAIN: dict[Kernels, ModuleType] = {
    "bitset": bitset,
    "common_neighbours": common_neighbours,
    "group_sums": group_sums,
    "pair_sums": pair_sums,
    "response": response,
    "rows": rows,
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
        _compiled()
    except ImportError:
        return "plain"
    return "compiled"


def kernels(subject: Kernels) -> ModuleType:
    """The module of kernels on this subject."""
    return _compiled()[subject] if name() == "compiled" else PLAIN[subject]


@cache
def _compiled() -> dict[Kernels, ModuleType]:
    """Loaded when they are wanted: that takes as long as some estimates."""
    from visibility_aware_edge_ldp.compute.compiled import (
        bitset,
        common_neighbours,
        group_sums,
        pair_sums,
        response,
        rows,
        tiles,
    )

    return dict(zip(PLAIN, (bitset, common_neighbours, group_sums, pair_sums, response, rows, tiles), strict=True))


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
