"""NEIGHBOURHOOD and CURATOR before anybody is asked.  [PLAN.7-8]"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.sensitivity import Profile, star_profile, triangle_profile
from visibility_aware_edge_ldp.evaluation.plan.by_position import NORMAL
from visibility_aware_edge_ldp.evaluation.plan.by_user import degree_noise, noise_law
from visibility_aware_edge_ldp.evaluation.plan.moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.sampled import even_points
from visibility_aware_edge_ldp.mechanisms.many_laplaces import variances
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothNoise
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.curator_survey import curator_survey
from visibility_aware_edge_ldp.public.degree_survey import degree_survey
from visibility_aware_edge_ldp.public.hub_plan import HubPlan
from visibility_aware_edge_ldp.public.hub_survey import SHARED, hub_survey
from visibility_aware_edge_ldp.public.neighbourhood_survey import least_loss, neighbourhood_survey
from visibility_aware_edge_ldp.public.owner_plan import WEIGHTED, OwnerPlan, believed_plan, weighted_plan
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.centre import PILOT_SHARE, split
from visibility_aware_edge_ldp.simulation.neighbourhoods import FIRST_SHARE
from visibility_aware_edge_ldp.subgraphs.statistic import star_size

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Pilots of a centre that are tried out, each of which decides how epsilon is split; and shares that are worked out.
_PILOTS, _SHARES = 128, 4


def owned(moments: Moments, epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    """The variance of counts by all users, and about how many triangles weights leave out.  [PLAN.7]"""
    world = moments.world
    first = degree_survey(world.public, epsilon * FIRST_SHARE)
    rest = epsilon * (1 - FIRST_SHARE)
    noisy, heard = _likely_degrees(moments, epsilon * FIRST_SHARE), np.ones(moments.n, np.bool_)
    if delta:
        plan = believed_plan(first, noisy, heard, delta)
    else:
        plan = weighted_plan(first, noisy, heard, least_loss(rest, first.multipliers, first.classes))
    survey = neighbourhood_survey(world.public, rest, plan)
    noise = variances(survey.loss, plan.sensitivities) / plan.unit**2
    return float(noise.sum()), _left_out(moments, plan) if plan.guard == WEIGHTED else 0.0


def _likely_degrees(moments: Moments, epsilon: Fraction) -> Ints:
    """Degrees with noises that fill their law evenly, one for each user: what a draw would look like."""
    degrees = moments.world.graph.degrees.astype(np.int64)
    place = np.argsort(np.argsort(even_points(1, moments.n)[0])) / moments.n + 0.5 / moments.n
    result, survey = degrees.copy(), degree_survey(moments.world.public, epsilon)
    everybody = [(np.arange(moments.n), tuple(survey.mechanism(kind) for kind in survey.classes))]
    groups = degree_noise(moments, survey) if moments.chosen.size == moments.n else everybody
    for users, noises in groups:
        steps, chances = noise_law(noises)
        result[users] += steps[np.searchsorted(np.cumsum(chances), place[users]).clip(max=steps.size - 1)]
    return result


def _left_out(moments: Moments, plan: OwnerPlan) -> float:
    """Σ of 1 − the smaller weight of its two users of higher rank, over triangles that are not all public."""
    corners, each = moments.some_triangles
    weights = np.minimum(1.0, plan.bounds / np.maximum(moments.world.graph.degrees, 1))
    lowest = plan.ranks[corners].argmin(axis=1)
    at = weights[corners]
    at[np.arange(len(at)), lowest] = 1.0
    return float((1 - at.min(axis=1)).sum()) * each


def hubs(moments: Moments, epsilon: Fraction) -> tuple[float, float, float]:
    """The standard error of public hubs' counts, the mean of its absolute value, and what no hub counts.  [PLAN.7]"""
    survey = hub_survey(moments.world.public, epsilon, SHARED)
    noise, squares = survey.noises["all"], survey.floors("all").astype(np.float64) ** 2
    one = noise.standard_deviation(1)
    # From the shape of a single noise to the normal one, by the fourth cumulant of the sum.
    alone = float((squares**2).sum() / squares.sum() ** 2)
    shape = NORMAL + alone * (mean_size(noise) * float(noise.scale(1)) / one - NORMAL)
    deviation = one * float(squares.sum()) ** 0.5
    return deviation, shape * deviation, _missed(moments, survey.plan)


def _missed(moments: Moments, plan: HubPlan) -> float:
    """Triangles that no hub counts: no territory holds both ends of any of their non-public sides.  [HUB.1]"""
    corners, each = moments.some_triangles
    counted = np.zeros(len(corners), np.bool_)
    for a, b in ((0, 1), (1, 2), (0, 2)):
        u, v = corners[:, a], corners[:, b]
        counted |= (moments.world.public.classes.of(u, v) != Visibility.PUBLIC) & (plan.marks[u] & plan.marks[v] > 0)
    return float(np.count_nonzero(~counted)) * each


def central(
    moments: Moments, statistic: str, epsilon: Fraction, delta: Fraction, statistics: Sequence[str]
) -> tuple[float, float, float]:
    """The standard error of a centre's answer, the mean of its absolute value, and how uneven the pilot makes both.

    [PLAN.8]
    """
    if len(statistics) < 2:
        return *_answer(moments, statistic, epsilon, delta), 1.0
    share = pilot_shares(moments, epsilon, tuple(statistics))[tuple(statistics).index(statistic)]
    # Errors at a few shares, and between them lines on logarithmic paper. As in a comparison, delta is shared too.
    some = np.geomspace(share.min(), share.max() * 1.001, _SHARES)
    losses = [(epsilon * (1 - PILOT_SHARE) * Fraction(x)).limit_denominator(10**6) for x in some.tolist()]
    found = np.array([_answer(moments, statistic, e, delta / (2 * len(statistics) + 2)) for e in losses])
    deviation, mean = np.exp([np.interp(np.log(share), np.log(some), np.log(each + 1e-300)) for each in found.T])
    whole = float((deviation**2).mean() ** 0.5)
    return whole, float(mean.mean()), whole / max(float(deviation.mean()), 1e-300)


def _answer(moments: Moments, statistic: str, epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    """One question with all of this epsilon."""
    view = moments.world.public
    (query,) = curator_survey(view, epsilon, delta, [statistic]).queries
    if query.has_constant_sensitivity:
        noise = query.constant_noise(view)
        if noise is None:
            return 0.0, 0.0
        return noise.variance**0.5, 2 * noise.alpha / (1 - noise.alpha**2)
    smooth = query.smooth_noise
    bound = profile_of(moments.world, statistic).smooth(smooth.beta)
    return smooth.standard_deviation(bound), mean_size(smooth) * float(smooth.scale(bound))


@lru_cache(maxsize=64)
def pilot_shares(moments: Moments, epsilon: Fraction, statistics: tuple[str, ...]) -> Floats:
    """(statistics, draws): what each gets of the rest, for pilots whose noises fill their laws evenly.  [PLAN.8]"""
    asked = tuple(dict.fromkeys([*statistics, "edges", "max_degree"]))
    first = epsilon * PILOT_SHARE / len(asked)
    noises = _laplace(even_points(len(asked), _PILOTS)) / 2**0.5
    rough = {}
    for name, noise in zip(asked, noises, strict=True):
        rough[name] = np.maximum(moments.value(name) + _answer(moments, name, first, Fraction(0))[0] * noise, 1.0)
    drawn = [
        split({name: float(values[i]) for name, values in rough.items()}, statistics, float(first) / 4)
        for i in range(_PILOTS)
    ]
    return np.array(drawn, dtype=np.float64).T


def _laplace(places: Floats) -> Floats:
    """Quantiles of the Laplace law of scale 1."""
    return np.asarray(np.where(places < 0.5, np.log(2 * places), -np.log(2 * (1 - places))))


@lru_cache(maxsize=16)
def profile_of(world: VisibilityAwareGraph, statistic: str) -> Profile:
    """All that decides the sensitivity of the assumed graph."""
    graph, classes, k = world.graph, world.public.classes, star_size(statistic)
    steps = world.policy.multipliers.steps
    if k is None:
        return triangle_profile(graph.n, graph.edges, classes, steps)
    return star_profile(graph.n, graph.edges, classes, k, steps)


def mean_size(noise: SmoothNoise) -> float:
    """E|Z| at scale 1: for Laplace noise 1, for power noise the integral of both pieces of its tail."""
    if not isinstance(noise, SmoothPower):
        return 1.0
    a = float(noise.alpha)
    joint = (1 - 1 / a) ** (a - 1)
    mass = 1 + 2 * joint / a
    core = mass - 1 + a / (a + 1) * (1 - (1 - 1 / a) ** (a + 1))
    tail = joint * (1 + 1 / a) ** 2 * a / (a - 1)
    return float((core + tail) / mass)
