"""How well each class is guarded: a public property of the policy, repeated by surveys and never taken on trust."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.curator import CuratorQuery, curator_survey
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, Multipliers, Visibility, times_epsilon

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
NAMES = range(10)
TABLE = {i: {"school": i % 2, "year": i % 3} for i in NAMES}
THREE = Multipliers(Fraction(3), Fraction(1))
# (policy, its digest, a survey's identity, a curator survey's identity): those of the first version.
OLD = [
    (
        VisibilityPolicy("0.2", "0.3"),
        "6d357854a01c196e82e91c8ab8871eda2624a5bcdcbb97a0ab2d1b84fcbf52bd",
        "70d6acc565444c74a456d3bd9d6f684d3b40f5b1654795510f49d0242f855b06",
        "e1e7eb0877da97ab306a7f546401a20ccacf637921d99a761d019f1d21764981",
    ),
    (
        VisibilityPolicy.from_profiles({0: "public"}),
        "366d132d681b8d58fa2f011af022d419188e6ecd4ae456f0f1387193ec176213",
        "f456d38e2964f2fb0ea45bb591e82755c80e8a705ced2af334daa45ce099bca7",
        "40e308aa36178c570729b9dda073b952aca7366c45d3e849c219057d17ee630a",
    ),
]


def view_of(policy: VisibilityPolicy) -> PublicView:
    return PublicView(NAMES, policy, np.empty((0, 2), np.int32))


def from_rules(*rules: dict[str, Any], otherwise: str = "private") -> VisibilityPolicy:
    return VisibilityPolicy.from_attributes(TABLE, rules, otherwise)


# ── the policy's property ──


def test_unless_told_otherwise_they_are_the_usual_ones() -> None:
    for policy in (VisibilityPolicy.nothing(), VisibilityPolicy(0.2, 0.3), VisibilityPolicy.public_hubs(0.1)):
        assert {kind: policy.multiplier(kind) for kind in Visibility} == {PUBLIC: 0, FRIEND_VISIBLE: 2, PRIVATE: 1}
        assert policy.multipliers.is_default


def test_a_policy_is_guarded_exactly_as_written() -> None:
    policy = VisibilityPolicy(0.2, 0.3).guarded(friend_visible=2.5, private="0.1")
    assert policy.multiplier(FRIEND_VISIBLE) == Fraction(5, 2)
    assert policy.multiplier(PRIVATE) == Fraction(1, 10)
    assert policy.guarded(private="1/3").multipliers == Multipliers(Fraction(5, 2), Fraction(1, 3))


@pytest.mark.parametrize(("policy", "digest", "identity", "central"), OLD, ids=["fractions", "profiles"])
def test_the_usual_ones_leave_old_digests_alone(
    policy: VisibilityPolicy, digest: str, identity: str, central: str
) -> None:
    for same in (policy, policy.guarded(), policy.guarded(friend_visible=2, private=1)):
        view = view_of(same)
        assert same.digest == digest
        centre = curator_survey(view, 1, noise="student_t")
        assert (position_survey(view, 1).identity, centre.identity) == (identity, central)


def test_other_ones_are_part_of_every_digest() -> None:
    policy = VisibilityPolicy(0.2, 0.3)
    guarded = [policy, policy.guarded(3), policy.guarded(2, "0.5"), policy.guarded("5/2")]
    assert len({each.digest for each in guarded}) == len(guarded)
    assert len({position_survey(view_of(each), 1).identity for each in guarded}) == len(guarded)
    # Edges alone: a curator's smooth bounds would refuse 5/2.
    assert len({curator_survey(view_of(each), 1, 0, ["edges"]).identity for each in guarded}) == len(guarded)


def test_a_survey_that_lies_about_them_has_another_identity() -> None:
    """The policy's digest left as it is: what is compared is the field too."""
    one = position_survey(view_of(VisibilityPolicy(0.2, 0.3)), 1)
    query = curator_survey(view_of(VisibilityPolicy(0.2, 0.3)), 1)
    assert replace(one, multipliers=THREE).identity != one.identity
    lying = tuple(replace(each, multipliers=THREE) for each in query.queries)
    assert replace(query, queries=lying).identity != query.identity


def test_they_stay_with_the_policy() -> None:
    oracle = VisibilityPolicy.public_hubs(0.2, rule="both").guarded(3)
    assert oracle.resolved(NAMES, np.arange(10)).multipliers == THREE
    assert (oracle | VisibilityPolicy(0.1).guarded(3)).multipliers == THREE


def test_policies_that_guard_differently_are_not_combined() -> None:
    with pytest.raises(BadPolicy, match=r"Give both the same with \.guarded"):
        VisibilityPolicy(0.1) | VisibilityPolicy(0.1).guarded(3)


@pytest.mark.parametrize(
    ("losses", "hint"),
    [
        ({"private": 0}, "above 0"),
        ({"friend_visible": -1}, "above 0"),
        ({"friend_visible": 1001}, "at most 1000"),
        ({"friend_visible": "0.5"}, "cannot be guarded better"),
        ({"private": 3}, "cannot be guarded better"),
        ({"private": "much"}, "must be a finite number"),
        ({"friend_visible": True}, "must be a number"),
        ({"friend_visible": float("nan")}, "finite"),
    ],
)
def test_losses_that_make_no_sense(losses: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadPolicy, match=hint):
        VisibilityPolicy(0.1).guarded(**losses)


def test_it_reads_aloud() -> None:
    assert str(VisibilityPolicy.nothing()) == "every position is PRIVATE"
    told = str(VisibilityPolicy.nothing().guarded("5/2"))
    assert told == "every position is PRIVATE; loss per edge: FRIEND_VISIBLE 5/2·ε, PRIVATE ε"
    assert [times_epsilon(Fraction(text)) for text in ("1", "2", "1/2")] == ["ε", "2ε", "1/2·ε"]


# ── rules over attributes ──


def test_a_rule_states_the_loss_of_its_class() -> None:
    policy = from_rules({"same": "school", "class": "friend_visible", "loss": 3})
    assert policy.multipliers == THREE
    assert policy.digest == from_rules({"same": "school", "class": "friend_visible"}).guarded(3).digest
    both = from_rules(
        {"same": "school", "class": "private", "loss": "0.5"},
        {"same": "year", "class": "friend_visible", "loss": "1.5"},
        otherwise="public",
    )
    assert both.multipliers == Multipliers(Fraction(3, 2), Fraction(1, 2))


@pytest.mark.parametrize(
    "rules",
    [
        [
            {"same": "school", "class": "friend_visible", "loss": 3},
            {"same": "year", "class": "friend_visible", "loss": 4},
        ],
        [{"same": "school", "class": "friend_visible", "loss": 3}, {"same": "year", "class": "friend_visible"}],
        [{"same": "school", "class": "private", "loss": "0.5"}],  # all others are private too, at the usual loss
    ],
    ids=["two losses", "one stated, one not", "otherwise states none"],
)
def test_a_class_has_one_loss(rules: list[dict[str, Any]]) -> None:
    with pytest.raises(BadPolicy, match="two non-public classes"):
        from_rules(*rules)


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ({"same": "school", "class": "public", "loss": 3}, "no loss to state"),
        ({"same": "school", "class": "friend_visible", "loss": 0}, "above 0"),
        ({"same": "school", "class": "friend_visible", "loss": []}, "must be a number"),
        ({"same": "school", "class": "friend_visible", "los": 3}, "'los', which no rule knows"),
    ],
)
def test_rules_with_losses_that_make_no_sense(rule: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadPolicy, match=hint):
        from_rules(rule)


# ── what they cost ──


def test_surveys_charge_what_the_policy_says() -> None:
    view = view_of(VisibilityPolicy(0.2, 0.3).guarded("5/2", "0.5"))
    bill = Bill(position_survey(view, 2, rounds=2).releases)
    assert (bill["PRIVATE"].epsilon, bill["FRIEND_VISIBLE"].epsilon) == (1, 5)
    survey = position_survey(view, 1)
    assert survey.channel(FRIEND_VISIBLE).loss == pytest.approx(2.5, rel=1e-9)
    assert survey.channel(PRIVATE).loss == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_a_curator_charges_what_the_policy_says(delta: str) -> None:
    survey = curator_survey(view_of(VisibilityPolicy(0.2, 0.3).guarded("1.5", "0.5")), 1, delta)
    for query in survey.queries:
        prices = query.price(PRIVATE), query.price(FRIEND_VISIBLE)
        assert [price.epsilon for price in prices] == [Fraction(1, 2), Fraction(3, 2)]
        if query.has_constant_sensitivity or delta == "0":
            assert [price.delta for price in prices] == [0, 0]
        else:
            assert prices[1].delta == query.smooth_noise.price(3)[1] > prices[0].delta == Fraction(delta)
            assert query.smooth_noise.epsilon == Fraction(1, 2)


def test_smooth_bounds_count_whole_steps() -> None:
    odd = Multipliers(Fraction(5, 2), Fraction(1))
    assert CuratorQuery("edges", Fraction(1), Fraction(0), "student_t", odd).price(FRIEND_VISIBLE).epsilon == odd.of(
        FRIEND_VISIBLE
    )
    with pytest.raises(BadPolicy, match="whole number of times"):
        CuratorQuery("triangles", Fraction(1), Fraction(0), "student_t", odd)
    assert Multipliers(Fraction(3, 2), Fraction(1, 2)).steps == 3


def test_where_only_friends_can_move_a_number_their_promise_is_enough() -> None:
    view = view_of(VisibilityPolicy(0, 1, 0).guarded(5))
    noise = curator_survey(view, 1).queries[0].constant_noise(view)
    assert noise is not None
    assert noise.epsilon == 5
    mixed = view_of(VisibilityPolicy(0, "0.5").guarded(5, "0.25"))
    noise = curator_survey(mixed, 1, 0, ["edges"]).queries[0].constant_noise(mixed)
    assert noise is not None
    assert noise.epsilon == Fraction(1, 4)


# ── in words ──


def test_the_secrets_of_a_policy_in_words() -> None:
    policy = VisibilityPolicy.from_profiles({0: "public", 1: "public"}, assumptions=["profiles are public"]).guarded(3)
    secrets = PublicView(NAMES, policy, np.array([(0, 1)], np.int32)).secrets
    assert secrets.table() == [
        ("PUBLIC", "1", "2.2%", "not protected", "everybody: 1 edges, and that the others are empty"),
        ("FRIEND_VISIBLE", "16", "35.6%", "at most 3ε", "friends of the two ends"),
        ("PRIVATE", "28", "62.2%", "at most ε", "the two ends"),
    ]
    text = str(secrets)
    assert "every other secret, and who sees all reports." in text
    assert text.endswith("Assumes that profiles are public.")


def test_a_class_without_positions_is_no_secret() -> None:
    rows = view_of(VisibilityPolicy.nothing()).secrets.rows
    assert [(row.visibility, row.positions, row.multiplier) for row in rows] == [(PRIVATE, 45, 1)]
    assert DEFAULT_MULTIPLIERS.of(PRIVATE) == 1
