"""USER transitivity where users stay away: one residual for each user.  [RATIO.1-2], [MIDDLE.3]"""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.nonresponse import row_transitivity
from visibility_aware_edge_ldp.aggregator.round_noise import Owned
from visibility_aware_edge_ldp.aggregator.rows import Needed, RowCollection, needed
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

# Numbered by falling degree, so that large users are first vertices and hardly ever middle ones.
WORLD = VisibilityAwareGraph(powerlaw(120, 1500, seed=1), VisibilityPolicy.nothing())
NAMES = ("stars:2", "triangles", "transitivity")


def errors(epsilon: float, runs: int, away: float = 0.3) -> tuple[float, float, float]:
    """Bias in its own standard errors, errors over standard errors, and how often 95 % intervals held the truth."""
    truth, value, variance, held = float(exact(WORLD.graph, "transitivity")), [], [], 0
    for seed in range(runs):
        found = estimate(WORLD, "user", epsilon, NAMES, seed=seed, dropout=away)["transitivity"]
        low, high = found.interval()
        held += low <= truth <= high
        value.append(float(found.value))
        variance.append(float(found.variance))
    deviation = float(np.std(value, ddof=1))
    return (fmean(value) - truth) / deviation * runs**0.5, deviation / fmean(variance) ** 0.5, held / runs


def as_if_alike(collection: RowCollection, rows: Owned) -> Needed:
    """The twin: everybody is the middle user as often as it is the first, as was taken for granted before."""
    found = needed(collection, rows)
    return found._replace(each=2 * found.own, noise=4 * found.own_noise)


@pytest.mark.long
def test_errors_are_as_large_as_it_says_and_a_twin_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    z, ratio, held = errors(20, 60)
    assert abs(z) < 4.5
    assert 0.75 < ratio < 1.25
    assert held > 0.88
    monkeypatch.setattr(row_transitivity, "needed", as_if_alike)
    _, twin, _ = errors(20, 60)
    assert not 0.75 < twin < 1.25


@pytest.mark.long
@pytest.mark.parametrize("away", [0.1, 0.3, 0.6])
def test_intervals_hold_the_truth_as_often_as_they_say(away: float) -> None:
    z, ratio, held = errors(8, 500, away)
    assert abs(z) < 5
    assert 0.85 < ratio < 1.15
    assert held > 0.92
