"""Degrees, sums and hubs' counts that campaigns upload: the loss of one edge, measured on the bytes.

The participant's own program answers with a real ledger; reports are read as a server reads them. The numbers before
their noise, and the noise itself, are found by words that mean no noise, much noise and some; nothing that the program
says of itself is believed. The loss then follows from the exact laws.  [WALK.1-3]
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, compress, product

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings, noise_laws
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.campaign.documents import in_order
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Coins = Callable[[RandomBytes], RandomBytes]
"""From the random bytes that the program is given to those that it draws: the same, or a mutant's."""
Position = tuple[int, int]
"""By places in the roster."""
Graph = frozenset[Position]
KindLoss = tuple[Visibility, float]
PEOPLE = ("ann", "bob", "cay", "dan", "eve", "fay")
MULTIPLIER = {PRIVATE: 1, FRIEND_VISIBLE: 2}
# A word that is far out, two at which a supposed noise is confirmed, and how many outputs are compared.
_FAR, _CONFIRMED, _GRID = 1, (1 << 62, 1 << 58), 4001


def as_given(coins: RandomBytes) -> RandomBytes:
    """The real program draws what it is given."""
    return coins


def known_to_all(coins: RandomBytes) -> RandomBytes:
    """A mutant: it draws bytes that everybody knows."""
    return randomness.no_noise


def beside(loss: findings.Loss, agreed: Fraction, counted: Fraction) -> findings.Loss:
    """A loss beside what was agreed to, and beside what the ledger counts where that is less by more than rounding."""
    short = counted < agreed * (1 - Fraction(1, 10**9))
    return findings.Loss(loss.kind, float(counted if short else agreed), loss.found, 0.0, loss.found_delta)


@dataclass(frozen=True)
class Setting:
    """Some people under a policy, and one campaign; ``publics`` of them are public and friends with everybody."""

    question: str
    epsilon: str
    people: int
    classes: tuple[tuple[Position, Visibility], ...] = ()
    publics: int = 0
    coins: Coins = as_given

    def kind(self, position: Position) -> Visibility:
        """The class of a position, by places in the roster."""
        return PUBLIC if min(position) < self.publics else dict(self.classes).get(position, PRIVATE)

    @property
    def positions(self) -> list[Position]:
        """Those that can change."""
        return list(combinations(range(self.publics, self.people), 2))

    def agreed(self, kind: Visibility) -> Fraction:
        """What was agreed to: hubs' noise is made for the best guarded class, whatever the edge's."""
        least = min(MULTIPLIER[self.kind(position)] for position in self.positions)
        own = MULTIPLIER[kind]
        return Fraction(self.epsilon) * (least if self.question == "hubs" else own)

    def context(self, person: int) -> ParticipantContext:
        """The person at this place of the roster."""
        return _context(Setting(self.question, self.epsilon, self.people, self.classes, self.publics), person)


@cache
def _context(setting: Setting, person: int) -> ParticipantContext:
    names = in_order(PEOPLE[: setting.people], chain.EPOCH)
    places = combinations(range(setting.people), 2)
    kinds = {(names[u], names[v]): setting.kind((u, v)) for u, v in places}
    public, friends = ([pair for pair, kind in kinds.items() if kind is each] for each in (PUBLIC, FRIEND_VISIBLE))
    policy = VisibilityPolicy.from_positions(public, friends)
    if setting.publics:
        policy = (
            VisibilityPolicy.from_profiles({names[u]: "public" for u in range(setting.publics)}, rule="any") | policy
        )
    known = [(u, v) for u, v in combinations(range(setting.people), 2) if u < setting.publics]
    (first,) = chain.contexts(names, policy, [(setting.question, setting.epsilon)], known)
    return ParticipantContext(first.charter, first.documents, person)


def uploaded(setting: Setting, person: int, given: Friends | SeenEdges, coins: RandomBytes) -> noise_laws.Ints:
    """The numbers of somebody's upload in a campaign of one round, as the server reads them."""
    context = setting.context(person)
    with chain.new_ledger() as ledger:
        upload = chain.answered(ledger, Task(context, 1), given, setting.coins(coins))
    report = context.terms.check_upload(person, 1, upload)
    values = (*report.values, report.loose) if setting.question == "hubs" else report.values[:, 0]
    return np.array(values, np.int64)


def list_of(setting: Setting, person: int, world: Graph) -> Friends:
    """Somebody's friend list in a world."""
    bits = [tuple(sorted((person, other))) in world for other in range(setting.people)]
    return Friends(np.array(bits), ())


def degree_losses(setting: Setting) -> Iterator[KindLoss]:
    """What every edge loses by the uploads of both its ends, each with every list that it may have."""
    by_end = dict[tuple[int, Position], float]()
    for person in range(setting.people):
        own = [position for position in setting.positions if person in position]
        survey = setting.context(person).terms.survey
        noises = [survey.mechanism(kind) for kind in survey.asked]
        lists = [frozenset(compress(own, bits)) for bits in product((0, 1), repeat=len(own))]
        sends = {world: partial(uploaded, setting, person, list_of(setting, person, world)) for world in lists}
        said = {world: noise_laws.counts_and_rates(send, noises) for world, send in sends.items()}
        for position, world in product(own, lists):
            if position not in world:
                told = _told(said[world | {position}], said[world])
                by_end[person, position] = max(told, by_end.get((person, position), 0.0))
    for position in setting.positions:
        yield setting.kind(position), sum(by_end[person, position] for person in position)


def _told(one: tuple[noise_laws.Ints, noise_laws.Floats], other: tuple[noise_laws.Ints, noise_laws.Floats]) -> float:
    """How well numbers with these rates of noise are told apart; without any noise, surely."""
    apart = np.abs(one[0] - other[0])
    if not np.array_equal(one[1], other[1]):
        return math.inf
    return float(np.where(apart > 0, np.maximum(apart, 1) * one[1], 0.0).sum())


def power_noised(send: noise_laws.Send, place: int, before: Sequence[int], noise: SmoothPower) -> noise_laws.Noised:
    """The number at this place before its noise, and the bound of its noise: measured far out, confirmed nearer.

    ``before`` are the words that are drawn before this number's.
    """

    def at(word: int) -> int:
        return int(send(randomness.words_then([*before, word], randomness.no_noise))[place])

    still = at(1 << 63)
    step = still - at(_FAR)
    if step <= 0:
        return noise_laws.Noised(still, 0)
    one = -noise.law(Decimal(1 << 40)).place(_FAR, randomness.no_noise)
    bound = Decimal(step) * (1 << 40) / one
    law = noise.law(bound)
    for word in _CONFIRMED:
        if abs(at(word) - still - law.place(word, randomness.no_noise)) > 1:
            raise noise_laws.another_noise()
    return noise_laws.Noised(still, bound)


def told_apart(noise: SmoothPower, one: noise_laws.Noised, other: noise_laws.Noised) -> noise_laws.Pair:
    """How well two numbers with power noise on their own bounds are told apart, before they are rounded.  [POWER.1]

    The ratio of both densities turns where one of them has a corner, or between; a grid finds it to six digits.
    """
    if one == other:
        return 0.0, 0.0
    if not (one.bound and other.bound):
        return math.inf, math.inf
    a, shift = float(noise.alpha), float(other.number - one.number)
    scales = [float(noise.scale(each.bound)) for each in (one, other)]
    corners = [c + side * s for c, s in zip((0.0, shift), scales, strict=True) for side in (-1, 0, 1)]
    outputs = np.concatenate(
        [corners, np.linspace(min(corners) - 20 * max(scales), max(corners) + 20 * max(scales), _GRID)]
    )

    def logarithms(centre: float, scale: float) -> noise_laws.Floats:
        size = np.abs(outputs - centre) / scale
        core = (a - 1) * np.log(1 - np.minimum(size, 1) / a)
        tail = (a + 1) * np.log((1 + np.maximum(size, 1) / a) / (1 + 1 / a))
        return core - tail - math.log(scale)

    ratios = logarithms(0.0, scales[0]) - logarithms(shift, scales[1])
    limit = a * math.log(scales[0] / scales[1])
    return max(float(ratios.max()), limit), max(float(-ratios.min()), -limit)


def hub_losses(setting: Setting) -> Iterator[KindLoss]:
    """What every edge loses by the uploads of all hubs, in every graph of the others."""
    known = {(u, v) for u, v in combinations(range(setting.people), 2) if u < setting.publics}
    worlds = [frozenset(compress(setting.positions, bits)) for bits in product((0, 1), repeat=len(setting.positions))]
    survey = setting.context(0).terms.survey
    reporters = [int(hub) for hub in survey.plan.hubs]

    def said(world: Graph) -> list[noise_laws.Noised]:
        seen = SeenEdges(np.array(sorted(known | world), np.int32).reshape(-1, 2), ())
        sends = [partial(uploaded, setting, hub, seen) for hub in reporters]
        return [power_noised(send, 0, (), survey.noises["all"]) for send in sends]

    numbers = {world: said(world) for world in worlds}
    for world, position in product(worlds, setting.positions):
        if position not in world:
            pairs = zip(numbers[world | {position}], numbers[world], strict=True)
            both = [told_apart(survey.noises["all"], *pair) for pair in pairs]
            yield setting.kind(position), max(sum(way) for way in zip(*both, strict=True))
