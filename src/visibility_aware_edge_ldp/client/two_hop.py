"""NEIGHBOURHOOD: what a user sees is the induced subgraph of everybody within two steps of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

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
