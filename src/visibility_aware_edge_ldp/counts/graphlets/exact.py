"""Connected subgraphs of four nodes from scores, and their variance without bias.  [GRAPHLET.1-3]

A copy of a graphlet on four nodes u, v, w, z is a set of their six pairs. Everything is a sum over triples {u, v, w} of
polynomials of their own scores and of moments Σ_z f(uz)·g(vz)·h(wz), in which f, g and h are 1, the score ê or ê².
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, permutations, product

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.counts.scores import Floats, square

# The six pairs of four nodes: the triple's own, then those with the fourth node.
PAIRS = tuple(combinations(range(3), 2)) + tuple((i, 3) for i in range(3))
PATTERNS: dict[str, tuple[tuple[int, int], ...]] = {
    "three_paths": ((0, 1), (1, 2), (2, 3)),
    "tailed_triangles": ((0, 1), (0, 2), (1, 2), (2, 3)),
    "diamonds": ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)),
    "four_cliques": PAIRS,
}
"""The graphlets by name, each by the pairs of one copy."""
ONE, SCORE, SQUARE = range(3)
Kind = tuple[int, ...]
"""For some pairs, which function of the score is taken: ONE, SCORE or SQUARE."""
Polynomial = dict[Kind, float]
ByEnds = dict[tuple[Kind, Kind | None], dict[int, Floats]]
Nodes = slice | npt.NDArray[np.int64]
"""Some nodes: those between two, or a list."""
# Digits that every machine has, in whatever order it adds.
_DIGITS = 9


def _moved(pairs: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """What stands at each pair after the nodes are renamed."""
    found = [0] * len(PAIRS)
    for place, what in enumerate(pairs):
        i, j = sorted(order[node] for node in PAIRS[place])
        found[PAIRS.index((i, j))] = what
    return tuple(found)


@cache
def copies(name: str) -> tuple[Kind, ...]:
    """All copies on four nodes, each with SCORE at its pairs and ONE elsewhere."""
    first = tuple(SCORE if pair in PATTERNS[name] else ONE for pair in PAIRS)
    return tuple(sorted({_moved(first, order) for order in permutations(range(4))}))


def _shared(one: Kind, two: Kind) -> Polynomial:
    """Π·Π − Π of the union − Σ over shared pairs of (ê² − ê)·(the others), for two copies.  [GRAPHLET.2]"""
    both = [place for place, (x, y) in enumerate(zip(one, two, strict=True)) if x and y]
    found: Polynomial = defaultdict(float)
    if both:
        whole = tuple(x + y for x, y in zip(one, two, strict=True))
        found[whole] += 1 - len(both)
        for place in both:
            found[(*whole[:place], SCORE, *whole[place + 1 :])] += 1
        found[tuple(min(x, SCORE) for x in whole)] -= 1
    return found


@cache
def on_four(name: str) -> Polynomial:
    """Of pairs of copies on the same four nodes, for ordered nodes: each kind stands for all its renamings."""
    found: Polynomial = defaultdict(float)
    for one, two in product(copies(name), repeat=2):
        for kind, weight in _shared(one, two).items():
            images = [_moved(kind, order) for order in permutations(range(4))]
            # The renaming whose moments are cheapest: few functions at the fourth node, and the same ones.
            least = min(images, key=lambda each: (sum(x > 0 for x in each[3:]), len(set(each[3:])), each))
            found[least] += weight / 24
    return {kind: weight for kind, weight in found.items() if weight}


@cache
def on_three(name: str) -> dict[tuple[Kind, Kind], Polynomial]:
    """Of pairs of copies that have a triple in common and nothing else, by what they have at their fourth nodes."""
    found: dict[tuple[Kind, Kind], Polynomial] = defaultdict(lambda: defaultdict(float))
    for one, two in product(copies(name), repeat=2):
        for kind, weight in _shared(one[:3], two[:3]).items():
            found[one[3:], two[3:]][kind] += weight
    return {ends: {kind: weight for kind, weight in each.items() if weight} for ends, each in found.items()}


@cache
def by_ends(name: str, first: bool) -> ByEnds:
    """Both, by what stands at the fourth node or nodes and at vw: weights of what stands at uv and at uw.

    v and w are met in both orders; u is the ``first`` of its triple, or every node of it in turn.
    """
    found: ByEnds = defaultdict(lambda: defaultdict(lambda: np.zeros((3, 3))))
    for kind, weight in on_four(name).items():
        # Where u is always the first of its triple, it stands at any place.
        for order in ((0, 1, 2, 3), (1, 0, 2, 3), (1, 2, 0, 3))[: 3 if first else 1]:
            uv, uw, vw, *rest = _moved(kind, order)
            found[tuple(rest), None][vw][uv, uw] += weight
    for ends, terms in on_three(name).items():
        for (uv, uw, vw), weight in terms.items():
            found[ends][vw][uv, uw] += weight / (2 if first else 6)
    return found


@dataclass(frozen=True, eq=False)
class DenseScores:
    """All scores as a matrix with an empty diagonal, and what sums over a fourth node need."""

    scores: Floats

    @property
    def n(self) -> int:
        return len(self.scores)

    @cached_property
    def matrices(self) -> tuple[Floats, Floats, Floats]:
        """1, ê and ê² of every pair; the diagonal is 0 in all."""
        return 1 - np.eye(self.n), self.scores, square(self.scores)

    @cached_property
    def sums(self) -> tuple[Floats, ...]:
        """Of each node, by function."""
        return tuple(each.sum(axis=1) for each in self.matrices)

    @cached_property
    def paths(self) -> dict[Kind, Floats]:
        """Σ_z f(uz)·g(vz) for all u and v."""
        return {
            (f, g): self.matrices[f] @ self.matrices[g] for f, g in product((SCORE, SQUARE), repeat=2)
        }  # fmt: skip

    @cached_property
    def two_values(self) -> TwoValues | None:
        """Where scores are of two values: how everything follows from which are the higher."""
        apart = ~np.eye(self.n, dtype=np.bool_)
        values = np.unique(self.scores[apart]).tolist()
        return TwoValues(values[0], values[1], (self.scores == values[1]) & apart) if len(values) == 2 else None


class Moments:
    """Σ_z f(uz)·g(vz)·h(wz) for one node u, some v and some w, z none of the three; worked out when asked for.

    What stands where u, v and w are not different has no meaning; it is multiplied by 0.
    """

    def __init__(self, dense: DenseScores, node: int, v: Nodes, w: Nodes) -> None:
        self._dense, self._node, self._v, self._w = dense, node, v, w
        self._found: dict[Kind, Floats] = {}
        self.at_v = [each[node, v] for each in dense.matrices]
        self.at_w = [each[node, w] for each in dense.matrices]
        self.blocks = [each[v][:, w] for each in dense.matrices]

    def of(self, kind: Kind) -> Floats:
        """The moments of three functions, a matrix by v and w."""
        if kind not in self._found:
            made = self._of_three if all(kind) else self._of_two if sum(map(bool, kind)) == 2 else self._of_one
            self._found[kind] = made(*kind)
        return self._found[kind]

    def _of_one(self, f: int, g: int, h: int) -> Floats:
        sums = self._dense.sums
        if not f + g + h:
            return np.full(self.blocks[0].shape, self._dense.n - 3.0)
        if f:
            return np.asarray(sums[f][self._node] - self.at_v[f][:, None] - self.at_w[f])
        if g:
            return np.asarray((sums[g][self._v] - self.at_v[g])[:, None] - self.blocks[g])
        return np.asarray((sums[h][self._w] - self.at_w[h]) - self.blocks[h])

    def _of_two(self, f: int, g: int, h: int) -> Floats:
        node, paths = self._node, self._dense.paths
        if not f:
            return np.asarray(paths[g, h][self._v][:, self._w] - np.outer(self.at_v[g], self.at_w[h]))
        if not g:
            return np.asarray(paths[f, h][node, self._w] - self.at_v[f][:, None] * self.blocks[h])
        return np.asarray(paths[f, g][node, self._v][:, None] - self.at_w[f] * self.blocks[g])

    def _of_three(self, f: int, g: int, h: int) -> Floats:
        two = self._dense.two_values
        if two is None:
            first, second = self._dense.matrices[g][self._v], self._dense.matrices[h][self._w]
            return np.asarray((first * self._dense.matrices[f][self._node]) @ second.T)
        return self._from_bits(two, f, g, h)

    def _from_bits(self, two: TwoValues, f: int, g: int, h: int) -> Floats:
        """The product of a + b·bit for each, by how many z all three, two or one of them have in common."""
        (a, b), (c, d), (e, k) = two.lines[f], two.lines[g], two.lines[h]
        node, v, w, degrees, paths = self._node, self._v, self._w, two.degrees, two.paths
        at_v, at_w = two.bits[node, v], two.bits[node, w]
        left = (a * d * e) * degrees[v] + (b * d * e) * paths[node, v] - (b * c * e + a * d * e) * at_v
        right = (a * c * k) * degrees[w] + (b * c * k) * paths[node, w] - (b * c * e + a * c * k) * at_w
        left += a * c * e * (self._dense.n - 3) + b * c * e * degrees[node]
        found = two.common(node, v, w).astype(np.float64)
        found *= b * d * k
        found += two.of_others(a * d * k, a * d * e + a * c * k, v, w)
        ends = ((b * c * k) * at_v)[:, None] + (b * d * e) * at_w
        ends *= two.bits[v][:, w]
        found -= ends
        # What hangs on v or on w alone, and on both by their bits with u.
        found += np.stack([left, np.ones(at_v.size), -(a * d * k) * at_v], axis=1) @ np.stack(
            [np.ones(at_w.size), right, at_w]
        )
        return np.asarray(found)


class TwoValues:
    """Scores of two values: which are the higher, and what these have in common."""

    def __init__(self, low: float, high: float, is_high: npt.NDArray[np.bool_]) -> None:
        self.lines = [(1.0, 0.0), (low, high - low), (low**2, high**2 - low**2)]
        """Each function as a + b·bit."""
        self.small, self.bits = is_high.astype(np.float32), is_high.astype(np.float64)
        self.degrees, self.paths = self.bits.sum(axis=1), (self.small @ self.small).astype(np.float64)
        self._made: dict[tuple[float, float], Floats] = {}

    def of_others(self, paths: float, bits: float, v: Nodes, w: Nodes) -> Floats:
        """What hangs on v and w alone: their common ones and their own bit, with these weights."""
        if (paths, bits) not in self._made:
            self._made[paths, bits] = paths * self.paths - bits * self.bits
        return self._made[paths, bits][v][:, w]

    def common(self, node: int, v: Nodes, w: Nodes) -> npt.NDArray[np.float32]:
        """How many z have the higher score with a node, v and w: exact in whatever order they are added."""
        friends = self.small[:, self.small[node] > 0]
        return np.asarray(friends[v] @ friends[w].T)

    def clique_sums(self, node: int, at_node: Floats, among: Floats) -> float:
        """What one node's triples with later ones add to the variance of 4-cliques.  [GRAPHLET.3]

        To ``at_node`` and ``among`` are added how many cliques go through each pair.
        """
        after, lines, n = slice(node + 1, len(self.bits)), self.lines[1:], len(self.bits)
        own = self.bits[node, after]
        others = np.stack([self.of_others(a * b * b, 2 * a * a * b, after, after) for a, b in lines])
        ends = [
            a * a * b * (self.degrees[after] - 2 * own)
            + a * b * b * self.paths[node, after]
            + (a**3 * (n - 3) + a * a * b * self.degrees[node]) / 2
            for a, b in lines
        ]
        bits = np.ascontiguousarray(self.bits[after, after])
        kernels = backend.kernels("pair_sums")
        return float(
            kernels.clique_sums(
                self.common(node, after, after), bits, others, own, np.stack(ends), np.array(lines), at_node, among
            )
        )


def graphlets(scores: Floats, name: str) -> tuple[float, float]:
    """The number of copies of a graphlet from a matrix of all scores, and its variance.  [GRAPHLET.1-2]"""
    dense, sides = DenseScores(scores), len(PATTERNS[name])
    if dense.n < 4:
        return 0.0, 0.0
    at_nodes, among, variance = np.zeros((dense.n, dense.n)), np.zeros((dense.n, dense.n)), 0.0
    quick = dense.two_values if name == "four_cliques" else None
    for node in range(dense.n - 2):
        after = slice(node + 1, dense.n)
        if quick is not None:
            variance += quick.clique_sums(node, at_nodes[node, after], among[after, after])
            continue
        moments = Moments(dense, node, after, after)
        variance += shared_by_triples(moments, by_ends(name, first=True))
        at_nodes[node, after], others = _through_pairs(moments, name)
        among[after, after] += np.triu(others + others.T, 1) / 2
    # Each copy was found from both triples that hold a pair of it.
    through = np.triu(at_nodes + among, 1) / 2
    value = float((dense.scores * through).sum()) / sides
    spread = square(dense.scores) - dense.scores
    return rounded(value), rounded(float((spread * square(through)).sum()) + variance)


def _through_pairs(moments: Moments, name: str) -> tuple[Floats, Floats]:
    """Of pairs uv, and of pairs vw: how many copies hold them, from this u's triples.  [GRAPHLET.1]"""
    at_node, among = np.zeros(len(moments.at_v[ONE])), np.zeros(moments.blocks[ONE].shape)
    for kind in copies(name):
        uv, uw, vw, *rest = kind
        found = moments.of(tuple(rest))
        if uv:
            at_node += (moments.blocks[vw] * found) @ moments.at_w[uw]
        if vw:
            part = found * moments.at_w[uw]
            part *= moments.at_v[uv][:, None]
            among += part
    np.fill_diagonal(among, 0.0)
    return at_node, among


def shared_by_triples(moments: Moments, weighted: ByEnds) -> float:
    """What pairs of copies with three or four nodes in common add to the variance, from these triples."""
    total, at_v, at_w = 0.0, np.stack(moments.at_v), np.stack(moments.at_w)
    for (one, two), blocks in weighted.items():
        found = moments.of(one)
        if two is not None:
            both = tuple(x + y for x, y in zip(one, two, strict=True))
            found = found * moments.of(two)
            found -= moments.of(both)
        for vw, weights in blocks.items():
            forms = at_v @ (moments.blocks[vw] * found) @ at_w.T
            total += float((weights * forms).sum())
    return total


def rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
