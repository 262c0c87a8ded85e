"""What a plan that counts only a part adds to the variance of triangles and 4-cycles.  [PLAN.14]

How a part of the counting falls on groups of nodes: strata of triples of blocks. Blocks are cut and strata are made as
``tile_triangles`` does, from nodes that random bytes of the plan's own shuffle; what hangs on the shuffle is averaged
over a few of them.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
from visibility_aware_edge_ldp.compute.plain.common_neighbours import RisingEdges, triangles
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE
from visibility_aware_edge_ldp.compute.tile_layout import Places
from visibility_aware_edge_ldp.counts.group_pairs import CERTAIN
from visibility_aware_edge_ldp.counts.group_triangles import MOST_BLOCKS
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import CLASSES, Moments
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes
from visibility_aware_edge_ldp.model import VisibilityAwareGraph

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Shuffles that are averaged over, and triangles that are looked at in each.
SHUFFLES, SOME_TRIANGLES = 24, 1 << 17


@dataclass(frozen=True, eq=False)
class Strata:
    """Triples of blocks that are alike: of the same three kinds, and with the same blocks being one.

    For each stratum: the ``kinds`` of its blocks (strata, 3), its ``sizes`` in triples of blocks and in triples of
    ``nodes``, and ``uneven``: size times the variance of the true triangles of its triples, with divisor size − 1.
    For each kind: ``counts``, how many nodes it has, and ``together``, the chance that two of them stand in the same
    block. For each two kinds the ``edges`` between them, and for each third the 2-``paths`` through it.
    """

    kinds: Ints
    sizes: Ints
    nodes: Floats
    uneven: Floats
    together: Floats
    edges: Floats
    paths: Floats
    counts: Ints

    @property
    def pairs(self) -> Floats:
        """For each two kinds, how many positions there are between them."""
        counts = self.counts.astype(np.float64)
        pairs: Floats = np.outer(counts, counts) - np.diag(counts * (counts + 1) / 2)
        return pairs

    def more(self, share: float) -> Floats:
        """What a sample of this share multiplies the variances within strata by: M/R − 1."""
        counted = np.minimum(self.sizes, np.maximum(2, np.round(share * self.sizes)))
        return np.asarray(self.sizes / counted - 1)


@lru_cache(maxsize=8)
def strata_of(world: VisibilityAwareGraph) -> Strata:
    """Those of a world; one kind where classes do not go by kinds."""
    bound = world.public.classes.by_kinds
    kinds = np.zeros(world.graph.n, np.int64) if bound is None else bound.kinds
    found, random_bytes = _some_triangles(world), _random_bytes("shuffles")
    shuffles = [_Shuffle.of(kinds, random_bytes) for _ in range(SHUFFLES)]
    first = shuffles[0]
    uneven = np.mean([shuffle.uneven(*found) for shuffle in shuffles], axis=0)
    edges, paths = _between(world, kinds)
    nodes = np.bincount(first.labels, first.node_triples).astype(np.float64)
    return Strata(first.kinds, first.sizes, nodes, uneven, first.together, edges, paths, np.bincount(kinds))


def _random_bytes(purpose: str) -> RandomBytes:
    return keyed_random_bytes(hashlib.sha256(f"a plan's {purpose}".encode()).digest())


@dataclass(frozen=True, eq=False)
class _Shuffle:
    """Nodes in blocks: the block of each, the kind and size of each block, and the triples of blocks i ≤ j ≤ k."""

    blocks: Ints
    block_kinds: Ints
    block_sizes: Ints
    triples: Ints
    kinds: Ints
    labels: Ints

    @classmethod
    def of(cls, kinds: Ints, random_bytes: RandomBytes) -> "_Shuffle":
        places = Places(kinds, np.frombuffer(random_bytes(8 * kinds.size), "<u8").astype(np.uint64))
        bounds = _cut(places)
        blocks = np.searchsorted(bounds, places.slots // SIDE, side="right") - 1
        block_kinds = places.side_groups[bounds]
        triples = np.array(list(combinations_with_replacement(range(len(bounds)), 3)))
        i, j, k = triples.T
        keys = np.column_stack([block_kinds[triples], i == j, j == k])
        each, labels = np.unique(keys, axis=0, return_inverse=True)
        return cls(blocks, block_kinds, np.bincount(blocks), triples, each[:, :3], labels.ravel())

    @property
    def sizes(self) -> Ints:
        return np.bincount(self.labels)

    @property
    def node_triples(self) -> Floats:
        """How many triples of different nodes each triple of blocks has."""
        (i, j, k), each = self.triples.T, self.block_sizes.astype(np.float64)
        ordered = each[i] * (each[j] - (i == j)) * (each[k] - (i == k) - (j == k))
        return np.asarray(ordered / np.array([1.0, 2.0, 0.0, 6.0])[(i == j) * 1 + (j == k) + (i == k)])

    @property
    def together(self) -> Floats:
        each, size = self.block_sizes.astype(np.float64), np.bincount(self.block_kinds, self.block_sizes)
        return np.asarray(np.bincount(self.block_kinds, each * (each - 1)) / np.maximum(size * (size - 1), 1))

    def uneven(self, corners: Ints, chance: float) -> Floats:
        """M·s² of the true triangles of each stratum, from those that were kept, each with this chance."""
        number = len(self.block_sizes)
        inside = np.sort(self.blocks[corners], axis=1)
        keys = (inside[:, 0] * number + inside[:, 1]) * number + inside[:, 2]
        i, j, k = self.triples.T
        kept = np.bincount(keys, minlength=number**3)[(i * number + j) * number + k].astype(np.float64)
        ones, squares = np.bincount(self.labels, kept), np.bincount(self.labels, kept**2)
        # Pairs of different triangles are both kept with the chance squared.
        every, within = (ones + (np.array([ones**2, squares]) - ones) / chance) / chance
        return np.asarray(np.maximum(within - every / self.sizes, 0) * self.sizes / np.maximum(self.sizes - 1, 1))


def _cut(places: Places) -> Ints:
    """The first side of each block."""
    length = max(1, -(-places.sides // MOST_BLOCKS))
    ranges = zip(places.first_sides[:-1].tolist(), places.first_sides[1:].tolist(), strict=True)
    parts = [
        np.linspace(first, last, max(1, round((last - first) / length)), endpoint=False).round()
        for first, last in ranges
    ]
    return np.concatenate(parts).astype(np.int64)


def _some_triangles(world: VisibilityAwareGraph) -> tuple[Ints, float]:
    """(triangles, 3) nodes of triangles, and the chance with which each was kept: a coin of its own, since triangles
    that follow one another share sides.
    """
    graph, parts = world.graph, [np.empty((0, 3), np.int64)]
    ranks = np.argsort(np.argsort(graph.degrees, kind="stable"))
    node, rising, random_bytes = np.argsort(ranks), RisingEdges.of(graph.edges, ranks), _random_bytes("triangles")
    chance, kept = 1.0, 0
    for ab, ac, _ in triangles(rising, graph.n):
        drawn = np.frombuffer(random_bytes(4 * ab.size), "<u4") < chance * 2.0**32
        parts.append(np.stack([rising.low[ab[drawn]], rising.high[ab[drawn]], rising.high[ac[drawn]]], axis=1))
        kept += int(drawn.sum())
        while kept > SOME_TRIANGLES:
            together = np.concatenate(parts)
            parts = [together[np.frombuffer(random_bytes(len(together)), np.uint8) < 128]]
            chance, kept = chance / 2, len(parts[0])
    return node[np.concatenate(parts)], chance


def _between(world: VisibilityAwareGraph, kinds: Ints) -> tuple[Floats, Floats]:
    """For each two kinds the edges between them; and for each third the 2-paths through it from one to the other."""
    number, (u, v) = int(kinds.max(initial=0)) + 1, world.graph.edges.astype(np.int64).T
    degrees = np.stack(
        [np.bincount(u[kinds[v] == t], minlength=kinds.size) + np.bincount(v[kinds[u] == t], minlength=kinds.size)
         for t in range(number)], axis=1
    ).astype(np.float64)  # fmt: skip
    ends = np.stack([degrees[kinds == t].sum(axis=0) for t in range(number)])
    paths = np.empty((number,) * 3)
    for t in range(number):
        middle = degrees[kinds == t]
        paths[:, :, t] = middle.T @ middle - np.diag(middle.sum(axis=0))
    halves = 1 - np.eye(number) / 2
    return ends * halves, paths * halves[:, :, None]


class Parts(NamedTuple):
    """The variance of a count by how many noisy sides a subgraph has: 1, 2 adjacent ones, 2 opposite ones, 3, 4."""

    one: float
    two: float
    opposite: float
    three: float
    four: float


def added_to_triangles(share: float | None, moments: Moments, spread: Floats) -> float:
    """The variance that counting a share of the triples of blocks adds; None counts all.  [PLAN.14]"""
    n = moments.n
    if share is None or WorkBudget(share).rows(n, False) >= n:
        return 0.0
    strata = strata_of(moments.world)
    return float(strata.more(share) @ (strata.uneven + _noise(moments, spread)))


def added_to_cycles(share: float | None, moments: Moments, parts: Parts) -> float:
    """The variance that counting a share of the rows adds; None counts as many as some seconds allow.  [PLAN.14]"""
    n, rows = moments.n, WorkBudget(share).rows(moments.n, True)
    if rows >= n or moments.world.public.classes.by_kinds is None:
        return 0.0
    certain = min(CERTAIN, rows // 2)
    others, drawn = n - certain, rows - certain
    noise = 4 * (parts.four + parts.three + parts.opposite) + 3 * parts.two + 2 * parts.one
    spread = _variance_below(moments, certain) + noise / n
    return others**2 * (1 - drawn / others) * spread / drawn / 16


def _noise(moments: Moments, spread: Floats) -> Floats:
    """The squares of what noise adds to triples of blocks, summed over each stratum.  [PLAN.14]"""
    strata, bound = strata_of(moments.world), moments.world.public.classes.by_kinds
    table = np.full((1, 1), moments.only) if bound is None else np.asarray(bound.table)
    noise, density = spread[table], strata.edges / np.maximum(strata.pairs, 1)
    one = _one_side(moments, noise, table)
    total = np.zeros(len(strata.sizes))
    for here, there, other in ((0, 1, 2), (1, 2, 0), (0, 2, 1)):
        a, b, c = strata.kinds[:, here], strata.kinds[:, there], strata.kinds[:, other]
        total += density[a, b] * noise[a, c] * noise[b, c] * strata.nodes + one[a, b, c] * strata.nodes
    a, b, c = strata.kinds.T
    return np.asarray(total + noise[a, b] * noise[b, c] * noise[a, c] * strata.nodes)


def _one_side(moments: Moments, noise: Floats, table: npt.NDArray[np.uint8]) -> Floats:
    """(kinds, kinds, kinds): for each position of two kinds and node of a third, what one noisy side adds.

    Two common friends of one kind are in the same block by chance. How many such pairs there are is known for each
    class, and falls on kinds as the squares of 2-paths do.
    """
    strata = strata_of(moments.world)
    paths, pairs = strata.paths, np.maximum(strata.pairs, 1)
    expected = paths**2 / pairs[:, :, None]
    both = np.zeros_like(paths)
    for kind in range(CLASSES):
        here = np.triu(table == kind)
        mass = float((paths.sum(axis=2) ** 2 / pairs)[here].sum())
        if mass:
            both[here] = expected[here] * max(moments.shared_squares[kind] - moments.shared_sums[kind], 0.0) / mass
    both = np.maximum(both, both.transpose(1, 0, 2))
    counts = strata.counts.astype(np.float64)
    thirds = counts[None, None, :] - np.eye(len(counts))[:, None, :] - np.eye(len(counts))[None, :, :]
    each = (paths + strata.together * both) / (pairs[:, :, None] * np.maximum(thirds, 1))
    return np.asarray(noise[:, :, None] * each)


def _variance_below(moments: Moments, certain: int) -> float:
    """Of the 4-cycles at a node, over all nodes but those of the largest degrees."""
    order = np.argsort(-moments.world.graph.degrees[moments.chosen], kind="stable")
    weights, cycles = moments.weights[order], moments.node_cycles[order]
    kept = np.cumsum(weights) > certain
    if not kept.any():
        return 0.0
    mean = np.average(cycles[kept], weights=weights[kept])
    return float(np.average((cycles[kept] - mean) ** 2, weights=weights[kept]))
