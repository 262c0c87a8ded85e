"""CURATOR: every answer of the trusted centre, on all graphs of a few nodes, with its own bound.  [WALK.3-4]"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial

import numpy as np

from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.two_hop import Edges
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.evaluation.audit.exact_owned import edges_of
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import (
    Noised,
    Walked,
    check_noise,
    exact_finding,
    laplace_losses,
    least_epsilon,
    loss_of,
    no_noise,
    power_losses,
    spent_delta,
    walked,
)
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import (
    Pattern,
    World,
    neighbours,
    neighbours_up_to_names,
    patterns,
    patterns_up_to_names,
    view_of,
    worlds,
)
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import Bound, SmoothLaplace
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneEdge
from visibility_aware_edge_ldp.public.curator_report import decode_answer, encode_answer
from visibility_aware_edge_ldp.public.curator_survey import CONSTANT, CuratorQuery, CuratorSurvey, curator_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.subgraphs.statistic import star_size

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
# Laplace noise is walked so many scales far; what lies beyond, some 10^-16, counts as δ.
_SCALES = 36
Noise = DiscreteLaplace | SmoothPower | SmoothLaplace


@dataclass(frozen=True, eq=False)
class Question:
    """One question about the graphs of n nodes under a pattern of classes."""

    pattern: Pattern
    n: int
    statistic: str
    epsilon: str = "1"
    delta: str = "0"

    @cached_property
    def view(self) -> PublicView:
        return view_of(self.pattern, self.n)

    @cached_property
    def survey(self) -> CuratorSurvey:
        return curator_survey(self.view, self.epsilon, self.delta, [self.statistic])

    @property
    def query(self) -> CuratorQuery:
        return self.survey.queries[0]

    @cached_property
    def noise(self) -> Noise:
        """What the software adds to this answer."""
        if self.query.has_constant_sensitivity:
            return self.query.constant_noise(self.view)  # type: ignore[return-value]
        return self.query.smooth_noise  # type: ignore[return-value]

    @property
    def pairs(self) -> Iterable[tuple[World, World, int]]:
        """The neighbouring graphs that are compared: of four nodes those that differ by more than names."""
        return neighbours_up_to_names(self.pattern, 4) if self.n == 4 else neighbours(self.pattern)

    def centre(self, world: World) -> Curator:
        """The real centre of one world, with a purse for one answer."""
        prices = {kind: self.query.price(kind) for kind in NON_PUBLIC}
        delta = max(price.delta for price in prices.values())
        purse = Purse({kind: price.epsilon for kind, price in prices.items()}, delta)
        return Curator(WholeGraph(self.n, edges_of(world, self.n)), self.view, purse)

    def answer(self, centre: Curator, coins: Coins) -> int:
        """The centre's answer, through the wire format."""
        return decode_answer(encode_answer(centre.answer(self.survey, 0, coins))).value

    def price(self, kind: Visibility) -> Guarantee[OneEdge]:
        return self.query.price(kind)


Speak = Callable[[Question, World], Noised]


def real_centre(question: Question, world: World) -> Noised:
    """What the real centre adds its noise to, and what it scales that noise by."""
    centre = question.centre(world)
    return Noised(question.answer(centre, no_noise), centre.evidence(question.query).smooth_sensitivity)


def question_losses(question: Question, speak: Speak = real_centre) -> Iterator[Loss]:
    """The loss of every pair of neighbouring graphs that the question compares."""
    speaks = cache(partial(speak, question))
    prices = {kind: question.price(kind) for kind in NON_PUBLIC}
    for one, other, place in question.pairs:
        kind, here, there = question.pattern[place], speaks(one), speaks(other)
        # Where both numbers lie does not matter, only how far apart.
        moved = Noised(there.number - here.number, there.bound)
        yield _loss(question.noise, kind, prices[kind], Noised(0, here.bound), moved)


@cache
def _loss(noise: Noise, kind: Visibility, price: Guarantee[OneEdge], one: Noised, other: Noised) -> Loss:
    claim = float(price.epsilon)
    if isinstance(noise, DiscreteLaplace):
        return loss_of(kind, claim, max(laplace_losses((one.number, noise), (other.number, noise))))
    if isinstance(noise, SmoothPower):
        return loss_of(kind, claim, max(power_losses(noise, one, other)))
    here, there = (replace(law := _walked(noise, each.bound), start=law.start + each.number) for each in (one, other))
    delta = float(price.delta)
    found = least_epsilon(here, there, delta, 4 * claim)
    return loss_of(kind, claim, found, (delta, spent_delta(here, there, claim)))


@cache
def _walked(noise: SmoothLaplace, bound: Bound) -> Walked:
    return walked(0, noise.law(bound), int(_SCALES * noise.scale(bound)) + 1)


def check_centre(question: Question) -> None:
    """That the real centre adds the noise which it can say it does."""
    world = list(worlds(question.pattern))[-1]
    noise, bound = question.noise, real_centre(question, world).bound
    law = noise.law if isinstance(noise, DiscreteLaplace) else noise.law(bound)
    if bound:
        check_noise(lambda coins: [question.answer(question.centre(world), coins)], [law])


def audit_curator(name: str, questions: list[Question], speak: Speak = real_centre) -> Finding:
    """The largest losses over several patterns of classes."""
    for question in questions[::8]:
        check_centre(question)
    losses = [loss for question in questions for loss in question_losses(question, speak)]
    about = (
        f"all graphs of up to {max(q.n for q in questions)} nodes, of 4 up to names, under {len(questions)} policies"
    )
    return exact_finding(name, losses, len(losses), about)


# ── what is run ──


def small_policies() -> list[Pattern]:
    """Every policy of three nodes, and of four up to their names, that hides something; most hidden first."""
    found = [*patterns(3), *patterns_up_to_names(4)]
    return [pattern for pattern in reversed(found) if set(pattern) != {PUBLIC}]


def five_nodes() -> list[Pattern]:
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


def existing_edges_only(n: int, edges: Edges) -> int:
    """The source documents' local sensitivity: the most common neighbours over edges that are there."""
    matrix = np.zeros((n, n), np.int64)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    return int(((matrix @ matrix) * matrix).max())


def over_existing_edges(question: Question, world: World) -> Noised:
    """The largest change over edges that are there, grown by 1 a step up to n − 2."""
    beta, most = float(question.query.smooth_noise.beta), question.n - 2
    local = existing_edges_only(question.n, edges_of(world, question.n))
    bound = max(math.exp(-beta * t) * min(local + t, most) for t in range(question.n))
    return Noised(real_centre(question, world).number, Fraction(bound))


def not_smoothed(question: Question, world: World) -> Noised:
    """The local sensitivity of the graph at hand, over all positions, as if it could not move."""
    centre = question.centre(world)
    local = centre.evidence(question.query).local_sensitivity
    return Noised(question.answer(centre, no_noise), local)


def _name(statistic: str, delta: str) -> str:
    words = f"{star_size(statistic)}-stars" if star_size(statistic) else statistic.replace("_", " ")
    return f"curator {words}" + (", with delta" if delta != "0" else "")


def _audit(statistic: str, delta: str) -> Audit:
    name = _name(statistic, delta)
    return Audit(name, "exact", lambda: audit_curator(name, questions(statistic, delta)))


SMOOTH = ("triangles", "stars:2", "stars:3", "stars:4")
_TWINS: tuple[tuple[str, str, Speak], ...] = (
    ("sensitivity over existing edges only (documents 001, 002)", "triangles", over_existing_edges),
    ("noise scaled by the graph's own local sensitivity, without smoothing", "triangles", not_smoothed),
    ("noise scaled by the graph's own local sensitivity, without smoothing", "stars:2", not_smoothed),
)
AUDITS: tuple[Audit, ...] = (
    *(_audit(statistic, "0") for statistic in (*CONSTANT, *SMOOTH)),
    *(_audit(statistic, "1e-6") for statistic in SMOOTH),
)
TWINS: tuple[Audit, ...] = tuple(
    Audit(
        _name(statistic, "0"),
        "exact",
        partial(audit_curator, _name(statistic, "0"), [Question((PRIVATE,) * 6, 4, statistic)], speak),
        broken,
    )
    for broken, statistic, speak in _TWINS
)
