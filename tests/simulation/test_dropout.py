"""Six of ten users are away: no estimator is biased, intervals hold the truth, and twins that forget them are caught.

`python -m benchmarks.dropout` measures the same on larger graphs, with nobody, 30 % and 60 % away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.aggregator import (
    degrees as degree_module,
)
from visibility_aware_edge_ldp.aggregator import (
    hubs,
    neighbourhood,
    round_noise,
)
from visibility_aware_edge_ldp.aggregator import (
    rows as row_module,
)
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_all
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.neighbourhood import NeighbourhoodCollection
from visibility_aware_edge_ldp.aggregator.neighbourhood import triangles as assigned
from visibility_aware_edge_ldp.aggregator.nonresponse import row_transitivity
from visibility_aware_edge_ldp.aggregator.nonresponse.row_transitivity import transitivity
from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.counts.degrees import degree_functions
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.histogram import histogram_survey
from visibility_aware_edge_ldp.public.surveys.hubs import hub_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import FIRST_SHARE
from visibility_aware_edge_ldp.public.surveys.rows import row_surveys
from visibility_aware_edge_ldp.simulation.rows import collect_rows
from visibility_aware_edge_ldp.simulation.simulate import collect, collect_assigned_triangles, collect_hubs
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

AWAY, LEAST, MOST = 0.6, 0.93, 0.97
Runs = Mapping[str, Sequence[Estimate]]


GRAPH = powerlaw(150, 2000, seed=3)
WORLD = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
NUMBERINGS, RUNS_EACH = 25, 16
# Twins are so far off that few runs tell.
FEW = 100


def renumbered(graph: Graph, seed: int) -> VisibilityAwareGraph:
    """Numbers drawn anew: what [TRIANGLE.4] assumes holds on average over them."""
    ends = np.sort(np.random.default_rng(seed).permutation(graph.n)[graph.edges], axis=1)
    again = Graph(range(graph.n), ends[np.lexsort((ends[:, 1], ends[:, 0]))].astype(np.int32))
    return VisibilityAwareGraph(again, VisibilityPolicy.nothing())


@contextmanager
def forgetting_who_is_away() -> Iterator[None]:
    """Values as they are, and errors of noise alone."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (degree_functions, "missing"), (round_noise, "nonresponse_spread"),
            (neighbourhood, "missing"), (neighbourhood, "_without_degrees"), (row_module, "missing"),
            (row_transitivity, "missing"),
        ):  # fmt: skip
            patch.setattr(module, name, lambda *_: Spread(0.0))
        patch.setattr(degree_module, "_least_variance", lambda *_: 0.0)
        yield


def tables(*noises: DiscreteLaplace) -> None:
    """Equal noises share a table, which makes many small runs quick."""
    for noise in noises:
        noise.sample_many(500, keyed_coins(seeded_key(0)))


def survey_of_degrees(world: VisibilityAwareGraph, epsilon: Number) -> DegreeSurvey:
    survey = degree_survey(world.public, epsilon)
    tables(*(survey.mechanism(kind) for kind in survey.classes))
    return survey


@cache
def degree_runs() -> list[DegreeCollection]:
    survey = survey_of_degrees(WORLD, 4)
    return [collect(WORLD, survey, f"away {i}", AWAY) for i in range(600)]


def by_degrees(most: int | None = None) -> Runs:
    names = ("edges", "stars:2", "stars:3", "tail:30")
    found = [estimate_all(one, names) for one in degree_runs()[:most]]
    return {name: [one[name] for one in found] for name in names}


@cache
def row_runs() -> list[tuple[dict[str, RowCollection], DegreeCollection]]:
    """The rows' answers and the degrees of the same users, who are away in both."""
    found = []
    for number in range(NUMBERINGS):
        world = renumbered(GRAPH, number)
        surveys, degrees = row_surveys(world.public, 8, ["triangles", "four_cycles"]), survey_of_degrees(world, 4)
        tables(*(survey.reach_noise for survey in surveys.values()))
        seeds = [f"{number} {run}" for run in range(RUNS_EACH)]
        found += [(collect_rows(world, surveys, i, AWAY), collect(world, degrees, i, AWAY)) for i in seeds]
    return found


def by_rows(most: int | None = None) -> Runs:
    runs = row_runs()[:most]
    return {
        "triangles": [row_module.triangles(rows["triangles"]) for rows, _ in runs],
        "four_cycles": [row_module.cycles(rows["four_cycles"]) for rows, _ in runs],
        "transitivity": [share_of(rows["triangles"], degrees) for rows, degrees in runs],
    }


def share_of(rows: RowCollection, degrees: DegreeCollection) -> Estimate:
    return transitivity(row_module.triangles(rows), estimate_all(degrees, ["stars:2"])["stars:2"], rows, degrees)


@cache
def owner_runs() -> dict[str, list[NeighbourhoodCollection]]:
    """Those away reported nothing, or where bounds are believed left after they told their degree."""
    survey_of_degrees(WORLD, 8 * FIRST_SHARE)
    weights = [collect_assigned_triangles(WORLD, 8, seed=f"w{i}", dropout=AWAY) for i in range(500)]
    believed = [collect_assigned_triangles(WORLD, 8, "1e-6", seed=f"b{i}", leaving=AWAY) for i in range(400)]
    return {"weights": weights, "believed": believed}


def by_owners(most: int | None = None) -> Runs:
    return {name: [assigned(one) for one in runs[:most]] for name, runs in owner_runs().items()}


def truth_of(name: str) -> float:
    if name.startswith("tail:"):
        return float((GRAPH.degrees >= int(name[5:])).sum())
    return float(exact(GRAPH, name))


def held(found: Sequence[Estimate], truth: object) -> float:
    limits = [one.interval() for one in found]
    return float(np.mean([(low <= truth) & (truth <= high) for low, high in limits]))


@pytest.mark.long
@pytest.mark.parametrize("ask", [by_degrees, by_rows, by_owners], ids=["degrees", "rows", "owners"])
def test_unbiased_and_covering(ask: Callable[..., Runs]) -> None:
    found = ask()
    with forgetting_who_is_away():
        twins = ask(FEW)
    for name, runs in found.items():
        truth = truth_of(runs[0].statistic)
        # Weights are low by less than they say, which at this epsilon is nothing; a ratio is biased to second order.
        assert abs(z_of([one.value for one in runs], truth)) < Z_LIMIT, name
        assert held(runs, truth) >= LEAST, name
        assert all(one.conservative for one in runs) or held(runs, truth) <= MOST, name
        # What allows for a large absent user says so, and without that it would hold no more than it says.
        assert held([without_a_large_user(one) for one in runs], truth) <= MOST, name
        # A ratio hardly varies with who is away on this graph; on the next one it does.
        assert name == "transitivity" or held([without_a_large_user(one) for one in twins[name]], truth) < LEAST, name


def without_a_large_user(found: Estimate) -> Estimate:
    """The same with the interval that allows for no large absent user."""
    return replace(found, limits=None) if found.holds_if else found


def half_clustered(groups: int = 6, size: int = 10) -> Graph:
    """As many users in cliques as in a graph of two sides, which has 2-stars and no triangle."""
    half = groups * size
    u, v = np.triu_indices(2 * half, 1)
    clustered = (u // size == v // size) & (v < half)
    between = (u >= half) & (u % 2 != v % 2) & ((u * v) % 5 == 0)
    return Graph(range(2 * half), np.stack([u, v], axis=1)[clustered | between].astype(np.int32))


@pytest.mark.long
def test_transitivity_where_it_varies_with_who_is_away() -> None:
    """[RATIO.1]; the twin forgets who is away."""
    found = []
    for number in range(300):
        world = renumbered(half_clustered(), number)
        surveys, degrees = row_surveys(world.public, 16, ["triangles"]), survey_of_degrees(world, 8)
        found.append((collect_rows(world, surveys, number, AWAY)["triangles"], collect(world, degrees, number, AWAY)))
    truth = float(exact(half_clustered(), "transitivity"))
    assert held([share_of(*each) for each in found], truth) >= 0.9
    with forgetting_who_is_away():
        assert held([share_of(*each) for each in found], truth) < 0.8


def held_where_many_are(found: Sequence[Estimate]) -> float:
    """Of the bins of histograms that ten users or more are in."""
    shares = []
    for one in found:
        truth = np.histogram(GRAPH.degrees, [*(low for low, _ in one.labels or ()), GRAPH.n])[0]
        low, high = one.interval()
        shares.append(((low <= truth) & (truth <= high))[truth >= 10].mean())
    return float(np.mean(shares))


def without_who_answered(found: Estimate, answered: float) -> Estimate:
    """The twin of a histogram that leaves out what it adds that others might have answered."""
    share = np.clip(found.value / GRAPH.n, 0, 1)
    drawn = GRAPH.n * (1 / answered - 1) * share * (1 - share)
    return replace(found, variance=np.maximum(found.variance - drawn, 0), limits=None)


@pytest.mark.long
def test_the_largest_degree_may_be_away() -> None:
    """[DEGREESUM.5]; the twin takes those who are there for all."""
    runs, whole, truth = degree_runs()[:FEW], DegreeCollection.noisy_degrees, truth_of("max_degree")
    assert held([estimate_all(one, ["max_degree"])["max_degree"] for one in runs], truth) >= LEAST
    with pytest.MonkeyPatch.context() as patch:
        nobody = np.zeros(0, np.int64)
        patch.setattr(DegreeCollection, "noisy_degrees", lambda one: replace(whole(one), absent=nobody))
        assert held([estimate_all(one, ["max_degree"])["max_degree"] for one in runs], truth) < LEAST


@pytest.mark.long
def test_fitted_histograms() -> None:
    """[DEGREESUM.6]; they are biased and say so, and hold the truth at least as often as they say."""
    survey = survey_of_degrees(WORLD, 1)
    runs = [collect(WORLD, survey, f"fit {i}", AWAY) for i in range(FEW)]
    found = [estimate_all(one, ["degree_histogram"])["degree_histogram"] for one in runs]
    assert held_where_many_are(found) >= LEAST
    twins = [_as_if_nobody_were_away(one, run.response_rate) for one, run in zip(found, runs, strict=True)]
    assert held_where_many_are(twins) < LEAST


def _as_if_nobody_were_away(found: Estimate, answered: float) -> Estimate:
    return replace(found, value=answered * found.value, variance=answered**2 * found.variance, limits=None)


def test_whole_degrees() -> None:
    """[WHOLE.4]"""
    survey = histogram_survey(WORLD.public, 8, [0, 25, GRAPH.n])
    runs = [collect(WORLD, survey, f"away {i}", AWAY) for i in range(600)]
    found = [one.histogram() for one in runs]
    for place, true in enumerate(np.histogram(GRAPH.degrees, survey.edges)[0]):
        assert abs(z_of([one.value[place] for one in found], true)) < Z_LIMIT
    assert LEAST <= held_where_many_are(found) <= MOST
    pairs = zip(found, runs, strict=True)
    assert held_where_many_are([without_who_answered(one, run.response_rate) for one, run in pairs]) < LEAST


def test_hubs_that_are_away_take_triangles_with_them_and_the_interval_says_so() -> None:
    """[HUBSUM.2]; the twin keeps the upper end that it would have if all had answered."""
    largest = np.argsort(-GRAPH.degrees, kind="stable")[:5]
    policy = VisibilityPolicy.from_profiles(dict.fromkeys(largest.tolist(), "public"), rule="any")
    world = VisibilityAwareGraph(GRAPH, policy)
    survey, truth = hub_survey(world.public, 4), truth_of("triangles")
    plan = survey.plan.hubs
    runs = [
        collect_hubs(world, survey, i, [plan[j] for j in range(5) if j not in (i % 5, i // 5 % 5)]) for i in range(50)
    ]
    assert all(run.missing for run in runs)
    found = [hubs.triangles(run) for run in runs]
    assert not any(one.unbiased for one in found)
    assert held(found, truth) >= LEAST
    assert held([replace(one, limits=None) for one in found], truth) < LEAST
