"""Planes that hold all positions between some groups of nodes, and no others, and scores in them.  [SCOPE.5-6]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import Words, group_masks, sums_by_group, sums_within, word_count
from visibility_aware_edge_ldp.compute.plain.tile_table import rows_in_order
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, WORDS
from visibility_aware_edge_ldp.compute.reproducible_math import dot, on_grid
from visibility_aware_edge_ldp.counts.scores import Outcomes, PlaneScores, membership, spread

Bits = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]
Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class GroupPlane:
    """The plane of all positions {u, v} with ``table[groups[u], groups[v]]``, which is symmetric.  [SCOPE.5]

    Where classes or a scope go by groups of nodes and everybody has answered, the positions of a class are such a
    plane. It needs no counting: in how many ways two nodes are joined through it follows from the neighbours by group.
    """

    groups: Ints = field(repr=False)
    table: Bits

    def joined_degrees(self, by_group: Counts) -> Counts:
        """(groups, n): for a node u of each group and every v, how many w lead from u to v, w = u included.

        u–w is in this plane and w–v in another one, in which v has ``by_group`` neighbours in each group.
        """
        found = np.zeros_like(by_group)
        for group, other in np.argwhere(self.table).tolist():
            found[group] += by_group[other]
        return found

    @property
    def group_degrees(self) -> Ints:
        """(groups, groups): how many neighbours a node of the second group has in the first."""
        sizes = np.bincount(self.groups, minlength=len(self.table))
        return sizes[:, None] * self.table - np.diag(np.diag(self.table))

    @property
    def own_degrees(self) -> Counts:
        """(groups, n): how many neighbours every node has in each group."""
        return self.group_degrees.astype(np.int32)[:, self.groups]

    @property
    def is_complete(self) -> bool:
        """Whether all nodes with a neighbour have each other as neighbours."""
        degrees, sizes = self.group_degrees.sum(axis=0), np.bincount(self.groups, minlength=len(self.table))
        members = int(sizes[degrees > 0].sum())
        return members > 0 and int(degrees @ sizes) == members * (members - 1)

    def in_order(self, order: Ints) -> GroupPlane:
        """The same plane of nodes that stand in another order."""
        return GroupPlane(self.groups[order], self.table)

    def order(self) -> Ints:
        """The nodes, such that those which are joined with each other stand close; those with nobody come first."""
        sizes, left = np.bincount(self.groups, minlength=len(self.table)), np.asarray(self.table.any(axis=1))
        placed = np.flatnonzero(~left).tolist()
        while left.any():
            first = int(np.argmax(np.where(left, self.table @ (sizes * left), -1)))
            near = np.flatnonzero(self.table[first] & left | (np.arange(left.size) == first))
            left[near] = False
            placed += near[np.argsort(self.table[near] @ (sizes * left), kind="stable")].tolist()
        return np.argsort(np.argsort(placed)[self.groups], kind="stable")

    @property
    def closed(self) -> Counts:
        """For each group, 1 where its own nodes are joined with each other, else 0."""
        return np.diag(self.table).astype(np.int32)

    def times(self, left: Matrix) -> Matrix:
        """left @ the plane as a matrix of zeros and ones, whose diagonal is empty."""
        sums = np.stack([left[:, self.groups == g].sum(axis=1) for g in range(len(self.table))], axis=1)
        reached = np.stack([sums[:, row].sum(axis=1) for row in self.table], axis=1)
        found: Matrix = reached[:, self.groups] - left * self.closed[self.groups].astype(np.float32)
        return found

    def ones_between(self, members: Ints, groups: int) -> Floats:
        """(groups, groups): the plane's ones that members of one of some other groups have with those of another."""
        sizes = np.bincount(members * len(self.table) + self.groups, minlength=groups * len(self.table))
        by_group = sizes.reshape(groups, len(self.table))
        itself = np.diag(by_group[:, np.diag(self.table)].sum(axis=1))
        return (by_group @ self.table.astype(np.int64) @ by_group.T - itself).astype(np.float64)

    def form(self, vector: Floats) -> float:
        """Σ over the positions {u, v} of the plane of vector_u · vector_v."""
        sums = np.bincount(self.groups, vector, len(self.table))
        squares = np.bincount(self.groups, vector**2, len(self.table))
        whole = sum(float(sums[row].sum()) * float(own) for row, own in zip(self.table, sums, strict=True))
        return (whole - float(squares[np.diag(self.table)].sum())) / 2


@dataclass(frozen=True, eq=False)
class ScopeScores(PlaneScores):
    """Scores of all positions of n nodes, each noisy one in a plane by groups: these planes are tables.  [SCOPE.6]

    Parameters
    ----------
    by_groups
        For each class that is asked, the plane of its positions.
    tables
        For every other plane that holds something, where its ``tiles`` are, as ``tile_table`` has them. The slots are
        the nodes in ``order``.
    """

    n: int
    values: Floats
    member: Bits
    by_groups: Mapping[int, GroupPlane] = field(repr=False)
    tables: Mapping[int, Ints] = field(repr=False)
    tiles: Words = field(repr=False)
    order: Ints = field(repr=False)

    @cached_property
    def slots(self) -> Ints:
        """The slot of each node."""
        return np.argsort(self.order)

    @cached_property
    def planes_in_order(self) -> dict[int, GroupPlane]:
        """The planes by groups of slots; groups are numbered as they stand, one after the other."""
        first = next(iter(self.by_groups.values()))
        _, places, groups = np.unique(first.groups[self.order], return_index=True, return_inverse=True)
        ranks = np.argsort(np.argsort(places))
        numbers = first.groups[self.order][np.sort(places)]
        return {
            plane: GroupPlane(ranks[groups.ravel()], each.table[np.ix_(numbers, numbers)])
            for plane, each in self.by_groups.items()
        }

    @cached_property
    def groups(self) -> Ints:
        """The group of each slot."""
        return next(iter(self.planes_in_order.values())).groups

    @cached_property
    def bounds(self) -> Ints:
        """Where each group begins, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.groups))])

    @cached_property
    def degrees(self) -> dict[int, Counts]:
        """For each plane in tiles (groups, slots): how many neighbours a slot has in each group."""
        count = backend.kernels("tile_table").ones_within
        return {plane: count(table, self.tiles, self.bounds) for plane, table in self.tables.items()}

    @cached_property
    def plane_degrees(self) -> Ints:
        """(K, n): how many ones each node has in each plane."""
        found = np.zeros((len(self.member), self.n), np.int64)
        for plane, degrees in self.degrees.items():
            found[plane, self.order] = degrees.sum(axis=0)
        for plane, each in self.planes_in_order.items():
            found[plane, self.order] = each.group_degrees.sum(axis=0)[self.groups]
        return found

    def _ones_between(self, plane: int, members: Ints, groups: int) -> Floats:
        """(groups, groups): the ones of a plane that members of one group have with those of another."""
        if plane in self.by_groups:
            return self.by_groups[plane].ones_between(members, groups)
        if plane not in self.tables:
            return np.zeros((groups, groups))
        ones = sums_within(self._rows(plane), group_masks(members[self.order], groups))
        return sums_by_group(ones, members, groups)

    def _rows(self, plane: int) -> Words:
        """The nodes' rows of a plane in tiles; columns are slots."""
        table = self.tables[plane]
        return rows_in_order(table, self.tiles, self.slots, np.arange(len(table)))[:, : word_count(self.n)]

    def _plane_form(self, plane: int, vector: Floats) -> float:
        """Σ over pairs {u, v} in the plane of vector_u · vector_v."""
        on = on_grid(vector, vector.size)
        if plane in self.by_groups:
            return self.by_groups[plane].form(on)
        if plane not in self.tables:
            return 0.0
        return dot(on, backend.plane_times(np.ascontiguousarray(self._rows(plane)), on[self.order])) / 2


def scope_scores(groups: Outcomes, n: int, by_groups: Mapping[int, GroupPlane]) -> ScopeScores | None:
    """The scores of ``scores_of`` with a table for each plane by groups; None where some class does not go by groups.

    A plane that joins every two of some nodes has a quicker way of its own.
    """
    values, member = np.array([value for _, scores in groups for value in scores]), membership(groups)
    noisy = member[spread(values) != 0]
    if not by_groups or not noisy[:, list(by_groups)].any(axis=1).all():
        return None
    if any(plane.is_complete for plane in by_groups.values()):
        return None
    flats = enumerate(bits for held, _ in groups for bits in held)
    kept = {plane: flat for plane, flat in flats if plane not in by_groups}
    order, sides, kernels = next(iter(by_groups.values())).order(), -(-n // SIDE), backend.kernels("tile_table")
    slots, tables, size = np.argsort(order), {}, 1
    for plane, flat in kept.items():
        there = kernels.sides_with_ones(flat, slots, sides)
        if there.any():
            tables[plane] = np.zeros(there.shape, np.int64)
            tables[plane][there] = np.arange(size, size + int(there.sum()))
            size += int(there.sum())
    tiles = np.zeros((size, SIDE, WORDS), np.uint64)
    for plane, table in tables.items():
        kernels.place(kept[plane], slots, table, tiles)
    return ScopeScores(n, values, member, by_groups, tables, tiles, order)
