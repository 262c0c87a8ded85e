"""USER triangles: unbiased, with an interval that covers, whoever stays away.  [TRIANGLE.3-4]"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.user_triangles import TriangleCollection, triangles
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_triangles import FirstRound, RowHolders
from visibility_aware_edge_ldp.mechanisms.entropy import keyed_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.transcript import response_rate
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey, triangle_survey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.list_holders import cut_lists
from visibility_aware_edge_ldp.simulation.row_holders import collect_triangles
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.statistics import exact
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

RUNS = 600


def communities(n: int, groups: int, within: float, across: float, seed: int) -> Graph:
    """Users in groups, friends more often within a group than across."""
    random = np.random.default_rng(seed)
    group = random.integers(0, groups, n)
    u, v = np.triu_indices(n, 1)
    kept = random.random(u.size) < np.where(group[u] == group[v], within, across)
    return Graph(range(n), np.stack([u[kept], v[kept]], axis=1).astype(np.int32))


GROUPS = communities(100, 4, 0.6, 0.06, seed=1)
POLICIES = {
    "nothing public": VisibilityPolicy.nothing(),
    "three classes": VisibilityPolicy("0.2", "0.3", "0.5"),
    "profiles": VisibilityPolicy.public_profiles("0.3", "both"),
    "public friend lists": VisibilityPolicy.public_profiles("0.3", "any"),
}


@dataclass(frozen=True)
class Run:
    estimate: Estimate
    without_far_side: float
    """The estimate of a twin that forgets that the holder of the far side may have stayed away."""


@cache
def world_of(graph: str, policy: str) -> tuple[VisibilityAwareGraph, TriangleSurvey, float]:
    graphs = {"groups": GROUPS, "power law": powerlaw(100, 900, seed=3)}
    world = VisibilityAwareGraph(graphs[graph], POLICIES[policy])
    survey = triangle_survey(world.public, 4)
    survey.reach_noise.sample_many(500, keyed_coins(seeded_key(0)))  # its table, which pays for hundreds of runs
    return world, survey, exact(world.graph, "triangles")


def run_of(collection: TriangleCollection) -> Run:
    asked, first, _ = collection.counts
    found = triangles(collection)
    return Run(found, found.value * response_rate(asked, first))


def check(runs: list[Run], truth: float) -> None:
    values = np.array([run.estimate.value for run in runs])
    errors = np.array([run.estimate.standard_error for run in runs])
    print(z_of(values, truth), np.mean(np.abs(values - truth) < 1.96 * errors), np.mean(errors**2) / values.var(), values.std()/truth)
    assert abs(z_of(values, truth)) < Z_LIMIT
    held = [low <= truth <= high for low, high in (run.estimate.interval(0.95) for run in runs)]
    assert 0.93 <= np.mean(held) <= 0.97
    assert np.mean(errors**2) == pytest.approx(values.var(), rel=0.3)
    # The check can fail: intervals of half the length do not cover.
    assert np.mean(np.abs(values - truth) < 0.98 * errors) < 0.93


@pytest.mark.parametrize("dropout", [0.0, 0.3], ids=["everybody", "30 % stay away"])
@pytest.mark.parametrize(("graph", "policy"), [(g, p) for g in ("groups", "power law") for p in POLICIES])
def test_unbiased_and_covering(graph: str, policy: str, dropout: float) -> None:
    world, survey, truth = world_of(graph, policy)
    runs = [run_of(collect_triangles(world, survey, f"{policy} {i}", dropout)) for i in range(RUNS)]
    check(runs, truth)
