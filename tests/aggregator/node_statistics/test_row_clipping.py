"""Triangles by double clipping: intervals, what is said of them, and what is refused.  [CLIP.4]"""

from __future__ import annotations

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = va.VisibilityAwareGraph(erdos_renyi(50, 400, 2))


@pytest.mark.parametrize("policy", ["nothing", "document-001"])
def test_the_mean_is_near_the_truth_and_intervals_hold_it(policy: str) -> None:
    """Of 60 intervals of 95 % at least 49 hold it: fewer come with a chance below 1e-4."""
    world = va.VisibilityAwareGraph(WORLD.graph, policy)
    truth = exact(world.graph, "triangles")
    found = [
        va.estimate(world, "user", 6, ["triangles"], clip="double", delta="1e-6", seed=seed)["triangles"]
        for seed in range(60)
    ]
    assert abs(z_of([float(each.value) for each in found], truth)) < Z_LIMIT
    assert sum(low <= truth <= high for low, high in (each.interval() for each in found)) >= 49
    stated = np.sqrt(np.mean([float(each.variance) for each in found]))
    assert 0.6 < np.std([float(each.value) for each in found]) / stated < 1.5
    assert not found[0].unbiased


def test_the_certificate_says_delta_and_whom_it_trusts() -> None:
    answers = va.estimate(WORLD, "user", 2, ["triangles", "edges"], clip="double", delta="1e-6", seed=1)
    price = answers.bill["PRIVATE"]
    assert (float(price.epsilon), float(price.delta)) == (pytest.approx(2), pytest.approx(1e-6))
    assert any("all other users answer the first round" in text for text in answers.certificate.assumptions)
    assert sum(answers.certificate.spent.values()) == pytest.approx(2)
    assert "the lengths of lists" in answers.certificate.spent


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(BadPrivacyParameter, match="--delta 1e-6"):
        va.estimate(WORLD, "user", 1, ["triangles"], clip="double")
    with pytest.raises(BadInput, match="leave out dropout and the others"):
        va.estimate(WORLD, "user", 1, ["triangles", "transitivity"], clip="double", delta="1e-6")
    with pytest.raises(BadInput, match="leave out dropout and the others"):
        va.estimate(WORLD, "user", 1, ["triangles"], clip="double", delta="1e-6", dropout=0.1)
    with pytest.raises(BadInput, match="'smooth' or 'double'"):
        va.estimate(WORLD, "user", 1, ["triangles"], clip="triple")
    with pytest.raises(BadInput, match="in the user model, not in position"):
        va.estimate(WORLD, "position", 1, ["triangles"], clip="double")
