"""A simulated centre: its answers, and one epsilon for all questions.  [CURATOR.3]"""

from __future__ import annotations

from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.simulation.curator import LEAST_SHARE, Centre, ask_within, split, survey_for
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(30, 90, 1), VisibilityPolicy.nothing())
NAMES = ("edges", "triangles", "stars:2")


def test_answers_follow_the_seed_and_are_cut_to_what_is_possible() -> None:
    survey = survey_for(WORLD, 1, statistics=NAMES)
    first, again = (Centre(WORLD).ask(survey, seed=1) for _ in range(2))
    assert [each.estimate.value for each in first.values()] == [each.estimate.value for each in again.values()]
    assert all(each.clamped >= each.public_part for each in first.values())


def test_all_questions_together_cost_one_epsilon() -> None:
    answers, surveys = ask_within(Centre(WORLD), 2, statistics=NAMES, seed=1)
    assert tuple(answers) == NAMES
    total = Bill([release for survey in surveys for release in survey.releases])["PRIVATE"].epsilon
    assert Fraction("1.99") < total <= 2


def test_shares_sum_to_at_most_one_and_none_is_too_small() -> None:
    shares = split({"edges": 1e6, "triangles": 10.0, "max_degree": 50.0}, ("edges", "triangles"), 1.0)
    assert min(shares) >= LEAST_SHARE
    assert Fraction("0.99") < sum(shares) <= 1
    assert shares[1] > shares[0]


def test_deltas_that_sum_to_one_are_refused() -> None:
    with pytest.raises(BadPrivacyParameter, match="sums to 1 or more"):
        ask_within(Centre(WORLD), 1, delta="0.3", statistics=NAMES, seed=1)
