"""NEIGHBOURHOOD and CURATOR before anybody is asked.  [PLAN.7-8]"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.sensitivity import Profile, star_profile, triangle_profile
from visibility_aware_edge_ldp.evaluation.plan.by_position import NORMAL
from visibility_aware_edge_ldp.evaluation.plan.by_user import degree_noise, noise_law
from visibility_aware_edge_ldp.evaluation.plan.moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.sampled import even_points
from visibility_aware_edge_ldp.kernels.owned_triangles import RisingEdges, triangles
from visibility_aware_edge_ldp.mechanisms.many_laplaces import variances
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothNoise
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.curator_survey import curator_survey
from visibility_aware_edge_ldp.public.degree_survey import degree_survey
from visibility_aware_edge_ldp.public.hub_survey import SHARED, hub_survey
from visibility_aware_edge_ldp.public.neighbourhood_survey import least_loss, neighbourhood_survey
from visibility_aware_edge_ldp.public.owner_plan import WEIGHTED, OwnerPlan, believed_plan, weighted_plan
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.neighbourhoods import FIRST_SHARE
from visibility_aware_edge_ldp.subgraphs.statistic import star_size

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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
    graph, weights = moments.world.graph, np.empty(moments.n)
    weights[plan.ranks] = np.minimum(1.0, plan.bounds / np.maximum(graph.degrees, 1))
    rising = RisingEdges.of(graph.edges, plan.ranks)
    hidden = (moments.edge_classes != Visibility.PUBLIC)[rising.source]
    lost = 0.0
    for ab, ac, bc in triangles(rising, graph.n):
        each = 1 - np.minimum(weights[rising.high[ab]], weights[rising.high[ac]])
        lost += float(each.sum(where=hidden[ab] | hidden[ac] | hidden[bc]))
    return lost


def hubs(moments: Moments, epsilon: Fraction) -> tuple[float, float]:
    """The standard error of public hubs' counts, and the mean of its absolute value.  [PLAN.7]"""
    survey = hub_survey(moments.world.public, epsilon, SHARED)
    noise, squares = survey.noises["all"], survey.floors("all").astype(np.float64) ** 2
    one = noise.standard_deviation(1)
    # From the shape of a single noise to the normal one, by the fourth cumulant of the sum.
    alone = float((squares**2).sum() / squares.sum() ** 2)
    shape = NORMAL + alone * (mean_size(noise) * float(noise.scale(1)) / one - NORMAL)
    deviation = one * float(squares.sum()) ** 0.5
    return deviation, shape * deviation


def central(moments: Moments, statistic: str, epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    """The standard error of a centre's answer, and the mean of its absolute value.  [PLAN.8]"""
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
