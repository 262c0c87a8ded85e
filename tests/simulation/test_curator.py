"""A simulated centre: its answers, and one epsilon for all questions.  [CURATOR.3]"""

from __future__ import annotations

from fractions import Fraction

from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.surveys.curator import CONSTANT
from visibility_aware_edge_ldp.public.visibility import Visibility
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


def test_delta_is_a_total_too() -> None:
    answers, _ = ask_within(Centre(WORLD, delta="0.5"), 1, delta="0.01", statistics=NAMES, seed=1)
    bill = Bill(release for each in answers.values() for release in each.estimate.releases)
    assert bill[Visibility.PRIVATE].epsilon == 1
    assert 0 < bill[Visibility.PRIVATE].delta <= Fraction("0.01")


def test_one_question_gets_all_of_epsilon() -> None:
    _, (survey,) = ask_within(Centre(WORLD), 2, statistics="triangles", seed=1)
    assert [query.epsilon for query in survey.queries] == [2]


def test_intervals_that_may_be_published_are_within_the_same_total() -> None:
    answers, (_, main) = ask_within(Centre(WORLD), 2, statistics=NAMES, seed=1, publish=True)
    bill = Bill(release for each in answers.values() for release in each.estimate.releases)
    assert bill[Visibility.PRIVATE].epsilon == 2
    assert all(each.releasable for each in answers.values())
    assert [bound.of.statistic for bound in main.bounds] == [name for name in NAMES if name not in CONSTANT]
