"""CURATOR before anybody is asked: what a trusted centre, whose pilot splits ε, would err by.  [PLAN.8]"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

import visibility_aware_edge_ldp.evaluation.plan.base as base
from visibility_aware_edge_ldp.client.sensitivity import Profile, star_profile, triangle_profile
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import Moments, even_points
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.protocol import answers
from visibility_aware_edge_ldp.public.statistic import EDGES, MAX_DEGREE, sources_of, star_size
from visibility_aware_edge_ldp.public.surveys.curator import curator_survey
from visibility_aware_edge_ldp.public.trust import CURATOR, PILOT_SHARE
from visibility_aware_edge_ldp.simulation.curator import delta_of_each, split

Floats = npt.NDArray[np.float64]

# Pilots of a centre that are tried out, each of which decides how epsilon is split; and shares that are worked out.
_PILOTS, _SHARES = 128, 4
# Below this standard error whole-numbered noise is 0 more often than not.
HALF = 0.5
# The wire format: an answer.
_ANSWER = 93


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
    each_delta = delta_of_each(delta, statistics)
    found = np.array([_answer(moments, statistic, e, each_delta) for e in losses])
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
    return smooth.standard_deviation(bound), base.mean_size(smooth) * float(smooth.scale(bound))


@lru_cache(maxsize=64)
def pilot_shares(moments: Moments, epsilon: Fraction, statistics: tuple[str, ...]) -> Floats:
    """(statistics, draws): what each gets of the rest, for pilots whose noises fill their laws evenly.  [PLAN.8]"""
    asked = tuple(dict.fromkeys([*statistics, EDGES.name, MAX_DEGREE.name]))
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


def error(question: base.Question, name: str) -> base.PredictedError:
    """The error of a centre's answer, which shares ε with the others that are asked."""
    deviation, mean, uneven = central(question.moments, name, question.epsilon, question.delta, question.statistics)
    return base.PredictedError(deviation, mean, uneven=uneven)


def doubt(question: base.Question, found: base.PredictedError) -> str:
    """Whether the noise is mostly 0."""
    return f"{base.MOSTLY_EXACT}: the noise is a whole number and mostly 0" if 0 < found.deviation < HALF else ""


def cost(world: VisibilityAwareGraph, statistics: Sequence[str], without: base.Subsample) -> base.Cost:
    """One answer for each statistic, or for each that it is made from, from one centre."""
    asked = {source for name in statistics for source in sources_of(name) if answers(CURATOR, source)}
    return base.Cost(CURATOR.name, 1, len(asked) * _ANSWER, base.QUESTION, world.graph.m)


MODEL = base.Model(CURATOR, error, cost, doubt)
