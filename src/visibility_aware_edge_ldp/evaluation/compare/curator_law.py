"""CURATOR in a comparison: expected errors from the exact law of the noise, pilot and split included."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import exp, log
from visibility_aware_edge_ldp.evaluation.expected_errors import EXACT_LAW, Expected
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw, keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.curator import CuratorQuery, curator_survey
from visibility_aware_edge_ldp.simulation.curator import Centre, main_epsilons, pilot_survey

Floats = npt.NDArray[np.float64]
# Pilots that are thought through, in blocks whose means tell how well their mean is known; main surveys whose noise is
# worked out, the others lying between them.
PILOTS, BLOCKS, NODES = 1024, 8, 9
# Sizes of noise at which a law is looked up: every one of the first, then by growing steps, in units of its width.
DENSE, STEPS, FARTHEST, DIGITS = 32, 160, 80.0, 12


@dataclass(frozen=True)
class SizeLaw:
    """The chance that noise is larger than each of some sizes."""

    sizes: Floats
    beyond: Floats

    @property
    def mean(self) -> float:
        """E|noise| = Σ P(|noise| > k) over k from 0 on; between two sizes the chance is taken as a straight line."""
        (a, b), (low, high) = (self.sizes[:-1], self.sizes[1:]), (self.beyond[:-1], self.beyond[1:])
        return float(((b - a) * (low + high) + low - high).sum()) / 2

    def at(self, chances: Floats) -> Floats:
        """The size that is exceeded with each of these chances."""
        return np.interp(chances, self.beyond[::-1], self.sizes[::-1])


def size_law(law: IntegerLaw | None) -> SizeLaw:
    """The table of a symmetric law; of no noise, where there is none."""
    if law is None:
        return SizeLaw(np.array([0.0, 1.0]), np.zeros(2))
    grown = [round(law.stride * 10**power) for power in np.linspace(-2, math.log10(FARTHEST), STEPS)]
    sizes = sorted({*range(DENSE), *grown})
    return SizeLaw(np.array(sizes, dtype=np.float64), np.array([2 * float(law.cdf(-k - 1, DIGITS)) for k in sizes]))


def curator_errors(
    centre: Centre, epsilon: Fraction, delta: Fraction, truths: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Expected]:
    """What each answer errs by on average, over all pilots and splits of this epsilon; each release has this delta."""
    if len(names) == 1:
        return {name: _expected(centre, name, delta, np.array([float(epsilon)]), truths[name]) for name in names}
    pilot = pilot_survey(centre.world, epsilon, delta, names)
    rough = {query.statistic: _answers(centre, query, truths, place) for place, query in enumerate(pilot.queries)}
    splits = [
        main_epsilons({name: float(values[i]) for name, values in rough.items()}, names, epsilon, pilot)
        for i in range(PILOTS)
    ]
    return {
        name: _expected(centre, name, delta, np.array([float(split[place]) for split in splits]), truths[name])
        for place, name in enumerate(names)
    }


def _answers(centre: Centre, query: CuratorQuery, truths: Mapping[str, Any], place: int) -> Floats:
    """A pilot's answers: in each block one from each of as many equal parts of its law, in an order of their own.

    The same chances whatever the policy: what two policies have in common does not blur their ratio.
    """
    words = np.frombuffer(keyed_random_bytes(seeded_key("pilots", place))(16 * PILOTS), dtype=np.uint64)
    order, within = words[:PILOTS].reshape(BLOCKS, -1).argsort(axis=1).ravel(), words[PILOTS:] / 2.0**64
    chances = (order + within) * BLOCKS / PILOTS  # of being below: both signs, each size once
    sizes = size_law(centre.law(query)).at(2 * np.minimum(chances, 1 - chances))
    name = query.statistic
    truth = truths[name] if name in truths else exact(centre.world.graph, name)
    return np.rint(float(truth) + np.where(chances < 0.5, -sizes, sizes))


def _expected(centre: Centre, name: str, delta: Fraction, epsilons: Floats, truth: float) -> Expected:
    nodes = np.geomspace(epsilons.min(), epsilons.max(), NODES if len(epsilons) > 1 else 1)
    means = np.array([_mean_size(centre, name, Fraction(node).limit_denominator(10**9), delta) for node in nodes])
    if not means.all() or not truth:
        return Expected(0.0 if not means.any() else math.inf, 0.0, EXACT_LAW)
    errors = exp(np.interp(log(epsilons), log(nodes), log(means))) / abs(float(truth))
    if len(epsilons) == 1:
        return Expected(float(errors[0]), 0.0, EXACT_LAW)
    blocks = errors.reshape(BLOCKS, -1).mean(axis=1)
    return Expected(float(errors.mean()), float(blocks.std(ddof=1)) / math.sqrt(BLOCKS), EXACT_LAW)


def _mean_size(centre: Centre, name: str, epsilon: Fraction, delta: Fraction) -> float:
    (query,) = curator_survey(centre.world.public, epsilon, delta, [name]).queries
    return size_law(centre.law(query)).mean
