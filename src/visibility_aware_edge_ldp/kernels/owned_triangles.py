"""The triangles of a graph whose nodes are ranked, each found once, at its node of lowest rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
# Two-paths looked at in one go.
BLOCK = 1 << 21


@dataclass(frozen=True, eq=False)
class RisingEdges:
    """Edges from lower to higher rank, sorted by both; ``source`` is where each stood in the array they came from."""

    low: Ints
    high: Ints
    source: Ints

    @classmethod
    def of(cls, edges: npt.NDArray[np.int32], ranks: Ints) -> RisingEdges:
        """The edges of an (m, 2) array of nodes, by rank."""
        ends = ranks[edges]
        low, high = ends.min(axis=1), ends.max(axis=1)
        order = np.lexsort((high, low))
        return cls(low[order], high[order], order.astype(np.int64))


def triangles(edges: RisingEdges, n: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Blocks of triangles a < b < c: the places of their sides (a, b), (a, c) and (b, c) among the rising edges."""
    keys = edges.low * n + edges.high
    ends = np.searchsorted(edges.low, edges.low, side="right")
    lengths = ends - np.arange(ends.size) - 1  # with each (a, b), the later (a, c)
    total = np.concatenate([[0], np.cumsum(lengths)])
    first = 0
    while first < lengths.size:
        last = max(first + 1, int(np.searchsorted(total, total[first] + BLOCK, side="right")) - 1)
        sides = np.repeat(np.arange(first, last), lengths[first:last])
        others = np.arange(total[first], total[last]) - total[sides] + sides + 1
        wanted = edges.high[sides] * n + edges.high[others]
        third = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        closed = keys[third] == wanted
        yield sides[closed], others[closed], third[closed]
        first = last


def owned_sums(edges: RisingEdges, counted: npt.NDArray[np.bool_], weights: Ints, part: int) -> Ints:
    """For each rank c, over its triangles a < b < c with a counted side: the smaller weight of b and c.

    The sums are (2, n): of the whole multiples of ``part`` in the weights, and of what is left, so that they stay
    exact in 64 bits. The plain twin of the compiled kernel.
    """
    sums = np.zeros((2, weights.size), np.int64)
    for ab, ac, bc in triangles(edges, weights.size):
        kept = np.flatnonzero(counted[ab] | counted[ac] | counted[bc])
        b, c = edges.high[ab[kept]], edges.high[ac[kept]]
        for total, values in zip(sums, np.divmod(np.minimum(weights[b], weights[c]), part), strict=True):
            # Doubles hold these sums exactly: both parts are small.
            total += np.bincount(c, weights=values, minlength=weights.size).astype(np.int64)
    return sums
