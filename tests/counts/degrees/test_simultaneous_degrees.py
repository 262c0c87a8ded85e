"""Intervals that hold everybody's degree at once, against exact laws, brute force and many draws.  [ATONCE.1-4]"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.counts.degrees.simultaneous_degrees import (
    ScoredPositions,
    SimultaneousDegrees,
    by_laplace,
    by_scores,
    laplace_reach,
    laplace_tail,
)
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomized_response import Channel, RandomizedResponse


def law_of(epsilons: list[str]) -> np.ndarray:
    """The chances of −600 … 600 for a sum of discrete Laplace noises."""
    law = np.ones(1)
    for epsilon in epsilons:
        noise = DiscreteLaplace(Fraction(epsilon))
        law = np.convolve(law, [noise.probability(k) for k in range(-300, 301)])
    return law


def constants_of(epsilons: list[str]) -> list[float]:
    return [DiscreteLaplace(Fraction(each)).second_difference_constant for each in epsilons]


@pytest.mark.parametrize("epsilons", [["1/2"], ["1/2", "1"], ["3", "1/4"], ["1", "1"], ["4"]])
def test_the_tail_of_the_noise_is_that_of_its_law(epsilons: list[str]) -> None:
    law, constants = law_of(epsilons), constants_of(epsilons)
    far = np.abs(np.arange(law.size) - law.size // 2)
    for reach in (0, 1, 2, 5, 12):
        assert laplace_tail(constants, reach) == pytest.approx(law[far > reach].sum(), rel=1e-9, abs=1e-14)


def test_two_noises_that_are_nearly_alike_are_taken_as_the_larger_one() -> None:
    constants = constants_of(["1", "10001/10000"])
    assert laplace_tail(constants, 6) == laplace_tail(constants_of(["1", "1"]), 6)
    assert laplace_tail(constants, 6) >= laplace_tail(constants_of(["1", "101/100"]), 6)


@pytest.mark.parametrize("missed", [0.3, 0.05, 1e-3, 1e-7])
def test_the_reach_is_the_least_that_will_do(missed: float) -> None:
    for constants in (constants_of(["1/2"]), constants_of(["1/2", "2"])):
        reach = laplace_reach(constants, missed)
        assert laplace_tail(constants, reach) <= missed < laplace_tail(constants, reach - 1)
    assert laplace_reach([], missed) == 0


def limits_of(channel: Channel, positions: int, answered: int, total: np.ndarray, missed: float) -> tuple:
    same = [np.full(total.size, float(each)) for each in (positions, answered)]
    return ScoredPositions(channel, *same, total).edges(missed)


@pytest.mark.parametrize("epsilon", ["1/2", "1", "3"])
@pytest.mark.parametrize("positions", [1, 2, 7, 40])
def test_both_ends_are_wrong_as_rarely_as_they_say(positions: int, epsilon: str) -> None:
    """Of every number of edges, by the exact law of the answers; and no more than a quarter wider than need be."""
    channel, missed = RandomizedResponse(Fraction(epsilon)).channel, 1e-3
    ones = np.arange(positions + 1)
    scores = [float(each) for each in channel.scores]
    low, high = limits_of(channel, positions, positions, scores[0] * (positions - ones) + scores[1] * ones, missed)
    keep, flip = float(channel.given_one[1]), float(channel.given_zero[1])
    laws = np.array([
        np.convolve(_binomial(edges, keep), _binomial(positions - edges, flip)) for edges in range(positions + 1)
    ])  # fmt: skip
    for edges in range(positions + 1):
        assert laws[edges][low > edges].sum() <= missed
        assert laws[edges][high < edges].sum() <= missed
    # What an exact sum over all outcomes would say, of those that come often where half of the positions are edges.
    above, below = laws[:, ::-1].cumsum(axis=1)[:, ::-1] > missed, laws.cumsum(axis=1) > missed
    exact = positions - below[::-1].argmax(axis=0) - above.argmax(axis=0)
    often = laws[positions // 2] > 1e-2
    assert ((high - low) >= exact)[often].all()
    assert (high - low)[often].mean() <= 1.25 * exact[often].mean() + 1


def _binomial(count: int, chance: float) -> np.ndarray:
    return np.array([math.comb(count, k) * chance**k * (1 - chance) ** (count - k) for k in range(count + 1)])


@pytest.mark.parametrize("answered", [0, 1, 4, 9])
def test_ends_hold_where_some_positions_did_not_answer(answered: int) -> None:
    """Which of them are edges is drawn without replacement: the exact law of what is said, of 10 positions."""
    channel, positions, missed = RandomizedResponse(Fraction(1)).channel, 10, 0.02
    scores, ones = [float(each) for each in channel.scores], np.arange(answered + 1)
    low, high = limits_of(channel, positions, answered, scores[0] * (answered - ones) + scores[1] * ones, missed)
    keep, flip = float(channel.given_one[1]), float(channel.given_zero[1])
    for edges in range(positions + 1):
        law = np.zeros(answered + 1)
        for seen in range(max(0, answered + edges - positions), min(edges, answered) + 1):
            ways = math.comb(edges, seen) * math.comb(positions - edges, answered - seen)
            law += (
                ways
                / math.comb(positions, answered)
                * np.convolve(_binomial(seen, keep), _binomial(answered - seen, flip))
            )
        assert law.sum() == pytest.approx(1)
        assert law[low > edges].sum() <= missed
        assert law[high < edges].sum() <= missed
    assert answered or (low.tolist(), high.tolist()) == ([0.0], [10.0])


def test_two_rounds_have_three_outcomes() -> None:
    first, second = (RandomizedResponse(Fraction(each)).channel for each in (1, 2))
    channel, missed, positions = first.refined(1, second), 0.01, 3
    scores = np.array([float(each) for each in channel.scores])
    outcomes = np.indices((3,) * positions).reshape(positions, -1)
    low, high = limits_of(channel, positions, positions, scores[outcomes].sum(axis=0), missed)
    for edges in range(positions + 1):
        chances = [channel.given_one if i < edges else channel.given_zero for i in range(positions)]
        law = np.prod([np.array([float(p) for p in c])[o] for c, o in zip(chances, outcomes, strict=True)], axis=0)
        assert law[low > edges].sum() <= missed
        assert law[high < edges].sum() <= missed


def test_all_intervals_hold_at_once_and_intervals_one_by_one_do_not() -> None:
    """3,000 draws of 200 noises: 95 % of draws have all of them inside, within 4.5 standard deviations."""
    rng, noise = np.random.default_rng(1), DiscreteLaplace(Fraction(1, 2))
    alpha, n, runs = noise.alpha, 200, 3000
    drawn = rng.geometric(1 - alpha, (runs, n)) - rng.geometric(1 - alpha, (runs, n))
    constants = np.full((1, n), noise.second_difference_constant)
    low, high = by_laplace(np.zeros(n), constants)(0.95)
    held = float(((low <= drawn) & (drawn <= high)).all(axis=1).mean())
    assert held >= 0.95 - 4.5 * math.sqrt(0.05 * 0.95 / runs)
    assert held <= 0.975  # as near as whole numbers allow
    one = laplace_reach(constants[:, 0].tolist(), 0.05)
    assert float((np.abs(drawn) <= one).all(axis=1).mean()) < 0.01


def test_the_kth_largest_and_who_is_sure_follow_from_any_degrees_inside() -> None:
    """Brute force over every whole degree inside the intervals of five nodes.  [ATONCE.3-4]"""
    low, high = np.array([7.0, 5, 4, 1, 0]), np.array([9.0, 6, 5, 5, 3])
    found = SimultaneousDegrees((low + high) / 2, np.zeros(5), np.full(5, 9.0), lambda level: (low, high))
    inside = np.array(np.meshgrid(*[np.arange(a, b + 1) for a, b in zip(low, high, strict=True)])).reshape(5, -1).T
    ordered = np.sort(inside, axis=1)[:, ::-1]
    for count in (1, 2, 3, 4):
        largest = found.largest(count)
        ends = largest.limits(0.95)
        assert np.array_equal(ends[0], ordered.min(axis=0)[:count])
        assert np.array_equal(ends[1], ordered.max(axis=0)[:count])
        always = [((inside > inside[:, [v]]).sum(axis=1) < count).all() for v in largest.named]
        # One interval is said of all, so that some who always are may not be called sure; never the other way.
        assert not (largest.surely() & ~np.array(always)).any()
        assert largest.surely()[0]
        assert largest.labels("abcde")[0] == (1, "a", "sure")
    assert found.largest(3).surely().tolist() == [True, True, False]


def test_values_are_inside_and_possible() -> None:
    noisy = np.array([-4.0, 3.0, 40.0])
    found = SimultaneousDegrees(noisy, np.array([1.0, 0, 0]), np.full(3, 9.0), lambda level: (noisy - 2, noisy + 2))
    low, high = found.limits(0.95)
    assert found.value.tolist() == [1, 3, 9]
    assert (low.tolist(), high.tolist()) == ([1, 1, 9], [1, 5, 9])


def test_what_is_known_needs_no_interval() -> None:
    known = np.array([2.0, 3.0])
    low, high = by_scores(known, [])(0.95)
    assert np.array_equal(low, known)
    assert np.array_equal(high, known)
    low, high = by_laplace(known, np.zeros((2, 2)))(0.95)
    assert np.array_equal(low, high)
