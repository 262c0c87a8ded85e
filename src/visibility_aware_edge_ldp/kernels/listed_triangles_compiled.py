"""The compiled twin of ``listed_triangles``. Needs numba, the extra ``fast``."""

from __future__ import annotations

from typing import Any

import numpy as np

from visibility_aware_edge_ldp.kernels.cached import njit


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def triangle_sums(starts: Any, targets: Any, symbols: Any, score: Any, spread: Any, ends: Any) -> Any:
    """As the plain one: a node's later list is marked, and the later lists of its members are looked at."""
    n = starts.size - 1
    marked, sums, paths = np.zeros(n, np.int32), np.zeros(5), np.zeros(targets.size)
    for u in range(n):
        first, last = starts[u], starts[u + 1]
        for p in range(first, last):
            marked[targets[p]] = p - first + 1
        for p in range(first, last):
            v = targets[p]
            e1, s1 = score[symbols[p]], spread[symbols[p]]
            for q in range(starts[v], starts[v + 1]):
                place = marked[targets[q]]
                if place:
                    r, w = first + place - 1, targets[q]
                    e2, s2 = score[symbols[q]], spread[symbols[q]]
                    e3, s3 = score[symbols[r]], spread[symbols[r]]
                    uv, vw, uw = e2 * e3, e1 * e3, e1 * e2
                    sums[0] += uv * e1
                    sums[1] += s1 * (uv - uv * uv) + s2 * (vw - vw * vw) + s3 * (uw - uw * uw)
                    sums[2] += e1 * s2 * s3 + s1 * e2 * s3 + s1 * s2 * e3
                    sums[3] += s1 * uv * (ends[u] + ends[v] - 2 * e1)
                    sums[3] += s2 * vw * (ends[v] + ends[w] - 2 * e2) + s3 * uw * (ends[u] + ends[w] - 2 * e3)
                    sums[4] += s1 * s2 * s3
                    paths[p] += uv
                    paths[q] += vw
                    paths[r] += uw
        for p in range(first, last):
            marked[targets[p]] = 0
    return sums, paths
