"""The loss of randomized response: never below the true one, and hardly above.  [CHARTER.3]"""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.campaign.question import response_loss
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION, RandomizedResponse

thresholds = (
    st.integers(1, RESOLUTION // 2 - 1) | st.integers(1, 1000) | st.integers(1, 1000).map(lambda k: (1 << 63) - k)
)


def true_loss(threshold: int) -> mpmath.mpf:
    return mpmath.log(mpmath.mpf(RESOLUTION - threshold) / threshold)


@given(thresholds)
def test_the_loss_is_rounded_up_and_hardly(threshold: int) -> None:
    with mpmath.workdps(120):
        found = response_loss(threshold)
        above = mpmath.mpf(found.numerator) / found.denominator - true_loss(threshold)
        assert 0 <= above < mpmath.mpf(10) ** -59


@given(st.fractions(Fraction(1, 10**6), 40))
def test_the_threshold_of_an_epsilon_costs_no_more_than_it(epsilon: Fraction) -> None:
    """And one below would: a charter that states it is found out by its loss as well."""
    threshold = RandomizedResponse(epsilon).threshold
    assert response_loss(threshold) <= epsilon
    if threshold > 1:
        assert response_loss(threshold - 1) > epsilon


@pytest.mark.parametrize("threshold", [0, -1, 1 << 63, 1 << 64])
def test_thresholds_that_protect_nothing_are_refused(threshold: int) -> None:
    with pytest.raises(ProtocolViolation, match="protects nothing"):
        response_loss(threshold)
