"""The compiled twins of ``common_neighbours``. Need numba, the extra ``fast``."""

from typing import Any

import numpy as np

from visibility_aware_edge_ldp.compute.compiled import njit


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _degrees(n: Any, edges: Any) -> Any:
    """Edges come by their first end, so most of its count stays in a register."""
    degree = np.zeros(n, np.int32)
    last, run = 0, 0
    for e in range(len(edges)):
        u = edges[e, 0]
        if u != last:
            degree[last] += run
            last, run = u, 0
        run += 1
        degree[np.uint32(edges[e, 1])] += 1
    if n > 0:
        degree[last] += run
    return degree


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def rank_nodes(n: Any, edges: Any) -> Any:
    """As the plain one: the nodes of each degree are counted, and then every node goes to its place."""
    degree, place = _degrees(n, edges), np.zeros(n + 2, np.int32)
    for v in range(n):
        place[n - 1 - degree[v] + 1] += 1
    place = np.cumsum(place)
    node, rank, by_rank = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    for v in range(n):
        r = place[n - 1 - degree[v]]
        place[n - 1 - degree[v]] += 1
        node[r], rank[v], by_rank[r] = v, r, degree[v]
    return node, rank, by_rank


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _edges_of_hubs(edges: Any, rank: Any, hubs: Any, room: Any) -> Any:
    # One more row than needed: each edge is written, and the next one overwrites it unless it has a hub.
    kept, size = np.empty((min(room, len(edges)) + 1, 2), np.int32), np.uint64(0)
    for e in range(len(edges)):
        u, v = rank[np.uint32(edges[e, 0])], rank[np.uint32(edges[e, 1])]
        kept[size, 0], kept[size, 1] = u, v
        size += np.uint64((u < hubs) | (v < hubs))
    return kept[: np.int64(size)]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def hub_lists(edges: Any, rank: Any, hubs: Any, room: Any) -> Any:
    """As the plain one: a node that is written into its neighbours' lists in the order of ranks sorts them."""
    n, kept = len(rank), _edges_of_hubs(edges, rank, hubs, room)
    start = np.zeros(n + 1, np.int64)
    for e in range(len(kept)):
        start[kept[e, 0] + 1] += 1
        start[kept[e, 1] + 1] += 1
    start = np.cumsum(start)
    near, place = np.empty(2 * len(kept), np.int32), start[:-1].copy()
    for e in range(len(kept)):
        u, v = kept[e, 0], kept[e, 1]
        near[place[u]], near[place[v]] = v, u
        place[u] += 1
        place[v] += 1
    neighbour, place = np.empty(2 * len(kept), np.int32), start[:-1].copy()
    for r in range(n):
        for p in range(start[r], start[r + 1]):
            v = near[p]
            neighbour[place[v]] = r
            place[v] += 1
    return start, neighbour


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def one_sided(start: Any, neighbour: Any, i: Any, j: Any) -> Any:
    """As the plain one: the list of one end is marked while the other's is walked."""
    room = 0
    for p in range(len(i)):
        room += start[i[p] + 1] - start[i[p]] + start[j[p] + 1] - start[j[p]]
    which, ends, nodes = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int32)
    marked, found = np.zeros(len(start) - 1, np.uint8), 0
    for p in range(len(i)):
        for turn in range(2):
            near, far = (j[p], i[p]) if turn else (i[p], j[p])
            marked[far] = 1
            for q in range(start[far], start[far + 1]):
                marked[neighbour[q]] = 1
            for q in range(start[near], start[near + 1]):
                which[found], ends[found], nodes[found] = p, far, neighbour[q]
                found += marked[neighbour[q]] == 0
            marked[far] = 0
            for q in range(start[far], start[far + 1]):
                marked[neighbour[q]] = 0
    return which[:found], ends[:found], nodes[:found]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def floor_of(best: Any, top: Any, cap: Any, plenty: Any) -> Any:
    """As the plain one."""
    floor = np.full(top + 1, plenty, np.int64)
    for t in range(len(best)):
        s = max(2 * best[t] + 2 - t, 0)
        if best[t] < cap and s <= top:
            floor[s] = min(floor[s], best[t] + 1 - t)
    for s in range(top):
        floor[s + 1] = min(floor[s], floor[s + 1])
    return floor


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _first_rank(i: Any, hubs: Any, degree: Any, floor: Any, by_degree: Any) -> Any:
    """The first hub j > i whose position with i cannot be promising (``by_degree``: whatever they share)."""
    low, high = i + 1, hubs
    while low < high:
        middle = (low + high) // 2
        most = degree[middle] if by_degree else 0
        if most >= floor[degree[i] + degree[middle]]:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count_below(stop: Any, neighbour: Any, first: Any, last: Any, counts: Any) -> Any:
    """Count the entries below ``stop`` of a piece of a sorted list, each at its own place; return how many."""
    q, end, bound = np.uint64(first), np.uint64(last), np.uint32(stop)
    while q < end and neighbour[q] < bound:
        counts[neighbour[q]] += np.int32(1)
        q += np.uint64(1)
    return np.int64(q) - first


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _put(i: Any, j: Any, known: Any, degree: Any, floor: Any, shared: Any, beside: Any, out: Any, found: Any) -> Any:
    """Write a position to ``out`` if it is promising; return how many are there."""
    total = degree[i] + degree[j] - beside[j]
    if j >= known and shared[j] >= floor[total]:
        out[0, found], out[1, found], out[2, found], out[3, found] = i, j, shared[j], total
        found += 1
    shared[j] = 0
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sweep(span: Any, degree: Any, start: Any, neighbour: Any, floor: Any, place: Any, marks: Any, out: Any) -> Any:
    """As the plain one; positions that share nobody are looked at only where the floor is zero."""
    first, end, known, hubs = span[0], span[1], span[2], span[3]
    found, unsigned = 0, neighbour.view(np.uint32)
    shared, beside = marks[0], marks[1]
    for i in range(first, end):
        if degree[i] < floor[2 * degree[i]]:
            return hubs, found
        if found + hubs - i > out.shape[1]:
            return i, found
        stop = _first_rank(i, hubs, degree, floor, True)
        dense = _first_rank(i, hubs, degree, floor, False)
        walked = 0
        for p in range(start[i], start[i + 1]):
            v = neighbour[p]
            beside[v] = 2
            place[v] += 1
            walked += _count_below(stop, unsigned, place[v], start[v + 1], shared)
        # What was touched is found by looking at all ranks, or by walking again, whichever is shorter.
        looked = stop if stop - i <= walked else dense
        for j in range(i + 1, looked):
            found = _put(i, j, known, degree, floor, shared, beside, out, found)
        for p in range(start[i], start[i + 1]):
            v = neighbour[p]
            q = place[v] if looked < stop else start[v + 1]
            while q < start[v + 1] and neighbour[q] < stop:
                j = neighbour[q]
                q += 1
                if shared[j] > 0:
                    found = _put(i, j, known, degree, floor, shared, beside, out, found)
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
    starts = np.cumsum(starts)
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
    """As ``common_neighbours.owned_sums``: both lists of successors are walked in step."""
    return _owned_sums(edges.low, edges.high, counted, weights, part)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def successor_lists(n: Any, edges: Any) -> Any:
    """For each rank its neighbours of higher degree, which are few: where its list starts, and all lists end to end."""
    _, rank, _ = rank_nodes(n, edges)
    starts = np.zeros(n + 1, np.int64)
    for e in range(len(edges)):
        u, v = rank[edges[e, 0]], rank[edges[e, 1]]
        starts[max(u, v) + 1] += 1
    starts = np.cumsum(starts)
    place, targets = starts[:-1].copy(), np.empty(len(edges), np.int32)
    for e in range(len(edges)):
        u, v = rank[edges[e, 0]], rank[edges[e, 1]]
        row = max(u, v)
        targets[place[row]] = min(u, v)
        place[row] += 1
    return starts, targets


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def count_triangles(n: Any, edges: Any) -> Any:
    """As the plain one: a node's successors are marked, and theirs are looked at."""
    starts, targets = successor_lists(n, edges)
    # Unsigned indices: a signed one is checked for being negative at every look, which more than doubles the time.
    first, last, node = starts[:-1].view(np.uint64), starts[1:].view(np.uint64), targets.view(np.uint32)
    marked = np.zeros(n, dtype=np.uint8)
    total = np.uint64(0)
    for u in range(n):
        for p in range(first[u], last[u]):
            marked[node[p]] = 1
        for p in range(first[u], last[u]):
            v = node[p]
            found = np.uint32(0)
            for q in range(first[v], last[v]):
                found += np.uint32(marked[node[q]])
            total += np.uint64(found)
        for p in range(first[u], last[u]):
            marked[node[p]] = 0
    return np.int64(total)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def shared_in_lists(offsets: Any, members: Any, rows: Any, first: Any) -> Any:
    """As the plain one."""
    counts = np.zeros((rows.size, offsets.size - 1 - first), dtype=np.int32)
    for i in range(rows.size):
        for p in range(offsets[rows[i]], offsets[rows[i] + 1]):
            middle = members[p]
            for q in range(offsets[middle], offsets[middle + 1]):
                if members[q] >= first:
                    counts[i, members[q] - first] += 1
    return counts


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def listed_triangle_sums(starts: Any, targets: Any, symbols: Any, score: Any, spread: Any, ends: Any) -> Any:
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
