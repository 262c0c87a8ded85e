"""A score for every position, kept as a few bit planes.

A position's outcome is one of a handful of *symbols*; its score depends on the symbol alone, and is
0 for a public position without an edge and for one that did not answer. Symbol s is held by the
planes ``member[s]``, so any function f of the score with f(0) = 0 is a weighted sum of planes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import (
    TILE,
    Bits,
    Words,
    group_masks,
    in_strips,
    pack_rows,
    room_in_line,
    row_sums,
    sums_by_group,
    sums_within,
    unpack_rows,
    word_count,
)
from visibility_aware_edge_ldp.compute.plain.rows import cut_into, panels_shape
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, Shorts, rows_of
from visibility_aware_edge_ldp.compute.reproducible_math import dot, on_grid, product, weighted

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.counts.group_planes import GroupPlane

Floats = npt.NDArray[np.float64]
Octets = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]
Matrix = npt.NDArray[np.float32]
# With fewer two-paths than this for each pair of nodes, walking them is faster than counting words.
SPARSE = 4
# What rounding leaves of the difference of two equal numbers is less than this part of them.
ROUNDING = 2.0**-48
ScoreFunction = Callable[[Floats], Floats]
Outcomes = list[tuple[list[Octets], list[float]]]
"""For public edges and each asked class: nested packed bits, and the score of each outcome."""


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

    def counts_between(self, members: Ints, groups: int) -> Floats:
        """(values, groups, groups): positions with each score that members of one group have with those of another.

        Those inside a group are counted from both ends.
        """


class PlaneScores(ABC):
    """Scores as weighted sums of planes, however these are kept."""

    n: int
    values: Floats
    member: Bits

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
    @abstractmethod
    def plane_degrees(self) -> Ints:
        """(K, n): how many ones each node has in each plane."""

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

    def counts_between(self, members: Ints, groups: int) -> Floats:
        """(K, groups, groups): positions with each symbol that members of one group have with those of another."""
        planes = [self._ones_between(plane, members, groups).ravel() for plane in range(len(self.values))]
        ones = np.array(planes).reshape(len(planes), groups**2)
        each = [weighted(weights, ones) for weights in self.symbol_weights.T]  # whole numbers, so exact
        return np.array(each).reshape(-1, groups, groups)

    @abstractmethod
    def _ones_between(self, plane: int, members: Ints, groups: int) -> Floats:
        """(groups, groups): the ones of a plane that members of one group have with those of another."""

    @abstractmethod
    def _plane_form(self, plane: int, vector: Floats) -> float:
        """Σ over pairs {u, v} in the plane of vector_u · vector_v."""


@dataclass(frozen=True, eq=False)
class Scores(PlaneScores):
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
    by_groups
        Planes that hold all positions between some groups of nodes and no other: neither do these.
    """

    n: int
    planes: Words = field(repr=False)
    values: Floats
    member: npt.NDArray[np.bool_]
    complete: Mapping[int, Bits] = field(default_factory=dict, repr=False)
    by_groups: Mapping[int, GroupPlane] = field(default_factory=dict, repr=False)

    @property
    def plane_pairs(self) -> list[tuple[int, int]]:
        """All (a, b) with a ≥ b, in the order of their counts."""
        return [(a, b) for a in range(len(self.planes)) for b in range(a + 1)]

    def form_weights(self, left: ScoreFunction, right: ScoreFunction) -> Floats:
        """The weights of the counts of ``plane_pairs`` that give (F[left, right] + F[right, left])/2."""
        if (left, right) not in self._forms:
            f, g = self._clean_weights(left), self._clean_weights(right)
            each = [(f[a] * g[b] + f[b] * g[a]) / 2 if a != b else f[a] * g[a] for a, b in self.plane_pairs]
            self._forms[left, right] = np.array(each)
        return self._forms[left, right]

    def _clean_weights(self, function: ScoreFunction) -> Floats:
        """The planes' weights, with 0 for one that is a difference of equal numbers but for their rounding.

        The spread of a symmetric answer is the same for 0 and 1, so that answers take no part in it.  [COUNTS.6]
        """
        weights, values = self.weights(function), function(self.values)
        return np.where(
            np.abs(weights) > ROUNDING * weighted(np.abs(values), np.abs(self.symbol_weights.T)), weights, 0
        )

    def over_node(self, left: ScoreFunction, right: ScoreFunction) -> Floats:
        """For each node w, the sum of f(ê_uw) g(ê_wv) over all pairs of other nodes {u, v}, and of the two turned.

        f and g are the two functions; of the turned one the half is taken of both: all nodes together have the sum
        of (F[left, right] + F[right, left])/2 over all pairs.
        """
        if (left, right) not in self._over_node:
            both = self.node_sums(lambda value: left(value) * right(value))
            self._over_node[left, right] = (self.node_sums(left) * self.node_sums(right) - both) / 2
        return self._over_node[left, right]

    @cached_property
    def _over_node(self) -> dict[tuple[ScoreFunction, ScoreFunction], Floats]:
        """Every block of pairs asks for its nodes' part of the same ones."""
        return {}

    @cached_property
    def _forms(self) -> dict[tuple[ScoreFunction, ScoreFunction], Floats]:
        """Every block of pairs asks for the same ones."""
        return {}

    def skew_weights(self, left: ScoreFunction, right: ScoreFunction) -> Floats:
        """The weights of the differences of unequal planes' counts that give (F[left, right] − F[right, left])/2."""
        f, g = self._clean_weights(left), self._clean_weights(right)
        return np.array([(f[a] * g[b] - f[b] * g[a]) / 2 for a, b in self.plane_pairs if a != b])

    @cached_property
    def plane_degrees(self) -> Ints:
        """(K, n): how many ones each node has in each plane."""
        return np.stack([row_sums(plane) for plane in self.planes]) if len(self.planes) else np.zeros((0, self.n), int)

    @cached_property
    def strips(self) -> Words:
        """The planes as strips of 512 columns, for counting in them; filled up with zeros to squares."""
        return in_strips(self.planes, -(-self.n // SIDE))

    @property
    def joins_all(self) -> Bits:
        """(K,): which planes join everybody to everybody."""
        planes = range(len(self.planes))
        return np.array([index in self.complete and self.complete[index].all() for index in planes], np.bool_)

    @cached_property
    def panels(self) -> Words:
        """The planes cut into panels; those that join everybody to everybody are not filled, for nobody reads them."""
        panels = room_in_line(len(self.planes), *panels_shape(*self.planes.shape[1:]))
        for plane, panel, complete in zip(self.planes, panels, self.joins_all, strict=True):
            if not complete:
                cut_into(plane, panel)
        return panels

    @cached_property
    def among(self) -> tuple[Words, Ints, int, tuple[int, ...]]:
        """What ``tiles.shared_among`` wants: strips, every slot's ones in each plane, and which follows from others.

        The planes of what answered, one for each class, hold each position once at most; one more holds the rest.
        """
        degrees = np.zeros((len(self.planes), self.strips.shape[2]), np.int64)
        degrees[:, : self.n] = self.plane_degrees
        tops = np.flatnonzero(self.member.sum(axis=1) == 1).tolist()
        sizes = {plane: int(self.plane_degrees[plane].sum()) for plane in tops}
        densest, rest = max(sizes, key=sizes.__getitem__), self._rest(tops)
        left = int(row_sums(rest).sum())
        if left + sum(sizes.values()) != self.n * (self.n - 1) or left >= sizes[densest]:
            return self.strips, degrees, -1, ()
        strips = np.concatenate([self.strips, in_strips(rest[None], len(self.strips[0]))])
        return strips, degrees, densest, (*(plane for plane in tops if plane != densest), len(self.planes))

    def _rest(self, planes: list[int]) -> Words:
        """The positions that are in none of some planes."""
        rest, everybody = ~np.bitwise_or.reduce(self.planes[planes], axis=0), np.arange(self.n)
        rest &= pack_rows(np.ones((1, self.n), np.bool_), self.n)
        rest[everybody, everybody >> 6] &= ~(np.uint64(1) << (everybody & 63).astype(np.uint64))
        return np.ascontiguousarray(rest)

    @cached_property
    def is_counted(self) -> bool:
        """Whether everything about its planes is counted: none of them is complete or goes by groups."""
        return not (self.complete or self.by_groups) and len(self.planes) > 0

    def shared_among(self, chosen: Ints, first: int, last: int) -> Shorts:
        """(K, K, chosen, columns from ``first`` to ``last``): N_ab for all planes a and b."""
        side, size = first // SIDE, len(self.planes)
        width = (-(-last // SIDE) - side) * SIDE
        counts = np.empty((size, size, chosen.size, width), np.uint16 if self.n < 1 << 16 else np.uint32)
        backend.kernels("tiles").shared_among(*self.among, chosen, side, counts)
        return counts[..., first - side * SIDE : last - side * SIDE]

    @cached_property
    def degrees_among(self) -> dict[int, Counts]:
        """For each complete plane, (K, n): how many of its nodes each node is joined to in each plane."""
        return {
            i: np.stack([row_sums(plane & pack_rows(nodes[None], self.n)) for plane in self.planes]).astype(np.int32)
            for i, nodes in self.complete.items()
        }

    @cached_property
    def group_degrees(self) -> dict[tuple[int, int], Counts]:
        """For each plane that goes by groups, and every plane: (groups, n), see ``GroupPlane.joined_degrees``."""
        if not self.by_groups:
            return {}
        groups = next(iter(self.by_groups.values())).groups  # all of them go by the same ones
        masks = [pack_rows((groups == g)[None], self.n) for g in range(int(groups.max()) + 1)]

        def by_group(plane: int) -> Counts:
            if plane in self.by_groups:
                return self.by_groups[plane].own_degrees
            return np.stack([row_sums(self.planes[plane] & mask) for mask in masks]).astype(np.int32)

        found = [by_group(plane) for plane in range(len(self.planes))]
        return {(i, b): own.joined_degrees(each) for i, own in self.by_groups.items() for b, each in enumerate(found)}

    def in_group_order(self) -> Scores:
        """The same scores with the nodes in an order in which those of joined groups stand close."""
        if not self.by_groups or self.complete:
            return self
        order, sides = next(iter(self.by_groups.values())).order(), -(-self.n // SIDE)
        slots = np.empty(self.n, np.int64)
        slots[order] = np.arange(self.n)
        strips = np.stack([backend.kernels("tiles").arranged(plane, slots, sides) for plane in self.planes])
        rows = np.stack([rows_of(plane, np.arange(self.n)) for plane in strips])[:, :, : word_count(self.n)]
        known = {plane: each.in_order(order) for plane, each in self.by_groups.items()}
        found = Scores(self.n, np.ascontiguousarray(rows), self.values, self.member, by_groups=known)
        vars(found)["strips"] = strips
        return found

    def last_columns(self, rows: int) -> Ints:
        """For each block of so many rows, the column after the last that any plane has a one in."""
        starts = np.arange(0, self.n, rows)
        held = np.bitwise_or.reduceat(np.bitwise_or.reduce(self.planes, axis=0), starts, axis=0) != 0
        words = held.shape[1] - np.argmax(held[:, ::-1], axis=1)
        last = np.where(held.any(axis=1), words * 64, 0)
        return np.clip(last, np.minimum(starts + rows, self.n), self.n)

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

    def _ones_between(self, plane: int, members: Ints, groups: int) -> Floats:
        """(groups, groups): the ones of a plane that members of one group have with those of another."""
        return sums_by_group(sums_within(self.planes[plane], group_masks(members, groups)), members, groups)

    def _plane_form(self, plane: int, vector: Floats) -> float:
        """Σ over pairs {u, v} in the plane of vector_u · vector_v."""
        if plane in self.complete:
            inside = vector[self.complete[plane]]
            return float(inside.sum() ** 2 - (inside**2).sum()) / 2
        if plane in self.by_groups:
            return self.by_groups[plane].form(on_grid(vector, vector.size))
        on = on_grid(vector, vector.size)
        return dot(on, backend.plane_times(self.planes[plane], on)) / 2

    def rows(self, chosen: slice | Ints, skip: int = 0) -> Matrix:
        """The scores in these rows, in single precision, without those of the first ``skip`` planes."""
        total: Matrix | None = None
        for weight, plane in zip(self.weights(score).astype(np.float32)[skip:], self.planes[skip:], strict=True):
            part = unpack_rows(plane[chosen], self.n) * weight
            total = part if total is None else np.add(total, part, out=total)
        return np.zeros((len(np.arange(self.n)[chosen]), self.n), np.float32) if total is None else total


def scores_of(groups: Outcomes, n: int, by_groups: Mapping[int, GroupPlane] | None = None) -> Scores:
    """Scores from groups of nested packed bits: in each group, outcome i lies in the first i + 1 of them."""
    flats = [flat for bits, _ in groups for flat in bits]
    planes = np.empty((len(flats), n, word_count(n)), np.uint64)
    for plane, flat in zip(planes, flats, strict=True):
        plane[:] = backend.plane_of(flat, n)
    values = np.array([value for _, scores in groups for value in scores])
    complete = complete_among(planes)
    known = {plane: each for plane, each in (by_groups or {}).items() if plane not in complete}
    return Scores(n, planes, values, membership(groups), complete, known)


def complete_among(planes: Words) -> dict[int, Bits]:
    """Which planes join each of some nodes to all others of them, and to nobody else."""
    return {i: degrees > 0 for i, degrees in enumerate(map(row_sums, planes)) if _is_complete(degrees)}


def _is_complete(degrees: Ints) -> bool:
    """Nodes with a neighbour can have no more of them than there are others with one."""
    members = int((degrees > 0).sum())
    return members > 0 and int(degrees.sum()) == members * (members - 1)


def membership(groups: Outcomes) -> Bits:
    """Within a class planes are nested: outcome i lies in its first i + 1 planes."""
    lengths = [len(bits) for bits, _ in groups]
    size = sum(lengths)
    member = np.zeros((size, size), dtype=np.bool_)
    first = 0
    for length in lengths:
        member[first : first + length, first : first + length] = np.tri(length, dtype=np.bool_)
        first += length
    return member
