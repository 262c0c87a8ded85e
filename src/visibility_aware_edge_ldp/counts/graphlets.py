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
from visibility_aware_edge_ldp.errors import TooLarge

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
# On so many nodes it takes minutes.
MOST_NODES = {"three_paths": 1000, "tailed_triangles": 1000, "diamonds": 1000, "four_cliques": 2500}
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
def _by_ends(name: str) -> dict[tuple[Kind, Kind | None], dict[int, Floats]]:
    """Both, by what stands at the fourth node or nodes and at vw: weights of what stands at uv and at uw."""
    found: dict[tuple[Kind, Kind | None], dict[int, Floats]] = defaultdict(
        lambda: defaultdict(lambda: np.zeros((3, 3)))
    )
    for kind, weight in on_four(name).items():
        # u is the first of its triple, so that it stands at any place; v and w are met in both orders.
        for order in ((0, 1, 2, 3), (1, 0, 2, 3), (1, 2, 0, 3)):
            uv, uw, vw, *rest = _moved(kind, order)
            found[tuple(rest), None][vw][uv, uw] += weight
    for ends, terms in on_three(name).items():
        for (uv, uw, vw), weight in terms.items():
            found[ends][vw][uv, uw] += weight / 2
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
    """Σ_z f(uz)·g(vz)·h(wz) for one node u and all v, w after it, z none of the three; worked out when asked for."""

    def __init__(self, dense: DenseScores, node: int) -> None:
        self._dense, self._node, self._after = dense, node, slice(node + 1, dense.n)
        self._found: dict[Kind, Floats] = {}
        self.rows = [each[node, self._after] for each in dense.matrices]
        self.blocks = [each[self._after, self._after] for each in dense.matrices]

    def of(self, kind: Kind) -> Floats:
        """The moments of three functions, a matrix by v and w."""
        if kind not in self._found:
            made = self._of_three if all(kind) else self._of_two if sum(map(bool, kind)) == 2 else self._of_one
            self._found[kind] = made(*kind)
        return self._found[kind]

    def _of_one(self, f: int, g: int, h: int) -> Floats:
        after, shape = self._after, self.blocks[0].shape
        if not f + g + h:
            return np.full(shape, self._dense.n - 3.0)
        if f:
            return np.asarray(self._dense.sums[f][self._node] - self.rows[f][:, None] - self.rows[f])
        one = self._dense.sums[g + h][after] - self.rows[g + h]
        return np.asarray((one[:, None] if g else one) - self.blocks[g + h])

    def _of_two(self, f: int, g: int, h: int) -> Floats:
        after, node, paths = self._after, self._node, self._dense.paths
        if not f:
            return np.asarray(paths[g, h][after, after] - np.outer(self.rows[g], self.rows[h]))
        if not g:
            return np.asarray(paths[f, h][node, after] - self.rows[f][:, None] * self.blocks[h])
        return np.asarray(paths[f, g][node, after][:, None] - self.rows[f] * self.blocks[g])

    def _of_three(self, f: int, g: int, h: int) -> Floats:
        two = self._dense.two_values
        if two is None:
            blocks = [self._dense.matrices[each][self._after] for each in (g, h)]
            return np.asarray((blocks[0] * self._dense.matrices[f][self._node]) @ blocks[1].T)
        return self._from_bits(two, f, g, h)

    def _from_bits(self, two: TwoValues, f: int, g: int, h: int) -> Floats:
        """The product of a + b·bit for each, by how many z all three, two or one of them have in common."""
        (a, b), (c, d), (e, k) = two.lines[f], two.lines[g], two.lines[h]
        own, degrees, paths = two.bits[self._node, self._after], two.degrees[self._after], two.paths
        left = (a * d * e) * degrees + (b * d * e) * paths[self._node, self._after] - (b * c * e + a * d * e) * own
        right = (a * c * k) * degrees + (b * c * k) * paths[self._node, self._after] - (b * c * e + a * c * k) * own
        left += a * c * e * (self._dense.n - 3) + b * c * e * two.degrees[self._node]
        found = two.common(self._node).astype(np.float64)
        found *= b * d * k
        found += two.of_others(a * d * k, a * d * e + a * c * k)[self._after, self._after]
        ends = ((b * c * k) * own)[:, None] + (b * d * e) * own
        ends *= two.bits[self._after, self._after]
        found -= ends
        # What hangs on v or on w alone, and on both by their bits with u.
        found += np.stack([left, np.ones(own.size), -(a * d * k) * own], axis=1) @ np.stack(
            [np.ones(own.size), right, own]
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

    def of_others(self, paths: float, bits: float) -> Floats:
        """What hangs on v and w alone: their common ones and their own bit, with these weights."""
        if (paths, bits) not in self._made:
            self._made[paths, bits] = paths * self.paths - bits * self.bits
        return self._made[paths, bits]

    def common(self, node: int) -> npt.NDArray[np.float32]:
        """How many z have the higher score with a node and two later ones: exact in whatever order they are added."""
        friends = self.small[node + 1 :][:, self.small[node] > 0]
        return np.asarray(friends @ friends.T)

    def clique_sums(self, node: int, at_node: Floats, among: Floats) -> float:
        """What one node's triples with later ones add to the variance of 4-cliques.  [GRAPHLET.3]

        To ``at_node`` and ``among`` are added how many cliques go through each pair.
        """
        after, lines, n = slice(node + 1, len(self.bits)), self.lines[1:], len(self.bits)
        own = self.bits[node, after]
        others = np.stack([self.of_others(a * b * b, 2 * a * a * b)[after, after] for a, b in lines])
        ends = [
            a * a * b * (self.degrees[after] - 2 * own)
            + a * b * b * self.paths[node, after]
            + (a**3 * (n - 3) + a * a * b * self.degrees[node]) / 2
            for a, b in lines
        ]
        bits = np.ascontiguousarray(self.bits[after, after])
        kernels = backend.kernels("pair_sums")
        return float(
            kernels.clique_sums(self.common(node), bits, others, own, np.stack(ends), np.array(lines), at_node, among)
        )


def refuse_many(n: int, name: str) -> None:
    """Say that so many nodes take too long: the work grows with the fourth power of their number."""
    if n > MOST_NODES[name]:
        most = MOST_NODES[name]
        raise TooLarge(
            f"{name} is counted over all fours of nodes, on up to {most:,} of them; these are {n:,}. Choose the "
            f"largest with --top {most}, or ask for triangles or four_cycles, which take less."
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
        moments = Moments(dense, node)
        variance += _shared_by_triples(moments, name)
        at_nodes[node, after], others = _through_pairs(moments, name)
        among[after, after] += np.triu(others + others.T, 1) / 2
    # Each copy was found from both triples that hold a pair of it.
    through = np.triu(at_nodes + among, 1) / 2
    value = float((dense.scores * through).sum()) / sides
    spread = square(dense.scores) - dense.scores
    return _rounded(value), _rounded(float((spread * square(through)).sum()) + variance)


def _through_pairs(moments: Moments, name: str) -> tuple[Floats, Floats]:
    """Of pairs uv, and of pairs vw: how many copies hold them, from this u's triples.  [GRAPHLET.1]"""
    size = len(moments.rows[ONE])
    at_node, among = np.zeros(size), np.zeros((size, size))
    for kind in copies(name):
        uv, uw, vw, *rest = kind
        found = moments.of(tuple(rest))
        if uv:
            at_node += (moments.blocks[vw] * found) @ moments.rows[uw]
        if vw:
            part = found * moments.rows[uw]
            part *= moments.rows[uv][:, None]
            among += part
    np.fill_diagonal(among, 0.0)
    return at_node, among


def _shared_by_triples(moments: Moments, name: str) -> float:
    """What pairs of copies with three or four nodes in common add to the variance, from this u's triples."""
    total, by_ends = 0.0, _by_ends(name)
    sides = np.stack(moments.rows)
    for (one, two), blocks in by_ends.items():
        found = moments.of(one)
        if two is not None:
            both = tuple(x + y for x, y in zip(one, two, strict=True))
            found = found * moments.of(two)
            found -= moments.of(both)
        for vw, weights in blocks.items():
            forms = sides @ (moments.blocks[vw] * found) @ sides.T
            total += float((weights * forms).sum())
    return total


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
