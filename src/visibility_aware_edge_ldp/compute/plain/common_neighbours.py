"""Loops over neighbour lists: common neighbours of ranked nodes, and triangles, each found once.

The loops on ranks serve ``compute.ranked_graph``; triangles are found at their node of lowest rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
# Two-paths looked at in one go.
BLOCK = 1 << 21
Floats = npt.NDArray[np.float64]


def rank_nodes(n: int, edges: npt.NDArray[np.int32]) -> tuple[Int32s, Int32s, Ints]:
    """Nodes by rank, ranks by node and degrees by rank."""
    degree = np.bincount(edges.ravel(), minlength=n).astype(np.int64)
    node = np.argsort(-degree, kind="stable").astype(np.int32)
    rank = np.empty(n, np.int32)
    rank[node] = np.arange(n, dtype=np.int32)
    return node, rank, degree[node]


def hub_lists(edges: npt.NDArray[np.int32], rank: Int32s, hubs: int, room: int) -> tuple[Ints, Int32s]:
    """Where each list starts, and the lists end to end; ``room`` is the sum of the hubs' degrees."""
    n, ends = len(rank), rank[edges].astype(np.int64)
    u, v = ends[ends.min(axis=1, initial=n) < hubs].T
    codes = np.concatenate((u * n + v, v * n + u))
    codes.sort()
    rows, others = np.divmod(codes, max(n, 1))
    start = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
    return start.astype(np.int64), others.astype(np.int32)


def one_sided(start: Ints, neighbour: Int32s, i: Ints, j: Ints) -> tuple[Ints, Int32s, Int32s]:
    """Position by position, the neighbours of i alone and then those of j alone."""
    found = []
    for p, pair in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        lists = [neighbour[start[end] : start[end + 1]] for end in pair]
        for (near, far), end in zip((lists, lists[::-1]), pair[::-1], strict=True):
            alone = np.setdiff1d(near, np.append(far, end), assume_unique=True)
            found.append((np.full(len(alone), p), np.full(len(alone), end, np.int32), alone.astype(np.int32)))
    none = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
    which, ends, nodes = (np.concatenate(parts) for parts in zip(none, *found, strict=True))
    return which, ends, nodes


def floor_of(best: Ints, top: int, cap: int, plenty: int) -> Ints:
    """For each degree sum s up to ``top``, the fewest common neighbours that may beat ``best`` at some distance."""
    budgets = np.flatnonzero(best < cap)
    best = best[budgets]
    sums = np.maximum(2 * best + 2 - budgets, 0)
    floor = np.full(top + 1, plenty, dtype=np.int64)
    within = sums <= top
    np.minimum.at(floor, sums[within], (best + 1 - budgets)[within])
    lowest: Ints = np.minimum.accumulate(floor)
    return lowest


def sweep(
    span: Ints, degree: Ints, start: Ints, neighbour: Int32s, floor: Ints, place: Ints, marks: Int32s, out: Int32s
) -> tuple[int, int]:
    """Fill ``out`` with promising (i, j, a, s); return the next row and how many.

    ``span`` holds the first row and the end of rows, how many ranks know each other already, and how many hubs there
    are. ``place[v]`` is where the row stands in v's list: rows come in order, so each visit moves it by one.
    """
    first, end, known, hubs = span.tolist()
    found = 0
    for i in range(first, end):
        if degree[i] < floor[2 * degree[i]]:
            return hubs, found
        if found + hubs - i > out.shape[1]:
            return i, found
        sums = degree[i] + degree[i + 1 : hubs]
        width = int(np.count_nonzero(degree[i + 1 : hubs] >= floor[sums]))
        near = neighbour[start[i] : start[i + 1]]
        place[near] += 1
        a = np.bincount(_ranks_between(i, width, near, start, neighbour, place), minlength=width)
        s = sums[:width]
        beside = near[(near > i) & (near <= i + width)] - (i + 1)
        s[beside] -= 2
        kept = np.flatnonzero(a >= floor[s])
        kept = kept[kept >= known - (i + 1)]
        out[0, found : found + len(kept)] = i
        out[1, found : found + len(kept)] = kept + i + 1
        out[2, found : found + len(kept)] = a[kept]
        out[3, found : found + len(kept)] = s[kept]
        found += len(kept)
    return end, found


def _ranks_between(i: int, width: int, near: Int32s, start: Ints, neighbour: Int32s, place: Ints) -> Any:
    """For each path i – v – j with i < j <= i + width, the number j − i − 1."""
    ends = neighbour[laid_out(place[near], start[near + 1] - place[near])] - (i + 1)
    return ends[ends < width]


def laid_out(firsts: Ints, lengths: Ints) -> Ints:
    """The numbers first, first + 1, …, so many of each, end to end."""
    steps: Ints = np.arange(lengths.sum()) + np.repeat(firsts - np.cumsum(lengths) + lengths, lengths)
    return steps


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


def count_triangles(n: int, edges: npt.NDArray[np.int32]) -> int:
    """All triangles; edges rise in degree, which leaves every node with few later ones."""
    rising = RisingEdges.of(edges, n - 1 - rank_nodes(n, edges)[1].astype(np.int64))
    return sum(len(block) for block, _, _ in triangles(rising, n))


def shared_in_lists(offsets: Ints, members: Int32s, rows: Ints, first: int) -> Int32s:
    """As ``bitset.shared_counts`` for rows of a sparse plane and all from ``first`` on: every two-path is walked."""
    counts = np.zeros((rows.size, offsets.size - 1 - first), np.int32)
    for row, total in zip(rows.tolist(), counts, strict=True):
        near = members[offsets[row] : offsets[row + 1]]
        ends = members[laid_out(offsets[near], offsets[near + 1] - offsets[near])] - first
        total += np.bincount(ends[ends >= 0], minlength=total.size).astype(np.int32)
    return counts


def owned_sums(edges: RisingEdges, counted: npt.NDArray[np.bool_], weights: Ints, part: int) -> Ints:
    """For each rank c, over its triangles a < b < c with a counted side: the middle one of the three weights.

    The sums are (2, n): of the whole multiples of ``part`` in the weights, and of what is left, so that they stay
    exact in 64 bits. The plain twin of the compiled kernel.
    """
    sums = np.zeros((2, weights.size), np.int64)
    for ab, ac, bc in triangles(edges, weights.size):
        kept = np.flatnonzero(counted[ab] | counted[ac] | counted[bc])
        c = edges.high[ac[kept]]
        low, high, third = weights[edges.low[ab[kept]]], weights[edges.high[ab[kept]]], weights[c]
        middle = np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), third))
        for total, values in zip(sums, np.divmod(middle, part), strict=True):
            # Doubles hold these sums exactly: both parts are small.
            total += np.bincount(c, weights=values, minlength=weights.size).astype(np.int64)
    return sums


def listed_triangle_sums(
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
    # Triangles u < v < w in their order, their sides uv, vw and uw; each sum is of one term after the other.
    for one, three, two in triangles(rising, n):
        (e1, s1), (e2, s2), (e3, s3) = ((score[symbols[side]], spread[symbols[side]]) for side in (one, two, three))
        u, v, w = ends[rows[one]], ends[targets[one]], ends[targets[three]]
        uv, vw, uw = e2 * e3, e1 * e3, e1 * e2
        far = s1 * uv * (u + v - 2 * e1), s2 * vw * (v + w - 2 * e2) + s3 * uw * (u + w - 2 * e3)
        terms = (
            uv * e1,
            s1 * (uv - uv * uv) + s2 * (vw - vw * vw) + s3 * (uw - uw * uw),
            e1 * s2 * s3 + s1 * e2 * s3 + s1 * s2 * e3,
            np.stack(far, axis=1).ravel(),
            s1 * s2 * s3,
        )
        sums[:] = [np.add.accumulate(np.append(total, each))[-1] for total, each in zip(sums, terms, strict=True)]
        np.add.at(paths, np.stack((one, two, three), axis=1).ravel(), np.stack((uv, vw, uw), axis=1).ravel())
    return sums, paths
