"""Every gain that a comparison prints is within 5 % of one that was found without its answers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.gains import BY_FORMULA, CLOSE, Reference, references

from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.compare.design import Design, designed
from visibility_aware_edge_ldp.evaluation.gains import EXACT, UNCLEAR, Gain
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.curator import curator_survey
from visibility_aware_edge_ldp.simulation.curator import Centre
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(400, 6000, 1)
POLICY = VisibilityPolicy.public_profiles("0.5")
# Of largest degrees alone ten times as many.
RUNS = {"position": 24, "user": 120, "neighbourhood": 60, "curator": 120}
EPSILON = 2


def is_close(gain: Gain, known: Reference) -> bool:
    if gain.verdict == EXACT or math.isinf(known.gain):
        return gain.verdict == EXACT and math.isinf(known.gain)
    return abs(gain.factor / known.gain - 1) <= CLOSE + 2 * known.doubt


@pytest.mark.long
@pytest.mark.parametrize("trust", [trust for trust in RUNS if trust != "curator"])  # see below
def test_every_printed_gain_is_within_5_percent(trust: str) -> None:
    found = compare(GRAPH, POLICY, (EPSILON,), 8, trust=trust, seed=1, most_trials=48)
    known = references(designed(GRAPH, POLICY, (EPSILON,), 1, None, trust), trust, Fraction(EPSILON), RUNS[trust])
    assert all(gain.verdict != UNCLEAR for gain in found.gains)
    wrong = [
        (gain.aware.statistic, gain.factor, known[gain.aware.statistic])
        for gain in found.gains
        if not is_close(gain, known[gain.aware.statistic])
    ]
    assert not wrong
    if trust == "position":
        assert sum(each.how == BY_FORMULA for each in known.values()) >= 5


def test_a_gain_that_is_off_by_a_tenth_is_found_out() -> None:
    """The broken twin: as if edges had a tenth less noise than they have."""
    found = compare(GRAPH, POLICY, (EPSILON,), 2, ("edges",), seed=1)
    known = references(designed(GRAPH, POLICY, (EPSILON,), 1, ("edges",), "position"), "position", Fraction(EPSILON), 2)
    (gain,), right = found.gains, known["edges"]
    assert is_close(gain, right)
    assert not is_close(gain, Reference(right.gain * 1.1, right.doubt, right.how))
    assert not is_close(gain, Reference(math.inf, 0.0, right.how))


def mean_size(design: Design, policy: str, name: str) -> float:
    """E|noise| = 2Σ P(noise > k) of one answer of a centre, term by term, and by trapezoids far out."""
    centre = Centre(design.worlds[policy], worked_out=design.worked_out[policy])
    (query,) = curator_survey(centre.world.public, Fraction(EPSILON), Fraction(0), [name]).queries
    law = centre.law(query)
    if law is None:
        return 0.0
    near, far = 4 * law.stride, np.geomspace(4 * law.stride, 10**6 * law.stride, 300)
    step = max(law.stride // 100, 1)
    points = np.unique(np.concatenate([np.arange(0, near, step), np.rint(far)]))
    beyond = np.array([1 - float(law.cdf(int(k), 25)) for k in points])
    widths = np.diff(points)
    # A step of one is a term of the sum; of a wider one, the mean of its terms.
    terms = np.where(widths == 1, beyond[:-1], widths * (beyond[:-1] + beyond[1:]) / 2 + (beyond[:-1] - beyond[1:]) / 2)
    return 2 * float(terms.sum())


@pytest.mark.long
def test_a_centre_s_gains_are_those_of_the_law_of_its_noise() -> None:
    """Of each statistic alone, for all of epsilon: then nothing but one noise is in its answer."""
    for name in designed(GRAPH, POLICY, (EPSILON,), 1, None, "curator").questions["curator"]:
        (gain,) = compare(GRAPH, POLICY, (EPSILON,), 2, (name,), trust="curator", seed=1).gains
        design = designed(GRAPH, POLICY, (EPSILON,), 1, (name,), "curator")
        known = mean_size(design, UNIFORM, name) / mean_size(design, AWARE, name)
        assert gain.factor == pytest.approx(known, rel=1e-3), name
        assert gain.factor != pytest.approx(known * 1.01, rel=1e-3), name
