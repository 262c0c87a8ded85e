"""The loss of the stated integers: never below the true one, never above what epsilon says.  [CHARTER.3]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.campaign_vectors import CASES, charter_for, documents_of
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS, round_loss, total_loss
from visibility_aware_edge_ldp.campaign.questions.position import response_loss
from visibility_aware_edge_ldp.campaign.terms import Terms, refuse_loss
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION, RandomizedResponse
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, hub_survey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

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


@pytest.mark.parametrize("epsilon", ["1/100", "1", "7/3", "12"])
@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_what_the_survey_is_billed(case: str, epsilon: str) -> None:
    documents = documents_of(case)
    charter = charter_for(case, documents, epsilon)
    terms = Terms(charter, documents.view)
    billed = {kind: Fraction(0) for kind in NON_PUBLIC}
    for release in terms.survey.releases:
        for kind, price in release.prices:
            billed[kind] += price.epsilon
    for kind, loss in terms.losses.items():
        assert loss <= billed[kind] <= documents.policy.multiplier(kind) * charter.epsilon
        assert loss >= billed[kind] * (1 - Fraction(1, 10**10))
    rounds = [terms.round_losses(number) for number in range(1, len(charter.rounds) + 1)]
    assert terms.losses == {kind: sum(each[kind] for each in rounds) for kind in terms.losses}


def test_integers_that_cost_more_than_epsilon_are_refused_for_that_alone() -> None:
    """The second lock: it holds even if both sides' arithmetic went wrong in the same way."""
    documents = documents_of("degrees")
    charter = charter_for("degrees", documents)
    refuse_loss(charter, documents.view)
    (mechanism,) = charter.mechanisms
    dearer = replace(charter, mechanisms=({**mechanism, "rates": {"FRIEND_VISIBLE": "1", "PRIVATE": "501/1000"}},))
    with pytest.raises(ProtocolViolation, match="cost more per PRIVATE edge"):
        refuse_loss(dearer, documents.view)


def test_plain_hubs() -> None:
    documents = documents_of("hubs")
    survey = hub_survey(documents.view, 1, PLAIN)
    (mechanism,) = QUESTIONS["hubs"].stated(survey)
    assert round_loss(mechanism) == {Visibility.PRIVATE: Fraction(1)}
    assert total_loss([mechanism, mechanism]) == {Visibility.PRIVATE: Fraction(2)}


def test_loose_positions_are_paid_for() -> None:
    """A twin that forgets the count of loose edges would say less."""
    (mechanism,) = QUESTIONS["hubs"].stated(hub_survey(documents_of("hubs").view, 1))
    dearer = {**mechanism, "loose": "1"}
    assert round_loss(dearer)[Visibility.PRIVATE] > round_loss(mechanism)[Visibility.PRIVATE]
