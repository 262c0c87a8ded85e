"""Unbiased, with an interval: 2,000 simulated collections on a small graph with three classes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.position import estimate_ipw_capped
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

COLLECTIONS = 2000
UNBIASED = ("edges", "stars:2", "stars:3", "stars:4", "triangles", "four_cycles")
STATISTICS = (*UNBIASED, "degrees", "transitivity")
SETTINGS = {"one round": (1, 0.0), "one round, 30 % dropout": (1, 0.3), "two rounds, 30 % dropout": (2, 0.3)}
# The two-round channel needs more epsilon for the same accuracy; intervals are normal only while errors are moderate.
# With two rounds, dropout and epsilon 3 the 4-cycles' intervals covered 92.9 %: see [AGGREGATE.2] and known-limits.md.
EPSILON = {1: "2", 2: "4"}

WORLD = VisibilityAwareGraph(erdos_renyi(48, 420, seed=3), VisibilityPolicy("0.2", "0.3", "0.5"))
TRUTH = {name: exact(WORLD.graph, name) for name in STATISTICS}


@cache
def runs(setting: str) -> list[dict[str, Estimate]]:
    rounds, dropout = SETTINGS[setting]
    survey = position_survey(WORLD.public, EPSILON[rounds], rounds)
    return [estimate(collect(WORLD, survey, f"{setting} {i}", dropout), STATISTICS) for i in range(COLLECTIONS)]


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS)
def test_unbiased_and_covering(setting: str) -> None:
    """One test a setting, so that its collections are made once."""
    found = runs(setting)
    for name in UNBIASED:
        values = [run[name].value for run in found]
        assert abs(z_of(values, TRUTH[name])) < Z_LIMIT, name
        estimated = np.mean([run[name].variance for run in found])
        assert estimated == pytest.approx(np.var(values), rel=0.15), name
    for name in (*UNBIASED, "transitivity"):
        held = np.mean([run[name].interval(0.95)[0] <= TRUTH[name] <= run[name].interval(0.95)[1] for run in found])
        assert 0.93 <= held <= 0.97, name
    degrees = np.array([run["degrees"].value for run in found])
    errors = (degrees.mean(axis=0) - TRUTH["degrees"]) / (degrees.std(axis=0, ddof=1) / np.sqrt(COLLECTIONS))
    assert np.abs(errors).max() < Z_LIMIT
    if setting == "one round":
        check_that_the_test_can_fail(found)


def check_that_the_test_can_fail(found: list[dict[str, Estimate]]) -> None:
    """C(d̂, 2) of a noisy degree is biased, and intervals of half the length do not cover."""
    naive = [float((run["degrees"].value * (run["degrees"].value - 1) / 2).sum()) for run in found]
    assert abs(z_of(naive, TRUTH["stars:2"])) > Z_LIMIT
    reach = [
        abs(run["triangles"].value - TRUTH["triangles"]) <= 0.98 * run["triangles"].standard_error for run in found
    ]
    assert not 0.93 <= np.mean(reach) <= 0.97


@pytest.mark.long
def test_the_documents_estimator_is_biased() -> None:
    survey = position_survey(WORLD.public, "2", 2)
    collections = [collect(WORLD, survey, f"ipw {i}") for i in range(300)]
    capped = [estimate_ipw_capped(one, ("triangles", "stars:2", "stars:3")) for one in collections]
    for name in ("triangles", "stars:2", "stars:3"):
        assert abs(z_of([run[name].value for run in capped], TRUTH[name])) > 10, name
    honest = [estimate(one, ("triangles",))["triangles"].value for one in collections]
    assert abs(z_of(honest, TRUTH["triangles"])) < Z_LIMIT
