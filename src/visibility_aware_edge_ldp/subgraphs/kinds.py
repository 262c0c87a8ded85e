"""Scores that follow from the kinds of a position's two nodes and one bit: a single plane, whatever the policy.

Where a policy goes by kinds of nodes and everybody has answered once, the score of {u, v} is one of two numbers that
the kinds of u and v decide; the bit says which. Any function f of it is f₀ + f₁·bit with numbers for each two kinds.
Nodes stand in slots ordered by kind, each kind filling whole sides of 512 slots, so that every tile of bits and every
run of words belongs to two kinds, and counts by kind are counts by place.  [KINDS.1]
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement, pairwise

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import Words
from visibility_aware_edge_ldp.kernels.cores import on_cores, pieces_of
from visibility_aware_edge_ldp.kernels.tiles import SIDE, rows_of
from visibility_aware_edge_ldp.mechanisms.entropy import keyed_coins
from visibility_aware_edge_ldp.subgraphs.scores import Floats, ScoreFunction
from visibility_aware_edge_ldp.subgraphs.triples import TilesOfPlane

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Places:
    """Where nodes of some kinds stand. ``kinds`` are numbered 0, 1, … without gaps.

    Within a kind, nodes stand in the order of their ``ranks``, or as they come.
    """

    kinds: Ints = field(repr=False)
    ranks: npt.NDArray[np.uint64] | None = field(default=None, repr=False)

    @cached_property
    def sizes(self) -> Ints:
        """How many nodes each kind has."""
        return np.bincount(self.kinds).astype(np.int64)

    @cached_property
    def first_sides(self) -> Ints:
        """The first side of each kind, and the number of all sides."""
        return np.concatenate([[0], np.cumsum(-(-self.sizes // SIDE))])

    @property
    def sides(self) -> int:
        return int(self.first_sides[-1])

    @cached_property
    def side_kinds(self) -> Ints:
        """The kind of each side."""
        return np.repeat(np.arange(self.sizes.size), np.diff(self.first_sides))

    @cached_property
    def side_sizes(self) -> Ints:
        """How many nodes stand in each side."""
        return np.bincount(self.slots // SIDE, minlength=self.sides).astype(np.int64)

    @cached_property
    def slots(self) -> Ints:
        """The slot of each node."""
        ranks = np.arange(self.kinds.size) if self.ranks is None else self.ranks
        order, slots = np.lexsort((ranks, self.kinds)), np.empty(self.kinds.size, np.int64)
        before = np.concatenate([[0], np.cumsum(self.sizes)])[:-1]
        slots[order] = np.arange(order.size) + np.repeat(self.first_sides[:-1] * SIDE - before, self.sizes)
        return slots


@dataclass(frozen=True, eq=False)
class KindScores:
    """Scores of all positions of n nodes.

    Parameters
    ----------
    places
        Where the nodes stand.
    low, high
        For each two kinds, the score of a position whose bit is 0, and of one whose bit is 1.
    plane
        The bits, in strips: (sides, slots, 8 words), those of every slot with each side.
    """

    places: Places
    low: Floats
    high: Floats
    plane: Words = field(repr=False)

    @property
    def n(self) -> int:
        return self.places.kinds.size

    def shuffled(self, coin: str) -> KindScores:
        """The same scores with the nodes of each kind in an order that a public coin decides."""
        stream = keyed_coins(hashlib.sha256(coin.encode()).digest())
        places = Places(self.places.kinds, np.frombuffer(stream(8 * self.n), dtype="<u8").astype(np.uint64))
        rows = rows_of(self.plane, self.places.slots)
        # Slots that nobody stands in hold no ones, so that it does not matter where they go.
        columns = np.zeros(self.plane.shape[1], np.int64)
        columns[self.places.slots] = places.slots
        return KindScores(
            places, self.low, self.high, choice.tile_kernels().moved(rows, places.slots, columns, places.sides)
        )

    @property
    def tiles(self) -> TilesOfPlane:
        """The plane's upper tiles, for counting triangles."""
        return TilesOfPlane(self.plane)

    @cached_property
    def side_degrees(self) -> npt.NDArray[np.int32]:
        """(slots, sides): how many ones each slot has with each side."""
        return np.stack([np.bitwise_count(strip).sum(axis=1, dtype=np.int32) for strip in self.plane], axis=1)

    @cached_property
    def degrees(self) -> Ints:
        """(n, kinds): how many ones each node has with nodes of each kind."""
        by_kind = np.add.reduceat(self.side_degrees, self.places.first_sides[:-1], axis=1, dtype=np.int64)
        found: Ints = by_kind[self.places.slots]
        return found

    @property
    def sides_of(self) -> list[tuple[int, int]]:
        """Each kind's range of sides."""
        return list(pairwise(self.places.first_sides.tolist()))

    @cached_property
    def positions(self) -> Ints:
        """(kinds, kinds): how many positions a node of one kind has with nodes of another."""
        return self.places.sizes - np.eye(self.places.sizes.size, dtype=np.int64)

    def affine(self, function: ScoreFunction) -> tuple[Floats, Floats]:
        """f₀ and f₁ for each two kinds."""
        low = function(self.low)
        return low, function(self.high) - low

    def node_sums(self, function: ScoreFunction) -> Floats:
        """For each node, the sum of a function of the score over its positions."""
        low, more = self.affine(function)
        own = self.places.kinds
        sums: Floats = (low * self.positions).sum(axis=1)[own] + (more[own] * self.degrees).sum(axis=1)
        return sums

    @cached_property
    def values(self) -> Floats:
        """All scores but 0."""
        found = np.unique(np.concatenate([self.low.ravel(), self.high.ravel()]))
        kept: Floats = found[found != 0]
        return kept

    @cached_property
    def symbol_counts(self) -> Floats:
        """(values, n): how many positions of each node have each score."""
        own, ones = self.places.kinds, self.degrees
        zeros = self.positions[own] - ones
        each = [((self.high == v)[own] * ones + (self.low == v)[own] * zeros).sum(axis=1) for v in self.values]
        return np.array(each, dtype=np.float64).reshape(-1, self.n)

    def symbol_form(self, symbol: int, vector: Floats) -> float:
        """Σ over positions {u, v} with this score of vector_u · vector_v."""
        value, total, kinds = self.values[symbol], 0.0, range(len(self.low))
        slotted = np.zeros(self.plane.shape[1])
        slotted[self.places.slots] = vector
        whole = np.array([vector[self.places.kinds == kind].sum() for kind in kinds])
        squares = np.array([(vector[self.places.kinds == kind] ** 2).sum() for kind in kinds])
        for a, b in combinations_with_replacement(kinds, 2):
            by_one, by_zero = self.high[a, b] == value, self.low[a, b] == value
            if by_one or by_zero:
                every = whole[a] * whole[b] if a != b else (whole[a] ** 2 - squares[a]) / 2
                ones = self._form(slotted, a, b)
                total += ones * by_one + (every - ones) * by_zero
        return float(total)

    def _form(self, slotted: Floats, a: int, b: int) -> float:
        """For kinds a ≤ b: Σ over the ones between them of slotted_u · slotted_v, each position once."""
        (first, last), kernel = self.sides_of[a], choice.pair_kernels().pair_form
        parts = pieces_of(first * SIDE, last * SIDE, SIDE)
        return float(sum(on_cores(lambda rows: kernel(self.plane, rows, self.sides_of[b], slotted), parts)))
