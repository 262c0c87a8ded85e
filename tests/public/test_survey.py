"""The survey: its price per class and round, its channel, and a name that changes with every field."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.relation import OneEdge
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.survey import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
VIEW = PublicView(range(10), VisibilityPolicy(0.2, 0.3), np.empty((0, 2), np.int32))
HALF = Fraction(1, 2)
ONE = PositionSurvey("roster", 10, "policy", Fraction(1))
TWO = PositionSurvey("roster", 10, "policy", Fraction(1), (HALF, HALF))


def test_a_survey_is_about_its_view() -> None:
    survey = position_survey(VIEW, 0.1)
    assert (survey.roster, survey.nodes, survey.policy) == (VIEW.roster_digest, 10, VIEW.policy.digest)
    assert survey.epsilon == Fraction(1, 10)
    assert (survey.rounds, survey.shares) == (1, (1,))


@pytest.mark.parametrize("survey", [ONE, TWO], ids=["one round", "two rounds"])
@pytest.mark.parametrize(("kind", "price"), [(PUBLIC, 0), (FRIEND_VISIBLE, 2), (PRIVATE, 1)])
def test_price_per_class(survey: PositionSurvey, kind: Visibility, price: int) -> None:
    assert sum(survey.round_price(kind, number) for number in range(1, survey.rounds + 1)) == price


def test_the_bill_adds_the_rounds() -> None:
    for survey in (ONE, TWO, replace(TWO, shares=(Fraction(1, 3), Fraction(2, 3)))):
        bill = Bill(survey.releases)
        assert {str(kind): guarantee.epsilon for kind, guarantee in bill.items()} == {
            "PRIVATE": 1,
            "FRIEND_VISIBLE": 2,
        }
        assert all(guarantee.relation is OneEdge and not guarantee.delta for guarantee in bill.values())


def test_one_release_a_round_named_by_the_survey() -> None:
    assert [(r.survey, r.round) for r in TWO.releases] == [(TWO.identity, 1), (TWO.identity, 2)]
    assert len(set(ONE.releases) | set(ONE.releases)) == 1
    assert [dict(r.prices)[PRIVATE].epsilon for r in TWO.releases] == [HALF, HALF]


@pytest.mark.parametrize("kind", NON_PUBLIC)
def test_the_channel_of_one_round_is_randomized_response(kind: Visibility) -> None:
    assert ONE.channel(kind) == RandomizedResponse(ONE.multipliers.of(kind)).channel
    assert ONE.channel(kind).loss <= ONE.multipliers.of(kind)


@pytest.mark.parametrize("kind", NON_PUBLIC)
def test_the_channel_of_two_rounds(kind: Visibility) -> None:
    survey = replace(TWO, shares=(Fraction(1, 4), Fraction(3, 4)))
    first, second = (RandomizedResponse(ONE.multipliers.of(kind) * share) for share in survey.shares)
    channel = survey.channel(kind)
    assert channel.given_one == (first.flip, first.keep * second.flip, first.keep * second.keep)
    assert channel.given_zero == (first.keep, first.flip * second.keep, first.flip * second.flip)
    assert channel.loss <= ONE.multipliers.of(kind) + 1e-15
    assert channel.loss > ONE.multipliers.of(kind) - 1e-9


@pytest.mark.parametrize("survey", [ONE, TWO], ids=["one round", "two rounds"])
def test_prices_and_mechanisms_are_worked_out_once_and_belong_to_their_survey(survey: PositionSurvey) -> None:
    for kind in NON_PUBLIC:
        for number in range(1, survey.rounds + 1):
            price = survey.multipliers.of(kind) * survey.epsilon * survey.shares[number - 1]
            assert survey.round_price(kind, number) == price
            assert survey.round_price(kind, number) is survey.round_price(kind, number)
            assert survey.mechanism(kind, number) is survey.mechanism(kind, number)
            assert survey.mechanism(kind, number) == RandomizedResponse(price)
    twice = replace(survey, epsilon=2 * survey.epsilon)
    assert twice.round_price(PRIVATE, 1) == 2 * survey.round_price(PRIVATE, 1)
    assert twice.mechanism(PRIVATE, 1) != survey.mechanism(PRIVATE, 1)
    fresh = replace(survey)
    assert (fresh, hash(fresh)) == (survey, hash(survey))


def test_the_first_share() -> None:
    survey = position_survey(VIEW, 2, rounds=2, first_share=0.1)
    assert survey.shares == (Fraction(1, 10), Fraction(9, 10))
    assert survey.round_price(PRIVATE, 1) == Fraction(1, 5)
    assert survey.round_price(FRIEND_VISIBLE, 2) == Fraction(18, 5)
    assert position_survey(VIEW, 2, rounds=2).shares == (HALF, HALF)
    assert position_survey(VIEW, 2, rounds=1, first_share=0.1).shares == (1,)


CHANGED: dict[str, PositionSurvey] = {
    "nothing": ONE,
    "roster": replace(ONE, roster="other"),
    "nodes": replace(ONE, nodes=11),
    "policy": replace(ONE, policy="other"),
    "epsilon": replace(ONE, epsilon=Fraction(1) + Fraction(1, 10**15)),
    "rounds": TWO,
    "shares": replace(TWO, shares=(Fraction(1, 3), Fraction(2, 3))),
    "shares, the other way round": replace(TWO, shares=(Fraction(2, 3), Fraction(1, 3))),
}


def test_the_identity_changes_with_every_field() -> None:
    identities = {what: survey.identity for what, survey in CHANGED.items()}
    assert all(len(identity) == 64 and bytes.fromhex(identity) for identity in identities.values())
    assert len(set(identities.values())) == len(CHANGED)


def test_the_same_survey_has_the_same_identity() -> None:
    assert PositionSurvey("roster", 10, "policy", Fraction("1.0"), (Fraction(1),)).identity == ONE.identity


def test_the_identity_is_pinned() -> None:
    assert ONE.identity == "9a606ae70691f01ea3bbaa1e57a7de1a99fae4face2d8690953b4e5621a05811"
    assert TWO.identity == "3d50ff1406e75b0c4bd612fb4a1406044aa73ee2633c2e0683e9a3a58bebf2dc"


def test_surveys_of_unlike_price_have_unlike_identities() -> None:
    dear, dearer = replace(ONE, epsilon=Fraction(50)), replace(ONE, epsilon=Fraction(60))
    assert dear.releases[0].prices != dearer.releases[0].prices
    assert dear.identity != dearer.identity


@pytest.mark.parametrize("rounds", [0, 3, -1, 1.5, "1", None])
def test_only_one_or_two_rounds(rounds: Any) -> None:
    with pytest.raises(BadPrivacyParameter, match="1 or 2 rounds"):
        position_survey(VIEW, 1, rounds=rounds)


@pytest.mark.parametrize("share", [0, 1, 2, -0.1, float("nan"), "x", True])
def test_a_round_without_a_share_is_refused(share: Any) -> None:
    with pytest.raises(BadPrivacyParameter):
        position_survey(VIEW, 1, rounds=2, first_share=share)


@pytest.mark.parametrize(
    "shares",
    [(), (HALF,), (HALF, HALF, Fraction(0)), (HALF, Fraction(1, 3)), (Fraction(3, 2), -HALF), (Fraction(1, 3),) * 3],
)
def test_shares_are_positive_and_sum_to_one(shares: tuple[Fraction, ...]) -> None:
    with pytest.raises(BadPrivacyParameter, match="shares that sum to 1"):
        replace(ONE, shares=shares)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), 1e-30, True, "x", None])
def test_an_impossible_epsilon_is_refused_when_the_survey_is_made(epsilon: Any) -> None:
    with pytest.raises(BadPrivacyParameter):
        position_survey(VIEW, epsilon)


def test_a_round_too_small_to_be_sampled_is_refused_when_the_survey_is_made() -> None:
    assert position_survey(VIEW, "1e-18").rounds == 1
    with pytest.raises(BadPrivacyParameter, match="too small"):
        position_survey(VIEW, "1e-18", rounds=2, first_share="0.01")
