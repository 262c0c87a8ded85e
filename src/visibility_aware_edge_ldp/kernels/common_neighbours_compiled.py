"""The compiled twins of the loops of ``common_neighbours`` and ``owned_triangles``. Need numba, the extra ``fast``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def rank_lists(edges: Any, node: Any, rank: Any, start: Any) -> Any:
    """As ``plain_rank_lists``: a node that is written into its neighbours' lists in the order of ranks sorts them."""
    n, m = len(node), len(edges)
    near, place = np.empty(2 * m, np.int32), np.empty(n, np.int64)
    for r in range(n):
        place[node[r]] = start[r]
    for e in range(m):
        u, v = edges[e, 0], edges[e, 1]
        near[place[u]], near[place[v]] = rank[v], rank[u]
        place[u] += 1
        place[v] += 1
    neighbour, place = np.empty(2 * m, np.int32), start[:-1].copy()
    for r in range(n):
        for p in range(start[r], start[r + 1]):
            v = near[p]
            neighbour[place[v]] = r
            place[v] += 1
    return neighbour


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _first_rank(i: Any, degree: Any, floor: Any, by_degree: Any) -> Any:
    """The first rank j > i whose position with i cannot be promising (``by_degree``: whatever they share)."""
    low, high = i + 1, len(degree)
    while low < high:
        middle = (low + high) // 2
        most = degree[middle] if by_degree else 0
        if most >= floor[degree[i] + degree[middle]]:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sweep(
    first: Any, end: Any, degree: Any, start: Any, neighbour: Any, floor: Any, place: Any, marks: Any, out: Any
) -> Any:
    """As ``plain_sweep``; positions that share nobody are looked at only where the floor is zero."""
    found, n = 0, len(degree)
    shared, beside = marks[0], marks[1]
    for i in range(first, end):
        if degree[i] < floor[2 * degree[i]]:
            return n, found
        if found + n - i > out.shape[1]:
            return i, found
        stop = _first_rank(i, degree, floor, True)
        dense = _first_rank(i, degree, floor, False)
        walked = 0
        for p in range(start[i], start[i + 1]):
            v = neighbour[p]
            beside[v] = 2
            place[v] += 1
            q = place[v]
            while q < start[v + 1] and neighbour[q] < stop:
                shared[neighbour[q]] += 1
                q += 1
            walked += q - place[v]
        # What was touched is found by looking at all ranks, or by walking again, whichever is shorter.
        looked = stop if stop - i <= walked else dense
        for j in range(i + 1, looked):
            if shared[j] >= floor[degree[i] + degree[j] - beside[j]]:
                out[0, found], out[1, found], out[2, found] = i, j, shared[j]
                out[3, found] = degree[i] + degree[j] - beside[j]
                found += 1
            shared[j] = 0
        for p in range(start[i], start[i + 1]):
            v = neighbour[p]
            q = place[v] if looked < stop else start[v + 1]
            while q < start[v + 1] and neighbour[q] < stop:
                j = neighbour[q]
                q += 1
                if shared[j] > 0:
                    if shared[j] >= floor[degree[i] + degree[j] - beside[j]]:
                        out[0, found], out[1, found], out[2, found] = i, j, shared[j]
                        out[3, found] = degree[i] + degree[j] - beside[j]
                        found += 1
                    shared[j] = 0
        for p in range(start[i], start[i + 1]):
            beside[neighbour[p]] = 0
    return end, found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _owned_sums(low: Any, high: Any, counted: Any, weights: Any, part: Any) -> Any:
    n, m = weights.size, low.size
    sums = np.zeros((2, n), dtype=np.int64)
    starts = np.zeros(n + 1, dtype=np.int64)
    for e in range(m):
        starts[low[e] + 1] += 1
    for a in range(n):
        starts[a + 1] += starts[a]
    for ab in range(m):
        b = high[ab]
        ac, last = ab + 1, starts[low[ab] + 1]
        bc, end = starts[b], starts[b + 1]
        while ac < last and bc < end:
            if high[ac] < high[bc]:
                ac += 1
            elif high[bc] < high[ac]:
                bc += 1
            else:
                if counted[ab] or counted[ac] or counted[bc]:
                    c = high[ac]
                    weight = min(weights[b], weights[c])
                    sums[0, c] += weight // part
                    sums[1, c] += weight % part
                ac += 1
                bc += 1
    return sums


def owned_sums(edges: Any, counted: Any, weights: Any, part: int) -> Any:
    """As ``owned_triangles.owned_sums``: both lists of successors are walked in step."""
    return _owned_sums(edges.low, edges.high, counted, weights, part)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def successor_triangles(starts: Any, below: Any, targets: Any) -> Any:
    """As ``looked_up_triangles`` in ``subgraphs.sparse``: a node's successors are marked, and theirs are looked at."""
    n = starts.size - 1
    marked = np.zeros(n, dtype=np.uint8)
    total = 0
    for u in range(n):
        first, last = starts[u] + below[u], starts[u + 1]
        for p in range(first, last):
            marked[targets[p]] = 1
        for p in range(first, last):
            v = targets[p]
            found = 0
            for q in range(starts[v] + below[v], starts[v + 1]):
                found += marked[targets[q]]
            total += found
        for p in range(first, last):
            marked[targets[p]] = 0
    return total


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def shared_in_lists(offsets: Any, members: Any, rows: Any, first: Any) -> Any:
    """As ``bitset.shared_counts`` for rows of a sparse plane and all from ``first`` on: every two-path is walked."""
    counts = np.zeros((rows.size, offsets.size - 1 - first), dtype=np.int32)
    for i in range(rows.size):
        for p in range(offsets[rows[i]], offsets[rows[i] + 1]):
            middle = members[p]
            for q in range(offsets[middle], offsets[middle + 1]):
                if members[q] >= first:
                    counts[i, members[q] - first] += 1
    return counts
