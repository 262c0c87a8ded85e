"""Every gain that a comparison prints is within 5 % of one that was found without its answers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from benchmarks.gains import BY_FORMULA, CLOSE, Reference, references

from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.compare.design import designed
from visibility_aware_edge_ldp.evaluation.gains import EXACT, UNCLEAR, Gain
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(400, 6000, 1)
POLICY = VisibilityPolicy.public_profiles("0.5")
RUNS = {"position": 240, "user": 120, "neighbourhood": 60, "curator": 120}
EPSILON = 2


def is_close(gain: Gain, known: Reference) -> bool:
    if gain.verdict == EXACT or math.isinf(known.gain):
        return gain.verdict == EXACT and math.isinf(known.gain)
    return abs(gain.factor / known.gain - 1) <= CLOSE + 2 * known.doubt


@pytest.mark.long
@pytest.mark.parametrize("trust", [trust for trust in RUNS if trust != "curator"])  # that is an exact law's
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
