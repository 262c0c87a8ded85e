"""What standard errors of sums over rows are made of: each part against what it estimates.  [TRIANGLE.6-7, MIDDLE.3]"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from support.row_worlds import collect_triangles
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import reported_rows
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_triangles import middles
from visibility_aware_edge_ldp.aggregator.round_noise import (
    UNEVEN,
    Counted,
    Counts,
    Noise,
    Owned,
    Places,
    kurtosis,
    nonresponse_spread,
    owned,
)
from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing
from visibility_aware_edge_ldp.counts.row_noise import Shape, shape_of
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.rows import triangle_survey
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(150, 2000, seed=3)


def adjacency(graph: Graph, seed: int) -> np.ndarray:
    """With numbers drawn anew."""
    ties = np.zeros((graph.n, graph.n))
    ends = np.random.default_rng(seed).permutation(graph.n)[graph.edges]
    ties[ends[:, 0], ends[:, 1]] = ties[ends[:, 1], ends[:, 0]] = 1
    return ties


def earlier_friends(ties: np.ndarray) -> np.ndarray:
    """For j < k, how many users before j are tied to both."""
    return np.triu(np.triu(ties, 1).T @ np.triu(ties, 1), 1)


def test_common_friends_that_come_first_are_two_stars_and_four_cycles() -> None:
    """[TRIANGLE.6]: exactly so on average over numberings, and nearly so from the degrees alone."""
    stars, cycles = float(exact(GRAPH, "stars:2")), float(exact(GRAPH, "four_cycles"))
    squares = [float((earlier_friends(adjacency(GRAPH, seed)) ** 2).sum()) for seed in range(300)]
    error = np.std(squares) / np.sqrt(len(squares))
    assert abs(np.mean(squares) - (stars / 3 + 2 / 3 * cycles)) < 4 * error
    shape = Shape(len(GRAPH.edges), stars, 1.0, 1.0)
    beyond = UNEVEN * Counted(float(exact(GRAPH, "triangles")), 0.0).beyond(shape.triangles) / shape.edges
    assert stars / 3 + 2 / 3 * shape.cycles + beyond == pytest.approx(np.mean(squares), rel=0.15)
    # The check can fail: equal numbers at every edge are far from it.
    assert exact(GRAPH, "triangles") ** 2 / shape.edges < np.mean(squares) / 4


@pytest.mark.parametrize("away", [0.0, 0.6], ids=["everybody", "60 % away"])
def test_degrees_and_middles_from_what_was_heard(away: float) -> None:
    """Edges and 2-stars of all; and Σ over i < j < k of ê_ij ê_jk ê_ik, whose mean is the triangles heard."""
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    survey = triangle_survey(world.public, 8)
    shapes, found = [], []
    for seed in range(60):
        collection = collect_triangles(world, survey, seed, away)
        asked, first, _ = collection.counts
        shapes.append(shape_of(collection.reported_scores, first / asked))
        each = middles(reported_rows(collection.first)).each
        assert not each[~collection.answered_first].any()
        found.append(each.sum() * asked / first)
    edges, stars = ([shape[place] for shape in shapes] for place in (0, 1))
    for values, name in ((edges, "edges"), (stars, "stars:2"), (found, "triangles")):
        error = np.std(values) / np.sqrt(len(values))
        # Numbers by degree are not drawn, so that a 2-star's middle comes first more often than a third of the time.
        slack = 0.1 * exact(GRAPH, name) if name == "stars:2" else 0.0
        assert abs(np.mean(values) - float(exact(GRAPH, name))) < 4 * error + slack, name


def test_kurtosis_of_power_noise() -> None:
    for share in (Fraction(1, 8), Fraction(1, 12), Fraction(1, 40)):
        noise = SmoothPower(Fraction(1), share)
        tails = (np.arange(200_000) + 0.5) / 400_000
        with np.errstate(invalid="ignore"):  # of its two pieces, each beyond its end
            sizes = noise._size_beyond(tails)
        assert kurtosis(float(noise.alpha)) == pytest.approx((sizes**4).mean() / (sizes**2).mean() ** 2, rel=0.15)
    assert kurtosis(4.0) == np.inf


def test_sums_tell_their_noise_where_reaches_do_not() -> None:
    """[TRIANGLE.7]: a prior that is off by half is mended by the sums; what both cannot tell stays in doubt."""
    random = np.random.default_rng(1)
    users, true_noise, own = 500, 500 * 400.0, random.exponential(3.0, 500)
    for wrong in (0.5, 1.5):
        prior = Noise(Spread(wrong * true_noise, true_noise), 0.0)
        found = []
        for _ in range(200):
            sums = own + random.laplace(0, np.sqrt(200), users)
            found.append(owned(sums, prior, 0.0, users, 1e9))
        noises = np.array([one.noise for one in found])
        assert abs(noises.mean() - true_noise) < abs(wrong - 1) * true_noise / 2
        stated = np.sqrt(np.mean([one.noise_error for one in found]))
        assert np.sqrt(np.mean((noises - true_noise) ** 2)) < 1.5 * stated < true_noise
        # What is taken for noise is not taken for owned: of both together the doubt is less than if they knew nothing
        # of each other.
        both, squares, noisy = (np.mean([one.doubt(*of) for one in found]) for of in ((1, 1), (1, 0), (0, 1)))
        assert both < 0.75 * np.hypot(squares, noisy)
    certain = owned(sums, Noise(Spread(true_noise, 0.0), 0.0), 0.0, users, 1e9)
    assert certain.noise == true_noise


def held_by_all(ties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each user owns, and what it is needed for as the middle one."""
    later = np.triu(ties, 1)
    common = later * (later @ later.T)
    return common.sum(axis=1), common.sum(axis=0)


def test_nonresponse_by_the_actual_numbers() -> None:
    """[MIDDLE.3]: for each numbering the variance is its own; the twin takes the average over numberings."""
    told, average = [], []
    for seed in range(12):
        owns, holds = held_by_all(adjacency(GRAPH, seed))
        truth, counts = 1.5 * GRAPH.n * (owns + holds).var(), Counts(GRAPH.n, 60, 60)
        random, found = np.random.default_rng(seed), []
        for _ in range(150):
            some = random.permutation(GRAPH.n)[:60]
            rows = Owned(float((owns[some] ** 2).sum()), 0.0)
            guess = nonresponse_spread(owns[some], rows, counts, Places(1.0, 2 / 3, 1.0, 1 / 3))
            found.append((missing((owns + holds)[some], 0.0, GRAPH.n).variance, guess.variance))
        one, other = np.mean(found, axis=0) / truth
        told.append(one)
        average.append(other)
    assert np.mean(told) == pytest.approx(1, abs=0.05)
    assert np.std(told) < 0.08 < np.std(average)
