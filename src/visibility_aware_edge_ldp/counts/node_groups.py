"""Scores that follow from the groups of a position's two nodes and one bit: a single plane, whatever the policy.

Where a policy goes by groups of nodes and everybody has answered once, the score of {u, v} is one of two numbers that
the groups of u and v decide; the bit says which. Any function f of it is f₀ + f₁·bit with numbers for each two groups.
Nodes stand in slots ordered by group, each group filling whole sides of 512 slots, so that every tile of bits and every
run of words belongs to two groups, and counts by group are counts by place.  [KINDS.1]
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations_with_replacement, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import Words, group_masks, sums_by_group, sums_within, unpack_rows
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, rows_of
from visibility_aware_edge_ldp.compute.reproducible_math import dot, on_grid
from visibility_aware_edge_ldp.compute.threads import on_cores, pieces_of
from visibility_aware_edge_ldp.compute.tile_layout import (
    Places,
    TilesOfPlane,
    TileSource,
    reordered,
    row_ones,
    strip_by_strip,
)
from visibility_aware_edge_ldp.counts.scores import Floats, Ints, Matrix, ScoreFunction, score, square
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins


def tickets(coin: str, size: int) -> npt.NDArray[np.uint64]:
    """So many numbers that a public coin decides, to draw by or to sort by."""
    return np.frombuffer(keyed_coins(hashlib.sha256(coin.encode()).digest())(8 * size), dtype="<u8").astype(np.uint64)


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Scores of all positions of n nodes.

    Parameters
    ----------
    places
        Where the nodes stand.
    low, high
        For each two groups, the score of a position whose bit is 0, and of one whose bit is 1.
    plane
        The bits, in strips: (sides, slots, 8 words), those of every slot with each side.
    """

    places: Places
    low: Floats
    high: Floats
    plane: Words = field(repr=False)

    @property
    def n(self) -> int:
        return self.places.groups.size

    def shuffled(self, coin: str) -> GroupScores:
        """The same scores with the nodes of each group in an order that a public coin decides."""
        places = Places(self.places.groups, tickets(coin, self.n))
        rows = rows_of(self.plane, self.places.slots)
        # Slots that nobody stands in hold no ones, so that it does not matter where they go.
        columns = np.zeros(self.plane.shape[1], np.int64)
        columns[self.places.slots] = places.slots
        return GroupScores(
            places, self.low, self.high, backend.kernels("tiles").moved(rows, places.slots, columns, places.sides)
        )

    @property
    def tiles(self) -> TilesOfPlane:
        """The plane's upper tiles, for counting triangles."""
        return TilesOfPlane(self.plane)

    @cached_property
    def side_degrees(self) -> npt.NDArray[np.int32]:
        """(slots, sides): how many ones each slot has with each side."""
        return np.stack([row_ones(strip) for strip in self.plane], axis=1)

    @cached_property
    def degrees(self) -> Ints:
        """(n, groups): how many ones each node has with nodes of each group."""
        by_group = np.add.reduceat(self.side_degrees, self.places.first_sides[:-1], axis=1, dtype=np.int64)
        found: Ints = by_group[self.places.slots]
        return found

    @property
    def sides_of(self) -> list[tuple[int, int]]:
        """Each group's range of sides."""
        return list(pairwise(self.places.first_sides.tolist()))

    @cached_property
    def positions(self) -> Ints:
        """(groups, groups): how many positions a node of one group has with nodes of another."""
        return self.places.sizes - np.eye(self.places.sizes.size, dtype=np.int64)

    @property
    def matrix(self) -> GroupMatrix:
        """All scores, a few rows at a time."""
        return GroupMatrix(self)

    def affine(self, function: ScoreFunction) -> tuple[Floats, Floats]:
        """f₀ and f₁ for each two groups."""
        low = function(self.low)
        return low, function(self.high) - low

    def node_sums(self, function: ScoreFunction) -> Floats:
        """For each node, the sum of a function of the score over its positions."""
        low, more = self.affine(function)
        own = self.places.groups
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
        own, ones = self.places.groups, self.degrees
        zeros = self.positions[own] - ones
        each = [((self.high == v)[own] * ones + (self.low == v)[own] * zeros).sum(axis=1) for v in self.values]
        return np.array(each, dtype=np.float64).reshape(-1, self.n)

    def counts_between(self, members: Ints, groups: int) -> Floats:
        """(values, groups, groups): positions with each score that members of one group have with those of another.

        The groups that the scores go by are cut into parts by the others; a part's ones follow from the plane.
        """
        own, kinds = members + groups * self.places.groups, len(self.low)
        parts = np.full(self.plane.shape[1], -1)
        parts[self.places.slots] = own
        masks = group_masks(parts, kinds * groups).reshape(kinds * groups, len(self.plane), -1)
        by_slot = sum(sums_within(strip, masks[:, side]) for side, strip in enumerate(self.plane))
        ones, sizes = sums_by_group(np.asarray(by_slot), parts, kinds * groups), np.bincount(own, minlength=len(masks))
        positions = np.outer(sizes, sizes) - np.diag(sizes)
        kind = np.repeat(np.arange(kinds), groups)
        low, high = (table[kind][:, kind] for table in (self.low, self.high))
        each = [((high == v) * ones + (low == v) * (positions - ones)) for v in self.values]
        cut = np.array(each).reshape(-1, kinds, groups, kinds, groups)
        return np.asarray(cut.sum(axis=(1, 3)))

    def symbol_form(self, symbol: int, vector: Floats) -> float:
        """Σ over positions {u, v} with this score of vector_u · vector_v."""
        value, total, groups = self.values[symbol], 0.0, range(len(self.low))
        slotted = np.zeros(self.plane.shape[1])
        slotted[self.places.slots] = on_grid(vector, self.n)  # so that sums of them are exact
        whole = np.array([vector[self.places.groups == group].sum() for group in groups])
        squares = np.array([(vector[self.places.groups == group] ** 2).sum() for group in groups])
        for a, b in combinations_with_replacement(groups, 2):
            by_one, by_zero = self.high[a, b] == value, self.low[a, b] == value
            if by_one or by_zero:
                every = whole[a] * whole[b] if a != b else (whole[a] ** 2 - squares[a]) / 2
                ones = self._form(slotted, a, b)
                total += ones * by_one + (every - ones) * by_zero
        return float(total)

    def _form(self, slotted: Floats, a: int, b: int) -> float:
        """For groups a ≤ b: Σ over the ones between them of slotted_u · slotted_v, each position once."""
        (first, last), kernel = self.sides_of[a], backend.kernels("group_sums").later_sums
        parts = pieces_of(first * SIDE, last * SIDE, SIDE)
        sums = list(on_cores(lambda rows: kernel(self.plane, rows, self.sides_of[b], slotted), parts))
        return dot(slotted[first * SIDE : last * SIDE], np.concatenate(sums))


@dataclass(frozen=True, eq=False)
class MappedScores(GroupScores):
    """Scores of all positions whose plane is a mapped file.

    ``folder`` has room for another order of it; ``source`` is the file of tiles, where workers elsewhere need one.
    """

    folder: Path
    source: TileSource | None = None

    @cached_property
    def side_degrees(self) -> npt.NDArray[np.int32]:
        """As in memory, and without a second copy."""
        found = np.empty((self.plane.shape[1], len(self.plane)), np.int32)
        for side, ones in enumerate(strip_by_strip(row_ones, self.plane)):
            found[:, side] = ones
        return found

    @cached_property
    def degrees(self) -> Ints:
        """(n, groups): how many ones each node has with nodes of each group."""
        found = np.zeros((self.plane.shape[1], self.places.sizes.size), np.int64)
        for group, ones in zip(self.places.side_groups, strip_by_strip(row_ones, self.plane), strict=True):
            found[:, group] += ones
        return found[self.places.slots]

    def shuffled(self, coin: str) -> MappedScores:
        """As in memory: the nodes of each group in an order that a public coin decides."""
        places = Places(self.places.groups, tickets(coin, self.n))
        plane = reordered(self.plane, self.places, places, self.folder)
        return MappedScores(places, self.low, self.high, plane, self.folder)

    @property
    def tiles(self) -> TileSource:  # type: ignore[override]
        """The upper tiles, from their own file where there is one."""
        return super().tiles if self.source is None else self.source


@dataclass(frozen=True, eq=False)
class GroupMatrix:
    """E, all scores of all positions; its diagonal is empty. Columns are slots; those of one group lie side by side."""

    scores: GroupScores

    def places(self, chosen: Ints) -> Ints:
        """The columns of these nodes."""
        return self.scores.places.slots[chosen]

    def by_column(self, by_node: Floats) -> Matrix:
        """A number for each node as one for each column."""
        found = np.zeros(self._width, np.float32)
        found[self.scores.places.slots] = by_node
        return found

    def rows(self, chosen: Ints) -> Matrix:
        """Rows of E."""
        own, slots = self.scores.places.groups[chosen], self.places(chosen)
        bits = unpack_rows(rows_of(self.scores.plane, slots), self._width)
        found = np.zeros(bits.shape, np.float32)
        for group, columns in enumerate(self._columns):
            np.multiply(bits[:, columns], self._more[own, group, None], out=found[:, columns])
            found[:, columns] += self._low[own, group, None]
        found[np.arange(len(chosen)), slots] = 0
        return found

    def two_paths(self, chosen: Ints, rows: Matrix) -> Matrix:
        """Rows of E², from the same rows of E."""
        scores, low, more = self.scores, self._low, self._more
        own, degrees = scores.places.groups[chosen], scores.degrees[chosen].astype(np.float32)
        ends = _by_terms((low[own] * scores.places.sizes + more[own] * degrees).astype(np.float32), low)
        total = np.zeros_like(rows)
        for group, columns in enumerate(self._columns):
            total[:, columns] = _by_terms(low[own], (more[group] * self._degrees[columns]).T)
            # A path may not go from u to u or from v to v.
            total[:, columns] += ends[:, group, None] - rows[:, columns] * (low[own, own] + low[group, group])[:, None]
        for through, sides in enumerate(scores.sides_of):
            shared = self._shared(self.places(chosen), sides)
            for group, columns in enumerate(self._columns):
                total[:, columns] += shared[:, columns] * (more[own, through] * more[through, group])[:, None]
        total[np.arange(len(chosen)), self.places(chosen)] = scores.node_sums(square)[chosen]
        return total

    def times(self, left: Matrix) -> Matrix:
        """left @ E."""
        sums = _by_terms(np.stack([left[:, columns].sum(axis=1) for columns in self._columns], axis=1), self._low)
        result = np.zeros_like(left)
        for group, columns in enumerate(self._columns):
            weighted = np.zeros(left.shape[::-1], np.float32)
            for other, rows in enumerate(self._columns):
                np.multiply(left[:, rows].T, self._more[group, other], out=weighted[rows])
            parts = on_cores(partial(self._times, weighted), pieces_of(columns.start, columns.stop))
            result[:, columns] = np.concatenate(list(parts)).T
            result[:, columns] += sums[:, group, None] - left[:, columns] * self._low[group, group]
        return result

    def _times(self, numbers: Matrix, piece: tuple[int, int]) -> Matrix:
        found: Matrix = backend.kernels("tiles").times(self.scores.plane, numbers, *piece)
        return found

    def _shared(self, slots: Ints, through: tuple[int, int]) -> npt.NDArray[np.int32]:
        """How many slots of some sides have ones with both of two slots, one of these and any other."""
        kernel, plane = backend.kernels("tiles").add_shared, self.scores.plane
        counts = np.zeros((len(slots), self._width), np.int32)
        parts = [(first // SIDE, counts[:, first:last]) for first, last in pieces_of(0, self._width, SIDE)]
        list(on_cores(lambda part: kernel(plane, plane, slots, part[0], through, part[1]), parts))
        return counts

    @property
    def _width(self) -> int:
        return int(self.scores.plane.shape[1])

    @cached_property
    def _columns(self) -> list[slice]:
        """Where the nodes of each group stand."""
        firsts = [first * SIDE for first, _ in self.scores.sides_of]
        return [
            slice(first, first + size) for first, size in zip(firsts, self.scores.places.sizes.tolist(), strict=True)
        ]

    @cached_property
    def _degrees(self) -> Matrix:
        found = np.zeros((self._width, len(self._low)), np.float32)
        found[self.scores.places.slots] = self.scores.degrees
        return found

    @cached_property
    def _low(self) -> Matrix:
        return self.scores.affine(score)[0].astype(np.float32)

    @cached_property
    def _more(self) -> Matrix:
        return self.scores.affine(score)[1].astype(np.float32)


def _by_terms(left: Matrix, right: Matrix) -> Matrix:
    """left @ right with a few terms each, which are added one after the other."""
    found: Matrix = left[:, :1] * right[:1]
    for term in range(1, len(right)):
        found += left[:, term, None] * right[term]
    return found
