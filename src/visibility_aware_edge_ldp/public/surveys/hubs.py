"""NEIGHBOURHOOD (b): what public hubs are asked, with which noise, at which price.  [HUB.2-5]"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import norm
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.privacy import Guarantee, Number, OneEdge, parse_epsilon
from visibility_aware_edge_ldp.public.layout import LARGEST as LARGEST
from visibility_aware_edge_ldp.public.layout import Layout, Report
from visibility_aware_edge_ldp.public.surveys.base import Content, RosterSurvey, least_loss
from visibility_aware_edge_ldp.public.trust import NEIGHBOURHOOD
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
SHARED, PLAIN = KINDS = ("shared", "plain")
# What each kind asks, and the shares of the loss; "rest" is only asked to bound what "inside" leaves out.
NUMBERS = {SHARED: {"all": Fraction(1)}, PLAIN: {"inside": Fraction(4, 5), "rest": Fraction(1, 5)}}
# Shares of a number's epsilon that may pay for the movement of its scale; the best one is taken.
_SHARES = tuple(Fraction(1, i) for i in (100, 50, 30, 20, 15, 12, 10, 8, 6, 5, 4))
_UP = Context(prec=40, rounding=ROUND_CEILING)
MOST_HUBS = 16
# A bit of a signed 64-bit mark for each reporter.
_HUBS_THAT_FIT = 62
# In how many territories a node stays: more leave less out and spread a position over more reporters.
KEEP = 3


@dataclass(frozen=True, eq=False)
class HubPlan:
    """Reporters in their public order, and for each node the territories, parts of public lists, that hold it.  [HUB.7]

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
    return bool(choose_hubs(view, _hiding(view), 1)) and not hub_plan(view).unseen_positions


def hub_plan(view: PublicView, hubs: Sequence[int] | None = None, keep: int = KEEP) -> HubPlan:
    """The plan for these reporters; by default for public nodes that together hold as many nodes as they can."""
    hiding = _hiding(view)
    chosen = choose_hubs(view, hiding) if hubs is None else tuple(int(hub) for hub in hubs)
    if not chosen or len(set(chosen)) < len(chosen) or len(chosen) > _HUBS_THAT_FIT:
        raise BadPolicy(
            "Public hubs need 1 to 62 different nodes all of whose positions are PUBLIC and who have friends; "
            "make some profiles public with rule='any'."
        )
    if min(chosen) < 0 or max(chosen) >= view.n or hiding[list(chosen)].any():
        raise BadPolicy("A hub must be a node all of whose positions are PUBLIC: only then its friend list is public.")
    return HubPlan(chosen, keep, _marks(view, chosen, hiding, keep), hiding)


def _hiding(view: PublicView) -> Bits:
    return np.asarray(view.users_with(NON_PUBLIC).any(axis=0))


def choose_hubs(view: PublicView, hiding: Bits, most: int = MOST_HUBS) -> tuple[int, ...]:
    """Public nodes, each the one whose list holds most nodes that no earlier list holds; from public data only."""
    ends = np.concatenate([view.edges, view.edges[:, ::-1]])
    ends = ends[~hiding[ends[:, 0]] & hiding[ends[:, 1]]]
    chosen: list[int] = []
    while len(ends) and len(chosen) < most:
        hub = int(np.bincount(ends[:, 0]).argmax())
        chosen.append(hub)
        ends = ends[~np.isin(ends[:, 1], ends[ends[:, 0] == hub, 1])]
    return tuple(chosen)


def _marks(view: PublicView, hubs: tuple[int, ...], hiding: Bits, keep: int) -> Ints:
    """One bit for each territory that holds a node, of the first ``keep`` lists that do."""
    marks, room = np.zeros(view.n, np.int64), np.where(hiding, keep, 0)
    for h, hub in enumerate(hubs):
        held = np.isin(np.arange(view.n), view.edges[(view.edges == hub).any(axis=1)]) & (room > 0)
        marks[held] |= 1 << h
        room[held] -= 1
    return marks


@dataclass(frozen=True)
class HubSurvey(RosterSurvey):
    """Every reporter of a public plan counts the triangles that belong to it, with noise on a bounded scale.

    ``epsilon`` is the loss per PRIVATE edge against all reports together. ``kind`` is "shared" (every triangle that
    two ends of one territory close) or "plain" (only triangles all of whose non-public sides belong to one hub).
    """

    trust = NEIGHBOURHOOD
    protocol = "hubs"
    plan: HubPlan = field(repr=False)
    kind: str = SHARED
    classes: tuple[Visibility, ...] = NON_PUBLIC
    multipliers: Multipliers = DEFAULT_MULTIPLIERS

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInput(f"{self.kind!r} is not a way of sharing positions; use {' or '.join(KINDS)}.")
        if self.epsilon <= 0:
            raise BadPrivacyParameter(f"epsilon must be above 0; got {self.epsilon}.")

    @cached_property
    def loss(self) -> Fraction:
        """What one edge loses by all reports together, at most."""
        return least_loss(self.epsilon, self.multipliers, self.classes)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the numbers that each reporter sends."""
        return tuple(NUMBERS[self.kind])

    def weights(self, number: str) -> Ints:
        """(groups, groups): the part 1/weight of the number's loss that a position pays at each reporter.  [HUB.2]"""
        reaches, loose = self.plan.reaches, self.plan.loose
        if number == "inside":
            return np.where(loose, 0, 1)
        # A position that no territory holds also pays for being counted as loose.
        return reaches + (loose if number == "all" else 0)

    def largest_weight(self, number: str) -> int:
        """The largest weight of any position."""
        held, loose = self.plan.most_reached(False), self.plan.most_reached(True)
        return {"all": max(held, loose + 1 if loose else 0), "inside": 1, "rest": max(held, loose)}[number] or 1

    @cached_property
    def loose_noise(self) -> DiscreteLaplace | None:
        """The noise on the number of loose edges; none where no position is loose.  [HUB.3]"""
        if not self.plan.loose_positions:
            return None
        parts = self.plan.most_reached(True) + 1
        return DiscreteLaplace(self.loss / parts if self.kind == SHARED else self.loss * NUMBERS[PLAIN]["inside"])

    @cached_property
    def noises(self) -> dict[str, SmoothPower]:
        """The noise of each number; its share minimises the total variance, from public sizes only.  [HUB.4]"""
        shares, sizes = NUMBERS[self.kind].items(), tuple(self.plan.sizes.tolist())
        return {name: _best_noise(self.loss * share, self.largest_weight(name), sizes) for name, share in shares}

    def floors(self, number: str) -> Ints:
        """The least scale of each reporter's noise: with it the scale hardly moves, and is known.  [HUB.2, HUB.4]"""
        return _floors(self.noises[number], self.largest_weight(number), self.plan.sizes)

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of any class that is asked loses by the reports of all hubs."""
        return Guarantee(OneEdge, self.loss)

    @property
    def _billed(self) -> tuple[Visibility, ...]:
        return self.classes

    def content(self) -> Content:
        return {
            "question": f"triangles of public hubs, {self.kind}",
            "loss": str(self.loss),
            "plan": self.plan.digest,
            "noise": {number: [str(noise.epsilon), str(noise.share)] for number, noise in self.noises.items()},
            "floors": {number: self.floors(number).tolist() for number in self.numbers},
        }


@cache
def _best_noise(loss: Fraction, weight: int, sizes: tuple[int, ...]) -> SmoothPower:
    """The search for the best share, once for each promise: every hub makes the survey anew from its own plan."""
    choices = [SmoothPower(loss, share) for share in _SHARES]
    spread = [n.standard_deviation(1) * norm(_floors(n, weight, np.array(sizes))) for n in choices]
    return choices[int(np.argmin(spread))]


def _floors(noise: SmoothPower, weight: int, sizes: Ints) -> Ints:
    least = int(_UP.divide(weight**2, noise.beta).to_integral_value(ROUND_CEILING))
    return np.maximum(least, sizes // 2 + 1)


def hub_survey(view: PublicView, epsilon: Number, kind: str = SHARED, plan: HubPlan | None = None) -> HubSurvey:
    """A survey of the triangles that public hubs see."""
    chosen, common = plan or hub_plan(view), (view.roster_digest, view.n, view.policy.digest, parse_epsilon(epsilon))
    return HubSurvey(*common, chosen, kind, view.non_public, view.policy.multipliers)


@dataclass(frozen=True)
class HubReport(Report):
    """The noisy numbers of one reporter, in the survey's order, then its noisy count of loose edges.

    ``hub`` is the reporter's place in the plan. The count of loose edges is 0 where none is asked for.
    """

    survey: str
    hub: int
    values: tuple[int, ...]
    loose: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.hub < 256 or not 1 <= len(self.values) < 256:
            raise ProtocolViolation("A hub's report names a reporter of the plan and carries its numbers.")
        self.layout.refuse_beyond(min(self.loose, *self.values), max(self.loose, *self.values))

    @property
    def count(self) -> int:
        """How many numbers it has, without that of loose edges."""
        return len(self.values)


class _HubNumbers(Layout[HubReport]):
    """Signed 64-bit integers, highest byte first: the numbers, then the loose edges."""

    def _sizes(self, head: Mapping[str, int]) -> tuple[int, ...]:
        return (8 * head["count"] + 8,)

    def _body(self, report: HubReport) -> Iterable[bytes]:
        return (np.array([*report.values, report.loose], ">i8").tobytes(),)

    def _report(self, head: dict[str, Any], parts: list[bytes]) -> HubReport:
        *values, loose = np.frombuffer(parts[0], ">i8").tolist()
        return HubReport(head["survey"], head["hub"], tuple(values), loose)


LAYOUT = _HubNumbers("hub's report", b"VAEB", "hub:B count:B survey:32s", HubReport)
encode_hub, decode_hub = LAYOUT.encode, LAYOUT.decode
