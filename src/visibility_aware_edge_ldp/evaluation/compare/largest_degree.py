"""The largest degree in a comparison: its errors beside the largest noisy degree, whose law is known.

An estimate of the largest degree follows the largest noisy degree, and the law of that one follows from the true
degrees and the noise. So the mean error is read off a regression of the errors on how far the largest noisy degree is
from the truth, and on which side, at the known means of both: control variates. It takes the true graph, and is for the
laboratory.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.compute.reproducible_math import exp, log
from visibility_aware_edge_ldp.counts.degrees.degree_distribution import LAPLACE, NORMAL, TINY, phi, skewness
from visibility_aware_edge_ldp.evaluation.compare.design import Cell, Design
from visibility_aware_edge_ldp.evaluation.expected_errors import Measured
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.statistic import DEGREES, MAX_DEGREE
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.trust import POSITION
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Floats = npt.NDArray[np.float64]
Law = tuple[Floats, Floats]
"""Values, and how likely each is; a value may stand there several times."""
# Chances so many powers of e below the largest one are left out of a law.
NEVER = 46.0
# Cells of the law of the largest noisy degree, and how many standard deviations it reaches to either side.
CELLS, FAR = 1024, 16.0
# A discrete Laplace law: the logarithm of its least chance, and steps in units of its scale.
LEAST, FINE = 30.0, 0.05


def with_excess(
    design: Design, cell: Cell, found: Mapping[str, Estimate], beside: Mapping[str, Measured]
) -> dict[str, Measured]:
    """What was measured, the largest degree with how far its controls were from their means."""
    degrees, truth = found.get(DEGREES.name), design.truths.get(MAX_DEGREE.name)
    if degrees is None or not truth or MAX_DEGREE.name not in beside:
        return dict(beside)
    # Rounded, so that it is the same in each trial, and the law is worked out once.
    variance = np.asarray(degrees.variance, dtype=np.float32)
    spent = design.left(cell.policy, cell.epsilon)
    size, side = known_means(design, cell.trust, cell.policy, spent, variance.tobytes())
    off = float(np.max(degrees.value)) - float(truth)
    excess = ((abs(off) - size) / float(truth), float(np.sign(off)) - side)
    one = replace(beside[MAX_DEGREE.name], size_excess=excess[0], side_excess=excess[1])
    return {**beside, MAX_DEGREE.name: one}


@lru_cache(maxsize=64)
def known_means(design: Design, trust: str, policy: str, epsilon: Fraction, variances: bytes) -> tuple[float, float]:
    """E|X| and E sign(X), X the largest noisy degree less the largest degree.

    The best-connected node's noise has its exact law, that of the others the Laplace or normal one of their
    ``variances``, as the estimator takes them; that two nodes share the answer of one position is left out.
    """
    degrees = design.graph.degrees.astype(np.int64)
    best, spread = int(np.argmax(degrees)), np.frombuffer(variances, np.float32).astype(np.float64)
    values, chances = noise_of(design, trust, policy, epsilon, best)
    others = np.delete(np.column_stack([degrees - degrees[best], spread]), best, axis=0)
    kinds, counts = np.unique(others, axis=0, return_counts=True)
    density = design.graph.m / math.comb(design.graph.n, 2) if trust == POSITION.name else None
    end = FAR * math.sqrt(float(spread.max())) + 1.0
    step = 2 * end / CELLS
    step = step if density is not None else math.ceil(step)
    middles = step * np.arange(-(CELLS // 2), CELLS // 2 + 1)
    ends = middles + step / 2
    order = np.argsort(values, kind="stable")
    place = np.searchsorted(values[order], ends, side="right")
    below = np.concatenate([np.zeros(1), np.cumsum(chances[order])])[place]
    for (gap, variance), count in zip(kinds.tolist(), counts.tolist(), strict=True):
        below = below * exp(count * log(np.maximum(_below(ends - gap, variance, density), TINY)))
    mass = np.diff(below, prepend=0.0)
    mass[-1] += 1 - below[-1]
    return float((np.abs(middles) * mass).sum()), float((np.sign(middles) * mass).sum())


def _below(places: Floats, variance: float, density: float | None) -> Floats:
    """The chance that noise of this variance is at most each of these numbers, as the estimator takes it.  [NOISE.1-2]

    ``density`` is the share of edges among a node's answers; None for one Laplace draw.
    """
    if not variance:
        return (places >= 0).astype(np.float64)
    z = places / math.sqrt(variance)
    lean = skewness(np.full(1, variance), 0.0 if density is None else 1 - 2 * density)
    return np.asarray(phi(z, lean, LAPLACE if density is None else NORMAL))


def noise_of(design: Design, trust: str, policy: str, epsilon: Fraction, node: int) -> Law:
    """The exact law of the noise in a node's degree."""
    world = design.worlds[policy]
    friends, strangers = _classes_around(world, node)
    if trust == POSITION.name:
        flips = {kind: position_survey(world.public, epsilon).channel(kind).given_zero[1] for kind in NON_PUBLIC}
        laws = [_law_of_flips(float(flips[kind]), friends[kind], strangers[kind]) for kind in NON_PUBLIC]
        return reduce(_sum, laws)
    asked = degree_survey(world.public, design.epsilon_of_degrees(trust, epsilon))
    hidden = [kind for kind in asked.classes if friends[kind] + strangers[kind]]
    laws = [_law_of_laplace(float(asked.mechanism(kind).rate)) for kind in hidden]
    return reduce(_sum, laws, (np.zeros(1), np.ones(1)))


def _classes_around(world: VisibilityAwareGraph, node: int) -> tuple[dict[Visibility, int], dict[Visibility, int]]:
    """How many positions of each class a node has with friends, and with others."""
    ends, near = world.graph.edges.astype(np.int64), np.zeros(world.graph.n, np.bool_)
    near[ends[(ends == node).any(axis=1)].ravel()] = True
    others = np.delete(np.arange(world.graph.n), node)
    kinds, near = world.public.classes.of(np.full(others.size, node), others), np.delete(near, node)
    known, unknown = ({kind: int((kinds[side] == kind).sum()) for kind in NON_PUBLIC} for side in (near, ~near))
    return known, unknown


def _law_of_laplace(rate: float) -> Law:
    """P(k) ∝ e^(−rate·|k|); where the rate is small, at every so many whole numbers, which changes sizes by 0.04 %."""
    step = max(1, math.floor(FINE / rate))
    half = math.ceil(LEAST / (rate * step))
    values = step * np.arange(-half, half + 1).astype(np.float64)
    chances = exp(-rate * np.abs(values))
    return values, chances / chances.sum()


def _law_of_flips(flip: float, friends: int, others: int) -> Law:
    """Σ (unbiased answer − bit): a flip of a stranger adds 1/(1 − 2q), one of a friend takes as much away."""
    (up, gained), (down, lost) = _binomial(others, flip), _binomial(friends, flip)
    steps = np.subtract.outer(up, down)
    least = int(steps.min())
    chances = np.bincount((steps - least).ravel(), np.multiply.outer(gained, lost).ravel()).astype(np.float64)
    flips = np.arange(chances.size, dtype=np.float64) + least - flip * (others - friends)
    return np.asarray(flips / (1 - 2 * flip), dtype=np.float64), chances


def _sum(one: Law, other: Law) -> Law:
    """The law of a sum of two independent numbers."""
    return np.add.outer(one[0], other[0]).ravel(), np.multiply.outer(one[1], other[1]).ravel()


def _binomial(count: int, chance: float) -> tuple[npt.NDArray[np.int64], Floats]:
    """The numbers of successes that can be met with, and how likely each is."""
    k = np.arange(count + 1)
    ways = np.concatenate([np.zeros(1), np.cumsum(log((count - k[1:] + 1) / k[1:]))])
    yes, no = log(np.array([chance, 1 - chance]))
    logs = ways + k * yes + (count - k) * no
    kept = np.flatnonzero(logs > logs.max() - NEVER)
    chances = exp(logs[kept])
    return kept, chances / chances.sum()
