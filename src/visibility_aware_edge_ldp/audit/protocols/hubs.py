"""NEIGHBOURHOOD (b): the reports of all public hubs together, on every private graph of a few users.  [WALK.1, WALK.3]

The real hubs answer through the wire format, each with the two steps that it sees; their noise notes the scales that
they ask it for.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations, compress, product
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness, findings, noise_laws
from visibility_aware_edge_ldp.client.hubs import HubClient, Territory
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import Edges, two_hop
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import hubs as surveys
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, SHARED, HubReport, HubSurvey, hub_plan
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Position = tuple[int, int]
World = frozenset[Position]
Case = tuple[str, int]


@dataclass(frozen=True)
class RecordingSurvey(HubSurvey):
    """The same survey, whose noises note the scales that they are asked for."""

    recorders: dict[str, noise_laws.RecordingPower] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def noises(self) -> dict[str, SmoothPower]:
        return {**self.recorders}


def recording(survey: HubSurvey) -> RecordingSurvey:
    """A survey whose noises record their scales."""
    return replace(
        findings.recast(RecordingSurvey, survey),
        recorders={name: noise_laws.RecordingPower(each.epsilon, each.share) for name, each in survey.noises.items()},
    )


class Said(NamedTuple):
    """One hub's report before its noise: numbers with their bounds, loose edges, and whether these have noise."""

    numbers: tuple[noise_laws.Noised, ...]
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

    def survey(self, epsilon: Number, kind: str) -> RecordingSurvey:
        return recording(surveys.hub_survey(self.view, epsilon, kind, hub_plan(self.view, self.hubs, 3)))

    @property
    def hidden(self) -> list[Position]:
        """The positions that can change."""
        return list(combinations(range(self.publics, self.n), 2))

    def worlds(self) -> list[World]:
        """Every graph of those who hide something."""
        return [frozenset(compress(self.hidden, bits)) for bits in product((0, 1), repeat=len(self.hidden))]

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
    survey: RecordingSurvey,
    view: PublicView,
    edges: Edges,
    place: int,
    coins: RandomBytes,
    client: type[HubClient] = HubClient,
) -> noise_laws.Ints:
    """A hub's report, made of what it sees, through the wire format: its numbers, and its count of loose edges."""
    seen = two_hop(view.n, edges, survey.plan.hubs[place])
    purse = Purse({kind: price.epsilon for kind, price in survey.payment().items()})
    report: HubReport = surveys.decode_hub(surveys.encode_hub(client(seen, view, purse).answer(survey, 1, coins)))
    return np.array([*report.values, report.loose])


def real_hub(
    survey: RecordingSurvey, view: PublicView, edges: Edges, place: int, client: type[HubClient] = HubClient
) -> Said:
    """What a hub adds its noises to in this world, and the scales that it asks them for, where they are added."""
    send = partial(sent_report, survey, view, edges, place, client=client)
    for recorder in survey.recorders.values():
        recorder.bounds.clear()
    still = send(enumerate_randomness.no_noise)
    if any(len(recorder.bounds) > 1 for recorder in survey.recorders.values()):
        raise noise_laws.another_noise()
    # The one scale that each noise was asked for; 0 where it was not asked.
    bounds = [next(iter(survey.recorders[number].bounds), 0) for number in survey.numbers]
    laws = [survey.noises[number].law(bound) for number, bound in zip(survey.numbers, bounds, strict=True) if bound]
    loose = [] if survey.loose_noise is None else [survey.loose_noise.law]
    moved = noise_laws.moves(send, still, [noise_laws.beside(law) for law in (*laws, *loose)])
    numbers = (
        noise_laws.Noised(int(n), b if yes else 0) for n, b, yes in zip(still[:-1], bounds, moved[:-1], strict=True)
    )
    return Said(tuple(numbers), int(still[-1]), bool(moved[-1]))


def check_hubs(survey: RecordingSurvey, said: Iterable[list[Said]]) -> None:
    """That every hub adds noise to every number in every world."""
    loose = survey.loose_noise is not None
    for each in (one for world in said for one in world):
        if not all(noised.bound for noised in each.numbers) or each.loose_noisy != loose:
            raise noise_laws.another_noise()


def loss_between(survey: HubSurvey, one: list[Said], other: list[Said]) -> float:
    """The larger of the two directions, over all values of all reports: they are independent."""
    losses = []
    for here, there in zip(one, other, strict=True):
        noises = (survey.noises[number] for number in survey.numbers)
        losses += [noise_laws.power_losses(*each) for each in zip(noises, here.numbers, there.numbers, strict=True)]
        losses.append(_loose_losses(survey, here, there))
    return max(sum(up for up, _ in losses), sum(down for _, down in losses))


def _loose_losses(survey: HubSurvey, one: Said, other: Said) -> noise_laws.Pair:
    noise = survey.loose_noise
    if noise is None or not (one.loose_noisy and other.loose_noisy):
        same = (one.loose, one.loose_noisy) == (other.loose, other.loose_noisy)
        return (0.0, 0.0) if same else (math.inf, math.inf)
    return noise_laws.laplace_losses((one.loose, noise), (other.loose, noise))


def all_said(setting: Setting, survey: RecordingSurvey, client: type[HubClient] = HubClient) -> dict[World, list[Said]]:
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


def audit_hubs(name: str, cases: list[Case], kind: str, client: type[HubClient] = HubClient) -> findings.Finding:
    """The largest losses over several settings, each at its epsilon."""
    losses: list[findings.Loss] = []
    walked = []
    for at, epsilon in cases:
        setting = SETTINGS[at]
        survey = setting.survey(epsilon, kind)
        walked.append((setting, survey, all_said(setting, survey, client)))
        for each, found in losses_of(*walked[-1]):
            loss, asked = findings.Loss(str(each), 0.0, found), setting.asked(epsilon)
            losses.append(findings.as_asked(loss, asked, survey.price(each).epsilon))
    about = f"every private graph around public hubs in {len(cases)} settings of up to 8 users"
    finding = findings.exact_finding(name, losses, len(losses), about)
    for _, survey, said in walked if finding.holds else ():
        check_hubs(survey, said.values())
    return finding


# ── mutants: the real hub with one thing wrong ──


def _ones_for(method: str) -> Callable[..., noise_laws.Ints]:
    """The numbers of a survey, all of them 1."""
    return lambda survey, number: np.ones_like(getattr(RecordingSurvey, method)(survey, number))


Floorless = findings.replaced(RecordingSurvey, floors=_ones_for("floors"))
Weightless = findings.replaced(Floorless, weights=_ones_for("weights"))


def _asked_by(kind: type[RecordingSurvey]) -> type[HubClient]:
    """A hub that answers this survey in place of its own."""
    return findings.replaced(
        HubClient, randomize=lambda hub, survey, *given: HubClient.randomize(hub, findings.recast(kind, survey), *given)
    )


def _territory(hub: HubClient, survey: HubSurvey) -> Territory:
    place = survey.plan.hubs.index(hub._view.start)
    return Territory.of(hub._view.edges, hub._public, survey.plan, place)


def _counts(hub: HubClient, survey: HubSurvey) -> tuple[int, ...]:
    return tuple(_territory(hub, survey).count(number) for number in survey.numbers)


def _exact(hub: HubClient, survey: HubSurvey, *_: object) -> HubReport:
    """No noise, because the hub is public itself."""
    return HubReport(survey.identity, survey.plan.hubs.index(hub._view.start), _counts(hub, survey))


def _sure_of_nothing(hub: HubClient, report: HubReport, survey: HubSurvey, *_: object) -> HubReport:
    """Where it has nothing to count, it says so without noise."""
    pairs = zip(report.values, _counts(hub, survey), strict=True)
    return replace(report, values=tuple(value if count else 0 for value, count in pairs))


def _sure_of_loose_edges(hub: HubClient, report: HubReport, survey: HubSurvey, *_: object) -> HubReport:
    """Says without noise how many edges no territory holds."""
    return replace(report, loose=_territory(hub, survey).loose_edges)


ExactHub = findings.replaced(HubClient, randomize=_exact)
WithoutFloors = _asked_by(Floorless)
"""Adds noise at its own largest number of triangles, without smoothing."""
WithoutWeights = _asked_by(Weightless)
"""Spends all of epsilon although other hubs share its positions."""


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
_NAMES = {SHARED: "neighbourhood (b), shared", PLAIN: "neighbourhood (b), plain"}
ALONE: Case = "one hub of four", 4
AUDITS = tuple(findings.exact(name, audit_hubs, CASES, kind) for kind, name in _NAMES.items())
# What is wrong, in which client, and for each way to share positions the case in which it must be caught.
_MUTANTS: tuple[tuple[str, type[HubClient], dict[str, Case]], ...] = (
    ("public hubs answer exactly (document 004)", ExactHub, {SHARED: ALONE, PLAIN: ALONE}),
    (
        "a hub with nothing to count answers without noise",
        findings.altered(HubClient, "randomize", _sure_of_nothing),
        {SHARED: ALONE, PLAIN: ("two hubs apart", 4)},
    ),
    (
        "noise at the hub's own sensitivity, without smoothing",
        WithoutFloors,
        {SHARED: ("one hub of four", 1), PLAIN: ("one hub of four", 1)},
    ),
    (
        "all hubs at full epsilon although positions are shared",
        WithoutWeights,
        {SHARED: ("two hubs sharing two", 4)},
    ),
    (
        "loose edges are told without noise",
        findings.altered(HubClient, "randomize", _sure_of_loose_edges),
        {PLAIN: ("two hubs apart", 4)},
    ),
)
MUTANTS = tuple(
    findings.exact(name, audit_hubs, [cases[kind]], kind, client, broken=broken)
    for kind, name in _NAMES.items()
    for broken, client, cases in _MUTANTS
    if kind in cases
)
