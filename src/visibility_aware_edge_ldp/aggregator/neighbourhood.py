"""NEIGHBOURHOOD (a): plans from noisy degrees, a collection of owned triangles, and their sum.  [OWNED.1-5]"""

from __future__ import annotations

import math
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import Bits, Estimators, UserCollection, public_triangles
from visibility_aware_edge_ldp.aggregator.estimate import (
    MOST_SKEW,
    Estimate,
    Interval,
    estimate_of,
    largest_seen,
    leaning,
    with_bias_bound,
    with_large_absent,
)
from visibility_aware_edge_ldp.counts.degrees import degree_functions
from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import variances
from visibility_aware_edge_ldp.privacy import Number, parse_delta, parse_epsilon
from visibility_aware_edge_ldp.public.surveys import neighbourhood
from visibility_aware_edge_ldp.public.surveys.base import least_loss
from visibility_aware_edge_ldp.public.surveys.neighbourhood import NeighbourhoodReport, NeighbourhoodSurvey, OwnerPlan
from visibility_aware_edge_ldp.public.view import PublicView

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection

Floats = npt.NDArray[np.float64]
# Response rates that differ by more than so many standard deviations do not differ by chance.
MOST_APART = 4.5


def bought_plan(degrees: DegreeCollection, epsilon: Number, delta: Number = 0) -> OwnerPlan:
    """A plan with bounds from noisy degrees: pure for delta = 0, believed where delta pays for it.  [OWNED.1]"""
    first, small = degrees.survey, parse_delta(delta)
    loss = least_loss(parse_epsilon(epsilon), first.multipliers, first.classes)
    if small:
        known = degrees.answered | ~degrees.hiding.any(axis=0)
        return neighbourhood.believed_plan(first, degrees.reported, known, small, loss)
    # Users who hide nothing are taken as absent, too, where they did not take part. If they never were, a triangle with
    # one of them would be lost more rarely than others, and nobody can tell which triangles an owner's count holds.
    reported = degrees.took_part
    return neighbourhood.weighted_plan(first, degrees.reported, reported, loss)


def capped_plan(degrees: DegreeCollection, cap: int) -> OwnerPlan:
    """Document 004's hard cap, with a bound on what it loses from noisy degrees; the cap itself needs none.  [OWNED.4]

    A triangle is lost only where one of its users forgets a friend in it: at most C(d, 2) − C(cap, 2) at each user.
    """
    kept = cap * (cap - 1) / 2
    value, spread = degree_functions.total(
        degrees.noisy_degrees(), lambda d: np.maximum(degree_functions.binomial(d, 2) - kept, 0), clamped=True
    )
    return neighbourhood.clipped_plan(degrees.view.n, cap, max(value, 0.0) + 2 * spread.variance**0.5)


class NeighbourhoodCollection(UserCollection[NeighbourhoodSurvey, NeighbourhoodReport]):
    """Counts of assigned triangles: for each user whether it answered, and a number.

    ``degrees`` are those that the plan was made from; with them an estimate names their releases, too.
    """

    protocol = "neighbourhood"
    estimators: ClassVar[Estimators] = {"triangles": lambda given, asked: triangles(given)}

    def __init__(self, survey: NeighbourhoodSurvey, view: PublicView, degrees: DegreeCollection | None = None) -> None:
        super().__init__(survey, view)
        self.degrees = degrees

    @property
    def response_rate(self) -> float:
        """The share of the users with a bound of their own that sent their count."""
        reported = self.survey.plan.reported
        return float(self.took_part[reported].mean()) if reported.any() else 0.0

    def counts(self) -> tuple[Floats, Floats]:
        """What the users with a bound of their own sent, as numbers of triangles, and the variance of each."""
        plan, used = self.survey.plan, self.took_part & self.survey.plan.reported
        noise = variances(self.survey.loss, plan.sensitivities[used])
        return self.numbers[0, used] / plan.unit, noise / plan.unit**2


def triangles(collection: NeighbourhoodCollection, degrees: DegreeCollection | None = None) -> Estimate:
    """The number of triangles; with the degrees that the plan was bought with, their releases too.  [OWNED.2]"""
    degrees = collection.degrees if degrees is None else degrees
    plan, (counts, noise) = collection.survey.plan, collection.counts()
    _refuse_unequal_response(collection)
    scale, asked = 1 / _owned_share(plan), int(plan.reported.sum())
    if not counts.size:
        raise BadStatistic("No user has sent its count of triangles yet, so nothing can be estimated.")
    each = asked / counts.size
    heard = missing(counts, float(noise.mean()), asked).plus(Spread(each**2 * float(noise.sum())))
    hidden, public = scale * each * float(counts.sum()), public_triangles(collection.view)
    gathered = _gathered(degrees, plan, public + hidden)
    # How many triangles gather is not known: the standard error takes half of what may, the interval all of it.
    middle, largest = (_without_degrees(collection, share) for share in (gathered / 2, gathered))
    lost, most = plan.lost * scale, float(comb(collection.view.n, 3))
    paid = (*(degrees.releases if degrees is not None else ()), *collection.releases)
    found = estimate_of("triangles", public + hidden, heard.plus(largest).times(scale), paid)
    if largest.variance:
        # Who is absent is missing from others' counts too, so that this goes like the square of what is hidden.
        moving = leaning(hidden, float(found.variance), scale**2 * largest.variance)
        found = replace(found, skew=max(min(found.skew + moving, MOST_SKEW), found.skew))
    found = _with_large_absent(plan, counts, noise, found)

    def limits(level: float) -> Interval:
        low, high = with_bias_bound(found.interval, lost, level)
        return low, min(high, max(most, found.interval(level)[1]))

    return replace(
        found,
        variance=heard.plus(middle).times(scale).variance,
        unbiased=not plan.lost,
        limits=limits,
        conservative=found.conservative or plan.lost > 0,
    )


def _with_large_absent(plan: OwnerPlan, counts: Floats, noise: Floats, found: Estimate) -> Estimate:
    """The same with an upper end for one large user who is absent: what nobody else counts is missed.  [OWNED.5]

    Who left after the first round takes all along that it owns.
    """
    n, absent = plan.reported.size, float((~plan.reported).mean())
    without, counted = (1 - absent) ** 2, 1 - 3 * absent**2 + 2 * absent**3
    part = 1 - without / counted if counts.size == plan.reported.sum() else 1.0
    return with_large_absent(found, 1 - counts.size / n, largest_seen(counts, noise), comb(n - 1, 2), part)


def _refuse_unequal_response(collection: NeighbourhoodCollection) -> None:
    """Refuse where users who hide nothing reported far more often, or more rarely, than the others.  [OWNED.3]

    Which of the two a lost triangle's users were is not known, so that the share of lost ones would not be either.
    """
    reported = collection.survey.plan.reported
    hides = collection.view.users_with(collection.survey.classes).any(axis=0)
    ours, others, n = int(hides.sum()), int((~hides).sum()), hides.size
    if reported.all() or not ours or not others:
        return
    rates, rate = (float(reported[hides].mean()), float(reported[~hides].mean())), float(reported.mean())
    # If everybody reports with the same chance, this is the deviation of the difference of the two rates.
    deviation = math.sqrt(rate * (1 - rate) * n / (n - 1) * (1 / ours + 1 / others))
    if abs(rates[0] - rates[1]) > MOST_APART * deviation:
        raise BadStatistic(
            f"{rates[0]:.0%} of the users who hide something reported a degree, and {rates[1]:.0%} of those who hide "
            "nothing: which triangles were lost cannot be told. Ask the others again, or make a plan from fewer."
        )


def _owned_share(plan: OwnerPlan) -> float:
    """The share of all triples with at most one user without a bound of its own: the others are not counted."""
    n, absent = plan.reported.size, int((~plan.reported).sum())
    if n - absent < min(n, 2):
        raise BadStatistic("Fewer than two users have reported a degree, so no triangle is counted yet.")
    return 1 - (comb(absent, 2) * (n - absent) + comb(absent, 3)) / comb(n, 3) if n > 2 else 1.0


def _without_degrees(collection: NeighbourhoodCollection, gathered: float) -> Spread:
    """What it adds that others might have stayed away in the first round.  [OWNED.3]

    ``gathered`` is the part of all triangles that is taken as made in cliques, and not by degrees alone.
    """
    plan, (counts, noise) = collection.survey.plan, collection.counts()
    n, absent = plan.reported.size, float((~plan.reported).mean())
    if not absent or counts.size < 2:
        return Spread(0.0)
    known, gains = _all_triangles(plan, collection.took_part & plan.reported, counts)
    # Those who left after the first round are in its transcript: what counts is who did not report in that round.
    odds, each = absent / (1 - absent), n / counts.size
    variance, doubt, third = missing(known, float((noise * gains).mean()), n)
    share = odds / (each - 1)
    drawn = Spread(share * variance, share * doubt, share**2 * third)
    squares, total = each * float((counts**2 - noise).sum()), each * float(counts.sum())
    seen, seen_squares = _seen_in_cliques(absent)
    in_cliques = odds * max(5 * squares / seen_squares - 9 * (total / seen) ** 2 / n, 0.0)
    mixed = Spread((1 - gathered) * drawn.variance + gathered * in_cliques, drawn.doubt, drawn.third)
    # How much likelier a triangle is counted with a given one of its users than without.
    weight = (1 - absent**2) - (1 - absent) ** 2
    return mixed.times(weight * (1 - absent))


def _all_triangles(plan: OwnerPlan, used: Bits, counts: Floats) -> tuple[Floats, Floats]:
    """About how many triangles each user is in: those it owns, and a part of those of users of higher rank.

    A triangle's two users of lower rank are taken as drawn by their numbers of pairs of friends, from those who
    reported and one at most of the others. The other array says how much of the variance of each user's count gets into
    the squares of the result.
    """
    order, absent = np.argsort(plan.ranks[used]), float((~plan.reported).mean())
    bounds = plan.bounds[used][order].astype(np.float64)
    weights = bounds * (bounds - 1)
    below, squares = (np.cumsum(each) - each for each in (weights, weights**2))
    nonresponse = absent / (1 - absent) * float(weights.sum())
    # Of the two, 2(B + A)/(B + 2A) have reported on average; a user is missed where both others are absent.
    reported, among = 2 * (below + nonresponse), below * (below + 2 * nonresponse)
    rates = np.divide(reported, among, out=np.zeros(order.size), where=among > 0)
    shares, counted = rates * counts[order], 1 - absent**2
    gains = np.empty(order.size)
    gains[order] = (1 + rates**2 * squares) / counted**2
    return (counts[order] + weights * (np.cumsum(shares[::-1])[::-1] - shares)) / counted, gains


def _seen_in_cliques(absent: float) -> tuple[float, float]:
    """Of the sum of owned counts, and of the sum of their squares, the part that those who reported show.

    For users of equal degree in cliques, expanded to all users; the absent have the lowest ranks.
    """
    reported = 1 - absent
    return reported * (reported + 3 * absent), reported**2 * (reported**2 + 5 * reported * absent + 20 / 3 * absent**2)


def _gathered(degrees: DegreeCollection | None, plan: OwnerPlan, triangles: float) -> float:
    """The part of all triangles that degrees alone do not make, at most all: so many may gather.  [OWNED.3]

    With 2-stars and edges from noisy degrees, or from the bounds where nobody has these.
    """
    if degrees is None:
        bounds = plan.bounds[plan.reported]
        stars, edges = float(degree_functions.binomial(bounds, 2).sum()), float(bounds.sum()) / 2
    else:
        known = degrees.noisy_degrees()
        stars, edges = degree_functions.stars(known, 2)[0], degree_functions.edges(known)[0]
    if triangles <= 0:
        return 0.0
    made = (max(stars, 0.0) / edges) ** 3 / 6 if edges > 0 else 0.0
    return min(max(1 - made / triangles, 0.0), 1.0)
