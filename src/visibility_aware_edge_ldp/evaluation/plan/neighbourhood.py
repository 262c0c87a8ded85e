"""NEIGHBOURHOOD before anybody is asked: counts by all users, or by public hubs.  [PLAN.7]"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

import visibility_aware_edge_ldp.evaluation.plan.base as base
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import Moments, even_points
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import variances
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.surveys import neighbourhood
from visibility_aware_edge_ldp.public.surveys.base import least_loss
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.hubs import MOST_HUBS, SHARED, HubPlan, hub_survey, hubs_see_everybody
from visibility_aware_edge_ldp.public.trust import NEIGHBOURHOOD
from visibility_aware_edge_ldp.public.visibility import Visibility

Ints = npt.NDArray[np.int64]

# The wire format: what a hub's report has beside its numbers.
_HUB_HEAD = 39


def owned(moments: Moments, epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    """The variance of counts by all users, and about how many triangles weights leave out.  [PLAN.7]"""
    world = moments.world
    first = degree_survey(world.public, epsilon * neighbourhood.FIRST_SHARE)
    rest = epsilon * (1 - neighbourhood.FIRST_SHARE)
    noisy, present = _likely_degrees(moments, epsilon * neighbourhood.FIRST_SHARE), np.ones(moments.n, np.bool_)
    loss = least_loss(rest, first.multipliers, first.classes)
    if delta:
        plan = neighbourhood.believed_plan(first, noisy, present, delta, loss)
    else:
        plan = neighbourhood.weighted_plan(first, noisy, present, loss)
    survey = neighbourhood.neighbourhood_survey(world.public, rest, plan)
    noise = variances(survey.loss, plan.sensitivities) / plan.unit**2
    return float(noise.sum()), _left_out(moments, plan) if plan.guard == neighbourhood.WEIGHTED else 0.0


def _likely_degrees(moments: Moments, epsilon: Fraction) -> Ints:
    """Degrees with noises that fill their law evenly, one for each user: what a draw would look like."""
    degrees = moments.world.graph.degrees.astype(np.int64)
    place = np.argsort(np.argsort(even_points(1, moments.n)[0])) / moments.n + 0.5 / moments.n
    result, survey = degrees.copy(), degree_survey(moments.world.public, epsilon)
    everybody = [(np.arange(moments.n), tuple(survey.mechanism(kind) for kind in survey.classes))]
    groups = base.degree_noise(moments, survey) if moments.chosen.size == moments.n else everybody
    for users, noises in groups:
        steps, chances = base.noise_law(noises)
        result[users] += steps[np.searchsorted(np.cumsum(chances), place[users]).clip(max=steps.size - 1)]
    return result


def _left_out(moments: Moments, plan: neighbourhood.OwnerPlan) -> float:
    """Σ of 1 − the middle one of its three users' weights, over triangles that are not all public."""
    corners, each = moments.some_triangles
    weights = np.minimum(1.0, plan.bounds / np.maximum(moments.world.graph.degrees, 1))
    return float((1 - np.median(weights[corners], axis=1)).sum()) * each


def hubs(moments: Moments, epsilon: Fraction) -> tuple[float, float, float]:
    """The standard error of public hubs' counts, the mean of its absolute value, and what no hub counts.  [PLAN.7]"""
    survey = hub_survey(moments.world.public, epsilon, SHARED)
    noise, squares = survey.noises["all"], survey.floors("all").astype(np.float64) ** 2
    one = noise.standard_deviation(1)
    # From the shape of a single noise to the normal one, by the fourth cumulant of the sum.
    alone = float((squares**2).sum() / squares.sum() ** 2)
    shape = base.NORMAL + alone * (base.mean_size(noise) * float(noise.scale(1)) / one - base.NORMAL)
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


def error(question: base.Question, name: str) -> base.PredictedError:
    """The error of the triangle count: by hubs where they see everybody, and else by all users."""
    moments = question.moments
    if hubs_see_everybody(moments.world.public):
        deviation, mean, missed = hubs(moments, question.epsilon)
        return base.PredictedError(deviation, bias=missed) if missed else base.PredictedError(deviation, mean)
    variance, lost = owned(moments, question.epsilon, question.delta)
    return base.PredictedError(variance**0.5, bias=lost)


def cost(world: VisibilityAwareGraph, statistics: Sequence[str], without: base.Subsample) -> base.Cost:
    """Hubs send one count and one of loose edges. Users report a degree first, and receive everybody's bound."""
    if hubs_see_everybody(world.public):
        return base.Cost(NEIGHBOURHOOD.name, MOST_HUBS, _HUB_HEAD + 2 * base.NUMBER, base.QUESTION, MOST_HUBS)
    n = world.graph.n
    up = base.HEAD + base.hidden_classes(world) * base.NUMBER + base.HEAD + base.NUMBER
    return base.Cost(NEIGHBOURHOOD.name, n, up, base.QUESTION + n * base.NUMBER, n)


MODEL = base.Model(NEIGHBOURHOOD, error, cost)
