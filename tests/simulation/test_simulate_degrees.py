"""USER degrees: unbiased, with intervals that cover, and as accurate as promised on real graphs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.client.degrees import class_counts
from visibility_aware_edge_ldp.counts.degrees.degree_histogram import (
    fitted_histogram,
    projected_histogram,
    unbiased_histogram,
)
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.degrees import degree_report, degree_survey
from visibility_aware_edge_ldp.public.surveys.histogram import histogram_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.simulation.worlds import cut_lists
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

COLLECTIONS = 1000
GRAPH = erdos_renyi(60, 400, seed=1)
POLICIES = {
    "nothing public": VisibilityPolicy.nothing(),
    "three classes": VisibilityPolicy("0.2", "0.3", "0.5"),
}
NAMES = ("edges", "stars:2", "stars:3", "tail:13")
TRUTH = {name: exact(GRAPH, name) for name in NAMES[:3]} | {"tail:13": float((GRAPH.degrees >= 13).sum())}


def collections(world: VisibilityAwareGraph, epsilon: str, count: int, dropout: float) -> list[DegreeCollection]:
    """Many collections with noise drawn in one go: single draws take a thousand times as long."""
    survey, n = degree_survey(world.public, epsilon), world.graph.n
    (lists,) = cut_lists(world.graph)
    lengths = class_counts(lists, world.public, survey.classes)
    coins = keyed_coins(seeded_key("collections", world.graph.source, epsilon, str(dropout), str(world.policy)))
    noise = [survey.mechanism(kind).sample_many(count * n, coins).reshape(count, n) for kind in survey.classes]
    present = np.frombuffer(coins(4 * count * n), "<u4").reshape(count, n) >= dropout * 2**32
    found = []
    for run in range(count):
        collection = DegreeCollection(survey, world.public)
        drawn = np.array([each[run] for each in noise])
        collection.absorb(degree_report(survey.identity, 0, present[run], lengths + drawn))
        found.append(collection)
    return found


@cache
def runs(policy: str, dropout: float) -> list[dict[str, Estimate]]:
    world = VisibilityAwareGraph(GRAPH, POLICIES[policy])
    names = (*NAMES, "degrees")
    return [estimate(collection, names) for collection in collections(world, "1", COLLECTIONS, dropout)]


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_unbiased_and_covering(policy: str, dropout: float) -> None:
    found = runs(policy, dropout)
    for name in NAMES:
        values = [run[name].value for run in found]
        assert abs(z_of(values, TRUTH[name])) < Z_LIMIT, name
        assert np.mean([run[name].variance for run in found]) == pytest.approx(np.var(values), rel=0.15), name
        assert covered(found, name, TRUTH[name]) >= 0.93, name
        # Where an interval allows for a large user among the absent, it says so; without that it holds what it says.
        assert all(run[name].conservative == bool(run[name].holds_if) for run in found) or name == "tail:13", name
        assert all(bool(run[name].holds_if) == (dropout > 0 and name != "tail:13") for run in found), name
        plain = [{name: replace(run[name], limits=None)} for run in found]
        assert 0.93 <= covered(plain, name, TRUTH[name]) <= 0.97, name
    if not dropout:
        degrees = np.array([run["degrees"].value for run in found])
        errors = (degrees.mean(axis=0) - GRAPH.degrees) / (degrees.std(axis=0, ddof=1) / np.sqrt(COLLECTIONS))
        assert np.abs(errors).max() < Z_LIMIT
        check_that_the_test_can_fail(found)


def covered(found: list[dict[str, Estimate]], name: str, truth: float) -> float:
    limits = [run[name].interval() for run in found]
    return float(np.mean([low <= truth <= high for low, high in limits]))


def check_that_the_test_can_fail(found: list[dict[str, Estimate]]) -> None:
    """C(x, 2) of a noisy degree is biased, and intervals of half the length do not cover."""
    naive = [float((run["degrees"].value * (run["degrees"].value - 1) / 2).sum()) for run in found]
    assert abs(z_of(naive, TRUTH["stars:2"])) > 3 * Z_LIMIT
    short = [abs(run["edges"].value - TRUTH["edges"]) <= 0.98 * run["edges"].standard_error for run in found]
    assert not 0.93 <= np.mean(short) <= 0.97


@pytest.mark.parametrize("dropout", [0.3, 0.5])
@pytest.mark.parametrize("size", [(100, 600), (300, 1500)], ids=["100 users", "300 users"])
def test_stars_of_few_large_users_are_covered_when_some_of_them_are_missing(
    size: tuple[int, int], dropout: float
) -> None:
    """[STUDENT.3]: normal intervals fall short here, and too often on one side."""
    graph = powerlaw(*size, seed=1)
    world = VisibilityAwareGraph(graph, VisibilityPolicy.nothing())
    found = [estimate(each, ["stars:3"]) for each in collections(world, "2", COLLECTIONS, dropout)]
    truth = exact(graph, "stars:3")
    assert abs(z_of([run["stars:3"].value for run in found], truth)) < Z_LIMIT
    assert 0.93 <= covered(found, "stars:3", truth) <= 0.97
    normal = [replace(run["stars:3"], freedom=np.inf, skew=0.0, limits=None) for run in found]
    assert covered([{"stars:3": one} for one in normal], "stars:3", truth) < covered(found, "stars:3", truth)


def test_ignoring_who_is_absent_does_not_cover() -> None:
    """The twin without the variance of sampling: its intervals are too short under dropout."""
    found = runs("nothing public", 0.3)
    noise = degree_survey(VisibilityAwareGraph(GRAPH, POLICIES["nothing public"]).public, 1)
    only_noise = noise.mechanism(noise.classes[0]).variance * 60 / 0.7 / 4
    held = [abs(run["edges"].value - TRUTH["edges"]) <= 1.96 * only_noise**0.5 for run in found]
    assert np.mean(held) < 0.93


@pytest.mark.long
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_three_histograms(dropout: float) -> None:
    """The unbiased one is; its intervals cover; the fitted one is nearest to the truth."""
    graph = powerlaw(600, 4000, seed=1)
    world = VisibilityAwareGraph(graph, VisibilityPolicy("0.2", "0.3", "0.5"))
    degrees = [each.noisy_degrees() for each in collections(world, "1", 300, dropout)]
    edges = unbiased_histogram(degrees[0]).edges
    truth = np.histogram(graph.degrees, edges)[0]
    many = truth >= 20
    unbiased = [unbiased_histogram(each, edges) for each in degrees]
    counts = np.array([each.counts for each in unbiased])
    for place in np.flatnonzero(many):
        assert abs(z_of(counts[:, place], truth[place])) < Z_LIMIT
    held = np.mean([inside(each, truth)[many] for each in unbiased])
    assert 0.93 <= held <= 0.98
    fitted = [fitted_histogram(each) for each in degrees[:60]]
    assert np.mean([inside(each, np.histogram(graph.degrees, each.edges)[0]) for each in fitted]) > 0.95
    errors = {
        "unbiased": np.mean([np.abs(each.counts - truth).sum() for each in unbiased]),
        "projected": np.mean([np.abs(projected_histogram(each, edges).counts - truth).sum() for each in degrees]),
        "fitted": np.mean([np.abs(h.counts - np.histogram(graph.degrees, h.edges)[0]).sum() for h in fitted]),
    }
    assert errors["unbiased"] > errors["projected"] > 2 * errors["fitted"]


def inside(found: Any, truth: np.ndarray) -> np.ndarray:
    low, high = found.interval(0.95)
    return (low <= truth) & (truth <= high)


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES)
def test_the_largest_degree_is_near_and_its_limits_hold_it(policy: str) -> None:
    graph = powerlaw(600, 4000, seed=1)
    world = VisibilityAwareGraph(graph, POLICIES[policy])
    truth = float(graph.degrees.max())
    found = [estimate(each, ["max_degree"]) for each in collections(world, "2", 80, 0.0)]
    assert covered(found, "max_degree", truth) >= 0.93
    assert np.mean([abs(run["max_degree"].value - truth) for run in found]) < 0.02 * truth
    away = [estimate(each, ["max_degree"]) for each in collections(world, "2", 20, 0.3)]
    assert covered(away, "max_degree", truth) == 1


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_whole_degrees_hidden_the_histogram_is_unbiased_and_covers(dropout: float) -> None:
    """[WHOLE.4]"""
    world = VisibilityAwareGraph(erdos_renyi(400, 1600, 4), VisibilityPolicy.nothing())
    survey = histogram_survey(world.public, 1)
    found = [collect(world, survey, f"whole {i}", dropout).histogram() for i in range(400)]
    truth = np.histogram(world.graph.degrees, survey.edges)[0]
    values = np.array([each.value for each in found])
    for place in range(truth.size):
        assert abs(z_of(values[:, place], truth[place])) < Z_LIMIT
    held = np.mean([inside(each, truth) for each in found])
    assert 0.93 <= held <= 0.97
    assert np.mean([each.variance for each in found], axis=0) == pytest.approx(values.var(axis=0), rel=0.35)
    projected = collect(world, survey, "whole 0", dropout).projected()
    assert np.abs(projected.value - truth).sum() < np.abs(values[0] - truth).sum()


def test_a_view_at_a_time_or_all_at_once() -> None:
    for size in (1, 7, 60, 1000):
        views = list(cut_lists(GRAPH, size))
        assert [view.start for view in views] == list(range(0, 60, size))
        lengths = np.concatenate([np.diff(view.offsets) for view in views])
        assert (lengths == GRAPH.degrees).all()
        starts, targets = GRAPH.neighbours
        assert (np.concatenate([view.neighbours for view in views]) == targets).all()
        assert all(view.offsets[0] == 0 for view in views)
        assert starts[-1] == sum(view.neighbours.size for view in views)


def test_seeds_repeat_and_secret_coins_do_not() -> None:
    world = VisibilityAwareGraph(GRAPH, POLICIES["three classes"])
    survey = degree_survey(world.public, 1)
    one, again, other = (collect(world, survey, seed, 0.2).releases for seed in (1, 1, 2))
    assert one == again != other
    assert len({collect(world, survey).releases for _ in range(3)}) == 3


def test_facebook(data_folder: Any) -> None:
    """All 4,039 users, nothing public, ε = 1 per edge (1/2 per list): mean relative errors of 20 collections."""
    world = VisibilityAwareGraph(read_graph(data_folder / "facebook_combined.txt.gz"), VisibilityPolicy.nothing())
    survey = degree_survey(world.public, 1)
    most = {"edges": 0.0011, "stars:2": 0.0014, "stars:3": 0.0033, "max_degree": 0.003}
    found = [estimate(collect(world, survey, seed), list(most)) for seed in range(20)]
    for name, limit in most.items():
        truth = exact(world.graph, name)
        assert np.mean([abs(run[name].value - truth) / truth for run in found]) <= limit, name
    assert {str(price.epsilon) for _, price in survey.releases[0].prices} == {"1", "2"}


def test_many_users_and_no_walk_over_all_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """50,000 users have more than a billion positions; none of that is ever written down."""

    def too_many(*_: object) -> None:
        raise AssertionError("all positions were looked at")

    monkeypatch.setattr(PublicView, "_class_parts", too_many)
    graph = powerlaw(50_000, 250_000, seed=3)
    world = VisibilityAwareGraph(graph, VisibilityPolicy.public_profiles("0.1", "both"))
    found = estimate(collect(world, degree_survey(world.public, 1), 1), "all")
    degrees = graph.degrees.astype(float)
    for name, truth in (("edges", degrees.sum() / 2), ("stars:2", (degrees * (degrees - 1) / 2).sum())):
        low, high = found[name].interval(0.9999)
        assert low <= truth <= high
        assert found[name].standard_error < 0.01 * truth
    assert found["max_degree"].value == pytest.approx(degrees.max(), rel=0.05)
