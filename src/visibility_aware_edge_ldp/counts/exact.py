"""Exact counts on sparse graphs, for whoever holds the whole graph: the laboratory, and a trusted centre.

Everything works on the sparse edges in blocks of bounded memory; no adjacency matrix is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement, pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.common_neighbours import RisingEdges, laid_out
from visibility_aware_edge_ldp.compute.plain.common_neighbours import triangles as each_triangle
from visibility_aware_edge_ldp.counts.spectrum import largest_eigenvalues
from visibility_aware_edge_ldp.errors import BadStatistic

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Two-paths looked at in one go: a few arrays of this length are the working memory.
_BLOCK = 1 << 21


class Graph(Protocol):
    """What counting needs: n nodes, and an (m, 2) array of edges u < v, sorted."""

    @property
    def n(self) -> int: ...

    @property
    def edges(self) -> npt.NDArray[np.int32]: ...

    @property
    def degrees(self) -> Integers: ...


def edges(graph: Graph) -> int:
    """How many edges."""
    return len(graph.edges)


def degrees(graph: Graph) -> Integers:
    """Degree of each node, in the order of ``graph.names``."""
    return graph.degrees


def max_degree(graph: Graph) -> int:
    """The largest degree."""
    return int(graph.degrees.max(initial=0))


def degree_histogram(graph: Graph) -> Integers:
    """How many nodes have degree 0, 1, …, ``max_degree``."""
    return np.bincount(graph.degrees)


def degree_quantile(graph: Graph, percent: int) -> int:
    """The least degree that so many percent of all nodes do not exceed."""
    place = -(-percent * graph.n // 100) - 1  # in whole numbers
    return int(np.sort(graph.degrees)[place])


def stars(graph: Graph, k: int) -> int:
    """k-stars: a centre and k of its neighbours, so the sum of C(degree, k).

    Parameters
    ----------
    k
        Leaves, at least 1. Each edge is two 1-stars, one for each end as the centre.
    """
    if k < 1:
        raise BadStatistic(f"A star has at least one leaf, not {k}. Ask for stars:1 or more.")
    histogram = degree_histogram(graph).tolist()
    return sum(nodes * math.comb(degree, k) for degree, nodes in enumerate(histogram))


def triangles(graph: Graph) -> int:
    """Triangles, each counted once.

    Edges point from the end of lower degree to the other, which leaves every node with few
    successors; a triangle is an edge whose ends have a successor in common.
    """
    return int(backend.kernels("common_neighbours").count_triangles(graph.n, graph.edges))


def cycles(graph: Graph) -> int:
    """Cycles of four distinct nodes, each counted once.

    A cycle is found at its node of highest rank u, as two different two-paths u, v, w to the
    opposite node w through nodes of lower rank.
    """
    ranked = Ranked.of(graph)
    offset = np.arange(len(ranked.targets)) - ranked.starts[ranked.rows]
    upward = ranked.targets > ranked.rows
    tops, firsts, lengths = ranked.targets[upward], ranked.starts[ranked.rows[upward]], offset[upward]
    order = np.argsort(tops, kind="stable")
    tops, firsts, lengths = tops[order], firsts[order], lengths[order]
    paths = np.bincount(tops, weights=lengths, minlength=ranked.n)
    total = 0
    for low, high in pairwise(_cuts(np.cumsum(paths))):
        part = slice(*np.searchsorted(tops, [low, high]))
        total += _pairs_of_paths(ranked, tops[part].astype(np.int64), firsts[part], lengths[part])
    return total


def triangles_on_edges(graph: Graph) -> Integers:
    """How many triangles stand on each edge."""
    rising, counts = _rising(graph), np.zeros(len(graph.edges), np.int64)
    for sides in each_triangle(rising, graph.n):
        for side in sides:
            counts += np.bincount(rising.source[side], minlength=len(counts))
    return counts


def triangles_by_group(graph: Graph, members: Integers, groups: int) -> Integers:
    """How many triangles have nodes in groups a ≤ b ≤ c, one cell after the other."""
    rising, cells = _rising(graph), np.zeros(groups**3, np.int64)
    for sides in each_triangle(rising, graph.n):
        one, two, three = (graph.edges[rising.source[side]].astype(np.int64) for side in sides)
        third = (two.sum(axis=1) + three.sum(axis=1) - one.sum(axis=1)) // 2  # whom the first side does not have
        a, b, c = np.sort(members[np.column_stack([one, third])], axis=1).T
        cells += np.bincount((a * groups + b) * groups + c, minlength=cells.size)
    places = np.array(list(combinations_with_replacement(range(groups), 3)))
    found: Integers = cells.reshape((groups,) * 3)[*places.T]
    return found


def triangles_at_nodes(graph: Graph) -> Floats:
    """How many triangles each node is in."""
    sides = np.repeat(triangles_on_edges(graph), 2)
    return np.bincount(graph.edges.ravel(), weights=sides, minlength=graph.n) / 2


def degree_classes(n: int) -> list[tuple[int, int]]:
    """The first and last degree of each class: 2 and 3, 4 to 7, 8 to 15, and so on, up to n − 1."""
    return [(1 << k, min((2 << k) - 1, n - 1)) for k in range(1, max(n - 1, 1).bit_length())]


def clustering_by_degree(graph: Graph) -> Floats:
    """Of the nodes of each class of degrees: how many of their 2-stars are closed; 0 where there are none."""
    closed, wedges = triangles_at_nodes(graph), graph.degrees * (graph.degrees - 1) / 2
    chosen = [(first <= graph.degrees) & (graph.degrees <= last) for first, last in degree_classes(graph.n)]
    return np.array([closed[each].sum() / max(wedges[each].sum(), 1.0) for each in chosen])


def local_clustering(graph: Graph) -> float:
    """The mean over all nodes of the share of their 2-stars that are closed; 0 for a node without 2-stars."""
    return float((triangles_at_nodes(graph) * local_share(graph.degrees)).sum()) / graph.n


def local_share(degrees: Integers) -> Floats:
    """1/C(d, 2), and 0 for a degree below 2."""
    wedges = np.asarray(degrees, np.float64) * (np.asarray(degrees, np.float64) - 1) / 2
    return np.where(np.asarray(degrees) >= 2, 1 / np.maximum(wedges, 1.0), 0.0)


def three_paths(graph: Graph) -> int:
    """Paths of three edges between four nodes: an edge and one more at each end, which do not meet."""
    ends = graph.degrees[graph.edges] - 1
    return int((ends[:, 0] * ends[:, 1]).sum()) - 3 * triangles(graph)


def tailed_triangles(graph: Graph) -> int:
    """Triangles with one more edge at one of their nodes; two edges of it meet at each node of a triangle."""
    return int((triangles_at_nodes(graph) * (graph.degrees - 2)).sum())


def diamonds(graph: Graph) -> int:
    """Pairs of triangles on a common edge, whether or not the other two nodes are joined."""
    return _choose_two(triangles_on_edges(graph))


def four_cliques(graph: Graph) -> int:
    """Fours of nodes that are all joined, each found at its node of lowest rank: triangles among its successors."""
    ranked, total = Ranked.of(graph), 0
    place = np.full(graph.n, -1, np.int64)
    for node in range(graph.n):
        later = ranked.targets[ranked.starts[node] + ranked.below[node] : ranked.starts[node + 1]]
        place[later] = np.arange(len(later))
        joined = np.zeros((len(later), len(later)), np.float32)
        lengths = ranked.starts[later + 1] - ranked.starts[later]
        others = place[ranked.targets[laid_out(ranked.starts[later], lengths)]]
        joined[np.repeat(np.arange(len(later)), lengths)[others >= 0], others[others >= 0]] = 1
        place[later] = -1
        # Whole numbers far below 2²⁴ are exact in single precision, in whatever order they are added.
        total += int(((joined @ joined) * joined).sum(dtype=np.float64))
    return total // 6


def spectral_radius(graph: Graph) -> float:
    """The largest eigenvalue of the adjacency matrix."""
    return largest_eigenvalues(partial(_times, graph), graph.n)[0]


def eigenvector_centrality(graph: Graph) -> Floats:
    """Everybody's entry in the eigenvector of the largest eigenvalue, which has length 1 and no negative sum."""
    return largest_eigenvalues(partial(_times, graph), graph.n)[2]


def _times(graph: Graph, vector: Floats) -> Floats:
    """The adjacency matrix times a vector."""
    u, v = graph.edges.T
    there, back = (np.bincount(a, weights=vector[b], minlength=graph.n) for a, b in ((u, v), (v, u)))
    return np.asarray(there + back)


def transitivity(graph: Graph) -> float:
    """The share of two-paths that are closed, 3 · triangles / 2-stars; 0.0 where there are none."""
    wedges = stars(graph, 2)
    return 3 * triangles(graph) / wedges if wedges else 0.0


def _rising(graph: Graph) -> RisingEdges:
    return RisingEdges.of(graph.edges, np.argsort(np.argsort(graph.degrees, kind="stable"), kind="stable"))


@dataclass(frozen=True)
class Ranked:
    """Compressed rows of the graph with its nodes renumbered by degree, ties by position."""

    n: int
    starts: Integers
    rows: Integers  # the row of each entry
    targets: npt.NDArray[np.int32]  # sorted within each row
    below: Integers  # how many entries of each row are of lower rank than the row

    @classmethod
    def of(cls, graph: Graph) -> Ranked:
        n = graph.n
        order = np.argsort(graph.degrees, kind="stable")
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        low, high = rank[graph.edges[:, 0]], rank[graph.edges[:, 1]]
        keys = np.sort(np.concatenate([low * n + high, high * n + low]))
        rows, targets = np.divmod(keys, max(n, 1))
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        below = np.bincount(rows[targets < rows], minlength=n)
        return cls(n, starts, rows, targets.astype(np.int32), below)


def _walks(firsts: Integers, lengths: Integers) -> Iterator[tuple[slice, Integers]]:
    """Blocks of walks ``first, first + 1, …`` laid end to end, at most about ``_BLOCK`` steps each."""
    ends = np.cumsum(lengths)
    for low, high in pairwise(_cuts(ends)):
        part = slice(low, high)
        yield part, laid_out(firsts[part], lengths[part])


def _cuts(ends: npt.NDArray[Any]) -> list[int]:
    """Where to cut a running total, so that each block is at most ``_BLOCK`` or a single item."""
    total = int(ends[-1]) if len(ends) else 0
    crossing = np.searchsorted(ends, np.arange(_BLOCK, total, _BLOCK), side="right")
    cuts: list[int] = np.unique(np.concatenate([[0], crossing, crossing + 1, [len(ends)]])).tolist()
    return cuts


def _pairs_of_paths(ranked: Ranked, tops: Integers, firsts: Integers, lengths: Integers) -> int:
    """Pairs of two-paths that share both ends, over a block of top nodes."""
    total = int(lengths.sum())
    if total == 0:
        return 0
    if total > _BLOCK:  # then the block is one node
        return _pairs_at_hub(ranked, firsts, lengths)
    ends: Integers = np.repeat(tops * ranked.n, lengths)
    ends += ranked.targets[laid_out(firsts, lengths)]
    ends.sort()
    new = np.concatenate([[True], ends[1:] != ends[:-1], [True]])
    return _choose_two(np.diff(np.flatnonzero(new)))


def _pairs_at_hub(ranked: Ranked, firsts: Integers, lengths: Integers) -> int:
    """The same for one node with very many two-paths: a counter per opposite node, filled in blocks."""
    counts = np.zeros(ranked.n, np.int64)
    for _, steps in _walks(firsts, lengths):
        counts += np.bincount(ranked.targets[steps], minlength=ranked.n)
    return _choose_two(counts)


def _choose_two(counts: Integers) -> int:
    return int((counts * (counts - 1) // 2).sum())
