"""The largest degree from noisy degrees: exact where one is known, less biased than the plain maximum.  [MAX.1-3]"""

import numpy as np
import pytest

from support.noisy_degrees import laplace_trials, trials
from visibility_aware_edge_ldp.counts.degrees.degree_distribution import LAPLACE
from visibility_aware_edge_ldp.counts.degrees.max_degree import max_degree


def test_bounds_that_meet_are_as_good_as_no_noise() -> None:
    degrees = np.array([3, 1, 1, 1])
    assert max_degree(degrees + 9.0, np.full(4, 5.0), degrees, degrees).interval() == (3, 3)


def test_an_exact_hub_settles_the_maximum() -> None:
    degrees = np.append(np.full(199, 5), 150)
    variance = np.append(np.full(199, 25.0), 0.0)
    noisy = degrees + np.random.default_rng(1).normal(0, np.sqrt(variance))
    largest = max_degree(noisy, variance, np.zeros(200), np.full(200, 199))
    assert (largest.value, largest.interval()) == (150, (150, 150))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "epsilon", "allowed", "of_plain"),
    [
        ("core", 0.5, 0.12, 0.5),
        ("core", 1, 0.09, 0.9),
        ("core", 2, 0.04, 1.01),
        ("uniform", 1, 0.12, 0.25),
        ("uniform", 2, 0.07, 0.5),
        # Few nodes far above the rest: shrinking towards the others costs something, and the cost is bounded.
        ("lone hub", 1, 0.08, 1.4),
        ("power law", 1, 0.08, 1.2),
    ],
)
def test_error_of_max_degree_against_the_plain_maximum(
    name: str, epsilon: float, allowed: float, of_plain: float
) -> None:
    pairs = [(degrees.max(), data) for degrees, data in trials(name, epsilon)]
    ours = np.mean([abs(max_degree(*data).value / truth - 1) for truth, data in pairs])
    plain = np.mean([abs(data[0].max() / truth - 1) for truth, data in pairs])
    assert ours <= allowed
    assert ours <= of_plain * plain


@pytest.mark.parametrize(("name", "epsilon"), [("core", 0.5), ("uniform", 1)])
def test_the_plain_maximum_is_biased_and_ours_is_much_less(name: str, epsilon: float) -> None:
    """The twin that must fail: the same test of bias, on the plain maximum."""

    def biased(errors: list[float]) -> bool:
        return bool(abs(np.mean(errors)) > 0.12)

    pairs = [(degrees.max(), data) for degrees, data in trials(name, epsilon)]
    assert biased([data[0].max() / truth - 1 for truth, data in pairs])
    assert not biased([max_degree(*data).value / truth - 1 for truth, data in pairs])


@pytest.mark.long
def test_the_largest_degree_is_held_no_more_often_than_is_said_where_it_stands_alone() -> None:
    """[MAX.2] The hardest case: one user far above all others. There both limits miss, and the interval is sharp."""
    degrees = np.random.default_rng(0).integers(5, 60, 200)
    degrees[0] = 180
    ends = np.array(
        [max_degree(*data, skew=0.0, law=LAPLACE).interval(0.95) for data in laplace_trials(degrees, 0.3, 400)]
    )
    below, above = (ends[:, 0] > 180).mean(), (ends[:, 1] < 180).mean()
    assert 0.93 <= 1 - below - above <= 0.97
    assert min(below, above) > 0


def test_skew_is_that_of_randomized_response_unless_told() -> None:
    _, (noisy, variance, low, high) = next(trials("power law", 2))
    density = (noisy - low).sum() / (high - low).sum()
    implied = max_degree(noisy, variance, low, high)
    told = max_degree(noisy, variance, low, high, skew=1 - 2 * density)
    assert implied.interval() == pytest.approx(told.interval())
    # Noise that leans upwards explains more of a large maximum, so the truth may lie lower.
    assert implied.interval()[0] < max_degree(noisy, variance, low, high, skew=0.0).interval()[0]
