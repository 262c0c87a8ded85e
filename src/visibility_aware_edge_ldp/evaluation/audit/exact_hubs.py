"""NEIGHBOURHOOD (b): the reports of all public hubs together, on every private graph of a few users.  [WALK.1, WALK.3]

The real hubs answer through the wire format, each with the two steps that it sees; their noise notes the scales that
they ask it for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.client.hub import Hub
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.two_hop import Edges, two_hop
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.hub_twins import (
    ListenedSurvey,
    SureOfLooseEdges,
    SureOfNothing,
    WithoutFloors,
    WithoutWeights,
    listened,
)
from visibility_aware_edge_ldp.evaluation.audit.measured_noise import Ints, another_noise, as_asked, beside, moves
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import (
    Noised,
    Overheard,
    Pair,
    exact_finding,
    laplace_losses,
    loss_of,
    no_noise,
    power_losses,
)
from visibility_aware_edge_ldp.evaluation.audit.statistical_twins import ExactHub
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.smooth_noise import Bound
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.public.hub_plan import hub_plan
from visibility_aware_edge_ldp.public.hub_report import HubReport, decode_hub, encode_hub
from visibility_aware_edge_ldp.public.hub_survey import PLAIN, SHARED, HubSurvey, hub_survey
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Position = tuple[int, int]
World = frozenset[Position]
Case = tuple[str, int]
"""The name of a setting, and an epsilon."""


class Said(NamedTuple):
    """One hub's report before its noise: numbers with their bounds, loose edges, and whether these have noise."""

    numbers: tuple[Noised, ...]
    loose: int
    loose_noisy: bool


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

    def asked(self, epsilon: Number) -> Fraction:
        """What every edge may lose: what the best guarded class may."""
        kinds = {self.kind(position) for position in self.hidden}
        return Fraction(epsilon) * min(self.view.policy.multipliers.of(kind) for kind in kinds)

    def kind(self, position: Position) -> Visibility:
        return Visibility.FRIEND_VISIBLE if position in self.open_ones else Visibility.PRIVATE


def sent_report(
    survey: ListenedSurvey, view: PublicView, edges: Edges, place: int, coins: Coins, client: type[Hub] = Hub
) -> Ints:
    """A hub's report, made of what it sees, through the wire format: its numbers, and its count of loose edges."""
    seen = two_hop(view.n, edges, survey.plan.hubs[place])
    purse = Purse({kind: price.epsilon for kind, price in survey.price.items()})
    report: HubReport = decode_hub(encode_hub(client(seen, view, purse).answer(survey, coins)))
    return np.array([*report.values, report.loose])


def real_hub(survey: ListenedSurvey, view: PublicView, edges: Edges, place: int, client: type[Hub] = Hub) -> Said:
    """What a hub adds its noises to in this world, and the scales that it asks them for, where they are added."""
    send = partial(sent_report, survey, view, edges, place, client=client)
    for ear in survey.ears.values():
        ear.bounds.clear()
    still = send(no_noise)
    bounds = [_asked_for(survey.ears[number]) for number in survey.numbers]
    laws = [survey.noises[number].law(bound) for number, bound in zip(survey.numbers, bounds, strict=True) if bound]
    loose = [] if survey.loose_noise is None else [survey.loose_noise.law]
    moved = moves(send, still, [beside(law) for law in (*laws, *loose)])
    numbers = (Noised(int(n), b if yes else 0) for n, b, yes in zip(still[:-1], bounds, moved[:-1], strict=True))
    return Said(tuple(numbers), int(still[-1]), bool(moved[-1]))


def _asked_for(ear: Overheard) -> Bound:
    """The one scale that a noise was asked for; 0 where it was not asked."""
    if len(ear.bounds) > 1:
        raise another_noise()
    return ear.bounds[0] if ear.bounds else 0


def check_hubs(survey: ListenedSurvey, said: Iterable[list[Said]]) -> None:
    """That every hub adds noise to every number in every world."""
    loose = survey.loose_noise is not None
    for each in (one for world in said for one in world):
        if not all(noised.bound for noised in each.numbers) or each.loose_noisy != loose:
            raise another_noise()


def loss_between(survey: HubSurvey, one: list[Said], other: list[Said]) -> float:
    """The larger of the two directions, over all values of all reports: they are independent."""
    losses = []
    for here, there in zip(one, other, strict=True):
        noises = (survey.noises[number] for number in survey.numbers)
        losses += [power_losses(*each) for each in zip(noises, here.numbers, there.numbers, strict=True)]
        losses.append(_loose_losses(survey, here, there))
    return max(sum(up for up, _ in losses), sum(down for _, down in losses))


def _loose_losses(survey: HubSurvey, one: Said, other: Said) -> Pair:
    noise = survey.loose_noise
    if noise is None or not (one.loose_noisy and other.loose_noisy):
        same = (one.loose, one.loose_noisy) == (other.loose, other.loose_noisy)
        return (0.0, 0.0) if same else (math.inf, math.inf)
    return laplace_losses((one.loose, noise), (other.loose, noise))


def all_said(setting: Setting, survey: ListenedSurvey, client: type[Hub] = Hub) -> dict[World, list[Said]]:
    """What every hub says in every private graph."""
    places = range(len(survey.plan.hubs))
    return {
        world: [real_hub(survey, setting.view, setting.whole(world), place, client) for place in places]
        for world in setting.worlds()
    }


def losses_of(setting: Setting, survey: HubSurvey, said: dict[World, list[Said]]) -> Iterator[tuple[Visibility, float]]:
    """What all hubs together tell of every position in every private graph."""
    for world, position in product(said, setting.hidden):
        if position not in world:
            yield setting.kind(position), loss_between(survey, said[world], said[world | {position}])


def largest_loss(setting: Setting, survey: ListenedSurvey, client: type[Hub] = Hub) -> float:
    """Over all classes: they are all promised the same."""
    return max(loss for _, loss in losses_of(setting, survey, all_said(setting, survey, client)))


def audit_hubs(name: str, cases: list[Case], kind: str, client: type[Hub] = Hub) -> Finding:
    """The largest losses over several settings, each at its epsilon."""
    losses: list[Loss] = []
    heard = []
    for at, epsilon in cases:
        setting = SETTINGS[at]
        survey = setting.survey(epsilon, kind)
        heard.append((setting, survey, all_said(setting, survey, client)))
        for each, found in losses_of(*heard[-1]):
            asked = setting.asked(epsilon)
            losses.append(as_asked(loss_of(each, float(asked), found), asked, survey.price[each].epsilon))
    about = f"every private graph around public hubs in {len(cases)} settings of up to 8 users"
    finding = exact_finding(name, losses, len(losses), about)
    for _, survey, said in heard if finding.holds else ():
        check_hubs(survey, said.values())
    return finding


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


# A large epsilon makes floors small enough for scales to move.
CASES: list[Case] = [*((at, 4) for at in SETTINGS), ("one hub of four", 1)]
SHARED_NAME, PLAIN_NAME = "neighbourhood (b), shared", "neighbourhood (b), plain"
_EXACT = "public hubs answer exactly (document 004)"
_NOTHING = "a hub with nothing to count answers without noise"
_FLOOR = "noise at the hub's own sensitivity, without smoothing"
_TWINS: tuple[tuple[str, str, Case, type[Hub]], ...] = (
    (SHARED, _EXACT, ("one hub of four", 4), ExactHub),
    (SHARED, _NOTHING, ("one hub of four", 4), SureOfNothing),
    (SHARED, _FLOOR, ("one hub of four", 1), WithoutFloors),
    (SHARED, "all hubs at full epsilon although positions are shared", ("two hubs sharing two", 4), WithoutWeights),
    (PLAIN, _EXACT, ("one hub of four", 4), ExactHub),
    (PLAIN, _NOTHING, ("two hubs apart", 4), SureOfNothing),
    (PLAIN, _FLOOR, ("one hub of four", 1), WithoutFloors),
    (PLAIN, "loose edges are told without noise", ("two hubs apart", 4), SureOfLooseEdges),
)
_NAMES = {SHARED: SHARED_NAME, PLAIN: PLAIN_NAME}
AUDITS: tuple[Audit, ...] = tuple(
    Audit(name, "exact", partial(audit_hubs, name, CASES, kind)) for kind, name in _NAMES.items()
)
TWINS: tuple[Audit, ...] = tuple(
    Audit(_NAMES[kind], "exact", partial(audit_hubs, _NAMES[kind], [case], kind, client), broken)
    for kind, broken, case, client in _TWINS
)
