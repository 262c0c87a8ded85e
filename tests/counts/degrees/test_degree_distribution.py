"""Deconvolution and histogram: exact without noise, honest with it; and what they share with the largest degree."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from support.noisy_degrees import GRAPHS, Observation, core, laplace_trials, observe, trials
from visibility_aware_edge_ldp.counts.degrees.degree_distribution import LAPLACE, deconvolve
from visibility_aware_edge_ldp.counts.degrees.degree_histogram import bin_edges, histogram
from visibility_aware_edge_ldp.counts.degrees.max_degree import max_degree


def exact(degrees: NDArray[np.int64]) -> Observation:
    n = degrees.size
    return degrees.astype(float), np.zeros(n), np.zeros(n, dtype=np.int64), np.full(n, n - 1)


@pytest.mark.parametrize("name", GRAPHS)
def test_without_noise_everything_is_exact(name: str) -> None:
    degrees = GRAPHS[name](np.random.default_rng(3)).sum(axis=1)
    data = exact(degrees)
    largest, bins = max_degree(*data), histogram(*data)
    assert (largest.value, largest.is_exact) == (degrees.max(), True)
    assert largest.interval(0.99) == (degrees.max(), degrees.max())
    truth = np.bincount(degrees, minlength=degrees.size)
    np.testing.assert_array_equal(bins.counts, truth)
    assert not bins.standard_errors.any()
    np.testing.assert_array_equal(np.stack(bins.interval()), np.stack([truth, truth]))
    np.testing.assert_allclose(deconvolve(*data), truth / degrees.size, atol=1e-15)


def test_vanishing_noise_changes_nothing_noticeable() -> None:
    degrees = GRAPHS["power law"](np.random.default_rng(3)).sum(axis=1)
    noisy, _, low, high = exact(degrees)
    largest = max_degree(noisy, np.full(degrees.size, 1e-6), low, high)
    assert largest.value == pytest.approx(degrees.max(), abs=1e-2)
    assert largest.interval() == pytest.approx((degrees.max(), degrees.max()), abs=1e-2)
    bins = histogram(noisy, np.full(degrees.size, 1e-6), low, high)
    np.testing.assert_allclose(bins.counts, np.bincount(degrees, minlength=degrees.size), atol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("epsilon", [0.5, 1, 2.5])
def test_intervals_cover(name: str, epsilon: float) -> None:
    hits, bins_hit = [], []
    for degrees, data in trials(name, epsilon):
        below, above = max_degree(*data).interval(0.95)
        hits.append(below <= degrees.max() <= above)
        bins = histogram(*data)
        least, most = bins.interval(0.95)
        truth = np.histogram(degrees, bins.edges)[0]
        bins_hit.append(np.mean((least <= truth) & (truth <= most)))
    # A procedure that covers 95 % hits fewer than 19 of 24 times with probability 1e-3.
    assert sum(hits) >= 19
    assert np.mean(bins_hit) >= 0.93


@pytest.mark.long
def test_a_histogram_is_held_no_more_often_than_is_said_where_all_stand_at_a_border() -> None:
    """[HIST.1] The hardest case: every user has the least degree of one bin, and noise puts half of them below it."""
    (_, variance, _, _) = next(laplace_trials(np.zeros(400, np.int64), 0.5, 1))
    border = int(bin_edges(400, variance)[5])
    covered = []
    for data in laplace_trials(np.full(400, border), 0.5, 150):
        found = histogram(*data, skew=0.0, law=LAPLACE)
        truth, (low, high) = np.histogram([border] * 400, found.edges)[0], found.interval()
        covered.append(((low <= truth) & (truth <= high))[4:6])
    assert 0.93 <= np.mean(covered) <= 0.97


def test_intervals_that_ignore_the_bias_do_not_cover() -> None:
    """The twin that must fail: plain maximum plus or minus its own noise."""
    hits = [
        abs(data[0].max() - degrees.max()) <= 1.96 * np.sqrt(data[1].mean()) for degrees, data in trials("uniform", 0.5)
    ]
    assert np.mean(hits) < 0.5


def test_intervals_are_nested_and_contain_the_value() -> None:
    _, data = next(trials("core", 1))
    largest = max_degree(*data)
    limits = [largest.interval(level) for level in (0.5, 0.8, 0.95, 0.99)]
    assert all(below <= largest.value <= above for below, above in limits)
    assert all(a[0] >= b[0] and a[1] <= b[1] for a, b in pairwise(limits))
    assert not largest.is_exact


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_histogram_and_shares_are_distributions(epsilon: float) -> None:
    _, data = next(trials("power law", epsilon))
    bins, shares = histogram(*data), deconvolve(*data)
    assert bins.counts.sum() == pytest.approx(400)
    assert bins.counts.min() >= 0
    assert (bins.edges[0], bins.edges[-1]) == (0, 400)
    assert (shares.shape, shares.sum()) == ((400,), pytest.approx(1))
    assert shares.min() >= 0


def test_deconvolution_removes_the_noise() -> None:
    degrees, data = next(trials("core", 1))
    shares, grid = deconvolve(*data), np.arange(degrees.size)
    mean = shares @ grid
    assert mean == pytest.approx(degrees.mean(), abs=3)
    assert np.sqrt(shares @ (grid - mean) ** 2) == pytest.approx(degrees.std(), abs=4)


def test_bins_depend_on_public_things_only() -> None:
    (_, first), (_, second) = trials("core", 1, 2)
    variance = first[1]
    other = histogram(second[0], variance, second[2], second[3])
    np.testing.assert_array_equal(histogram(*first).edges, other.edges)
    np.testing.assert_array_equal(other.edges, bin_edges(300, variance))
    np.testing.assert_array_equal(bin_edges(7, np.zeros(7)), np.arange(8))


def test_the_order_of_the_nodes_does_not_matter() -> None:
    _, data = next(trials("core", 1))
    order = np.random.default_rng(2).permutation(300)
    moved = tuple(column[order] for column in data)
    assert max_degree(*data).interval() == max_degree(*moved).interval()
    assert max_degree(*data).value == max_degree(*moved).value
    np.testing.assert_array_equal(histogram(*data).counts, histogram(*moved).counts)
    np.testing.assert_array_equal(deconvolve(*data), deconvolve(*moved))


@pytest.mark.parametrize("degrees", [[0], [1, 1], [2, 1, 1], [0] * 50, [49] * 50, [49] + [1] * 49])
def test_extreme_graphs_stay_within_bounds(degrees: list[int]) -> None:
    truth = np.array(degrees)
    n = truth.size
    noisy = truth + np.random.default_rng(1).normal(0, 4, n)
    data = (noisy, np.full(n, 16.0), np.zeros(n), np.full(n, n - 1))
    below, above = max_degree(*data).interval()
    assert 0 <= below <= above <= n - 1
    assert histogram(*data).counts.sum() == pytest.approx(n)
    assert deconvolve(*data).sum() == pytest.approx(1)


@pytest.mark.parametrize("lie", [2.0**40, 2.0**62, -(2.0**62)])
def test_one_number_beyond_all_measure_leaves_the_others_their_places(lie: float) -> None:
    graph = core(np.random.default_rng(3))
    noisy, variance, low, high = observe(graph, 1.0, np.random.default_rng(4))
    told = noisy.copy()
    told[7] = lie
    shares, lied = deconvolve(noisy, variance, low, high), deconvolve(told, variance, low, high)
    assert lied.sum() == pytest.approx(1)
    assert np.abs(shares - lied).sum() < 0.2
