"""The public plan of NEIGHBOURHOOD (b): which public nodes report, and which positions reach which of them.  [HUB.1]

A reporter's friend list is public. Its *territory* is the part of that list that counts; a node stays in the
territories of the first few reporters that hold it. A position belongs to the first territory that holds both its
ends; it may reach other reporters through triangles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.hidden import users_with
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

MOST_HUBS = 16
# A bit of a signed 64-bit mark for each reporter.
_HUBS_THAT_FIT = 62
# In how many territories a node stays: more leave less out and spread a position over more reporters.
KEEP = 3


@dataclass(frozen=True, eq=False)
class HubPlan:
    """Reporters in their public order, and for each node the territories that hold it.

    ``marks`` has bit h set where the territory of reporter h holds the node, and is 0 for nodes that hide nothing.
    """

    hubs: tuple[int, ...]
    keep: int
    marks: Ints = field(repr=False)
    hiding: Bits = field(repr=False)

    @cached_property
    def sizes(self) -> Ints:
        """How many nodes each territory has."""
        return np.array([np.count_nonzero(self.marks >> h & 1) for h in range(len(self.hubs))], np.int64)

    @cached_property
    def groups(self) -> tuple[Ints, Ints]:
        """The different marks of nodes that hide something, and for each node the number of its own (0 for others)."""
        values = np.unique(self.marks[self.hiding])
        return values, np.minimum(np.searchsorted(values, self.marks), max(values.size - 1, 0))

    @cached_property
    def reaches(self) -> Ints:
        """(groups, groups): how many reporters a position may reach, by the groups of its ends.  [HUB.1]"""
        values, _ = self.groups
        both, either = values[:, None] & values, values[:, None] | values
        lowest = both & -both
        # From the first reporter that holds both ends on, no other can be first; -1 is every bit.
        counts: Ints = np.bitwise_count(either & np.where(both > 0, 2 * lowest - 1, -1)).astype(np.int64)
        return counts

    @cached_property
    def loose(self) -> Bits:
        """(groups, groups): whether no territory holds both ends."""
        values, _ = self.groups
        found: Bits = (values[:, None] & values) == 0
        return found

    @cached_property
    def _pairs(self) -> Ints:
        """(groups, groups): how many pairs of nodes."""
        sizes = np.bincount(self.groups[1][self.hiding], minlength=self.groups[0].size)
        return np.outer(sizes, sizes) - np.diag(sizes)

    def most_reached(self, loose: bool) -> int:
        """The most reporters that any position reaches, among those that some territory holds, or that none does."""
        return int(self.reaches[(self._pairs > 0) & (self.loose == loose)].max(initial=0))

    @property
    def loose_positions(self) -> int:
        """How many positions no territory holds, at most, and some reporter sees."""
        return int(self._pairs[self.loose & (self.reaches > 0)].sum()) // 2

    @property
    def unseen_positions(self) -> int:
        """How many positions no reporter sees, at most: those between nodes in no territory."""
        outside = int((self.hiding & (self.marks == 0)).sum())
        return outside * (outside - 1) // 2

    @property
    def can_miss_triangles(self) -> bool:
        """Whether three nodes can be such that no territory holds two of them."""
        apart = (self.loose & (self._pairs > 0)).astype(np.int64)
        return bool(((apart @ apart) * apart).any())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that decides who counts what."""
        head = f"{self.keep} {self.hubs} ".encode()
        return hashlib.sha256(head + self.marks.astype(">i8").tobytes() + self.hiding.tobytes()).hexdigest()


def hubs_see_everybody(view: PublicView) -> bool:
    """Whether everybody who hides something is in some hub's list: what hubs miss is then small."""
    hiding: Bits = np.any(users_with(view, NON_PUBLIC), axis=0)
    return bool(choose_hubs(view, hiding, 1)) and not hub_plan(view).unseen_positions


def hub_plan(view: PublicView, hubs: Sequence[int] | None = None, keep: int = KEEP) -> HubPlan:
    """The plan for these reporters; by default for public nodes that together hold as many nodes as they can."""
    hiding: Bits = np.any(users_with(view, NON_PUBLIC), axis=0)
    chosen = choose_hubs(view, hiding) if hubs is None else tuple(int(hub) for hub in hubs)
    if not chosen or len(set(chosen)) < len(chosen) or len(chosen) > _HUBS_THAT_FIT:
        raise BadPolicy(
            "Public hubs need 1 to 62 different nodes all of whose positions are PUBLIC and who have friends; "
            "make some profiles public with rule='any'."
        )
    if min(chosen) < 0 or max(chosen) >= view.n or hiding[list(chosen)].any():
        raise BadPolicy("A hub must be a node all of whose positions are PUBLIC: only then its friend list is public.")
    return HubPlan(chosen, keep, _marks(view, chosen, hiding, keep), hiding)


def choose_hubs(view: PublicView, hiding: Bits, most: int = MOST_HUBS) -> tuple[int, ...]:
    """Public nodes, each the one whose list holds most nodes that no earlier list holds; from public data only."""
    ends = np.concatenate([view.edges, view.edges[:, ::-1]])
    ends = ends[~hiding[ends[:, 0]] & hiding[ends[:, 1]]]
    chosen: list[int] = []
    for _ in range(most):
        if not len(ends):
            break
        hub = int(np.bincount(ends[:, 0]).argmax())
        chosen.append(hub)
        held = np.zeros(view.n, np.bool_)
        held[ends[ends[:, 0] == hub, 1]] = True
        ends = ends[~held[ends[:, 1]]]
    return tuple(chosen)


def _marks(view: PublicView, hubs: tuple[int, ...], hiding: Bits, keep: int) -> Ints:
    """One bit for each territory that holds a node, of the first ``keep`` lists that do."""
    marks, room = np.zeros(view.n, np.int64), np.where(hiding, keep, 0)
    for h, hub in enumerate(hubs):
        at_hub = view.edges[(view.edges == hub).any(axis=1)]
        held = np.zeros(view.n, np.bool_)
        held[at_hub.ravel()] = True
        held &= room > 0
        marks[held] |= 1 << h
        room[held] -= 1
    return marks
