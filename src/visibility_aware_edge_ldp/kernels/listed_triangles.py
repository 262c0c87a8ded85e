"""Sums over the triangles of listed positions with a score each; ``fastest`` is the compiled twin, with numba."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import bitset, choice
from visibility_aware_edge_ldp.kernels.owned_triangles import RisingEdges, triangles

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def fastest() -> ModuleType:
    """This module, or its compiled twin."""
    if choice.kernels() is not bitset:
        from visibility_aware_edge_ldp.kernels import listed_triangles_compiled

        return listed_triangles_compiled
    import visibility_aware_edge_ldp.kernels.listed_triangles as plain

    return plain


def triangle_sums(
    starts: Ints,
    targets: npt.NDArray[np.int32],
    symbols: npt.NDArray[np.uint8],
    score: Floats,
    spread: Floats,
    ends: Floats,
) -> tuple[Floats, Floats]:
    """Five sums over all triangles of sides i, j, k, and for each position the sum of e_j e_k over its triangles.

    With e and s the score and spread of a side's symbol and d the ``ends`` of its nodes, summed are: e e e; over the
    three sides s_i (e_j e_k − e_j² e_k²), e_i s_j s_k and s_i e_j e_k (d_u + d_v − 2e_i); and s s s.
    """
    n, rows = starts.size - 1, np.repeat(np.arange(starts.size - 1), np.diff(starts))
    sums, paths = np.zeros(5), np.zeros(targets.size)
    rising = RisingEdges(rows, targets.astype(np.int64), np.arange(targets.size))
    if not targets.size:
        return sums, paths
    for sides in triangles(rising, n):
        e, s = ([of[symbols[side]] for side in sides] for of in (score, spread))
        sums += [(e[0] * e[1] * e[2]).sum(), 0, 0, 0, (s[0] * s[1] * s[2]).sum()]
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            path, side = e[j] * e[k], sides[i]
            far = ends[rows[side]] + ends[targets[side]] - 2 * e[i]
            each = (s[i] * (path - path**2), e[i] * s[j] * s[k], s[i] * path * far)
            sums[1:4] += [part.sum() for part in each]
            paths += np.bincount(side, path, minlength=paths.size)
    return sums, paths
