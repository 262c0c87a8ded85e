"""A score for every position, kept as a few bit planes.

A position's outcome is one of a handful of *symbols*; its score depends on the symbol alone, and is
0 for a public position without an edge and for one that did not answer. Symbol s is held by the
planes ``member[s]``, so any function f of the score with f(0) = 0 is a weighted sum of planes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product as pairs_of
from typing import Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import (
    TILE,
    Bits,
    Words,
    in_strips,
    pack_rows,
    row_sums,
    unpack_rows,
    word_count,
)
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE
from visibility_aware_edge_ldp.compute.reproducible_math import dot, on_grid, product, weighted
from visibility_aware_edge_ldp.compute.threads import on_cores, pieces_of

Floats = npt.NDArray[np.float64]
Octets = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]
Matrix = npt.NDArray[np.float32]
# With fewer two-paths than this for each pair of nodes, walking them is faster than counting words.
SPARSE = 4
ScoreFunction = Callable[[Floats], Floats]


def score(value: Floats) -> Floats:
    """ê itself: its mean is the bit."""
    return value


def square(value: Floats) -> Floats:
    """ê²."""
    return value * value


def spread(value: Floats) -> Floats:
    """ê² − ê: its mean is the variance of ê, because a bit is its own square.  [CHANNEL.2]"""
    return value * value - value


class AllScores(Protocol):
    """What the scores of all positions can be asked, however they are kept."""

    @property
    def n(self) -> int: ...

    @property
    def values(self) -> Floats:
        """The scores that there are, but for 0."""

    @property
    def symbol_counts(self) -> Floats:
        """(values, n): how many positions of each node have each score."""

    def node_sums(self, function: ScoreFunction) -> Floats:
        """For each node, the sum of a function of the score over its positions."""

    def symbol_form(self, symbol: int, vector: Floats) -> float:
        """Σ over positions {u, v} with this score of vector_u · vector_v."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all positions of n nodes.

    Parameters
    ----------
    planes
        (K, n, words) packed symmetric planes.
    values
        The score of each of the K symbols that is not 0.
    member
        (K, K) booleans: symbol s is held by plane k. Unit triangular after sorting, hence invertible.
    complete
        Planes that hold every position among some nodes and no other, with those nodes: they need no counting.
    """

    n: int
    planes: Words = field(repr=False)
    values: Floats
    member: npt.NDArray[np.bool_]
    complete: Mapping[int, Bits] = field(default_factory=dict, repr=False)

    def weights(self, function: ScoreFunction) -> Floats:
        """The planes' weights that give this function of the score."""
        return weighted(function(self.values), self.symbol_weights.T)

    @cached_property
    def symbol_weights(self) -> Floats:
        """(K, K): column s has the planes' weights that give 1 where the symbol is s, and 0 elsewhere."""
        if not len(self.values):
            return np.empty((0, 0))
        return np.linalg.inv(self.member.astype(np.float64)).round()  # whole numbers, however it was calculated

    @property
    def plane_pairs(self) -> list[tuple[int, int]]:
        """All (a, b) with a ≥ b, in the order of their counts."""
        return [(a, b) for a in range(len(self.planes)) for b in range(a + 1)]

    def form_weights(self, left: ScoreFunction, right: ScoreFunction) -> Floats:
        """The weights of the counts of ``plane_pairs`` that give (F[left, right] + F[right, left])/2."""
        if (left, right) not in self._forms:
            f, g = self.weights(left), self.weights(right)
            each = [(f[a] * g[b] + f[b] * g[a]) / 2 if a != b else f[a] * g[a] for a, b in self.plane_pairs]
            self._forms[left, right] = np.array(each)
        return self._forms[left, right]

    @cached_property
    def _forms(self) -> dict[tuple[ScoreFunction, ScoreFunction], Floats]:
        """Every block of pairs asks for the same ones."""
        return {}

    def skew_weights(self, left: ScoreFunction, right: ScoreFunction) -> Floats:
        """The weights of the differences of unequal planes' counts that give (F[left, right] − F[right, left])/2."""
        f, g = self.weights(left), self.weights(right)
        return np.array([(f[a] * g[b] - f[b] * g[a]) / 2 for a, b in self.plane_pairs if a != b])

    @cached_property
    def plane_degrees(self) -> Ints:
        """(K, n): how many ones each node has in each plane."""
        return np.stack([row_sums(plane) for plane in self.planes]) if len(self.planes) else np.zeros((0, self.n), int)

    @cached_property
    def strips(self) -> Words:
        """The planes as strips of 512 columns, for counting in them; filled up with zeros to squares."""
        return in_strips(self.planes, -(-self.n // SIDE))

    @cached_property
    def degrees_among(self) -> dict[int, Counts]:
        """For each complete plane, (K, n): how many of its nodes each node is joined to in each plane."""
        return {
            i: np.stack([row_sums(plane & pack_rows(nodes[None], self.n)) for plane in self.planes]).astype(np.int32)
            for i, nodes in self.complete.items()
        }

    @cached_property
    def lists(self) -> dict[int, tuple[Ints, Counts]]:
        """The neighbours in each sparse plane: where each node's begin and end, and who they are."""
        degrees = self.plane_degrees
        sparse = np.flatnonzero(((degrees**2).sum(axis=1) > 0) & ((degrees**2).sum(axis=1) < SPARSE * self.n**2))
        return {int(plane): self._listed(int(plane)) for plane in sparse}

    def _listed(self, plane: int) -> tuple[Ints, Counts]:
        bands = (unpack_rows(self.planes[plane][start : start + TILE], self.n) for start in range(0, self.n, TILE))
        members = np.concatenate([(np.flatnonzero(band) % self.n).astype(np.int32) for band in bands])
        return np.concatenate([[0], np.cumsum(self.plane_degrees[plane])]), members

    @cached_property
    def symbol_counts(self) -> Floats:
        """(K, n): how many positions of each node have each symbol."""
        return product(self.symbol_weights.T, self.plane_degrees.astype(np.float64))

    def node_sums(self, function: ScoreFunction) -> Floats:
        """For each node, the sum of a function of the score over its positions."""
        return weighted(self.weights(function), self.plane_degrees)

    def symbol_form(self, symbol: int, vector: Floats) -> float:
        """Σ over positions {u, v} with this symbol of vector_u · vector_v."""
        weights = self.symbol_weights[:, symbol].tolist()
        return float(sum(w * self._plane_form(plane, vector) for plane, w in enumerate(weights) if w))

    def _plane_form(self, plane: int, vector: Floats) -> float:
        """Σ over pairs {u, v} in the plane of vector_u · vector_v."""
        if plane in self.complete:
            inside = vector[self.complete[plane]]
            return float(inside.sum() ** 2 - (inside**2).sum()) / 2
        on = on_grid(vector, vector.size)
        return dot(on, backend.plane_times(self.planes[plane], on)) / 2

    @property
    def matrix(self) -> "PlaneMatrix":
        """All scores, a few rows at a time."""
        return PlaneMatrix(self)

    def rows(self, chosen: slice | Ints, skip: int = 0) -> Matrix:
        """The scores in these rows, in single precision, without those of the first ``skip`` planes."""
        total: Matrix | None = None
        for weight, plane in zip(self.weights(score).astype(np.float32)[skip:], self.planes[skip:], strict=True):
            part = unpack_rows(plane[chosen], self.n) * weight
            total = part if total is None else np.add(total, part, out=total)
        return np.zeros((len(np.arange(self.n)[chosen]), self.n), np.float32) if total is None else total


def scores_of(groups: list[tuple[list[Octets], list[float]]], n: int) -> Scores:
    """Scores from groups of nested packed bits: in each group, outcome i lies in the first i + 1 of them."""
    flats = [flat for bits, _ in groups for flat in bits]
    planes = np.array([backend.plane_of(flat, n) for flat in flats], dtype=np.uint64).reshape(-1, n, word_count(n))
    values = np.array([value for _, scores in groups for value in scores])
    return Scores(n, planes, values, _membership([len(bits) for bits, _ in groups]), complete_among(planes))


def complete_among(planes: Words) -> dict[int, Bits]:
    """Which planes join each of some nodes to all others of them, and to nobody else."""
    return {i: degrees > 0 for i, degrees in enumerate(map(row_sums, planes)) if _is_complete(degrees)}


def _is_complete(degrees: Ints) -> bool:
    """Nodes with a neighbour can have no more of them than there are others with one."""
    members = int((degrees > 0).sum())
    return members > 0 and int(degrees.sum()) == members * (members - 1)


def _membership(groups: list[int]) -> npt.NDArray[np.bool_]:
    """Within a class planes are nested: outcome i lies in its first i + 1 planes."""
    size = sum(groups)
    member = np.zeros((size, size), dtype=np.bool_)
    first = 0
    for length in groups:
        member[first : first + length, first : first + length] = np.tri(length, dtype=np.bool_)
        first += length
    return member


def joined(scores: Scores, a: int, b: int, rows: slice | Ints, first: int = 0) -> Counts:
    """N_ab for the users of these rows and all from ``first`` on; complete planes need no counting.

    Where plane a joins everybody of a set, u of it reaches v through each of the set's nodes that v is joined to,
    but not through u itself.
    """
    if a in scores.complete:
        ends = scores.degrees_among[a][b, None, first:] - unpack_rows(scores.planes[b][rows], scores.n, first)
        return np.where(scores.complete[a][rows, None], ends, np.int32(0))
    if b in scores.complete:
        ends = scores.degrees_among[b][a][rows, None] - unpack_rows(scores.planes[a][rows], scores.n, first)
        return np.where(scores.complete[b][None, first:], ends, np.int32(0))
    strips, slots, side = scores.strips, np.arange(scores.n)[rows], first // SIDE
    if a == b and a in scores.lists:
        found: Counts = backend.kernels("common_neighbours").shared_in_lists(*scores.lists[a], slots, first)
        return found
    counts = np.zeros((slots.size, (strips.shape[1] - side) * SIDE), np.int32)
    backend.kernels("tiles").add_shared(strips[a], strips[b], slots, side, (0, strips.shape[1]), counts)
    return counts[:, first - side * SIDE : scores.n - side * SIDE]


@dataclass(frozen=True)
class PlaneMatrix:
    """The matrix of scores that are kept as planes."""

    scores: Scores

    def places(self, chosen: Ints) -> Ints:
        return chosen

    def by_column(self, by_node: Floats) -> Matrix:
        return by_node.astype(np.float32)

    def rows(self, chosen: Ints) -> Matrix:
        return self.scores.rows(chosen)

    def two_paths(self, chosen: Ints, rows: Matrix) -> Matrix:
        weights, total = self.scores.weights(score), np.zeros((len(chosen), self.scores.n))
        for a, b in pairs_of(range(len(weights)), repeat=2):
            total += weights[a] * weights[b] * joined(self.scores, a, b, chosen)
        return total.astype(np.float32)

    def times(self, left: Matrix) -> Matrix:
        scores, total = self.scores, np.zeros_like(left)
        for plane, weight in enumerate(scores.weights(score).astype(np.float32)):
            if plane in scores.complete:
                total += weight * _times_complete(scores.complete[plane], left)
            elif plane in scores.lists:
                total += weight * _times_lists(*scores.lists[plane], left)
            else:
                total += weight * _times_dense(scores.strips[plane], left)
        return total


def _times_complete(nodes: Bits, left: Matrix) -> Matrix:
    return np.where(nodes, left[:, nodes].sum(axis=1)[:, None] - left, np.float32(0))


def _times_lists(offsets: Ints, members: Counts, left: Matrix) -> Matrix:
    """The plane is symmetric: column v of the product adds up the columns of v's neighbours."""
    return backend.list_sums(np.ascontiguousarray(left.T), offsets, members).T.astype(np.float32)


def _times_dense(strips: Words, left: Matrix) -> Matrix:
    """The plane is symmetric, and comes in strips; each sum is of one row after the other."""
    numbers = np.zeros((strips.shape[1], len(left)), np.float32)
    numbers[: left.shape[1]] = left.T
    kernel = backend.kernels("tiles").times
    parts = on_cores(lambda piece: kernel(strips, numbers, *piece), pieces_of(0, left.shape[1]))
    return np.concatenate(list(parts)).T
