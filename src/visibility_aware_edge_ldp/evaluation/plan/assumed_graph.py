"""What is assumed of a graph that nobody has seen: a graph like it.  [PLAN.1]

From a few numbers a degree sequence is made, and a graph with these degrees; a graph like one's own stands for itself.
Draws come from a hash (splitmix64), so a plan is the same on every machine.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import comb, sqrt

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.dataset import open_graph
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.truth.graph import Graph

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FAMILIES = ("powerlaw", "random")
# How often half edges that met themselves or each other twice are matched anew.
_PASSES = 24
_TILT = 2 / 3
_MOST_NODES = 1 << 20


def assumed_graph(
    nodes: int | None = None,
    edges: int | None = None,
    *,
    max_degree: int | None = None,
    family: str | Graph = "powerlaw",
    clustering: float | None = None,
    degrees: Sequence[int] | None = None,
) -> Graph:
    """A graph with these numbers: of a family, or the graph itself where one is given.

    Parameters
    ----------
    nodes, edges
        How many of each, exactly.
    max_degree
        The largest degree of a power law; √(2m) unless given.
    family
        "powerlaw", "random", or a graph like the one that will be asked: the graph, or the name that it opens by.
    clustering
        About the share of 2-stars that are closed to triangles. Without it, only what falls together by chance is.
    degrees
        Everybody's degree, in any order, in place of the numbers and the family.
    """
    if degrees is not None:
        return _with_degrees(degrees, nodes, edges, clustering)
    if isinstance(family, Graph):
        _refuse_other_numbers(family, nodes, edges)
        return family
    if family not in FAMILIES:
        return assumed_graph(nodes, edges, family=open_graph(family))
    if nodes is None or edges is None:
        raise BadInput("A family of graphs needs the numbers of nodes and edges: give both --nodes and --edges.")
    if not 2 <= nodes <= _MOST_NODES:
        raise BadInput(
            f"A plan is for 2 to {_MOST_NODES:,} nodes; got {nodes:,}. Plan for a region, or for a sample of the users "
            "with the edges among them; or for a million users whose positions are sampled (--sample-positions)."
        )
    if not 1 <= edges <= comb(nodes, 2):
        raise BadInput(f"{nodes:,} nodes have at most {comb(nodes, 2):,} edges, and a plan needs one; got {edges:,}.")
    made = powerlaw_degrees(nodes, edges, max_degree) if family == "powerlaw" else _even_degrees(nodes, edges)
    return graph_with(made, edges, _share(clustering), f"{family}, {nodes:,} nodes, {edges:,} edges")


def _share(clustering: float | None) -> float:
    closed = clustering or 0.0
    if not 0 <= closed < 1:
        raise BadInput(f"Clustering is the share of 2-stars that are closed, from 0 to below 1; got {clustering}.")
    return closed


def _with_degrees(degrees: Sequence[int], nodes: int | None, edges: int | None, clustering: float | None) -> Graph:
    """A graph with a given degree sequence, as nearly as a graph can have it."""
    wanted = np.asarray(degrees)
    n, m = wanted.size, int(wanted.sum()) // 2 if wanted.size else 0
    if not (wanted.ndim == 1 and 2 <= n <= _MOST_NODES and np.issubdtype(wanted.dtype, np.integer)):
        raise BadInput(f"A degree sequence is 2 to {_MOST_NODES:,} whole numbers, one for each node.")
    if not (wanted.min() >= 0 and wanted.max() < n and m >= 1):
        raise BadInput(f"Degrees of {n:,} nodes are between 0 and {n - 1:,}, and not all 0.")
    if (nodes or n, edges or m) != (n, m):
        raise BadInput(f"The degree sequence has {n:,} nodes and {m:,} edges; leave numbers out.")
    return graph_with(wanted.astype(np.int64), m, _share(clustering), f"a degree sequence of {n:,} nodes")


def _refuse_other_numbers(graph: Graph, nodes: int | None, edges: int | None) -> None:
    if (nodes or graph.n, edges or graph.m) != (graph.n, graph.m):
        raise BadInput(f"The graph that was given has {graph.n:,} nodes and {graph.m:,} edges; leave numbers out.")


def powerlaw_degrees(nodes: int, edges: int, max_degree: int | None = None) -> Ints:
    """Degrees that fall as (i + c)^(-2/3), a degree exponent of 5/2; c makes the largest one right."""
    mean, places = 2 * edges / nodes, np.arange(nodes, dtype=np.float64)
    top = min(max(max_degree or sqrt(2 * edges), mean * 1.001), nodes - 1)
    if max_degree is not None and not mean <= max_degree <= nodes - 1:
        raise BadInput(f"The largest degree is between the mean, {mean:.1f}, and {nodes - 1:,}; got {max_degree:,}.")
    low, high = 1e-9, 1e9
    for _ in range(100):
        middle = sqrt(low * high)
        weights = (places + middle) ** -_TILT
        low, high = (middle, high) if weights[0] / weights.mean() * mean > top else (low, middle)
    return _whole((places + high) ** -_TILT, edges, nodes)


def _even_degrees(nodes: int, edges: int) -> Ints:
    """Degrees of a graph whose edges fall anywhere: a bell around the mean, by the quantiles of the normal law."""
    mean = 2 * edges / nodes
    spread = sqrt(mean * max(1 - mean / (nodes - 1), 0.0))
    around = np.argsort(_mixed(np.arange(12 * nodes).reshape(12, nodes)) / 2.0**64, axis=1)
    bell = (around.sum(axis=0) / nodes - 6).astype(np.float64)
    wanted = np.clip(mean + spread * bell / max(float(bell.std()), 1e-9), 0, nodes - 1)
    return _whole(np.sort(wanted)[::-1], edges, nodes)


def _whole(weights: Floats, edges: int, nodes: int) -> Ints:
    """Whole degrees in these proportions, none above what a node can have, that sum to twice the edges."""
    wanted = weights * (2 * edges / weights.sum())
    for _ in range(50):
        over = wanted > nodes - 1
        if not over.any():
            break
        wanted[over] = nodes - 1
        free = ~over
        wanted[free] *= (2 * edges - (nodes - 1) * over.sum()) / wanted[free].sum()
    return np.diff(np.floor(np.concatenate([[0.0], np.cumsum(wanted)]) + 0.5)).astype(np.int64)


def graph_with(degrees: Ints, edges: int, clustering: float, source: str) -> Graph:
    """A graph with about these degrees: cliques of users of like degree, and the rest matched at random.

    A user of degree d is in one clique with √clustering · d others, so that share of its 2-stars is closed.
    """
    n = degrees.size
    falling = np.sort(degrees)[::-1]
    keys, left = _cliques(falling, sqrt(clustering))
    for turn in range(_PASSES):
        if keys.size >= edges or left.sum() < 2:
            break
        keys = _matched(keys, left, turn, n)
        left = np.maximum(falling - np.bincount(np.concatenate(np.divmod(keys, n)), minlength=n), 0)
    keys = _filled(keys, left, edges)
    place = np.argsort(_mixed(np.arange(n) + (1 << 40)), kind="stable")
    ends = np.sort(place[np.stack(np.divmod(keys, n), axis=1)], axis=1)
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    return replace(Graph(range(n), ends.astype(np.int32)), source=source)


def _cliques(falling: Ints, share: float) -> tuple[Ints, Ints]:
    """Edges inside cliques, as u·n + v with u < v, and the half edges that are left."""
    n, start, parts, left = falling.size, 0, [np.empty(0, np.int64)], falling.copy()
    while share and start < n and share * falling[start] >= 2:
        size = min(int(share * falling[start]) + 1, n - start)
        inside = min(size, int(falling[start + size - 1]) + 1)
        u, v = np.triu_indices(inside, 1)
        parts.append((u + start) * n + v + start)
        left[start : start + inside] -= inside - 1
        start += max(inside, 1)
    return np.concatenate(parts), np.maximum(left, 0)


def _matched(keys: Ints, left: Ints, turn: int, n: int) -> Ints:
    """The edges so far, and those that shuffled half edges make; loops and doubles are not taken."""
    stubs = np.repeat(np.arange(n), left)
    stubs = stubs[np.argsort(_mixed(np.arange(stubs.size) + (turn + 1) * (1 << 44)), kind="stable")]
    pairs = np.sort(stubs[: stubs.size // 2 * 2].reshape(-1, 2), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    return _merged(keys, pairs[:, 0] * n + pairs[:, 1])


def _merged(keys: Ints, more: Ints) -> Ints:
    """All of both in order, each once; for numbers that are nearly sorted, sorting is faster than hashing."""
    together = np.sort(np.concatenate([keys, more]), kind="stable")
    return together[np.concatenate([[True], together[1:] != together[:-1]])] if together.size else together


def _filled(keys: Ints, left: Ints, edges: int) -> Ints:
    """Exactly so many edges: half edges that found no other go anywhere, and what is too much is left out."""
    turn, n = 0, left.size
    ends = np.repeat(np.arange(n), left) if left.any() else np.arange(n)
    while keys.size < edges:
        drawn = _mixed(np.arange(4 * (edges - keys.size) + 64) + (turn + 1) * (1 << 48))
        u, v = ends[(drawn >> np.uint64(32)) % np.uint64(ends.size)], (drawn % np.uint64(n)).astype(np.int64)
        fresh = np.setdiff1d((np.minimum(u, v) * n + np.maximum(u, v))[u != v], keys)
        order = np.argsort(_mixed(fresh), kind="stable")[: edges - keys.size]
        keys, turn = _merged(keys, fresh[order]), turn + 1
        # The users in want of friends may know everybody: then anybody will do.
        ends = ends if turn < _PASSES else np.arange(n)
    kept = np.argsort(_mixed(keys + 1), kind="stable")[:edges]
    return np.sort(keys[kept])


def _mixed(values: Ints) -> npt.NDArray[np.uint64]:
    """splitmix64: 64 bits that look drawn, for each number."""
    with np.errstate(over="ignore"):
        z = values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
