"""Planes that hold all positions between some groups of nodes, and no others: they need no counting.  [SCOPE.5]"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

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
        return np.stack([by_group[row].sum(axis=0, dtype=np.int32) for row in self.table])

    @property
    def own_degrees(self) -> Counts:
        """(groups, n): how many neighbours every node has in each group."""
        sizes = np.bincount(self.groups, minlength=len(self.table))
        among = sizes[:, None] * self.table - np.diag(np.diag(self.table))
        return among.astype(np.int32)[:, self.groups]

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

    def form(self, vector: Floats) -> float:
        """Σ over the positions {u, v} of the plane of vector_u · vector_v."""
        sums = np.bincount(self.groups, vector, len(self.table))
        squares = np.bincount(self.groups, vector**2, len(self.table))
        whole = sum(float(sums[row].sum()) * float(own) for row, own in zip(self.table, sums, strict=True))
        return (whole - float(squares[np.diag(self.table)].sum())) / 2
