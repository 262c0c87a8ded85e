"""Counts by users and by hubs, before anybody is asked."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation.plan.planner import plan
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)


HUBS = VisibilityPolicy.public_profiles("0.4")


@pytest.mark.parametrize("policy", ["users", "hubs"])
def test_the_neighbourhood_knows_its_noise(policy: str) -> None:
    world = VisibilityAwareGraph(GRAPH, HUBS if policy == "hubs" else VisibilityPolicy.nothing())
    row = plan(family=GRAPH, policy=world.policy, epsilons=[2], statistics="triangles", trust=["neighbourhood"])
    errors = [estimate(world, "neighbourhood", 2, ["triangles"], seed=i)["triangles"].standard_error for i in range(3)]
    assert row.predictions[0].standard_error == pytest.approx(float(np.mean(errors)), rel=0.05)
