"""The survey of degrees: what it costs, and that its name says all of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.relation import OneEdge, OneListEntry
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Multipliers, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
SURVEY = DegreeSurvey("0" * 64, 5, "1" * 64, Fraction(1))


def view_of(policy: VisibilityPolicy) -> PublicView:
    return PublicView(range(5), policy, np.empty((0, 2), np.int32))


def test_each_list_entry_loses_half_of_what_the_edge_loses() -> None:
    assert SURVEY.list_price(PRIVATE).epsilon == Fraction(1, 2)
    assert SURVEY.list_price(FRIEND_VISIBLE).epsilon == 1
    assert SURVEY.list_price(PRIVATE).relation is OneListEntry
    assert SURVEY.price(PRIVATE).epsilon == 1
    assert SURVEY.price(PRIVATE).relation is OneEdge
    assert SURVEY.mechanism(PRIVATE) == DiscreteLaplace(Fraction(1, 2))
    assert SURVEY.mechanism(FRIEND_VISIBLE) == DiscreteLaplace(Fraction(1))


def test_the_bill_is_per_edge() -> None:
    bill = Bill(SURVEY.releases)
    assert {key: price.epsilon for key, price in bill.items()} == {"PRIVATE": 1, "FRIEND_VISIBLE": 2}


@pytest.mark.parametrize(
    ("policy", "classes"),
    [
        (VisibilityPolicy.nothing(), (PRIVATE,)),
        (VisibilityPolicy("0.5"), (PRIVATE,)),
        (VisibilityPolicy("0.2", "0.3", "0.5"), NON_PUBLIC),
        (VisibilityPolicy("0", "1"), (FRIEND_VISIBLE,)),
        (VisibilityPolicy(1), ()),
    ],
    ids=str,
)
def test_only_classes_that_can_be_there_are_asked(policy: VisibilityPolicy, classes: tuple[Visibility, ...]) -> None:
    assert degree_survey(view_of(policy), 1).classes == classes


def test_the_policy_s_own_losses_are_used() -> None:
    survey = degree_survey(view_of(VisibilityPolicy("0.2", "0.3", "0.5").guarded(friend_visible=3)), "0.5")
    assert survey.price(FRIEND_VISIBLE).epsilon == Fraction(3, 2)
    assert survey.mechanism(FRIEND_VISIBLE).epsilon == Fraction(3, 4)


def test_every_field_is_in_the_identity() -> None:
    others = [
        replace(SURVEY, roster="2" * 64),
        replace(SURVEY, nodes=6),
        replace(SURVEY, policy="2" * 64),
        replace(SURVEY, epsilon=Fraction(1, 2)),
        replace(SURVEY, classes=(PRIVATE,)),
        replace(SURVEY, multipliers=Multipliers(Fraction(3))),
    ]
    assert len({SURVEY.identity, *(other.identity for other in others)}) == 7


def test_the_identity_is_pinned() -> None:
    """Another machine must give the same survey the same name."""
    assert SURVEY.identity == "638f9f46442afe117867cb4292b26c4078211d8ce509b525043a5b4c9eeaefb3"


def test_what_cannot_be_asked_is_refused() -> None:
    for epsilon in (0, -1):
        with pytest.raises(BadPrivacyParameter):
            replace(SURVEY, epsilon=Fraction(epsilon))
    for classes in ((PUBLIC,), (PRIVATE, FRIEND_VISIBLE), (PRIVATE, PRIVATE)):
        with pytest.raises(BadPrivacyParameter):
            replace(SURVEY, classes=classes)
