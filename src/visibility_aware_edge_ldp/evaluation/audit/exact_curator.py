"""CURATOR: every answer of the trusted centre, on all graphs of a few nodes, with its own bound.  [WALK.3-4]"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

import numpy as np

from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.evaluation.audit.curator_question import Question, law_of
from visibility_aware_edge_ldp.evaluation.audit.curator_twins import (
    HalfTheNoise,
    NotSmoothed,
    OverExistingEdges,
    SureOfNothing,
)
from visibility_aware_edge_ldp.evaluation.audit.curator_twins import existing_edges_only as existing_edges_only
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss, largest
from visibility_aware_edge_ldp.evaluation.audit.measured_noise import (
    FAR,
    another_noise,
    beside,
    counts_and_rates,
    moves,
)
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import (
    Noised,
    Walked,
    exact_finding,
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
    patterns,
    patterns_up_to_names,
)
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import Bound, SmoothNoise
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneEdge
from visibility_aware_edge_ldp.public.curator_survey import CONSTANT
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.subgraphs.statistic import star_size

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
# Laplace noise is walked so many scales far; what lies beyond, some 10^-16, counts as δ.
_SCALES = 36

Speak = Callable[[Question, World], Noised]


def centre_said(question: Question, world: World, kind: type[Curator] = Curator) -> Noised:
    """What a centre adds its noise to, and how wide that is: the bound it asks for, or 1 over its rate.  [WALK.1]"""
    send = question.answers(world, kind)
    if question.query.has_constant_sensitivity:
        supposed = question.query.constant_noise(question.view)
        numbers, rates = counts_and_rates(send, [supposed] if supposed is not None else [])
        return Noised(int(numbers[0]), 1 / Fraction(rates[0]) if math.isfinite(rates[0]) else 0)
    noise = question.query.listening
    noise.bounds.clear()
    still = send(no_noise)
    # Who asks for no noise must not add any.
    (bound,) = noise.bounds or [0]
    if not np.array_equal(moves(send, still, [_words(noise.noise, bound)]), [bound > 0]):
        raise another_noise()
    return Noised(int(still[0]), bound)


def real_centre(question: Question, world: World) -> Noised:
    """What the real centre adds its noise to, and how wide that is."""
    return centre_said(question, world)


@cache
def _words(noise: SmoothNoise, bound: Bound) -> tuple[int, int]:
    """Words that must move a number by 1; where there is no noise, one that would show any."""
    return beside(law_of(noise, bound)) if bound else (FAR, FAR)


def question_losses(question: Question, speak: Speak = real_centre) -> Iterator[Loss]:
    """The loss of every pair of neighbouring graphs that the question compares."""
    speaks = cache(partial(speak, question))
    noise = None if question.query.has_constant_sensitivity else question.query.listening.noise
    for one, other, place in question.pairs:
        kind, here, there = question.pattern[place], speaks(one), speaks(other)
        # Where both numbers lie does not matter, only how far apart.
        moved = Noised(there.number - here.number, there.bound)
        loss = _loss(noise, kind, question.bills[kind], Noised(0, here.bound), moved)
        yield question.beside_claim(kind, loss)


@cache
def _loss(noise: SmoothNoise | None, kind: Visibility, price: Guarantee[OneEdge], one: Noised, other: Noised) -> Loss:
    claim, delta = float(price.epsilon), float(price.delta)
    if noise is None:
        return loss_of(kind, claim, _constant_loss(one, other))
    if isinstance(noise, SmoothPower):
        return loss_of(kind, claim, largest(power_losses(noise, one, other)))
    here, there = (replace(law := _walked(noise, each.bound), start=law.start + each.number) for each in (one, other))
    found = least_epsilon(here, there, delta, 4 * claim)
    return loss_of(kind, claim, found, (delta, spent_delta(here, there, claim)))


def _constant_loss(one: Noised, other: Noised) -> float:
    """Two numbers with discrete Laplace noise of one rate; without bound where rates differ.  [WALK.2]"""
    if one == other:
        return 0.0
    if one.bound != other.bound or not one.bound:
        return math.inf
    return float(abs(one.number - other.number) / one.bound)


@cache
def _walked(noise: SmoothNoise, bound: Bound) -> Walked:
    return walked(0, noise.law(bound), int(_SCALES * noise.scale(bound)) + 1)


def audit_curator(name: str, questions: list[Question], speak: Speak = real_centre) -> Finding:
    """The largest losses over several patterns of classes."""
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


def _name(statistic: str, delta: str) -> str:
    words = f"{star_size(statistic)}-stars" if star_size(statistic) else statistic.replace("_", " ")
    return f"curator {words}" + (", with delta" if delta != "0" else "")


def _audit(statistic: str, delta: str) -> Audit:
    name = _name(statistic, delta)
    return Audit(name, "exact", lambda: audit_curator(name, questions(statistic, delta)))


SMOOTH = ("triangles", "stars:2", "stars:3", "stars:4")
_SURE = "no noise on a graph without edges"
_NARROW = "noise of half the width"
_LOCAL = "noise scaled by the graph's own local sensitivity, without smoothing"
_TWINS: tuple[tuple[str, str, type[Curator]], ...] = (
    ("sensitivity over existing edges only (documents 001, 002)", "triangles", OverExistingEdges),
    (_LOCAL, "triangles", NotSmoothed),
    (_LOCAL, "stars:2", NotSmoothed),
    *((_NARROW, statistic, HalfTheNoise) for statistic in (*CONSTANT, "triangles", "stars:2", "stars:3")),
    *((_SURE, statistic, SureOfNothing) for statistic in ("edges", "triangles")),
)
AUDITS: tuple[Audit, ...] = (
    *(_audit(statistic, "0") for statistic in (*CONSTANT, *SMOOTH)),
    *(_audit(statistic, "1e-6") for statistic in SMOOTH),
)
TWINS: tuple[Audit, ...] = tuple(
    Audit(
        _name(statistic, "0"),
        "exact",
        partial(
            audit_curator,
            _name(statistic, "0"),
            [Question((PRIVATE,) * 6, 4, statistic)],
            partial(centre_said, kind=kind),
        ),
        broken,
    )
    for broken, statistic, kind in _TWINS
)
