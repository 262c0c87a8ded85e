"""Public hubs: no bias where none is stated, intervals that hold, and what is missing is said.  [HUBSUM.1-3]"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.aggregator.collection import public_triangles
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.hubs import HubCollection
from visibility_aware_edge_ldp.aggregator.hubs import triangles as estimate_hubs
from visibility_aware_edge_ldp.client.hubs import Territory
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.hubs import hub_plan, hub_survey
from visibility_aware_edge_ldp.simulation.simulate import collect_hubs
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

RUNS = 500


def held(found: Sequence[Estimate], truth: float, level: float = 0.95) -> float:
    return float(np.mean([low <= truth <= high for low, high in (one.interval(level) for one in found)]))


def overlapping_lists(outside: int = 0, friendless: bool = False) -> VisibilityAwareGraph:
    """Two public hubs whose lists overlap in 20 nodes and, but for ``outside`` nodes, hold everybody."""
    people = erdos_renyi(80, 900, seed=7).edges + 2
    if friendless:
        people = people[(people < 82 - outside).all(axis=1)]
    stars = [(0, v) for v in range(2, 52)] + [(1, v) for v in range(32, 82 - outside)]
    edges = np.unique(np.concatenate([np.array(stars, np.int32), people]), axis=0)
    policy = VisibilityPolicy.from_profiles({0: "public", 1: "public"}, rule="any")
    return VisibilityAwareGraph(read_graph(edges.tolist(), nodes=82), policy)


def collections(world: VisibilityAwareGraph, kind: str, runs: int = RUNS) -> list[HubCollection]:
    survey = hub_survey(world.public, 1, kind)
    return [collect_hubs(world, survey, seed=f"{kind} {i}") for i in range(runs)]


@pytest.mark.long
def test_shared_hubs_are_unbiased_and_cover() -> None:
    """Among any three nodes two share a list, so nothing can be left out."""
    world = overlapping_lists()
    truth = exact(world.graph, "triangles")
    found = [estimate_hubs(one) for one in collections(world, "shared")]
    assert all(one.unbiased for one in found)
    values = [one.value for one in found]
    assert abs(z_of(values, truth)) < Z_LIMIT
    assert found[0].variance == pytest.approx(np.var(values), rel=0.2)
    assert 0.93 <= held(found, truth) <= 0.97
    assert 0.87 <= held(found, truth, 0.9) <= 0.93


def test_plain_hubs_leave_out_what_they_say() -> None:
    world = overlapping_lists()
    truth = exact(world.graph, "triangles")
    plan = hub_plan(world.public)
    inside = sum(Territory.of(world.graph.edges, world.public, plan, h).count("inside") for h in range(2))
    counted = inside + public_triangles(world.public)
    assert counted < 0.9 * truth
    runs = collections(world, "plain", 250)
    found = [estimate_hubs(one) for one in runs]
    assert not any(one.unbiased for one in found)
    assert abs(z_of([one.value for one in found], counted)) < Z_LIMIT
    assert abs(z_of([one.total("rest") for one in runs], truth - counted)) < Z_LIMIT
    assert held(found, truth) >= 0.94
    assert np.mean([counted + one.left_out() < truth for one in runs]) < 0.05


def test_hubs_with_people_outside_every_list() -> None:
    """Triangles among people that no hub knows are never counted, and the upper end allows for them."""
    world = overlapping_lists(outside=12)
    truth = exact(world.graph, "triangles")
    found = [estimate_hubs(one) for one in collections(world, "shared", 100)]
    assert not any(one.unbiased for one in found)
    assert np.mean([one.value for one in found]) < truth
    assert held(found, truth) >= 0.95


@pytest.mark.long
def test_hubs_that_see_everything_are_held_as_often_as_is_said() -> None:
    """The hardest case: people outside every list have no friends, so all that the interval allows for is not there."""
    world = overlapping_lists(outside=12, friendless=True)
    truth = exact(world.graph, "triangles")
    found = [estimate_hubs(one) for one in collections(world, "shared")]
    assert not any(one.unbiased for one in found)
    assert abs(z_of([one.value for one in found], truth)) < Z_LIMIT
    assert 0.93 <= held(found, truth) <= 0.97
    assert 0.87 <= held(found, truth, 0.9) <= 0.93
    assert all(one.interval()[1] > truth for one in found), "the raise is all above"


def test_a_missing_hub_is_said() -> None:
    world = overlapping_lists()
    survey = hub_survey(world.public, 1)
    collection = collect_hubs(world, survey, seed=1, absent=[0])
    assert collection.missing == (0,)
    found = estimate_hubs(collection)
    assert not found.unbiased
    assert found.interval()[1] == world.graph.n * (world.graph.n - 1) * (world.graph.n - 2) // 6
