"""What a user types is what is promised, to the last digit; what cannot be promised is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.privacy import parse_delta, parse_epsilon, parse_number, parse_share

FIXED = settings(derandomize=True, deadline=None, max_examples=50)
TENTH = Fraction(1, 10)


@pytest.mark.parametrize("written", [0.1, "0.1", " 0.1 ", "1e-1", "1/10", TENTH, np.float64(0.1), np.float32(0.1)])
def test_a_tenth_is_a_tenth(written: Any) -> None:
    assert parse_number(written, "x") == TENTH


def test_the_nearest_binary_fraction_is_not_a_tenth() -> None:
    assert Fraction(0.1) != TENTH
    assert parse_number(0.1, "x") != Fraction(0.1)


@FIXED
@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**6), max_value=10**6))
def test_a_decimal_survives_as_text_and_as_a_float(number: Decimal) -> None:
    assert parse_number(str(number), "x") == Fraction(number)
    assert parse_number(float(number), "x") == Fraction(number)


@FIXED
@given(st.integers(-(10**30), 10**30), st.integers(1, 10**30))
def test_exact_numbers_stay_exact(above: int, below: int) -> None:
    assert parse_number(Fraction(above, below), "x") == Fraction(above, below)
    assert parse_number(above, "x") == above


@pytest.mark.parametrize(
    "written",
    [float("nan"), float("inf"), float("-inf"), "nan", "inf", "-inf", "Infinity", "", " ", "one", "1,5", "1/0", "0x1"],
)
def test_what_is_not_a_finite_number_is_refused(written: Any) -> None:
    for reader in (parse_epsilon, parse_delta):
        with pytest.raises(BadPrivacyParameter, match="finite number"):
            reader(written)


@pytest.mark.parametrize("written", [True, False, None, [1], (1,), b"1", 1j, object()])
def test_what_is_not_a_number_at_all_is_refused(written: Any) -> None:
    with pytest.raises(BadPrivacyParameter, match=r"must be a number such as 1 or 0\.5"):
        parse_number(written, "epsilon")


@pytest.mark.parametrize("written", [0, 0.0, "0", -0.0, -1, "-1e-9", Fraction(-1, 3)])
def test_epsilon_is_above_zero(written: Any) -> None:
    with pytest.raises(BadPrivacyParameter, match="epsilon must be above 0"):
        parse_epsilon(written)


@pytest.mark.parametrize("written", [1, "1", 1.5, -0.1, "-1e-9", 7])
def test_delta_is_below_one(written: Any) -> None:
    with pytest.raises(BadPrivacyParameter, match="delta must be at least 0 and below 1"):
        parse_delta(written)


def test_delta_zero_and_almost_one_are_allowed() -> None:
    assert parse_delta(0) == 0
    assert parse_delta("0.999999999999") < 1
    assert parse_delta("1e-6") == Fraction(1, 10**6)


def test_a_share_may_be_all_or_nothing() -> None:
    assert (parse_share(0, "s"), parse_share(1, "s")) == (0, 1)
    for written in (-0.001, 1.001, "2"):
        with pytest.raises(BadPrivacyParameter, match="s must be between 0 and 1"):
            parse_share(written, "s")


def test_the_refusal_names_the_parameter_and_the_value() -> None:
    with pytest.raises(BadPrivacyParameter, match=r"the first share must be above 0 and at most 1000; got -3\."):
        parse_epsilon(-3, "the first share")
    with pytest.raises(ValueError, match="got 'abc'"):
        parse_epsilon("abc")


@pytest.mark.parametrize("written", [np.int64(1), np.int32(1), np.uint8(1)])
def test_integers_of_numpy_become_integers_of_python(written: Any) -> None:
    found = parse_epsilon(written)
    assert found == 1
    assert type(found.numerator) is int
    assert type(found.denominator) is int
