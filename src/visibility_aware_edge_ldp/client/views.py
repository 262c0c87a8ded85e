"""Views: what one reporter may hold. The type of a view is its trust model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.public.view import PublicView

V = TypeVar("V")
Edges = npt.NDArray[np.int32]
Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TwoHop:
    """NEIGHBOURHOOD: the edges that the users numbered ``start`` and on see, each within two steps of itself.

    An (m, 2) array, u < v in each row, rows sorted. A real user holds one view, as :func:`two_hop` cuts it; a
    simulation lets many users answer in one call, which holds all their views together, and each number is
    computed from edges that its own user sees.
    """

    start: int
    edges: Edges = field(repr=False)
    count: int = 1

    @property
    def users(self) -> slice:
        """The users who hold this view, as a slice of the roster."""
        return slice(self.start, self.start + self.count)


def two_hop(n: int, edges: Edges, user: int) -> TwoHop:
    """The visibility oracle O(G, u): the subgraph on u, its friends and their friends."""
    near = within_one(n, edges, np.arange(n) == user)
    inside = within_one(n, edges, near)
    return TwoHop(user, edges[inside[edges[:, 0]] & inside[edges[:, 1]]])


def within_one(n: int, edges: Edges, chosen: Bits) -> Bits:
    """The chosen nodes and all their neighbours."""
    found = chosen.copy()
    found[edges[chosen[edges[:, 0]], 1]] = True
    found[edges[chosen[edges[:, 1]], 0]] = True
    return found


@dataclass(frozen=True, eq=False, init=False)
class PositionBits:
    """POSITION: the bits of the positions numbered ``start`` and on, each held by a reporter of its own.

    A real reporter holds one; a simulation lets many answer in one call, each with random bytes of its own. They are
    kept packed, eight a byte, the first in the lowest bit and zeros after the last.
    """

    start: int
    count: int
    packed: npt.NDArray[np.uint8] = field(repr=False)

    def __init__(self, start: int, bits: npt.NDArray[np.bool_]) -> None:
        self._hold(start, bits.size, np.packbits(bits, bitorder="little"))

    @classmethod
    def of_packed(cls, start: int, count: int, packed: npt.NDArray[np.uint8]) -> PositionBits:
        """So many bits that are packed already."""
        view = cls.__new__(cls)
        view._hold(start, count, packed)
        return view

    def _hold(self, start: int, count: int, packed: npt.NDArray[np.uint8]) -> None:
        for name, value in (("start", start), ("count", count), ("packed", packed)):
            object.__setattr__(self, name, value)

    @property
    def bits(self) -> npt.NDArray[np.bool_]:
        """One boolean a position."""
        return np.unpackbits(self.packed, count=self.count, bitorder="little").view(np.bool_)


@dataclass(frozen=True, eq=False)
class PositionEdges:
    """POSITION: what ``PositionBits`` says of a run of positions, as the numbers of those with an edge, sorted.

    A simulation of many users cannot write a bit for every position down.
    """

    start: int
    count: int
    edges: npt.NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True, eq=False)
class FriendLists:
    """USER: the friend lists of the users numbered ``start`` and on, each held by its own user.

    ``offsets`` has one entry more than there are users; the friends of user ``start + i`` are
    ``neighbours[offsets[i]:offsets[i + 1]]``, sorted. A real user holds one list; a simulation lets many
    answer in one call.
    """

    start: int
    offsets: npt.NDArray[np.int64] = field(repr=False)
    neighbours: npt.NDArray[np.int32] = field(repr=False)

    @property
    def count(self) -> int:
        """How many users hold these lists."""
        return self.offsets.size - 1


@dataclass(frozen=True, eq=False)
class ListCounts:
    """USER: what the lists of the users numbered ``start`` and on come to, where a simulation cannot hold the lists.

    ``counts`` is (numbers, users): how many friends each has, or how many in each public group.
    """

    start: int
    counts: npt.NDArray[np.int64] = field(repr=False)

    @property
    def count(self) -> int:
        """How many users these numbers are of."""
        return int(self.counts.shape[1])


@dataclass(frozen=True, eq=False)
class WholeGraph:
    """CURATOR: all edges, held by a trusted centre; an (m, 2) array, u < v in each row, rows sorted."""

    n: int
    edges: npt.NDArray[np.int32] = field(repr=False)

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """Degree of each node."""
        return np.bincount(self.edges.ravel(), minlength=self.n)


def inside_scope(view: V, public: PublicView) -> V:
    """The view without what lies outside the policy's scope: a client answers as if nothing were there.  [SCOPE.2]

    Bits of positions need no cut: a position outside is never asked.
    """
    if public.policy.scope is None:
        return view
    if isinstance(view, FriendLists):
        owners = np.repeat(np.arange(view.start, view.start + view.count), np.diff(view.offsets))
        kept = public.classes.inside(owners, view.neighbours)
        offsets = np.concatenate([[0], np.cumsum(kept)])[view.offsets]
        return replace(view, offsets=offsets, neighbours=view.neighbours[kept])
    if isinstance(view, (TwoHop, WholeGraph)):
        return replace(view, edges=view.edges[public.classes.inside(view.edges[:, 0], view.edges[:, 1])])
    return view
