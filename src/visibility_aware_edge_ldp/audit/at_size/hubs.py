"""NEIGHBOURHOOD, public hubs, at size: territories of up to hundreds that share their users.  [LARGE.1-2], [HUB.1-4]"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, exact
from visibility_aware_edge_ldp.audit.engine.noise_laws import another_noise
from visibility_aware_edge_ldp.audit.protocols.hubs import RecordingSurvey, recording, sent_report
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, SHARED, hub_plan, hub_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Position = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Setting:
    """Public hubs 0, 1, … and which of the others are in each one's list; how often others count as open."""

    n: int
    lists: tuple[range, ...]
    kind: str = SHARED
    epsilon: str = "1"
    open_share: str = "0"
    guard: tuple[str, str] = ("2", "1")

    @property
    def hubs(self) -> int:
        return len(self.lists)

    @cached_property
    def view(self) -> PublicView:
        policy = VisibilityPolicy.from_profiles(dict.fromkeys(range(self.hubs), "public"), rule="any")
        others = VisibilityPolicy("0", self.open_share)
        edges = large.edge_array({(hub, user) for hub, users in enumerate(self.lists) for user in users})
        return PublicView(range(self.n), (policy | others).guarded(*self.guard), edges)

    @cached_property
    def survey(self) -> RecordingSurvey:
        plan = hub_plan(self.view, tuple(range(self.hubs)))
        return recording(hub_survey(self.view, self.epsilon, self.kind, plan))

    @cached_property
    def public_edges(self) -> frozenset[Position]:
        return frozenset((int(u), int(v)) for u, v in self.view.edges)

    @property
    def asked(self) -> Fraction:
        """Hubs guard every edge as well as the best guarded class."""
        return Fraction(self.epsilon) * min(self.view.policy.multipliers.of(kind) for kind in self.view.non_public)


@dataclass(frozen=True, eq=False)
class World:
    """The edges of those who hide something, and the position whose edge comes and goes."""

    setting: Setting
    edges: frozenset[Position]
    position: Position

    @property
    def kind(self) -> Visibility:
        one, other = self.position
        return Visibility(int(self.setting.view.classes.of([one], [other])[0]))

    def whole(self, there: bool) -> large.Edges:
        hidden = self.edges | {self.position} if there else self.edges - {self.position}
        return large.edge_array(hidden | self.setting.public_edges)

    def heard(self, there: bool, tried: bool) -> list[large.Heard]:
        """What each hub's numbers are made of."""
        return [self._heard(place, self.whole(there), tried) for place in range(self.setting.hubs)]

    def _heard(self, place: int, edges: large.Edges, tried: bool) -> large.Heard:
        survey = self.setting.survey
        for recorder in survey.recorders.values():
            recorder.bounds.clear()

        def send(coins: RandomBytes) -> large.Ints:
            return sent_report(survey, self.setting.view, edges, place, coins)

        def laws() -> list[large.Law]:
            asked = [(survey.noises[number], survey.recorders[number].bounds[:1]) for number in survey.numbers]
            found: list[large.Law] = [large.Scaled(noise, bound[0]) if bound else None for noise, bound in asked]
            return [*found, *([survey.loose_noise] if survey.loose_noise is not None else [])]

        if not tried:
            return large.Heard(send(no_noise), tuple(laws()))
        return large.heard(send, laws, large.CLOSEST)


def loss_of(world: World, tried: bool = True) -> float:
    """What all hubs together tell of one edge."""
    pairs = zip(*(world.heard(there, tried) for there in (True, False)), strict=True)
    losses = [large.losses_between(one, other) for one, other in pairs]
    return max(sum(up for up, _ in losses), sum(down for _, down in losses))


def case_of(world: World) -> large.Case:
    """A world in which every noise was tried."""
    billed = world.setting.survey.price(world.kind).epsilon
    return large.Case(world.kind, loss_of(world), world.setting.asked, billed)


def refuse_other_triangles(world: World, there: bool) -> None:
    """Stop the audit if hubs count other triangles than there are: each that a territory holds two ends of, once.

    Only where every hub's numbers together are all triangles with a side that is not public.
    """
    setting, n = world.setting, world.setting.n
    if setting.kind != SHARED or setting.survey.plan.loose_positions or setting.survey.plan.unseen_positions:
        return
    matrix = np.zeros((n, n), np.int64)
    edges = world.whole(there)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    public = matrix.copy()
    public[setting.hubs :, setting.hubs :] = 0
    count = (np.trace(matrix @ matrix @ matrix) - np.trace(public @ public @ public)) // 6
    if sum(int(each.centres[0]) for each in world.heard(there, tried=False)) != count:
        raise another_noise()


def clique(setting: Setting, users: range, kind: Visibility | None = None) -> World:
    """These users all know each other, but for two of this class."""
    inside = set(combinations(users, 2))
    wanted = (pair for pair in sorted(inside, reverse=True) if kind is None or _class(setting, pair) is kind)
    return World(setting, frozenset(inside), next(wanted))


def book(setting: Setting, pages: Iterable[int], ends: Position) -> World:
    """Two users with these common friends."""
    return World(setting, frozenset(large.joined((ends, pages))), ends)


def _class(setting: Setting, pair: Position) -> Visibility:
    return Visibility(int(setting.view.classes.of([pair[0]], [pair[1]])[0]))


def moved(world: World, coins: large.Dice) -> World:
    """Another world: an edge more or less, mostly at one of the two ends."""
    low = world.setting.hubs
    one = int(coins.pick(world.position)) if coins.share() < 0.5 else coins.between(low, world.setting.n)
    other = coins.between(low, world.setting.n)
    pair = (min(one, other), max(one, other))
    return world if one == other or pair == world.position else replace(world, edges=world.edges ^ {pair})


def worlds(kind: str) -> Iterator[World]:
    """One hub, hubs that share users, hubs apart; full and searched."""
    for n, epsilon in ((24, "4"), (60, "1"), (150, "1")):
        setting = Setting(n, (range(1, n),), kind, epsilon)
        yield clique(setting, range(1, n))
        yield book(setting, range(3, n), (1, 2))
    shared = Setting(63, tuple(range(3, 63) for _ in range(3)), kind, "2")
    yield clique(shared, range(3, 63))
    apart = Setting(42, (range(2, 22), range(22, 42)), kind, "2")
    yield clique(apart, range(2, 42))
    bridged = Setting(150, (range(2, 92), range(82, 150)), kind, "4")
    yield book(bridged, range(2, 82), (85, 120))  # an edge of the second hub's that closes triangles of the first's
    # Positions that three hubs share: the first holds u, the second v, the third both; and v with one of the first.
    u, v = 53, 104
    three = Setting(155, (range(3, 54), range(104, 155), range(53, 105)), kind, "4")
    for ends in ((u, v), (3, v)):
        yield book(three, (place for place in range(3, 155) if place not in ends), ends)
    # Two of the first hub's with friends inside its territory, and outside.
    open_to_friends: dict[str, Any] = {"open_share": "1", "guard": ("3", "1")}
    for more in ({}, open_to_friends):
        beside = Setting(102, (range(2, 52), range(52, 102)), kind, "4" if not more else "2", **more)
        yield book(beside, range(4, 102), (2, 3))
    for share, guard in (("1", ("3", "1")), ("0.5", ("3", "1"))):
        setting = Setting(41, (range(1, 41),), kind, "2", share, guard)
        yield clique(setting, range(1, 41), Visibility.FRIEND_VISIBLE)
    for seed, lists in ((1, (range(1, 24),)), (2, (range(2, 16), range(9, 24)))):
        setting = Setting(24, lists, kind, "4")
        start = clique(setting, range(len(lists), 24))
        yield large.climb(start, lambda each: loss_of(each, tried=False), moved, 120, seed)[0]


def audit_hubs(name: str, kind: str, about: str) -> Finding:
    """The largest losses over all worlds of a way to share positions."""
    found = list(worlds(kind))
    finding = large.finding_of(name, [case_of(world) for world in found], about)
    for world, there in product(found if finding.holds else (), (True, False)):
        refuse_other_triangles(world, there)
    return finding


AUDITS: dict[str, tuple[Audit, ...]] = {
    "hubs": tuple(
        exact(f"neighbourhood (b), {kind}, at size", audit_hubs, kind, "territories of 14 to 149, shared and apart")
        for kind in (SHARED, PLAIN)
    )
}
