"""NEIGHBOURHOOD estimates: without bias where none is stated, with intervals that hold, with dropout; ego-Facebook."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from alarm import Z_LIMIT, z_of
from conftest import DataFolder
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.hub import HubCollection
from visibility_aware_edge_ldp.aggregator.hub import estimate as estimate_hubs
from visibility_aware_edge_ldp.aggregator.neighbourhood import public_triangles
from visibility_aware_edge_ldp.client.hub import Territory
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.public.hub_plan import hub_plan
from visibility_aware_edge_ldp.public.hub_survey import hub_survey
from visibility_aware_edge_ldp.simulation.neighbourhoods import collect_hubs, collect_owned_triangles
from visibility_aware_edge_ldp.truth.attributes import read_attributes
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.statistics import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

RUNS = 500
# From 500 users on, the noise of degrees comes from a table, which makes many runs quick.
GRAPH = erdos_renyi(520, 6000, seed=6)
TRUTH = exact(GRAPH, "triangles")
MIXED = VisibilityAwareGraph(GRAPH, VisibilityPolicy("0.2", "0.3", "0.5"))
PRIVATE = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())


def held(found: Sequence[Estimate], truth: float, level: float = 0.95) -> float:
    return float(np.mean([low <= truth <= high for low, high in (one.interval(level) for one in found)]))


def repeat(make: Callable[[int], Estimate], runs: int = RUNS) -> list[Estimate]:
    return [make(i) for i in range(runs)]


@pytest.mark.parametrize(("world", "leaving"), [(PRIVATE, 0.0), (MIXED, 0.3)], ids=["private", "mixed, dropout"])
def test_believed_bounds_are_unbiased_and_cover(world: VisibilityAwareGraph, leaving: float) -> None:
    found = repeat(lambda i: collect_owned_triangles(world, 2, "1e-6", seed=f"b{i}", leaving=leaving).estimate)
    values = [one.value for one in found]
    assert abs(z_of(values, TRUTH)) < Z_LIMIT
    assert np.mean([one.variance for one in found]) == pytest.approx(np.var(values), rel=0.2)
    assert 0.93 <= held(found, TRUTH) <= 0.97
    assert all(one.unbiased for one in found)
    shorter = np.mean([abs(value - TRUTH) <= one.standard_error for value, one in zip(values, found, strict=True)])
    assert not 0.93 <= shorter <= 0.97, "intervals of half the length must not pass"


@pytest.mark.parametrize(("dropout", "leaving"), [(0.0, 0.0), (0.2, 0.2)])
def test_weighted_counts_are_low_by_less_than_they_say(dropout: float, leaving: float) -> None:
    """The bias that is stated bounds the true one; noise dominates it, so intervals hold nearly as often as they say."""
    runs = [collect_owned_triangles(MIXED, 2, seed=f"w{i}", dropout=dropout, leaving=leaving) for i in range(RUNS)]
    found = [run.estimate for run in runs]
    values = np.array([one.value for one in found])
    lost = float(np.mean([run.collection.survey.plan.lost for run in runs]))
    error = values.std(ddof=1) / np.sqrt(RUNS)
    assert 0 < lost < 0.5 * values.std(), "noise dominates"
    assert -lost - Z_LIMIT * error < values.mean() - TRUTH < Z_LIMIT * error
    assert not any(one.unbiased for one in found)
    assert 0.93 <= held(found, TRUTH) <= 0.985
    middle = [one.value + run.collection.survey.plan.lost / 2 for one, run in zip(found, runs, strict=True)]
    assert abs(np.mean(middle) - TRUTH) < lost / 2 + Z_LIMIT * error


def test_a_hard_cap_is_low_and_its_interval_says_how_low() -> None:
    found = repeat(lambda i: collect_owned_triangles(PRIVATE, 2, cap=15, seed=f"c{i}").estimate, 60)
    assert np.mean([one.value for one in found]) < 0.8 * TRUTH
    assert held(found, TRUTH) == 1.0


def test_the_bill_adds_both_rounds() -> None:
    run = collect_owned_triangles(PRIVATE, 1, "1e-6", seed=0)
    total = Bill(run.estimate.releases)["PRIVATE"]
    assert (total.epsilon, total.delta) == (1, Fraction(1, 10**6))
    pure = Bill(collect_owned_triangles(PRIVATE, 1, seed=0).estimate.releases)["PRIVATE"]
    assert (pure.epsilon, pure.delta) == (1, 0)


def test_what_repeats_with_a_seed_differs_without() -> None:
    one, same, other = (collect_owned_triangles(PRIVATE, 1, seed=s).estimate.value for s in (1, 1, None))
    assert one == same != other


def overlapping_lists(outside: int = 0) -> VisibilityAwareGraph:
    """Two public hubs whose lists overlap in 20 nodes and, but for ``outside`` nodes, hold everybody."""
    people = erdos_renyi(80, 900, seed=7).edges + 2
    stars = [(0, v) for v in range(2, 52)] + [(1, v) for v in range(32, 82 - outside)]
    edges = np.unique(np.concatenate([np.array(stars, np.int32), people]), axis=0)
    return VisibilityAwareGraph(edges.tolist(), VisibilityPolicy.from_profiles({0: "public", 1: "public"}, rule="any"))


def collections(world: VisibilityAwareGraph, kind: str, runs: int = RUNS) -> list[HubCollection]:
    survey = hub_survey(world.public, 1, kind)
    return [collect_hubs(world, survey, seed=f"{kind} {i}") for i in range(runs)]


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


def test_a_missing_hub_is_said() -> None:
    world = overlapping_lists()
    survey = hub_survey(world.public, 1)
    collection = collect_hubs(world, survey, seed=1, absent=[0])
    assert collection.missing == (0,)
    found = estimate_hubs(collection)
    assert not found.unbiased
    assert found.interval()[1] == world.graph.n * (world.graph.n - 1) * (world.graph.n - 2) // 6


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
    found = [collect_owned_triangles(world, 1, delta, seed=i).estimate for i in range(8)]
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
