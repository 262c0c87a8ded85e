"""NEIGHBOURHOOD estimates: without bias where none is stated, with intervals that hold, with dropout; ego-Facebook."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from conftest import DataFolder
from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.hubs import triangles as estimate_hubs
from visibility_aware_edge_ldp.aggregator.neighbourhood import triangles as assigned
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.hubs import hub_survey
from visibility_aware_edge_ldp.simulation.simulate import collect_assigned_triangles, collect_hubs
from visibility_aware_edge_ldp.truth.attributes import read_attributes
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

RUNS = 500
# From 500 users on, the noise of degrees comes from a table, which makes many runs quick.
GRAPH = erdos_renyi(520, 3500, seed=6)
TRUTH = exact(GRAPH, "triangles")
MIXED = VisibilityAwareGraph(GRAPH, VisibilityPolicy("0.2", "0.3", "0.5"))
PRIVATE = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())


def held(found: Sequence[Estimate], truth: float, level: float = 0.95) -> float:
    return float(np.mean([low <= truth <= high for low, high in (one.interval(level) for one in found)]))


def repeat(make: Callable[[int], Estimate], runs: int = RUNS) -> list[Estimate]:
    return [make(i) for i in range(runs)]


@pytest.mark.long
@pytest.mark.parametrize(("world", "leaving"), [(PRIVATE, 0.0), (MIXED, 0.3)], ids=["private", "mixed, dropout"])
def test_believed_bounds_are_unbiased_and_cover(world: VisibilityAwareGraph, leaving: float) -> None:
    found = repeat(lambda i: assigned(collect_assigned_triangles(world, 2, "1e-6", seed=f"b{i}", leaving=leaving)))
    values = [one.value for one in found]
    assert abs(z_of(values, TRUTH)) < Z_LIMIT
    assert np.mean([one.variance for one in found]) == pytest.approx(np.var(values), rel=0.2)
    assert 0.93 <= held(found, TRUTH) <= 0.97
    assert all(one.unbiased for one in found)
    shorter = np.mean([abs(value - TRUTH) <= one.standard_error for value, one in zip(values, found, strict=True)])
    assert not 0.93 <= shorter <= 0.97, "intervals of half the length must not pass"


@pytest.mark.long
@pytest.mark.parametrize(("dropout", "leaving"), [(0.0, 0.0), (0.2, 0.2)])
def test_weighted_counts_are_low_by_less_than_they_say(dropout: float, leaving: float) -> None:
    """The stated bias bounds the true one; noise dominates it, so intervals hold about as often as they say."""
    runs = [collect_assigned_triangles(MIXED, 2, seed=f"w{i}", dropout=dropout, leaving=leaving) for i in range(RUNS)]
    found = [assigned(run) for run in runs]
    values = np.array([one.value for one in found])
    lost = float(np.mean([run.survey.plan.lost for run in runs]))
    error = values.std(ddof=1) / np.sqrt(RUNS)
    assert 0 < lost < 0.5 * values.std(), "noise dominates"
    assert -lost - Z_LIMIT * error < values.mean() - TRUTH < Z_LIMIT * error
    assert not any(one.unbiased for one in found)
    assert 0.93 <= held(found, TRUTH) <= 0.97
    middle = [one.value + run.survey.plan.lost / 2 for one, run in zip(found, runs, strict=True)]
    assert abs(np.mean(middle) - TRUTH) < lost / 2 + Z_LIMIT * error


def test_a_hard_cap_is_low_and_its_interval_says_how_low() -> None:
    """Half of everybody's friends are forgotten: most triangles are lost, far more than the noise could hide."""
    graph = erdos_renyi(80, 900, seed=6)
    world, truth = VisibilityAwareGraph(graph, VisibilityPolicy.nothing()), exact(graph, "triangles")
    found = repeat(lambda i: assigned(collect_assigned_triangles(world, 8, cap=11, seed=f"c{i}")), 40)
    assert np.mean([one.value + 4 * one.standard_error for one in found]) < 0.5 * truth
    assert held(found, truth) == 1.0


def test_the_bill_adds_both_rounds() -> None:
    run = collect_assigned_triangles(PRIVATE, 1, "1e-6", seed=0)
    total = Bill(assigned(run).releases)["PRIVATE"]
    assert (total.epsilon, total.delta) == (1, Fraction(1, 10**6))
    pure = Bill(assigned(collect_assigned_triangles(PRIVATE, 1, seed=0)).releases)["PRIVATE"]
    assert (pure.epsilon, pure.delta) == (1, 0)


def test_what_repeats_with_a_seed_differs_without() -> None:
    one, same, other = (assigned(collect_assigned_triangles(PRIVATE, 1, seed=s)).value for s in (1, 1, None))
    assert one == same != other


FACEBOOK_TRIANGLES = 1_612_010


@pytest.fixture(scope="module")
def facebook(data_folder: DataFolder) -> VisibilityAwareGraph:
    graph = read_graph(str(data_folder / "facebook_combined.txt.gz"))
    egos = read_attributes(data_folder / "facebook_profile.csv.gz").where("is_ego > 0")
    policy = VisibilityPolicy.from_profiles({name: "public" for name, ego in egos.items() if ego}, rule="any")
    return VisibilityAwareGraph(graph, policy)


def mean_error(found: Sequence[Estimate]) -> float:
    return float(np.mean([abs(one.value - FACEBOOK_TRIANGLES) for one in found])) / FACEBOOK_TRIANGLES


@pytest.mark.parametrize(("delta", "most"), [("0", 0.018), ("1e-6", 0.011)])
def test_facebook_with_nothing_public(facebook: VisibilityAwareGraph, delta: str, most: float) -> None:
    """The issue asks for 6 %; the theory for these plans says 1.1 and 0.65 %."""
    world = VisibilityAwareGraph(facebook.graph, VisibilityPolicy.nothing())
    begun = time.process_time()
    found = [assigned(collect_assigned_triangles(world, 1, delta, seed=i)) for i in range(8)]
    assert (time.process_time() - begun) / 8 < 4
    assert mean_error(found) < most


@pytest.mark.parametrize(("kind", "most"), [("shared", 0.002), ("plain", 0.004)])
def test_facebook_with_the_egos_as_hubs(facebook: VisibilityAwareGraph, kind: str, most: float) -> None:
    survey = hub_survey(facebook.public, 1, kind)
    assert len(survey.plan.hubs) == 10
    begun = time.process_time()
    found = [estimate_hubs(collect_hubs(facebook, survey, seed=i)) for i in range(4)]
    assert (time.process_time() - begun) / 4 < 8
    assert mean_error(found) < most
    assert held(found, FACEBOOK_TRIANGLES) >= 0.75
