"""Random campaigns that a seed repeats, and losses that are worked out from the theorems alone."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.audit.campaigns import model
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.mechanisms.chain import loss
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse


@pytest.mark.parametrize("epsilon", ["1/8", "1/2", "1", "7/2"])
def test_randomized_response_loses_what_its_threshold_says_and_never_more_than_epsilon(epsilon: str) -> None:
    found = model.response_loss(Fraction(epsilon))
    assert Fraction(epsilon) - Fraction(1, 10**15) < found <= Fraction(epsilon)
    counted = loss(RandomizedResponse(Fraction(epsilon)).threshold)
    assert 0 <= counted - found < Fraction(2, 10**12)


def test_first_answers_are_a_chain_and_reports_add_up_once_each() -> None:
    lost = model.Lost({Fraction(1): {True}, Fraction(1, 2): {False}}, {b"one": Fraction(1, 3), b"two": Fraction(1, 4)})
    assert math.isclose(lost.loss, 1 + 1 / 3 + 1 / 4, rel_tol=1e-12)
    lost.reports[b"one"] = Fraction(1, 3)
    assert math.isclose(lost.loss, 1 + 1 / 3 + 1 / 4, rel_tol=1e-12)
    lost.said[Fraction(1, 2)].add(True)
    assert math.isclose(lost.loss, 1.5 + 1 / 3 + 1 / 4, rel_tol=1e-12)
    assert model.Lost().loss == 0


def test_parts_are_those_of_the_surveys() -> None:
    for question in ("position", model.TWICE, "triangles"):
        campaign = model.Campaign(question, "1/2", "spring", model.NAMES, 0, "A title")
        survey = model.context_of(campaign).terms.row_survey
        first = survey.mechanism(model.PRIVATE, 1).epsilon
        assert model.first_part(question, Fraction(1, 2)) == first


def test_a_seed_repeats_its_campaigns_and_many_seeds_ask_everything() -> None:
    def made(seed: str) -> list[model.Campaign]:
        return list(model.random_campaigns(model.Dice(seed), 7))

    assert made("a") == made("a") != made("b")
    every = [campaign for number in range(20) for campaign in made(str(number))]
    assert {campaign.question for campaign in every} == set(model.QUESTIONS)
    assert {campaign.epoch for campaign in every} == {"spring", "autumn"}
    assert {len(campaign.names) for campaign in every} == {4, 5}
    assert len(set(every)) < len(every), "some campaigns come again as they were"
    titled = {(c.question, c.epsilon, c.epoch, c.names, c.policy) for c in made("3")}
    assert len(titled) <= 7


def test_every_question_is_drawn() -> None:
    assert set(model.QUESTIONS) == set(chain.ROUNDS)
    drawn = {campaign.question for campaign in model.random_campaigns(model.Dice("all"), 200)}
    assert drawn == set(model.QUESTIONS)
