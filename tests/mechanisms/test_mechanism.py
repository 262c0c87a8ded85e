"""The registry of mechanisms: names are taken once, and losses are computed from laws, not believed."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.mechanism import (
    BUILT_IN,
    DISCRETE_LAPLACE,
    MECHANISMS,
    RANDOMIZED_RESPONSE,
    exact_loss,
    register,
)
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse


def test_a_name_is_registered_once() -> None:
    with pytest.raises(BadInput, match="there is a mechanism of that name already"):
        register(RANDOMIZED_RESPONSE)
    assert MECHANISMS.keys() == BUILT_IN


def test_the_loss_of_randomized_response_is_the_logarithm_of_its_odds() -> None:
    for epsilon in map(Fraction, ("1/10", "1", "4")):
        made = RandomizedResponse(epsilon)
        lost, spent = exact_loss(RANDOMIZED_RESPONSE, made)
        assert lost == pytest.approx(math.log(made.keep / made.flip), abs=1e-12)
        assert lost <= float(epsilon) + 1e-12
        assert spent == pytest.approx(0, abs=1e-12)


def test_shifted_noise_loses_its_epsilon_and_leaves_nothing_outside_the_window() -> None:
    for made in DISCRETE_LAPLACE.examples:
        lost, spent = exact_loss(DISCRETE_LAPLACE, made)
        assert lost == pytest.approx(float(made.epsilon), abs=1e-12)
        assert spent < 1e-12
