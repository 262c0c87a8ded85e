"""How many ones each node has in a run of packed positions: what is kept of answers that are not kept themselves.

A run begins with bit number ``skip`` of row ``first``, and goes on row by row in the canonical order of positions. The
compiled twin in ``node_ones_compiled`` gives the same integers.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import bitset, choice

Octets = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int32]


def fastest() -> ModuleType:
    """The compiled kernel where numba is installed, this one elsewhere."""
    if choice.kernels() is bitset:
        from visibility_aware_edge_ldp.kernels import node_ones

        return node_ones
    from visibility_aware_edge_ldp.kernels import node_ones_compiled

    return node_ones_compiled


def add_node_ones(run: Octets, first: int, skip: int, counts: Counts) -> None:
    """Add every one at (u, v) to the counts of u and of v."""
    bits = np.unpackbits(run, bitorder="little")
    row, place = first, 0
    while place < bits.size and row < counts.size - 1:
        columns = counts[row + 1 + skip :]
        part = bits[place : place + columns.size]
        columns[: part.size] += part
        counts[row] += int(part.sum(dtype=np.int64))
        row, place, skip = row + 1, place + part.size, 0
