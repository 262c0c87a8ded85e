"""The loss of noisy counts, from the integers that a charter states.  [CHARTER.3]"""

from dataclasses import replace
from fractions import Fraction

import pytest

from support.campaign_vectors import charter_for, documents_of
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS, round_loss, total_loss
from visibility_aware_edge_ldp.campaign.terms import refuse_loss
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, hub_survey
from visibility_aware_edge_ldp.public.visibility import Visibility


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
