"""NEIGHBOURHOOD (b): the reports of all public hubs together, on every private graph of a few users.  [WALK.1, WALK.3]

The real hubs answer through the wire format, each with the two steps that it sees; their noise notes the scales that
they ask it for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.client.hub import Hub, Territory
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.two_hop import Edges, two_hop
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import (
    Noised,
    Overheard,
    Pair,
    check_noise,
    exact_finding,
    laplace_losses,
    loss_of,
    no_noise,
    power_losses,
)
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.public.hub_plan import hub_plan
from visibility_aware_edge_ldp.public.hub_report import HubReport, decode_hub, encode_hub
from visibility_aware_edge_ldp.public.hub_survey import PLAIN, SHARED, HubSurvey, hub_survey
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Position = tuple[int, int]
World = frozenset[Position]


class Said(NamedTuple):
    """One hub's report before its noise: its numbers with their bounds, and its count of loose edges."""

    numbers: tuple[Noised, ...]
    loose: int


@dataclass(frozen=True)
class ListenedSurvey(HubSurvey):
    """The same survey, whose noises note the scales that they are asked for."""

    ears: dict[str, Overheard] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def noises(self) -> dict[str, SmoothPower]:
        return {**self.ears}


def listened(survey: HubSurvey) -> ListenedSurvey:
    """A survey with ears."""
    given = {each.name: getattr(survey, each.name) for each in fields(survey)}
    return ListenedSurvey(**given, ears={number: Overheard.of(noise) for number, noise in survey.noises.items()})


@dataclass(frozen=True, eq=False)
class Setting:
    """Public nodes 0, 1, …, their public edges, and which of them report; everybody else hides something.

    ``open_ones`` are positions of the others that are friend-visible.
    """

    publics: int
    n: int
    edges: tuple[Position, ...]
    hubs: tuple[int, ...]
    open_ones: tuple[Position, ...] = ()

    @cached_property
    def view(self) -> PublicView:
        policy = VisibilityPolicy.from_profiles(dict.fromkeys(range(self.publics), "public"), rule="any")
        if self.open_ones:
            policy = policy | VisibilityPolicy.from_positions([], self.open_ones)
        return PublicView(range(self.n), policy, np.array(sorted(self.edges), np.int32))

    def survey(self, epsilon: Number, kind: str) -> ListenedSurvey:
        return listened(hub_survey(self.view, epsilon, kind, hub_plan(self.view, self.hubs, 3)))

    @property
    def hidden(self) -> list[Position]:
        """The positions that can change."""
        return list(combinations(range(self.publics, self.n), 2))

    def worlds(self) -> list[World]:
        """Every graph of those who hide something."""
        graphs = product((0, 1), repeat=len(self.hidden))
        return [frozenset(p for p, bit in zip(self.hidden, bits, strict=True) if bit) for bits in graphs]

    def whole(self, world: World) -> Edges:
        """All edges of a world, the public ones among them."""
        return np.array(sorted({*self.edges, *world}), np.int32)

    def kind(self, position: Position) -> Visibility:
        return Visibility.FRIEND_VISIBLE if position in self.open_ones else Visibility.PRIVATE


Speak = Callable[[ListenedSurvey, PublicView, Edges, int], Said]


def real_report(survey: ListenedSurvey, view: PublicView, edges: Edges, place: int, coins: Coins) -> HubReport:
    """The real hub's report, made of what it sees, through the wire format."""
    seen = two_hop(view.n, edges, survey.plan.hubs[place])
    purse = Purse({kind: price.epsilon for kind, price in survey.price.items()})
    return decode_hub(encode_hub(Hub(seen, view, purse).answer(survey, coins)))


def real_hub(survey: ListenedSurvey, view: PublicView, edges: Edges, place: int) -> Said:
    """What the real hub adds its noises to, and the scales that it asks them for."""
    for ear in survey.ears.values():
        ear.bounds.clear()
    report = real_report(survey, view, edges, place, no_noise)
    bounds = [bound for number in survey.numbers for bound in survey.ears[number].bounds]
    return Said(tuple(map(Noised, report.values, bounds)), report.loose)


def check_hubs(setting: Setting, survey: ListenedSurvey) -> None:
    """That every real hub adds the noises it is heard to ask for."""
    edges = setting.whole(setting.worlds()[-1])
    loose = [] if survey.loose_noise is None else [survey.loose_noise.law]
    for place in range(len(survey.plan.hubs)):
        said = real_hub(survey, setting.view, edges, place)
        noises = zip(survey.numbers, said.numbers, strict=True)
        laws = [survey.noises[number].law(noised.bound) for number, noised in noises]
        check_noise(partial(_all_numbers, survey, setting.view, edges, place, len(loose)), [*laws, *loose])


def _all_numbers(
    survey: ListenedSurvey, view: PublicView, edges: Edges, place: int, loose: int, coins: Coins
) -> list[int]:
    report = real_report(survey, view, edges, place, coins)
    return [*report.values, *[report.loose][:loose]]


def loss_between(survey: HubSurvey, one: list[Said], other: list[Said]) -> float:
    """The larger of the two directions, over all values of all reports: they are independent."""
    losses = []
    for here, there in zip(one, other, strict=True):
        noises = (survey.noises[number] for number in survey.numbers)
        losses += [power_losses(*each) for each in zip(noises, here.numbers, there.numbers, strict=True)]
        losses.append(_loose_losses(survey, here.loose, there.loose))
    return max(sum(up for up, _ in losses), sum(down for _, down in losses))


def _loose_losses(survey: HubSurvey, one: int, other: int) -> Pair:
    noise = survey.loose_noise
    if noise is None:
        return (0.0, 0.0) if one == other else (math.inf, math.inf)
    return laplace_losses((one, noise), (other, noise))


def losses_of(setting: Setting, survey: ListenedSurvey, speak: Speak = real_hub) -> Iterator[tuple[Visibility, float]]:
    """What all hubs together tell of every position in every private graph."""
    places = range(len(survey.plan.hubs))
    said = {
        world: [speak(survey, setting.view, setting.whole(world), place) for place in places]
        for world in setting.worlds()
    }
    for world, position in product(said, setting.hidden):
        if position not in world:
            yield setting.kind(position), loss_between(survey, said[world], said[world | {position}])


def largest_loss(setting: Setting, survey: ListenedSurvey, speak: Speak = real_hub) -> float:
    """Over all classes: they are all promised the same."""
    return max(loss for _, loss in losses_of(setting, survey, speak))


def audit_hubs(name: str, settings: list[Setting], kind: str, epsilon: Number = 4, speak: Speak = real_hub) -> Finding:
    """The largest losses over several settings. A large epsilon makes floors small enough for scales to move."""
    losses: list[Loss] = []
    cases = 0
    for setting in settings:
        survey = setting.survey(epsilon, kind)
        check_hubs(setting, survey)
        found = list(losses_of(setting, survey, speak))
        cases += len(found)
        losses += [loss_of(kind, float(survey.price[kind].epsilon), loss) for kind, loss in found]
    about = f"every private graph around public hubs in {len(settings)} settings of up to 8 users"
    return exact_finding(name, losses, cases, about)


# ── what is run ──

_TWO = ((0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (1, 5))
SETTINGS = {
    "one hub of four": Setting(1, 5, tuple((0, v) for v in (1, 2, 3, 4)), (0,)),
    "two hubs sharing two": Setting(2, 6, _TWO, (0, 1)),
    "two hubs apart": Setting(2, 6, ((0, 2), (0, 3), (1, 4), (1, 5)), (0, 1)),
    "many public friends": Setting(5, 8, tuple((h, v) for h in range(5) for v in (5, 6, 7)), (0,)),
    "three hubs": Setting(3, 7, ((0, 3), (0, 4), (1, 4), (1, 5), (2, 5), (2, 6), (2, 3)), (0, 1, 2)),
    "two classes": Setting(2, 6, _TWO, (0, 1), ((2, 3), (4, 5))),
}


def exact_hub(survey: ListenedSurvey, view: PublicView, edges: Edges, place: int) -> Said:
    """Its friend list is public, so it adds no noise; but the edges among its friends are not public."""
    said = real_hub(survey, view, edges, place)
    return said._replace(numbers=tuple(Noised(each.number, 0) for each in said.numbers))


def _scaled(survey: HubSurvey, view: PublicView, edges: Edges, place: int, weighted: bool) -> list[int]:
    """A hub's own sensitivity for each number, without a floor, with or without weights for shared positions."""
    territory = Territory.of(edges, view, survey.plan, place)
    weights = {number: survey.weights(number) for number in survey.numbers}
    each = ((number, w if weighted else np.ones_like(w)) for number, w in weights.items())
    return [max(1, territory.sensitivity(number, w)) for number, w in each]


def without_a_floor(survey: ListenedSurvey, view: PublicView, edges: Edges, place: int) -> Said:
    """Noise at its own largest number of triangles, without smoothing."""
    said = real_hub(survey, view, edges, place)
    bounds = _scaled(survey, view, edges, place, weighted=True)
    return said._replace(numbers=tuple(Noised(n.number, b) for n, b in zip(said.numbers, bounds, strict=True)))


def without_weights(survey: ListenedSurvey, view: PublicView, edges: Edges, place: int) -> Said:
    """All hubs at full ε, although they share positions."""
    said = real_hub(survey, view, edges, place)
    bounds = _scaled(survey, view, edges, place, weighted=False)
    return said._replace(numbers=tuple(Noised(n.number, b) for n, b in zip(said.numbers, bounds, strict=True)))


SHARED_NAME, PLAIN_NAME = "neighbourhood (b), shared", "neighbourhood (b), plain"
_TWINS: tuple[tuple[str, str, Number, Speak], ...] = (
    ("public hubs answer exactly (document 004)", "one hub of four", 4, exact_hub),
    ("noise at the hub's own sensitivity, without smoothing", "one hub of four", 1, without_a_floor),
    ("all hubs at full epsilon although positions are shared", "two hubs sharing two", 4, without_weights),
)
AUDITS: tuple[Audit, ...] = tuple(
    Audit(name, "exact", partial(audit_hubs, name, list(SETTINGS.values()), kind))
    for name, kind in ((SHARED_NAME, SHARED), (PLAIN_NAME, PLAIN))
)
TWINS: tuple[Audit, ...] = tuple(
    Audit(SHARED_NAME, "exact", partial(audit_hubs, SHARED_NAME, [SETTINGS[at]], SHARED, epsilon, speak), broken)
    for broken, at, epsilon, speak in _TWINS
)
