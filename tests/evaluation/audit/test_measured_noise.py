"""Noises are confirmed where they are what was supposed, measured where they are not, and never believed.  [WALK.1]"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.finding import Loss
from visibility_aware_edge_ldp.evaluation.audit.measured_noise import (
    as_asked,
    closely,
    counts_and_rates,
    counts_and_scales,
)
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.many_laplaces import sample_each

NUMBERS, SCALES = np.array([0, 5, -3, 7]), np.array([1, 0, 3, 500])


@pytest.mark.parametrize("supposed", [SCALES, SCALES + 1, np.array([0, 2, 3, 500]), np.array([1, 0, 3, 501])])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(5)])
def test_scales_are_found_whatever_is_supposed(supposed: np.ndarray, epsilon: Fraction) -> None:
    def send(coins: Coins) -> np.ndarray:
        return NUMBERS + sample_each(epsilon, SCALES, coins)

    counts, scales = counts_and_scales(send, epsilon, supposed)
    assert counts.tolist() == NUMBERS.tolist()
    assert scales.tolist() == SCALES.tolist()
    assert closely(send, counts, epsilon, SCALES)
    assert not closely(send, counts, epsilon, SCALES + 1)


def test_a_noise_of_no_whole_scale_stops_the_audit() -> None:
    def send(coins: Coins) -> np.ndarray:
        return NUMBERS + sample_each(Fraction(101, 100), SCALES, coins)

    with pytest.raises(ProtocolViolation, match="another noise"):
        counts_and_scales(send, Fraction(1), SCALES)


@pytest.mark.parametrize("rate", ["1/3", "1/2", "5000001/10000000", "2"])
def test_rates_are_found_whatever_is_supposed(rate: str) -> None:
    noise, supposed = DiscreteLaplace(Fraction(rate)), [DiscreteLaplace(Fraction(1, 2))] * 4
    counts, rates = counts_and_rates(lambda coins: NUMBERS + noise.sample_many(4, coins), supposed)
    assert counts.tolist() == NUMBERS.tolist()
    assert rates == pytest.approx(np.full(4, float(Fraction(rate))), rel=1e-12)


def test_a_number_without_noise_has_an_infinite_rate() -> None:
    noise = DiscreteLaplace(Fraction(1, 2))
    where = np.array([1, 0, 1, 1])
    _, rates = counts_and_rates(lambda coins: NUMBERS + where * noise.sample_many(4, coins), [noise] * 4)
    assert rates == pytest.approx(np.array([0.5, math.inf, 0.5, 0.5]))


def test_a_noise_of_another_shape_stops_the_audit() -> None:
    noise = DiscreteLaplace(Fraction(1, 2))
    with pytest.raises(ProtocolViolation, match="another noise"):
        counts_and_rates(lambda coins: NUMBERS + noise.sample_many(4, coins) // 2, [noise] * 4)


@pytest.mark.parametrize(
    ("billed", "found", "holds"), [("1", 1.0, True), ("2", 1.0, False), ("1/2", 1.0, False), ("1/2", 0.5, True)]
)
def test_the_claim_is_the_less_of_what_is_asked_for_and_billed(billed: str, found: float, holds: bool) -> None:
    loss = as_asked(Loss("PRIVATE", 1.0, found), Fraction(1), Fraction(billed))
    assert loss.holds == holds
    assert loss.claimed == min(1, float(Fraction(billed)))
