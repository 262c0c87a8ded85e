"""Channels on one bit: unbiased, best, and never better in two rounds than in one."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomized_response import Channel, RandomizedResponse

FIXED = settings(derandomize=True, deadline=None, max_examples=40)

Vector = tuple[Fraction, ...]


def vector(weights: list[int]) -> Vector:
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


@st.composite
def channels(draw: st.DrawFn, least: int = 2, most: int = 6) -> Channel:
    size = draw(st.integers(least, most))
    weights = st.lists(st.integers(1, 1000), min_size=size, max_size=size)
    zero, one = vector(draw(weights)), vector(draw(weights))
    assume(zero != one)
    return Channel(zero, one)


def mean(chances: Vector, values: Vector) -> Fraction:
    return sum((p * v for p, v in zip(chances, values, strict=True)), Fraction(0))


def spread(chances: Vector, values: Vector) -> Fraction:
    return mean(chances, tuple(v**2 for v in values)) - mean(chances, values) ** 2


def harmless(channel: Channel, a: int, b: int, c: int) -> Vector:
    """A score with mean 0 on edges and on non-edges, not zero everywhere: a cross product on three outcomes."""
    (p0, p1, p2), (q0, q1, q2) = (
        tuple(chances[i] for i in (a, b, c)) for chances in (channel.given_zero, channel.given_one)
    )
    values = [Fraction(0)] * len(channel.given_zero)
    values[a], values[b], values[c] = p1 * q2 - p2 * q1, p2 * q0 - p0 * q2, p0 * q1 - p1 * q0
    return tuple(values)


def rr(epsilon: Fraction | str | int) -> Channel:
    return RandomizedResponse(Fraction(epsilon)).channel


@FIXED
@given(channels())
def test_scores_are_unbiased_exactly(channel: Channel) -> None:
    assert mean(channel.given_zero, channel.scores) == 0
    assert mean(channel.given_one, channel.scores) == 1


@FIXED
@given(channels())
def test_the_twin_without_the_normaliser_is_biased(channel: Channel) -> None:
    ratios = tuple(one / zero - 1 for zero, one in zip(channel.given_zero, channel.given_one, strict=True))
    chi_square = mean(channel.given_one, ratios)
    assume(chi_square != 1)
    assert mean(channel.given_one, ratios) != 1


@FIXED
@given(channels())
def test_variance_is_that_of_the_scores(channel: Channel) -> None:
    assert channel.variance(0) == spread(channel.given_zero, channel.scores)
    assert channel.variance(1) == spread(channel.given_one, channel.scores)


@FIXED
@given(channels())
def test_on_non_edges_it_is_one_over_chi_square(channel: Channel) -> None:
    squares = zip(channel.given_zero, channel.given_one, strict=True)
    assert 1 / channel.variance(0) == sum(one**2 / zero for zero, one in squares) - 1


@FIXED
@given(channels())
def test_an_outcome_estimates_its_own_variance(channel: Channel) -> None:
    own = tuple(v**2 - v for v in channel.scores)
    assert mean(channel.given_zero, own) == channel.variance(0)
    assert mean(channel.given_one, own) == channel.variance(1)


@FIXED
@given(channels(least=3), st.fractions(-5, 5))
def test_no_unbiased_competitor_is_better_on_non_edges(channel: Channel, step: Fraction) -> None:
    for places in combinations(range(len(channel.scores)), 3):
        shift = harmless(channel, *places)
        rival = tuple(v + step * s for v, s in zip(channel.scores, shift, strict=True))
        assert mean(channel.given_zero, rival) == 0
        assert mean(channel.given_one, rival) == 1
        worse = spread(channel.given_zero, rival) - channel.variance(0)
        assert worse == step**2 * spread(channel.given_zero, shift) >= 0


def test_the_twin_on_edges_can_be_beaten() -> None:
    """Least variance is claimed on non-edges only; this competitor shows that the test above can fail."""
    channel = rr(1).refined(1, rr(1))
    shift = harmless(channel, 0, 1, 2)
    gains = [
        channel.variance(1)
        - spread(channel.given_one, tuple(v + step * s for v, s in zip(channel.scores, shift, strict=True)))
        for step in (Fraction(-1, 10), Fraction(1, 10))
    ]
    assert max(gains) > 0


@FIXED
@given(channels(most=4), channels(most=4), st.data())
def test_asking_again_costs_at_most_the_sum(first: Channel, second: Channel, data: st.DataObject) -> None:
    outcome = data.draw(st.integers(0, len(first.given_zero) - 1))
    both = first.refined(outcome, second)
    assert len(both.scores) == len(first.scores) + len(second.scores) - 1
    assert both.loss <= first.loss + second.loss + 1e-12
    assert both.given_zero[:outcome] == first.given_zero[:outcome]
    finer = slice(outcome, outcome + len(second.scores))
    assert sum(both.given_one[finer]) == first.given_one[outcome]


@FIXED
@given(channels(most=4), channels(most=4))
def test_asking_again_never_hurts_the_estimate(first: Channel, second: Channel) -> None:
    assert first.refined(0, second).variance(0) <= first.variance(0)


def test_the_sum_is_reached() -> None:
    both = rr(1).refined(1, rr("0.5"))
    assert both.loss == pytest.approx(1.5, abs=1e-12)
    assert both.loss > rr(1).loss + 0.4


@settings(FIXED, max_examples=60)
@given(st.integers(1, 400), st.integers(1, 99))
def test_one_round_beats_two(hundredths: int, percent: int) -> None:
    epsilon, share = Fraction(hundredths, 100), Fraction(percent, 100)
    one, two = rr(epsilon), rr(epsilon * share).refined(1, rr(epsilon * (1 - share)))
    assert one.variance(0) < two.variance(0)
    assert one.variance(1) < two.variance(1)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_twin_that_spends_epsilon_in_each_round_wins(epsilon: str) -> None:
    """At twice the price two rounds do beat one: the comparison above is not empty."""
    twice = rr(epsilon).refined(1, rr(epsilon))
    assert twice.variance(0) < rr(epsilon).variance(0)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "8"])
def test_randomized_response_is_the_special_case(epsilon: str) -> None:
    mechanism = RandomizedResponse(Fraction(epsilon))
    p, q = mechanism.keep, mechanism.flip
    assert mechanism.channel.scores == (-q / (p - q), (1 - q) / (p - q))
    assert mechanism.channel.variance(0) == mechanism.channel.variance(1) == p * q / (p - q) ** 2
    grown = math.exp(float(epsilon))
    assert float(mechanism.channel.variance(0)) == pytest.approx(grown / (grown - 1) ** 2, rel=1e-12)


def test_loss_is_the_largest_log_ratio() -> None:
    channel = Channel(vector([1, 2, 7]), vector([4, 2, 4]))
    assert channel.loss == pytest.approx(math.log(4))
    assert Channel(vector([4, 2, 4]), vector([1, 2, 7])).loss == pytest.approx(math.log(4))


@pytest.mark.parametrize(
    ("zero", "one"),
    [
        ([1, 1], [1, 1, 1]),
        ([1], [1]),
        ([2, 3], [2, 3]),
    ],
)
def test_what_is_no_channel_is_refused(zero: list[int], one: list[int]) -> None:
    with pytest.raises(BadPrivacyParameter):
        Channel(vector(zero), vector(one))


def test_chances_sum_to_one() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    with pytest.raises(BadPrivacyParameter, match="probability vectors"):
        Channel((half, third), (third, 2 * third))


@pytest.mark.parametrize("zero", [(Fraction(3, 2), Fraction(-1, 2)), (Fraction(1), Fraction(0))])
def test_chances_on_non_edges_are_positive(zero: Vector) -> None:
    with pytest.raises(BadPrivacyParameter):
        assert Channel(zero, (Fraction(1, 2), Fraction(1, 2))).scores
