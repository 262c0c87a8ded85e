"""USER: predicted variances against exact laws, and against what runs report of themselves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.counts.degrees.degree_functions import NoisyDegrees, binomial, per_answer
from visibility_aware_edge_ldp.evaluation.plan import user as by_user
from visibility_aware_edge_ldp.evaluation.plan.base import noise_law
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import BINS, Pulls
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import moments_of
from visibility_aware_edge_ldp.evaluation.plan.predictions import predictions
from visibility_aware_edge_ldp.evaluation.plan.user import Noise, largest_of_many, law_of_reach, squared_bounds
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(150, 1500, 2)


def world(policy: VisibilityPolicy | None = None) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(GRAPH, policy or VisibilityPolicy.nothing())


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("losses", [(Fraction(1, 2),), (Fraction(1, 2), Fraction(1))])
def test_the_variance_is_what_its_unbiased_estimate_has_as_mean(k: int, losses: tuple[Fraction, ...]) -> None:
    noises = tuple(DiscreteLaplace(loss) for loss in losses)
    steps, chances = noise_law(noises)
    c = [noise.second_difference_constant for noise in noises] + [0.0]
    shape = np.ones(steps.size)
    empty = np.empty(0, np.int64)
    noisy = NoisyDegrees(100, empty, 9 + steps, 0 * steps, sum(c) * shape, c[0] * c[1] * shape, empty)
    _, estimated = per_answer(noisy, lambda d: binomial(d, k))
    others = np.array([float(binomial(np.array([9]), k - j)[0]) for j in range(1, k + 1)])
    found = others @ by_user.corrected_products(noises, k) @ others
    assert found == pytest.approx(float(chances @ estimated), rel=1e-6)


def test_edges_are_half_a_sum_of_noises() -> None:
    moments = moments_of(world())
    survey = degree_survey(moments.world.public, 1)
    assert by_user.star_sum(moments, survey, 1) == pytest.approx(150 * DiscreteLaplace(Fraction(1, 2)).variance)
    misses, deviations = by_user.degree_misses(moments, survey)
    alpha = float(np.exp(-0.5))
    assert misses == pytest.approx(150 * 2 * alpha / (1 - alpha**2))
    assert deviations == pytest.approx(150 * DiscreteLaplace(Fraction(1, 2)).variance ** 0.5)


@pytest.mark.parametrize("epsilon", [1, 4])
@pytest.mark.parametrize("statistics", [("triangles",), ("edges", "triangles", "transitivity", "stars:2")])
def test_what_runs_report_of_themselves(epsilon: int, statistics: tuple[str, ...]) -> None:
    made = world()
    rows = {row.statistic: row for row in predictions(moments_of(made), "user", Fraction(epsilon), statistics)}
    runs = [estimate(made, "user", epsilon, statistics, seed=f"{epsilon} {i}") for i in range(8)]
    for name in ("edges", "stars:2", "triangles"):
        if name in statistics:
            reported = float(np.mean([run[name].variance for run in runs])) ** 0.5
            assert rows[name].standard_error == pytest.approx(reported, rel=0.12), name


@pytest.mark.parametrize("fraction", ["0.3", "0.6"])
def test_mixed_policies(fraction: str) -> None:
    made = world(VisibilityPolicy.public_profiles(fraction))
    (row,) = predictions(moments_of(made), "user", Fraction(2), ["triangles"])
    runs = [estimate(made, "user", 2, ["triangles"], seed=f"{fraction} {i}") for i in range(8)]
    reported = float(np.mean([run["triangles"].variance for run in runs])) ** 0.5
    assert row.standard_error == pytest.approx(reported, rel=0.15)


@pytest.mark.parametrize("rule", ["nothing", "profiles", "positions"])
def test_the_noise_in_paths_is_that_of_their_positions(rule: str) -> None:
    policies = {
        "nothing": VisibilityPolicy.nothing(),
        "profiles": VisibilityPolicy.public_profiles("0.5"),
        "positions": VisibilityPolicy("0.3", "0.3"),
    }
    moments = moments_of(world(policies[rule]), cycles=True)
    spread, n = np.array([0.0, 0.4, 2.0]), GRAPH.n
    u, v = np.indices((n, n)).reshape(2, -1)
    each = spread[moments.world.public.classes.of(u, v)].reshape(n, n)
    np.fill_diagonal(each, 0)
    bits = np.zeros((n, n))
    bits[tuple(GRAPH.edges.T)] = bits[tuple(GRAPH.edges.T[::-1])] = 1
    upper = np.triu_indices(n, 1)
    true = (each @ each + each @ bits + bits @ each)[upper]
    found = by_user._path_variances(moments, spread)
    assert found.mean() == pytest.approx(true.mean(), rel=0.05)
    assert found.max() == pytest.approx(np.quantile(true, 15 / 16), rel=0.2)
    lists = np.triu(bits)
    held, seen = lists @ each, lists @ bits
    asked = (moments.asked_there if moments.asked_there.size else np.triu(np.ones((n, n)), 1)).astype(float)
    pulls = 0.75 * (held @ each + seen**2 @ each + held @ bits)
    wanted = (pulls * asked).sum(axis=1) / np.maximum(asked.sum(axis=1), 1)
    some = asked.any(axis=1)
    assert by_user._pull_variances(moments, spread)[some].sum() == pytest.approx(wanted[some].sum(), rel=0.1)


def test_the_law_of_a_maximum() -> None:
    pulls = Pulls.empty(2)
    pulls.counts[0, 0], pulls.counts[1, 0], pulls.counts[1, 12], pulls.sums[1, 12] = 1000, 1000, 1, 7
    noise = Noise(np.ones(2), np.zeros(2), np.full(2, np.inf))
    grid, chances = law_of_reach(pulls, noise, 1.0)
    assert pulls.counts.shape == (2, BINS)
    # The largest of 1,000 |normal| values is below 3.39 half of the time.
    assert float(np.interp(0.5, chances[0], grid[0])) == pytest.approx(3.39, abs=0.12)
    assert float(np.interp(0.5, chances[1], grid[1])) == pytest.approx(7.0, abs=0.2)
    far = squared_bounds(pulls, noise, 1.0, 10.0, 0.0)
    assert far[1] > 40 > far[0] > 9
    assert largest_of_many(np.array([1000.0]), np.zeros(1), np.ones(1), np.ones(1)) == pytest.approx(3.39, abs=0.02)


def test_a_user_who_is_not_asked_adds_nothing() -> None:
    noise = Noise(np.ones(1), np.zeros(1), np.ones(1))
    assert squared_bounds(Pulls.empty(1), noise, 1.0, 0.1, 0.5).tolist() == [0.0]
