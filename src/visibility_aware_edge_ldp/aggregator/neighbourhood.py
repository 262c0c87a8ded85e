"""NEIGHBOURHOOD (a): plans from noisy degrees, a collection of owned triangles, and their sum.  [OWNED.1-4]"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from math import comb

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.curator import PublicGraph
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval, estimate_of, raised
from visibility_aware_edge_ldp.aggregator.user_degrees import DegreeCollection
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.many_laplaces import variances
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_delta, exact_epsilon
from visibility_aware_edge_ldp.public.neighbourhood_report import NeighbourhoodReport
from visibility_aware_edge_ldp.public.neighbourhood_survey import NeighbourhoodSurvey, least_loss
from visibility_aware_edge_ldp.public.owner_plan import OwnerPlan, believed_plan, clipped_plan, weighted_plan
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.subgraphs import degree_functions
from visibility_aware_edge_ldp.subgraphs.absence import Spread, missing
from visibility_aware_edge_ldp.subgraphs.sparse import triangles

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]


def bought_plan(degrees: DegreeCollection, epsilon: Number, delta: Number = 0) -> OwnerPlan:
    """A plan with bounds from noisy degrees: pure for delta = 0, believed where delta pays for it.  [OWNED.1]"""
    first, small = degrees.survey, exact_delta(delta)
    heard = degrees.answered | ~degrees.hiding.any(axis=0)
    if small:
        return believed_plan(first, degrees.reported, heard, small)
    loss = least_loss(exact_epsilon(epsilon), first.multipliers, first.classes)
    return weighted_plan(first, degrees.reported, heard, loss)


def capped_plan(degrees: DegreeCollection, cap: int) -> OwnerPlan:
    """Document 004's hard cap, with a bound on what it loses from noisy degrees; the cap itself needs none.  [OWNED.4]

    A triangle is lost only where one of its users forgets a friend in it: at most C(d, 2) − C(cap, 2) at each user.
    """
    kept = cap * (cap - 1) / 2
    value, spread = degree_functions.total(
        degrees.noisy_degrees(), lambda d: np.maximum(degree_functions.binomial(d, 2) - kept, 0), clamped=True
    )
    return clipped_plan(degrees.view.n, cap, max(value, 0.0) + 2 * spread.variance**0.5)


def public_triangles(view: PublicView) -> int:
    """Triangles of which every side is a public edge: known to everybody."""
    return triangles(PublicGraph(view.n, view.edges))


class NeighbourhoodCollection:
    """All that has arrived for one survey of owned triangles: a bit and a number a user."""

    def __init__(self, survey: NeighbourhoodSurvey, view: PublicView) -> None:
        if (survey.roster, survey.policy) != (view.roster_digest, view.policy.digest):
            raise ProtocolViolation("The survey is about another roster or another policy than this public view.")
        self.survey, self.view = survey, view
        self._answered = np.zeros(view.n, np.bool_)
        self._values = np.zeros(view.n, np.int64)
        self._seen: set[str] = set()

    def absorb(self, report: NeighbourhoodReport) -> None:
        """Take a report in. The same report again changes nothing; a second answer is refused."""
        if report.digest in self._seen:
            return
        if report.survey != self.survey.identity:
            raise ProtocolViolation("A report for another survey was sent here.")
        if report.users.stop > self.view.n:
            raise ProtocolViolation(f"A report names users beyond the last, {self.view.n - 1}.")
        if (self._answered[report.users] & report.answered).any():
            raise ProtocolViolation("A second, different answer of a user to the same survey; the first one stands.")
        self._answered[report.users] |= report.answered
        self._values[report.users] += report.values
        self._seen.add(report.digest)

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for, named by what arrived."""
        digest = hashlib.sha256(self._answered.tobytes() + self._values.tobytes()).hexdigest()
        return tuple(replace(release, transcript=digest) for release in self.survey.releases)

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Who has sent a count."""
        return self._answered

    @property
    def response_rate(self) -> float:
        """The share of the users with a bound of their own that sent their count."""
        heard = self.survey.plan.heard
        return float(self._answered[heard].mean()) if heard.any() else 0.0

    def counts(self) -> tuple[Floats, Floats]:
        """What the users with a bound of their own sent, as numbers of triangles, and the variance of each."""
        plan, used = self.survey.plan, self._answered & self.survey.plan.heard
        noise = variances(self.survey.loss, plan.sensitivities[used])
        return self._values[used] / plan.unit, noise / plan.unit**2


def estimate(collection: NeighbourhoodCollection, degrees: DegreeCollection | None = None) -> Estimate:
    """The number of triangles; with the degrees that the plan was bought with, their releases too.  [OWNED.2]"""
    plan, (counts, noise) = collection.survey.plan, collection.counts()
    scale, asked = 1 / _owned_share(plan), int(plan.heard.sum())
    if not counts.size:
        raise BadStatistic("No user has sent its count of triangles yet, so nothing can be estimated.")
    each = asked / counts.size
    spread = missing(counts, float(noise.mean()), asked).plus(Spread(each**2 * float(noise.sum())))
    value = public_triangles(collection.view) + scale * each * float(counts.sum())
    spread = spread.plus(_without_degrees(collection, _closed_share(degrees, plan, value))).times(scale)
    lost, most = plan.lost * scale, float(comb(collection.view.n, 3))
    paid = (*(degrees.releases if degrees is not None else ()), *collection.releases)
    found = estimate_of("triangles", value, spread, paid)

    def limits(level: float) -> Interval:
        low, high = raised(found.interval, lost, level)
        return low, min(high, max(most, found.interval(level)[1]))

    return replace(found, unbiased=not plan.lost, limits=limits)


def _owned_share(plan: OwnerPlan) -> float:
    """The share of all triples with at most one user without a bound of its own: the others are not counted."""
    n, absent = plan.heard.size, int((~plan.heard).sum())
    if n - absent < min(n, 2):
        raise BadStatistic("Fewer than two users have reported a degree, so no triangle is counted yet.")
    return 1 - (comb(absent, 2) * (n - absent) + comb(absent, 3)) / comb(n, 3) if n > 2 else 1.0


def _without_degrees(collection: NeighbourhoodCollection, closed: float) -> Spread:
    """What it adds that others might have stayed away in the first round.  [OWNED.3]

    ``closed`` is about the share of 2-stars that are closed to triangles.
    """
    plan, (counts, noise) = collection.survey.plan, collection.counts()
    n, absent = plan.heard.size, float((~plan.heard).mean())
    if not absent or counts.size < 2:
        return Spread(0.0)
    known, gains = _all_triangles(plan, collection.answered & plan.heard, counts)
    # Those who left after the first round had their say in it: what counts is who stayed away from that.
    odds, each = absent / (1 - absent), n / counts.size
    variance, doubt, third = missing(known, float((noise * gains).mean()), n)
    share = odds / (each - 1)
    drawn = Spread(share * variance, share * doubt, share**2 * third)
    squares, total = each * float((counts**2 - noise).sum()), each * float(counts.sum())
    seen, seen_squares = _seen_in_cliques(absent)
    in_cliques = odds * max(5 * squares / seen_squares - 9 * (total / seen) ** 2 / n, 0.0)
    part = min(max(closed, 0.0), 1.0) ** 2
    mixed = Spread((1 - part) * drawn.variance + part * in_cliques, drawn.doubt, drawn.third)
    # How much likelier a triangle is counted with a given one of its users than without.
    weight = (1 - absent**2) - (1 - absent) ** 2
    return mixed.times(weight * (1 - absent))


def _all_triangles(plan: OwnerPlan, used: Bits, counts: Floats) -> tuple[Floats, Floats]:
    """About how many triangles each user is in: those it owns, and a part of those of users of higher rank.

    A triangle's two users of lower rank are taken as drawn by their numbers of pairs of friends, from those who are
    heard and one at most of the others. The other array says how much of the variance of each user's count gets into
    the squares of the result.
    """
    order, absent = np.argsort(plan.ranks[used]), float((~plan.heard).mean())
    bounds = plan.bounds[used][order].astype(np.float64)
    weights = bounds * (bounds - 1)
    below, squares = (np.cumsum(each) - each for each in (weights, weights**2))
    away = absent / (1 - absent) * float(weights.sum())
    # Of the two, 2(B + A)/(B + 2A) are heard on average; a user is missed where both others are absent.
    heard, among = 2 * (below + away), below * (below + 2 * away)
    rates = np.divide(heard, among, out=np.zeros(order.size), where=among > 0)
    shares, counted = rates * counts[order], 1 - absent**2
    gains = np.empty(order.size)
    gains[order] = (1 + rates**2 * squares) / counted**2
    return (counts[order] + weights * (np.cumsum(shares[::-1])[::-1] - shares)) / counted, gains


def _seen_in_cliques(absent: float) -> tuple[float, float]:
    """Of the sum of owned counts, and of the sum of their squares, the part that those who are heard show.

    For users of equal degree in cliques, expanded to all users; the absent have the lowest ranks.
    """
    heard = 1 - absent
    return heard * (heard + 3 * absent), heard**2 * (heard**2 + 5 * heard * absent + 20 / 3 * absent**2)


def _closed_share(degrees: DegreeCollection | None, plan: OwnerPlan, triangles: float) -> float:
    """3T/S₂, with 2-stars from noisy degrees, or from the bounds where nobody has these."""
    if degrees is None:
        stars = float(degree_functions.binomial(plan.bounds[plan.heard], 2).sum())
    else:
        stars, _ = degree_functions.stars(degrees.noisy_degrees(), 2)
    return 3 * triangles / stars if stars > 0 else 0.0
