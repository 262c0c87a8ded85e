"""Hubs that are chosen by noisy degree: reports, choice, and then an answer of every position that is left.  [WALK.7]

The real clients report, the real policy is made of what they reported, and the real respondents answer under it. And
what is paid where hubs are bought: the choice, together with the collection after it, of each command.  [HUBS.2]
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import product

import numpy as np

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law, ScriptedCoins, flip_coin, walk
from visibility_aware_edge_ldp.audit.engine.noise_laws import Pair, another_noise
from visibility_aware_edge_ldp.audit.engine.overheard import first_coins, overheard
from visibility_aware_edge_ldp.audit.engine.small_worlds import RING, World, neighbours, positions, view_of, worlds
from visibility_aware_edge_ldp.audit.protocols import degrees as degree_audits
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.private_hub_selection import hub_policy, noisy_hubs
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey, decode, encode, position_survey
from visibility_aware_edge_ldp.public.trust import POSITION, USER
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.simulate import buy_hubs

USERS = 3
PATTERN = (Visibility.PRIVATE,) * len(positions(USERS))
Reports = tuple[int, ...]
# Beyond the degrees 0 to 2 every ratio is what it is next to them, and two integers there tell who is the higher.
REPORTS: tuple[Reports, ...] = tuple(product(range(-2, 6), repeat=USERS))


@dataclass(frozen=True, eq=False)
class Choice:
    """One hub of three users, chosen at this epsilon; then a survey of positions under the policy that results."""

    epsilon: str
    follow_up: str = "1"
    rule: str = "any"
    client: type[DegreeClient] = DegreeClient
    charged: bool = True

    @cached_property
    def view(self) -> PublicView:
        return view_of(PATTERN, USERS)

    @cached_property
    def degrees(self) -> DegreeSurvey:
        return degree_survey(self.view, self.epsilon)

    @cached_property
    def sent(self) -> dict[World, degree_audits.Degrees]:
        """What the clients add noise to in each world, and which noise they add there."""
        return {
            world: degree_audits.real_degrees(self.degrees, self.view, world, self.client) for world in worlds(PATTERN)
        }

    @property
    def as_surveyed(self) -> bool:
        """Whether everybody adds the survey's noise in every world."""
        rate = float(self.degrees.mechanism(Visibility.PRIVATE).rate)
        return all((degrees.rates == rate).all() for degrees in self.sent.values())

    def chance(self, world: World, reports: Reports) -> float:
        """Of these reports in this world."""
        (degrees,), (rates,) = self.sent[world]
        return math.prod(map(_chance, np.array(reports) - degrees, rates))

    def asked(self, kind: Visibility) -> Fraction:
        """What the choice and the survey may cost together: before the choice every position is private."""
        multiplier = self.view.policy.multipliers.of
        return Fraction(self.epsilon) * multiplier(Visibility.PRIVATE) + Fraction(self.follow_up) * multiplier(kind)

    def policy(self, reports: Reports) -> VisibilityPolicy:
        """What the real choice makes of the reports; a mutant's policy has forgotten what they cost."""
        made = hub_policy(self.view, np.array(reports), 1, self.degrees.releases, self.rule)
        return made if self.charged else VisibilityPolicy.of(made.rule, made.assumptions, made.multipliers)


def _chance(noise: int, rate: float) -> float:
    """Of this discrete Laplace noise; an infinite rate is no noise."""
    return float(noise == 0) if math.isinf(rate) else math.tanh(rate / 2) * math.exp(-rate * abs(noise))


class FollowUp:
    """The survey of positions under one policy: what it costs, and what is answered in every world."""

    def __init__(self, choice: Choice, policy: VisibilityPolicy) -> None:
        self._choice, self._policy = choice, policy
        self.law, self.told = cache(self._law), cache(self._told)
        self.kinds = [Visibility(int(kind)) for kind in policy.bind(range(USERS)).range(0, len(PATTERN))]

    @cached_property
    def billed(self) -> dict[Visibility, Fraction]:
        """What the choice and the survey cost together, by their bills."""
        survey, bill = self._survey(next(worlds(PATTERN)))[1], Bill(self._policy.paid)
        paid = {kind: bill[kind].epsilon if kind in bill else Fraction(0) for kind in NON_PUBLIC}
        return {kind: paid[kind] + survey.round_price(kind, 1) for kind in NON_PUBLIC}

    def _survey(self, world: World) -> tuple[PublicView, PositionSurvey]:
        """The hub's list is published, with the bits that it has in this world."""
        known = [p for p, bit, kind in zip(positions(USERS), world, self.kinds, strict=True) if bit and not kind]
        view = PublicView(range(USERS), self._policy, np.array(known, np.int32).reshape(-1, 2))
        return view, position_survey(view, self._choice.follow_up)

    def _told(self, one: World, other: World) -> Pair:
        """The largest log-ratio of the answers in both directions."""
        law, law_too = self.law(one), self.law(other)
        ratios = [math.log(chance / law_too[said]) for said, chance in law.items()]
        return max(ratios), -min(ratios)

    def _law(self, world: World) -> Law:
        """The exact law of all answers, walked through the real respondents."""
        view, survey = self._survey(world)
        asked = [[kind for kind in self.kinds if kind is each] for each in NON_PUBLIC]
        batches = [[flip_coin(survey.mechanism(kind, 1)) for kind in kinds] for kinds in asked if kinds]

        def play(coins: ScriptedCoins) -> bytes:
            coins.offer(batches)
            purse = Purse({kind: survey.round_price(kind, 1) for kind in NON_PUBLIC})
            held = PositionBits(0, np.array(world, np.bool_))
            return decode(encode(PositionClient(held, view, purse).answer(survey, 1, coins))).ones

        return walk(play)


def losses_of(choice: Choice) -> Iterator[findings.Loss]:
    """For every transcript and every position that is not public in it, beside what was asked for and is billed."""
    asked = {kind: choice.asked(kind) for kind in NON_PUBLIC}
    follow_ups: dict[str, FollowUp] = {}
    for reports in REPORTS:
        policy = choice.policy(reports)
        after = follow_ups.setdefault(policy.digest, FollowUp(choice, policy))
        chances = {world: choice.chance(world, reports) for world in worlds(PATTERN)}
        for one, other, place in neighbours(PATTERN):
            kind = after.kinds[place]
            if kind is not Visibility.PUBLIC:
                found = _both_steps(chances[one], chances[other], after.told(one, other))
                yield findings.as_asked(
                    findings.Loss(str(kind), float(asked[kind]), found), asked[kind], after.billed[kind]
                )


def _both_steps(chance: float, chance_too: float, answers: Pair) -> float:
    """Of the reports and all answers together, the larger of both directions."""
    if not (chance and chance_too):
        return math.inf if chance or chance_too else 0.0
    told = math.log(chance / chance_too)
    return max(told + answers[0], -told + answers[1])


def largest_loss(choice: Choice) -> float:
    """Over all classes."""
    return max(loss.found for loss in losses_of(choice))


def audit_choice(name: str, choices: list[Choice]) -> findings.Finding:
    """The largest losses over several ways to choose."""
    losses = [loss for choice in choices for loss in losses_of(choice)]
    about = f"all graphs of {USERS} users, every order of reports, the choice, and every answer under its policy"
    finding = findings.exact_finding(name, losses, len(losses), about)
    if finding.holds and not all(choice.as_surveyed for choice in choices):
        raise another_noise()
    return finding


# ── hubs that are bought, and what is asked after them ──

CHOICE, TOTAL = Fraction(1, 2), Fraction(2)
Bought = Callable[[VisibilityPolicy], Fraction]
"""Chooses hubs and collects; returns ε of all of it together, in units of the multiplier."""


def estimated(policy: VisibilityPolicy) -> Fraction:
    """`estimate`: the choice comes on top of what is asked for, and the bill has both."""
    return _agreed(policy, va.estimate(RING, USER.name, TOTAL, ["edges"], policy=policy, seed=1))


def estimated_inside(policy: VisibilityPolicy) -> Fraction:
    """`estimate` inside the lists of the hubs that were bought: the same.  [HUBS.4]"""
    world = buy_hubs(VisibilityAwareGraph(RING, policy), 1).inside("lists")
    return _agreed(policy, va.estimate(world, POSITION.name, TOTAL, ["edges"], seed=1))


def _agreed(policy: VisibilityPolicy, found: Answers) -> Fraction:
    bill = found.certificate.bill[Visibility.PRIVATE].epsilon
    return min(TOTAL + CHOICE, bill / policy.multiplier(Visibility.PRIVATE))


def evaluated(policy: VisibilityPolicy) -> Fraction:
    """`evaluate`: the choice is part of each ε."""
    va.evaluate(RING, USER.name, [TOTAL], 1, ["edges"], policy=policy, seed=1)
    return TOTAL


def compared(policy: VisibilityPolicy) -> Fraction:
    """`compare`: the same, and another collection of the same loss with nothing public."""
    va.compare(RING, policy, [TOTAL], 1, ["edges"], trust=POSITION.name, seed=1)
    return 2 * TOTAL


def audit_bought(name: str, ways: tuple[Bought, ...], about: str) -> findings.Finding:
    """What the choice of hubs and a collection after it cost together, beside what was asked for and is billed."""
    losses, again, private = list[findings.Loss](), 0, Visibility.PRIVATE
    for way, guard in product(ways, (("2", "1"), ("2", "1/2"))):
        with overheard() as heard, first_coins() as drawn:
            asked = way(noisy_hubs(2, CHOICE).guarded(*guard)) * Fraction(guard[1])
        spent = sum(float(survey.price(private, number).epsilon) for survey, number in heard.values())
        losses.append(findings.Loss(str(private), float(asked), spent))
        again += len(drawn) - len({*drawn})
    return findings.Finding(
        name, "exact", (*findings.worst(losses), findings.Loss("again", 0, again)), len(losses), about
    )


def _on_top(policy: VisibilityPolicy) -> Fraction:
    """A mutant: as `evaluate`, but the collection spends what the choice has spent already."""
    va.estimate(RING, USER.name, TOTAL, ["edges"], policy=policy, seed=1)
    return TOTAL


# ── what is run ──


NAME = "hub choice"
_MUTANTS: tuple[tuple[str, type[DegreeClient]], ...] = (
    ("hubs chosen by true degree (document 004)", degree_audits.ExactDegrees),
    ("degrees reported at the full price by both ends", degree_audits.BothAtFullPrice),
    ("noise scaled by the own degree (document 004)", degree_audits.ScaledByOwnDegree),
    ("a user without friends answers without noise", degree_audits.SureAlone),
)
AUDITS: tuple[findings.Audit, ...] = (
    findings.Audit(NAME, "exact", lambda: audit_choice(NAME, [Choice("1"), Choice("1", rule="both")])),
    findings.exact(
        "bought hubs",
        audit_bought,
        (estimated, estimated_inside, evaluated, compared),
        "a choice of hubs and a collection after it, by estimate, evaluate and compare; no coins twice",
    ),
)
MUTANTS: tuple[findings.Audit, ...] = (
    *findings.exact_mutants(
        audit_bought,
        [("bought hubs, on top", "What is asked after the choice takes all of ε.", (_on_top,))],
    ),
    *(
        findings.Audit(NAME, "exact", partial(audit_choice, NAME, [Choice("1", client=client)]), broken)
        for broken, client in _MUTANTS
    ),
    findings.Audit(
        NAME,
        "exact",
        partial(audit_choice, NAME, [Choice("1", charged=False)]),
        "what the noisy degrees cost is left out of later bills",
    ),
)
