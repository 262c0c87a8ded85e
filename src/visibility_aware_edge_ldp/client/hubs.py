"""NEIGHBOURHOOD (b): a public hub counts the triangles of its territory, with noise.  [HUB.1-6]"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.reporter import Bits, Client
from visibility_aware_edge_ldp.client.views import Edges, TwoHop, within_one
from visibility_aware_edge_ldp.compute.backend import shared_counts
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows
from visibility_aware_edge_ldp.errors import ProtocolViolation, TooLarge
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.surveys.hubs import LARGEST, HubPlan, HubReport, HubSurvey, hub_plan
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]

# A matrix of this many nodes squared, a few bytes an entry, is as much as a hub's machine is asked to hold.
MOST_NODES = 1 << 14


class HubClient(Client[HubSurvey, TwoHop, HubReport]):
    """A public node that reports: what it sees, its purse and what it has answered.  [HUB.1-6]"""

    whose = "this hub's"

    def verify(self, survey: HubSurvey, round_number: int) -> HubSurvey:
        """The same survey, with the plan that this hub finds itself in the public lists.  [HUB.0]"""
        super().verify(survey, round_number)
        public = self._public
        if self._view.start not in survey.plan.hubs:
            raise ProtocolViolation("The survey does not ask this node.")
        plan = hub_plan(public, survey.plan.hubs, survey.plan.keep)
        if survey.plan.digest != plan.digest:
            raise ProtocolViolation("The survey's territories are not the ones that the public lists give.")
        if public.n > MOST_NODES:
            # A public number: how many nodes a territory touches would tell about private edges.
            raise TooLarge(f"A hub counts in rosters of at most {MOST_NODES:,} users; this has {public.n:,}.")
        return replace(survey, plan=plan)

    def randomize(
        self, survey: HubSurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> HubReport:
        """The triangles of this hub's territory, and its loose edges, each with noise.  [HUB.1]"""
        place = survey.plan.hubs.index(self._view.start)
        territory = Territory.of(self._view.edges, self._public, survey.plan, place)
        values = []
        for number in survey.numbers:
            count, sensitivity = territory.count(number), territory.sensitivity(number, survey.weights(number))
            scale = max(int(survey.floors(number)[place]), sensitivity)
            values.append(_cut(count + survey.noises[number].sample(scale, random_bytes)))
        loose = survey.loose_noise
        extra = 0 if loose is None else _cut(territory.loose_edges + loose.sample(random_bytes))
        return HubReport(survey.identity, place, tuple(values), extra)


@dataclass(frozen=True, eq=False)
class Territory:
    """One reporter's part of the graph: its territory's nodes come first, then their other neighbours.

    ``own`` are edges that belong to it, ``later`` other non-public edges that no earlier territory holds, ``public``
    public edges: symmetric matrices over these nodes. All of it is private.
    """

    members: int
    place: int
    groups: Ints = field(repr=False)
    hiding: Bits = field(repr=False)
    marks: Ints = field(repr=False)
    own: Bits = field(repr=False)
    later: Bits = field(repr=False)
    public: Bits = field(repr=False)
    _tables: dict[str, tuple[Counts, Counts]] = field(repr=False, default_factory=dict)

    @classmethod
    def of(cls, edges: Edges, public: PublicView, plan: HubPlan, place: int) -> Territory:
        """The part that the reporter at this place of the plan has to look at."""
        inside = (plan.marks >> place & 1).astype(np.bool_)
        others = within_one(public.n, edges, inside) & ~inside
        nodes = np.concatenate([np.flatnonzero(inside), np.flatnonzero(others)])
        local = np.full(public.n, -1)
        local[nodes] = np.arange(nodes.size)
        seen = edges[(local[edges] >= 0).all(axis=1)]
        hidden = public.classes.of(seen[:, 0], seen[:, 1]) != Visibility.PUBLIC
        common = plan.marks[seen[:, 0]] & plan.marks[seen[:, 1]]
        own, earlier = common & -common == 1 << place, common & ((1 << place) - 1) != 0
        sides = (hidden & own, hidden & ~own & ~earlier, ~hidden)
        own_sides, later, public_sides = (_matrix(local[seen[chosen]], nodes.size) for chosen in sides)
        groups, hiding, marks = plan.groups[1][nodes], plan.hiding[nodes], plan.marks[nodes]
        return cls(int(inside.sum()), place, groups, hiding, marks, own_sides, later, public_sides)

    def count(self, number: str) -> int:
        """How many triangles with a non-public side belong to this reporter.  [HUB.1]"""
        if number == "rest":
            return self.count("all") - self.count("inside")
        inside = slice(0, self.members)
        every, beside = (table[:, inside] for table in self._shared(number))
        first, second = np.nonzero(np.triu(self.own[inside, inside]))
        three, any_two, none = (int(table[first, second].sum()) for table in (self._of_own, every, beside))
        # A triangle with one, two or three own sides is met at each of them.
        return three // 3 + (any_two - three - none) // 2 + none

    def sensitivity(self, number: str, weights: Ints) -> int:
        """The largest weighted number of triangles at any position that can change, edge or not.  [HUB.2]"""
        if number == "rest":
            changes = self.changes("all")
            changes[:, : self.members] -= self.changes("inside")[:, : self.members]
        else:
            changes = self.changes(number)
        each = weights[self.groups[: self.members][:, None], self.groups]
        return int((changes * each).max(initial=0))

    def changes(self, number: str) -> Ints:
        """(members, nodes): how many triangles of this reporter each position closes."""
        every, beside = self._shared(number)
        common = self.marks[: self.members, None] & self.marks
        own, earlier = common & -common == 1 << self.place, common & ((1 << self.place) - 1) != 0
        # A position of a later territory closes a triangle of this one only beside an own side.
        elsewhere = 0 if number == "inside" else every - beside
        found = np.where(own, every, elsewhere).astype(np.int64)
        found[earlier | ~self.hiding] = 0
        found[np.arange(self.members), np.arange(self.members)] = 0
        return found

    @property
    def loose_edges(self) -> int:
        """Non-public edges that no territory holds, and of which this reporter is the first to see an end.  [HUB.3]"""
        either, common = (op(self.marks[: self.members, None], self.marks) for op in (np.bitwise_or, np.bitwise_and))
        mine = (common == 0) & (either & -either == 1 << self.place)
        return int((self.later[: self.members] & mine).sum())

    def _shared(self, number: str) -> tuple[Counts, Counts]:
        """Neighbours in common over all sides that count, and over those that are not own."""
        if number not in self._tables:
            other = self.public if number == "inside" else self.later | self.public
            self._tables[number] = self._common(self.own | other), self._common(other)
        return self._tables[number]

    @cached_property
    def _of_own(self) -> Counts:
        return self._common(self.own)[:, : self.members]

    def _common(self, matrix: Bits) -> Counts:
        """(members, nodes): neighbours in common."""
        rows = pack_rows(matrix, len(matrix))
        return shared_counts(rows[: self.members], rows)


def _matrix(edges: Ints, size: int) -> Bits:
    matrix = np.zeros((size, size), np.bool_)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = True
    return matrix


def _cut(value: int) -> int:
    """Numbers beyond 2^62 are sent as 2^62: a function of the exact sum."""
    return max(-LARGEST, min(value, LARGEST))
