"""CURATOR: every answer of the trusted centre, on all graphs of a few nodes, with its own bound.  [WALK.3-4]"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import count
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness, findings, noise_laws, small_worlds
from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import Edges, WholeGraph
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw, RandomBytes
from visibility_aware_edge_ldp.mechanisms.smooth_noise import Bound, SmoothNoise
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.statistic import star_size
from visibility_aware_edge_ldp.public.surveys import curator as surveys
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
# Laplace noise is walked so many scales far; what lies beyond, some 10^-16, counts as δ.
_SCALES = 36
# A centre is asked so often: once without noise, and at both ends of the step to 1 of what it then should add.
_ASKED = 3
# With so few nodes every answer comes from a new centre.
_FEW = 3
_MULTIPLIERS = {FRIEND_VISIBLE: 2, PRIVATE: 1}


def existing_edges_only(n: int, edges: Edges) -> int:
    """The source documents' local sensitivity: the most common neighbours over edges that are there."""
    matrix = np.zeros((n, n), np.int64)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    return int(((matrix @ matrix) * matrix).max())


def _over_existing_edges(curator: Curator, query: surveys.CuratorQuery) -> IntegerLaw:
    """The largest change over edges that are there, grown by 1 a step up to n − 2."""
    n, noise = curator._view.n, query.smooth_noise
    local = existing_edges_only(n, curator._view.edges)
    return noise.law(Fraction(max(math.exp(-float(noise.beta) * t) * min(local + t, n - 2) for t in range(n))))


def _half_the_noise(curator: Curator, query: surveys.CuratorQuery) -> IntegerLaw | None:
    """Noise of half the width that it must have."""
    if query.has_constant_sensitivity:
        noise = query.constant_noise(curator._public)
        return DiscreteLaplace(2 * noise.rate).law if noise is not None else None
    smooth = query.smooth_noise
    return smooth.law(curator.profile(query.statistic).smooth(smooth.beta) / 2)


class RecordingQuery(surveys.CuratorQuery):
    """The same question, whose noise on smooth bounds records its bounds."""

    @property
    def smooth_noise(self) -> SmoothNoise:
        return self.recorder  # type: ignore[return-value]

    @cached_property
    def recorder(self) -> noise_laws.RecordingNoise:
        return noise_laws.RecordingNoise(super().smooth_noise)


@dataclass(frozen=True, eq=False)
class Question:
    """One question about the graphs of n nodes under a pattern of classes, asked three times."""

    pattern: small_worlds.Pattern
    n: int
    statistic: str
    epsilon: str = "1"
    delta: str = "0"

    @cached_property
    def view(self) -> PublicView:
        return small_worlds.view_of(self.pattern, self.n)

    @cached_property
    def survey(self) -> surveys.CuratorSurvey:
        (asked,) = surveys.curator_survey(self.view, self.epsilon, self.delta, [self.statistic]).queries
        query = findings.recast(RecordingQuery, asked)
        return surveys.CuratorSurvey(self.view.roster_digest, self.view.policy.digest, (query,) * _ASKED)

    @property
    def query(self) -> RecordingQuery:
        return self.survey.queries[0]  # type: ignore[return-value]

    @property
    def pairs(self) -> Iterable[tuple[small_worlds.World, small_worlds.World, int]]:
        """The neighbouring graphs that are compared: of four nodes those that differ by more than names."""
        return (
            small_worlds.neighbours_up_to_names(self.pattern, 4)
            if self.n == 4
            else small_worlds.neighbours(self.pattern)
        )

    def centre(self, world: small_worlds.World, kind: type[Curator] = Curator) -> Curator:
        """The real centre of one world, with a purse for all answers at the price that was asked for."""
        delta = max(bill.delta for bill in self.bills.values())
        purse = Purse({each: _ASKED * self.agreed(each) for each in NON_PUBLIC}, _ASKED * delta)
        return kind(WholeGraph(self.n, small_worlds.edges_of(world, self.n)), self.view, purse)

    def answers(self, world: small_worlds.World, kind: type[Curator] = Curator) -> noise_laws.Send:
        """A centre's answers through the wire format, each to the next question; up to three nodes of a new centre.

        A centre of more nodes is kept, so that it works out its sensitivity once.
        """
        keep, indices = self.centre(world, kind), count()

        def send(coins: RandomBytes) -> noise_laws.Ints:
            index = next(indices)
            centre = self.centre(world, kind) if self.n <= _FEW or self.query.has_constant_sensitivity else keep
            # The second question first: who treats the first one otherwise is found out.
            report = centre.answer(self.survey, (index + 1) % _ASKED, coins)
            return np.array([surveys.decode_answer(surveys.encode_answer(report)).value])

        return send

    @cached_property
    def bills(self) -> dict[Visibility, Guarantee[OneEdge]]:
        """What the software says that an answer costs."""
        return {kind: self.query.price(kind) for kind in NON_PUBLIC}

    def agreed(self, kind: Visibility) -> Fraction:
        """What was asked for: what an edge of this class may lose by one answer."""
        return _MULTIPLIERS[kind] * Fraction(self.epsilon)

    def beside_claim(self, kind: Visibility, loss: findings.Loss) -> findings.Loss:
        """A loss beside what was asked for and what is billed, of a PRIVATE edge the δ too.  [WALK.10]"""
        bill = self.bills[kind]
        delta = min(Fraction(self.delta), bill.delta) if kind is PRIVATE else bill.delta
        over = float(bill.delta) if bill.delta > delta else 0.0
        claimed = replace(loss, claimed_delta=float(delta), found_delta=findings.largest([loss.found_delta, over]))
        return findings.as_asked(claimed, self.agreed(kind), bill.epsilon)


Speak = Callable[[Question, small_worlds.World], noise_laws.Noised]


def centre_said(question: Question, world: small_worlds.World, kind: type[Curator] = Curator) -> noise_laws.Noised:
    """What a centre adds its noise to, and how wide that is: the bound it asks for, or 1 over its rate.  [WALK.1]"""
    send = question.answers(world, kind)
    if question.query.has_constant_sensitivity:
        supposed = question.query.constant_noise(question.view)
        numbers, rates = noise_laws.counts_and_rates(send, [supposed] if supposed is not None else [])
        return noise_laws.Noised(int(numbers[0]), 1 / Fraction(rates[0]) if math.isfinite(rates[0]) else 0)
    noise = question.query.recorder
    noise.bounds.clear()
    still = send(enumerate_randomness.no_noise)
    # Who asks for no noise must not add any.
    (bound,) = noise.bounds or [0]
    if not np.array_equal(
        noise_laws.moves(
            send, still, [noise_laws.step_words(noise_laws.law_of(noise.noise, bound) if bound else None)]
        ),
        [bound > 0],
    ):
        raise noise_laws.another_noise()
    return noise_laws.Noised(int(still[0]), bound)


def question_losses(question: Question, speak: Speak = centre_said) -> Iterator[findings.Loss]:
    """The loss of every pair of neighbouring graphs that the question compares."""
    speaks = cache(partial(speak, question))
    noise = None if question.query.has_constant_sensitivity else question.query.recorder.noise
    for one, other, place in question.pairs:
        kind, here, there = question.pattern[place], speaks(one), speaks(other)
        # Where both numbers lie does not matter, only how far apart.
        moved = noise_laws.Noised(there.number - here.number, there.bound)
        loss = _loss(noise, kind, question.bills[kind], noise_laws.Noised(0, here.bound), moved)
        yield question.beside_claim(kind, loss)


@cache
def _loss(
    noise: SmoothNoise | None,
    kind: Visibility,
    price: Guarantee[OneEdge],
    one: noise_laws.Noised,
    other: noise_laws.Noised,
) -> findings.Loss:
    claim, delta = float(price.epsilon), float(price.delta)
    if noise is None:
        return findings.Loss(str(kind), claim, _constant_loss(one, other))
    if isinstance(noise, SmoothPower):
        return findings.Loss(str(kind), claim, findings.largest(noise_laws.power_losses(noise, one, other)))
    here, there = (replace(law := _walked(noise, each.bound), start=law.start + each.number) for each in (one, other))
    found = small_worlds.least_epsilon(here, there, delta, 4 * claim)
    return findings.Loss(str(kind), claim, found, delta, small_worlds.spent_delta(here, there, claim))


def _constant_loss(one: noise_laws.Noised, other: noise_laws.Noised) -> float:
    """Two numbers with discrete Laplace noise of one rate; without bound where rates differ.  [WALK.2]"""
    if one == other:
        return 0.0
    if one.bound != other.bound or not one.bound:
        return math.inf
    return float(abs(one.number - other.number) / one.bound)


@cache
def _walked(noise: SmoothNoise, bound: Bound) -> small_worlds.Walked:
    return small_worlds.walked(0, noise.law(bound), int(_SCALES * noise.scale(bound)) + 1)


def audit_curator(name: str, questions: list[Question], speak: Speak = centre_said) -> findings.Finding:
    """The largest losses over several patterns of classes."""
    losses = [loss for question in questions for loss in question_losses(question, speak)]
    about = (
        f"all graphs of up to {max(q.n for q in questions)} nodes, of 4 up to names, under {len(questions)} policies"
    )
    return findings.exact_finding(name, losses, len(losses), about)


# ── what is run ──


def small_policies() -> list[small_worlds.Pattern]:
    """Every policy of three nodes, and of four up to their names, that hides something; most hidden first."""
    found = [*small_worlds.patterns(3), *small_worlds.patterns_up_to_names(4)]
    return [pattern for pattern in reversed(found) if set(pattern) != {PUBLIC}]


def five_nodes() -> list[small_worlds.Pattern]:
    """Some policies of five nodes, the fewest that can have a 4-star."""
    public_star = (PUBLIC,) * 4 + (PRIVATE,) * 6
    hidden_star = (PRIVATE,) * 4 + (PUBLIC, FRIEND_VISIBLE, PUBLIC, PUBLIC, PUBLIC, PRIVATE)
    return [public_star, hidden_star, (FRIEND_VISIBLE, PRIVATE, PRIVATE, *(FRIEND_VISIBLE,) * 2, *(PUBLIC,) * 5)]


_NODES = {3: 3, 6: 4, 10: 5}


def questions(statistic: str, delta: str = "0") -> list[Question]:
    """The question about every small world that can hold what is counted."""
    chosen = five_nodes() if statistic == "stars:4" else small_policies()
    possible = [pattern for pattern in chosen if _NODES[len(pattern)] > (star_size(statistic) or 0)]
    return [Question(pattern, _NODES[len(pattern)], statistic, delta=delta) for pattern in possible]


def _name(statistic: str, delta: str) -> str:
    words = f"{star_size(statistic)}-stars" if star_size(statistic) else statistic.replace("_", " ")
    return f"curator {words}" + (", with delta" if delta != "0" else "")


SMOOTH = ("triangles", "stars:2", "stars:3", "stars:4")
AUDITS = tuple(
    findings.exact(
        _name(statistic, delta), lambda name, *asked: audit_curator(name, questions(*asked)), statistic, delta
    )
    for statistic, delta in (
        *((each, "0") for each in (*surveys.CONSTANT, *SMOOTH)),
        *((each, "1e-6") for each in SMOOTH),
    )
)
# What is wrong; what of the centre is replaced, by what; and for which counts that must be caught.
_MUTANTS: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    (
        "sensitivity over existing edges only (documents 001, 002)",
        {"law": _over_existing_edges},
        ("triangles",),
    ),
    (
        "noise scaled by the graph's own local sensitivity, without smoothing",
        {"law": lambda curator, query: query.smooth_noise.law(curator.profile(query.statistic).local(0))},
        ("triangles", "stars:2"),
    ),
    (
        "noise of half the width",
        {"law": _half_the_noise},
        (*surveys.CONSTANT, "triangles", "stars:2", "stars:3"),
    ),
    (
        "no noise on a graph without edges",
        {"_noise": lambda curator, *asked: Curator._noise(curator, *asked) if len(curator._view.edges) else 0},
        ("edges", "triangles"),
    ),
)
MUTANTS = tuple(
    findings.exact(
        _name(statistic, "0"),
        audit_curator,
        [Question((PRIVATE,) * 6, 4, statistic)],
        partial(centre_said, kind=findings.replaced(Curator, **members)),
        broken=broken,
    )
    for broken, members, statistics in _MUTANTS
    for statistic in statistics
)
