"""Nine small graphs that have little in common, and the real ones of the data folder: what every estimator must bear.

Every generator takes a seed, and gives the same graph for it on every machine. Nodes are numbered without regard to
friendship, because estimators may rely on that where users stay away.  [TRIANGLE.4]
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.truth.datasets import FOLDER_VARIABLE, find
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, parse, powerlaw

Edges = npt.NDArray[np.int64]
REAL = ("fb100-caltech", "fb100-amherst", "ca-GrQc", "facebook")
"""The names of the real graphs, the smallest first."""


def heavy_tailed(seed: int = 0) -> Graph:
    """400 nodes whose degrees follow a power law."""
    return _renumbered("heavy-tailed", 400, powerlaw(400, 2400, seed).edges, seed)


def clustered(seed: int = 0) -> Graph:
    """300 nodes in groups of 3 to 12, each group nearly complete, with a few edges between groups."""
    n, uniform = 300, _uniform(seed, 300 + comb(300, 2))
    sizes = 3 + (10 * uniform[:n]).astype(np.int64)
    group = np.repeat(np.arange(n), sizes)[:n]
    u, v = np.triu_indices(n, 1)
    chance = np.where(group[u] == group[v], 0.9, 0.005)
    return _renumbered("clustered", n, _drawn(u, v, chance, uniform[n:]), seed)


def hub_dominated(seed: int = 0) -> Graph:
    """400 nodes of about 16 friends, and one user more who is the centre of a tenth of all 3-stars."""
    n, others = 401, erdos_renyi(400, 3200, seed).edges
    order = np.argsort(_uniform(seed, 400), kind="stable")
    for degree in range(3, n):
        edges = np.concatenate([others, np.stack([order[:degree], np.full(degree, 400)], axis=1)])
        if 10 * comb(degree, 3) >= sum(comb(each, 3) for each in np.bincount(edges.ravel()).tolist()):
            break
    return _renumbered("hub-dominated", n, edges, seed)


def nearly_bipartite(seed: int = 0) -> Graph:
    """180 nodes on one side and 120 on the other; only 3 % of the edges stay on a side, so triangles are rare."""
    n, uniform = 300, _uniform(seed, comb(300, 2))
    u, v = np.triu_indices(n, 1)
    crossing = (u < 180) & (v >= 180)
    share = 1500 / int(crossing.sum())
    chance = np.where(crossing, share, 0.03 * 1500 / int((~crossing).sum()))
    return _renumbered("nearly bipartite", n, _drawn(u, v, chance, uniform), seed)


def sparse_with_isolates(seed: int = 0) -> Graph:
    """600 nodes with 480 random edges and 20 triangles: every fifth node or so has no friend at all."""
    n, corners = 600, (600 * _uniform(seed, 60)).astype(np.int64).reshape(20, 3)
    planted = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    return _renumbered("sparse with isolates", n, np.concatenate([erdos_renyi(n, 480, seed).edges, planted]), seed)


def hundred_nodes(seed: int = 0) -> Graph:
    """105 nodes whose degrees follow a power law."""
    return _renumbered("about 100 nodes", 105, powerlaw(105, 630, seed).edges, seed)


def disconnected(seed: int = 0) -> Graph:
    """Seven parts of 10 to 120 nodes that do not know each other, some dense and some sparse."""
    parts, first = [], 0
    for size, share in ((10, 0.9), (20, 0.5), (30, 0.3), (40, 0.6), (60, 0.1), (80, 0.2), (120, 0.04)):
        parts.append(first + erdos_renyi(size, round(share * comb(size, 2)), seed).edges)
        first += size
    return _renumbered("disconnected", first, np.concatenate(parts), seed)


def dense_core(seed: int = 0) -> Graph:
    """300 nodes in the shape of an e-mail network's core: 60 who nearly all know each other, and rings around them.

    A node's weight falls from 1 in the middle to 0 at the rim; two nodes know each other with a chance that is the
    product of their weights, and more often within a department of ten.
    """
    n, uniform = 300, _uniform(seed, comb(300, 2))
    u, v = np.triu_indices(n, 1)
    weight = np.minimum(1.0, (60 / (1 + np.arange(n))) ** 1.25)
    chance = 0.8 * weight[u] * weight[v]
    department = np.arange(n) % 30
    return _renumbered(
        "dense core", n, _drawn(u, v, np.where(department[u] == department[v], 0.5, chance), uniform), seed
    )


def web_of_trust(seed: int = 0) -> Graph:
    """300 nodes, of whom 165 belong to four parties of 20 to 70 that nearly all know each other; few know others."""
    n, uniform = 300, _uniform(seed, comb(300, 2))
    u, v = np.triu_indices(n, 1)
    party = np.repeat(np.arange(5), (70, 45, 30, 20, n - 165))
    alone = party == 4
    apart = np.select([alone[u] & alone[v], alone[u] | alone[v]], [0.004, 0.02], 0.03)
    chance = np.where((party[u] == party[v]) & ~alone[u], 0.75, apart)
    return _renumbered("web of trust", n, _drawn(u, v, chance, uniform), seed)


UNLIKE: dict[str, Callable[[int], Graph]] = {
    "heavy-tailed": heavy_tailed,
    "clustered": clustered,
    "hub-dominated": hub_dominated,
    "nearly bipartite": nearly_bipartite,
    "sparse with isolates": sparse_with_isolates,
    "about 100 nodes": hundred_nodes,
    "disconnected": disconnected,
    "dense core": dense_core,
    "web of trust": web_of_trust,
}
"""From a name and a seed to a graph."""


def unlike_graph(name: str, seed: int = 0) -> Graph:
    """The graph of this name, made, such as "powerlaw:200,900", or real.

    Raises LookupError where a real one is not on this machine.
    """
    if name in UNLIKE:
        return UNLIKE[name](seed)
    if ":" in name:
        return _renumbered(name, (drawn := parse(f"{name},{seed}")).n, drawn.edges, seed)
    path = find(name)
    if path is None:
        raise LookupError(f"{name} is not here; {FOLDER_VARIABLE} names the folder of real graphs")
    return _renumbered(name, (found := read_graph(path)).n, found.edges, seed)


def _uniform(seed: int, count: int) -> npt.NDArray[np.float64]:
    return np.random.default_rng(seed).random(count)


def _drawn(u: Edges, v: Edges, chance: npt.NDArray[np.float64], uniform: npt.NDArray[np.float64]) -> Edges:
    """The positions (u, v) that are edges."""
    kept = uniform < chance
    return np.stack([u[kept], v[kept]], axis=1)


def _renumbered(name: str, n: int, edges: npt.NDArray[np.integer], seed: int) -> Graph:
    """A graph of these edges, without loops and doubles, whose numbers tell nothing."""
    number = np.argsort(_uniform(seed + 1, n), kind="stable")
    ends = np.unique(np.sort(number[edges], axis=1), axis=0)
    return Graph(range(n), ends[ends[:, 0] < ends[:, 1]].astype(np.int32), source=f"{name} (made, seed {seed})")
