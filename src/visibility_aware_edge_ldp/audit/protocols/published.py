"""CURATOR that publishes: an answer and the noisy bound on its noise, both together, on all graphs of a few nodes.

The loss of the pair is what the answer loses and what the bound loses in the same two worlds.  [WALK.11]
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import product

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness, findings, noise_laws, small_worlds
from visibility_aware_edge_ldp.audit.protocols import curator as walks
from visibility_aware_edge_ldp.client.curator import Curator, WorkedOut
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.mechanisms.noisy_bound import NO_NOISE, NoisyBound
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.surveys import curator as surveys
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Visibility

# Every so many policies are walked: a bound's number is told in each of their worlds.
_EVERY = 4


@dataclass(frozen=True, eq=False)
class PublishedQuestion(walks.Question):
    """One question whose interval may be published; ``bound`` is how the bound is asked for.

    ``unpaid``: the answer takes all of epsilon, and the bound comes on top.
    """

    bound: type[surveys.BoundQuery] = surveys.BoundQuery
    unpaid: bool = False

    @cached_property
    def survey(self) -> surveys.CuratorSurvey:
        asked = surveys.published_survey(self.view, self.epsilon, self.delta, [self.statistic])
        (query,), (told,) = asked.queries, asked.bounds
        if self.unpaid:
            query = replace(query, epsilon=Fraction(self.epsilon))
        recorded = findings.recast(walks.RecordingQuery, query)
        return replace(asked, queries=(recorded,) * walks.ASKED, bounds=(self.bound(recorded, told.epsilon),))

    @cached_property
    def bills(self) -> dict[Visibility, Guarantee[OneEdge]]:
        """What the software says that answer and bound cost."""
        (bound,) = self.survey.bounds
        return {kind: self.query.price(kind) + bound.price(kind) for kind in NON_PUBLIC}

    def told(self, world: small_worlds.World) -> tuple[int, float]:
        """The number that a centre tells of its bound before its noise, and the rate of that noise.  [WALK.1]"""
        whole, index = WholeGraph(self.n, small_worlds.edges_of(world, self.n)), len(self.survey.queries)
        known = WorkedOut(whole, self.view)

        def send(coins: RandomBytes) -> noise_laws.Ints:
            purse = Purse({each: 2 * self.agreed(each) for each in NON_PUBLIC}, Fraction(1, 2))
            report = Curator(whole, self.view, purse, known).answer(self.survey, index, coins)
            value = surveys.decode_answer(surveys.encode_answer(report)).value
            return np.array([max(value, -(1 << 62))])

        (bound,) = self.survey.bounds
        if int(send(enumerate_randomness.no_noise)[0]) == -(1 << 62):
            return NO_NOISE, math.inf
        numbers, rates = noise_laws.counts_and_rates(send, [bound.noisy_bound.told_noise])
        return int(numbers[0]), float(rates[0])


def pair_losses(question: PublishedQuestion) -> Iterator[findings.Loss]:
    """The loss of answer and bound together, for every pair of neighbouring graphs that is compared.  [WALK.11]"""
    said = cache(lambda world: walks.centre_said(question, world))
    told = cache(question.told)
    for one, other, place in question.pairs:
        kind, here, there = question.pattern[place], said(one), said(other)
        moved = noise_laws.Noised(there.number - here.number, there.bound)
        extra = told_loss(told(one), told(other))
        bill = question.bills[kind]
        if math.isinf(extra) or extra > float(bill.epsilon):
            loss = findings.Loss(str(kind), float(bill.epsilon), extra)
        else:
            # What is left of the claim for the answer when the bound has told all that it can.
            left = replace(bill, epsilon=bill.epsilon - Fraction(extra))
            loss = walks.loss_between(
                question.query.recorder.noise, kind, left, noise_laws.Noised(0, here.bound), moved
            )
            loss = replace(loss, claimed=float(bill.epsilon), found=loss.found + extra)
        yield question.beside_claim(kind, loss)


def told_loss(one: tuple[int, float], other: tuple[int, float]) -> float:
    """What the bounds' numbers lose: discrete Laplace noise of one rate; without bound where there is none."""
    if one == other:
        return 0.0
    (number, rate), (number_too, rate_too) = one, other
    if rate != rate_too or math.isinf(rate):
        return math.inf
    return abs(number - number_too) * rate


def audit_published(name: str, asked: list[PublishedQuestion]) -> findings.Finding:
    """The largest losses over several patterns of classes."""
    losses = [loss for question in asked for loss in pair_losses(question)]
    about = f"answer and bound together: all graphs of up to {max(q.n for q in asked)} nodes, {len(asked)} policies"
    return findings.exact_finding(name, losses, len(losses), about)


def questions(statistic: str, delta: str) -> list[PublishedQuestion]:
    """The question about every few of the small worlds that can hold what is counted."""
    return [
        PublishedQuestion(each.pattern, each.n, statistic, delta=delta)
        for each in walks.questions(statistic, delta)[::_EVERY]
    ]


def audit_noisy_bound(name: str, make: type[NoisyBound], about: str) -> findings.Finding:
    """Bounds as far apart as a change may move them, for both classes: by how much the number moves.  [BOUND.1]"""
    losses = []
    for epsilon, kind, start in product(map(Fraction, ("1/10", "1", "8")), NON_PUBLIC, range(1, 40)):
        told, weight = make(SmoothPower(epsilon, Fraction(1, 16)), epsilon / 4), DEFAULT_MULTIPLIERS.of(kind)
        moved = told.noise.beta * int(weight)
        bounds = [(told.noise.beta * start / 7).exp(), (told.noise.beta * start / 7 + moved).exp()]
        apart = abs(told.exact(bounds[0]) - told.exact(bounds[1]))
        losses.append(findings.Loss(str(kind), float(weight * told.epsilon), apart * float(told.told_noise.rate)))
    return findings.exact_finding(name, losses, len(losses), about)


def _name(statistic: str, delta: str) -> str:
    return f"{walks.name_of(statistic, delta)}, published"


_ABOUT = "three ε, both classes, 39 bounds each with the farthest bound that a change may lead to"
AUDITS = (
    findings.exact("noisy bound", audit_noisy_bound, NoisyBound, _ABOUT),
    *(
        findings.exact(
            _name(statistic, delta), lambda name, *asked: audit_published(name, questions(*asked)), statistic, delta
        )
        for statistic, delta in product(("triangles", "stars:2", "stars:3"), ("0", "1e-6"))
    ),
)

_HIDDEN = (Visibility.PRIVATE,) * 6
InTheClear = findings.replaced(NoisyBound, tell=lambda bound, value, coins: bound.exact(value))
FineSteps = findings.replaced(NoisyBound, step=property(lambda bound: bound.noise.beta / (3 * bound.steps)))
ToldInTheClear = findings.replaced(
    surveys.BoundQuery,
    noisy_bound=property(lambda query: InTheClear(query.of.smooth_noise, query.multipliers.private * query.epsilon)),
)
Unpaid = findings.replaced(surveys.BoundQuery, price=lambda query, kind: Guarantee(OneEdge, Fraction(0)))
MUTANTS = (
    findings.exact(
        "noisy bound", audit_noisy_bound, FineSteps, _ABOUT, broken="ln S* is told in steps finer than its noise is for"
    ),
    *(
        findings.exact(
            _name(statistic, "0"),
            audit_published,
            [PublishedQuestion(_HIDDEN, 4, statistic, bound=bound, unpaid=unpaid)],
            broken=broken,
        )
        for broken, bound, unpaid in (
            ("the noise scale is published in the clear", ToldInTheClear, False),
            ("the bound is told and not paid for", Unpaid, True),
        )
        for statistic in ("triangles", "stars:2")
    ),
)
