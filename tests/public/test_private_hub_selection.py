"""Hubs that are chosen privately: what decides them, what it costs, and what is promised afterwards.  [HUBS.1-3]"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.protocols.degrees import BothAtFullPrice, ExactDegrees, ScaledByOwnDegree
from visibility_aware_edge_ldp.audit.protocols.hub_selection import REPORTS, Choice, FollowUp, largest_loss
from visibility_aware_edge_ldp.errors import BadPolicy, BadPrivacyParameter
from visibility_aware_edge_ldp.evaluation.plan.planner import plan
from visibility_aware_edge_ldp.evaluation.trials import evaluate
from visibility_aware_edge_ldp.guaranteed_dp import VAEdgeLDPSystem
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill, Guarantee, OneEdge, Release
from visibility_aware_edge_ldp.public.private_hub_selection import NoisyHubs, hub_policy, noisy_hubs, noisy_top_k
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.simulate import buy_hubs, collect
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
NAMES = ("ann", "bob", "cid", "dot", "eve")
DEGREES = np.array([3, -2, 7, 7, 0])
NO_EDGES = np.empty((0, 2), np.int32)
NOTHING = PublicView(NAMES, VisibilityPolicy.nothing(), NO_EDGES)


def cost(private: object, friend_visible: object = None) -> Release:
    friends = private if friend_visible is None else friend_visible
    prices = tuple(
        (kind, Guarantee(OneEdge, Fraction(e))) for kind, e in ((PRIVATE, private), (FRIEND_VISIBLE, friends))
    )  # type: ignore[arg-type]
    return Release("degrees", 1, prices)


# ── the choice ──


@pytest.mark.parametrize(
    ("k", "hubs"),
    [(1, {"cid"}), (2, {"cid", "dot"}), (3, {"ann", "cid", "dot"}), (5, set(NAMES))],
)
def test_the_highest_noisy_degrees_are_chosen_and_ties_go_by_the_roster(k: int, hubs: set[str]) -> None:
    assert noisy_top_k(DEGREES, k, NAMES) == hubs
    assert noisy_top_k(DEGREES.tolist(), k, list(NAMES)) == hubs


def test_only_those_who_agreed_are_chosen() -> None:
    assert noisy_top_k(DEGREES, 1, NAMES, candidates=["bob", "eve"]) == {"eve"}
    assert noisy_top_k(DEGREES, 2, NAMES, candidates=["bob", "eve", "dot"]) == {"eve", "dot"}


@pytest.mark.parametrize(
    ("degrees", "k", "candidates", "hint"),
    [
        (DEGREES, 0, None, "Between 1 and 5"),
        (DEGREES, 6, None, "Between 1 and 5"),
        (DEGREES, 3, ["ann", "bob"], "Between 1 and 2"),
        (DEGREES, 1, ["ann", "zoe"], "not on the roster"),
        (DEGREES[:4], 1, None, "One noisy degree for each of the 5 nodes"),
        (DEGREES.reshape(5, 1), 1, None, "One noisy degree"),
    ],
)
def test_impossible_choices(degrees: np.ndarray, k: int, candidates: list[str] | None, hint: str) -> None:
    with pytest.raises(BadPolicy, match=hint):
        noisy_top_k(degrees, k, NAMES, candidates)


# ── the policy and its price ──


def test_hubs_become_public_and_the_policy_keeps_the_receipt() -> None:
    policy = hub_policy(NOTHING, DEGREES, 2, [cost("0.25")])
    classes = policy.bind(NAMES)
    for u, v in combinations(range(5), 2):
        assert classes.of(u, v)[0] == (PUBLIC if {u, v} & {2, 3} else PRIVATE)
    assert policy == VisibilityPolicy.from_profiles({"cid": "public", "dot": "public"}, "any")
    assert policy.paid == (cost("0.25"),)
    assert not policy.is_oracle
    assert "had agreed" in policy.assumptions[0]
    assert str(policy) == "2 public hubs, chosen by noisy degree (rule 'any')"


def test_under_both_only_positions_between_hubs_are_public() -> None:
    policy = hub_policy(NOTHING, DEGREES, 2, [cost(1)], rule="both")
    assert policy == VisibilityPolicy.from_profiles({"cid": "public", "dot": "public"}, "both")


def test_the_receipt_stays_through_everything_that_is_done_to_a_policy() -> None:
    policy = hub_policy(NOTHING, DEGREES, 1, [cost(1)])
    world = VisibilityAwareGraph([("ann", "bob"), ("cid", "dot"), ("dot", "eve")], policy)
    assert policy.guarded(3).paid == (policy | VisibilityPolicy(0.1)).paid == (VisibilityPolicy(0.1) | policy).paid
    assert world.policy.paid == policy.paid != ()
    assert (policy | policy).paid == policy.paid
    assert (policy | VisibilityPolicy.public_hubs(0.1)).is_oracle


def test_a_new_class_is_charged_the_worst_that_its_positions_may_have_paid() -> None:
    plain = hub_policy(NOTHING, DEGREES, 1, [cost(1, 2)], rule="both")
    assert {kind: price.epsilon for kind, price in Bill(plain.paid).items()} == {"PRIVATE": 1, "FRIEND_VISIBLE": 1}
    mixed = PublicView(NAMES, VisibilityPolicy("0.2", "0.4"), NO_EDGES)
    joined = hub_policy(mixed, DEGREES, 1, [cost(1, 2)])
    assert {kind: price.epsilon for kind, price in Bill(joined.paid).items()} == {"PRIVATE": 2, "FRIEND_VISIBLE": 2}
    assert joined == mixed.policy | VisibilityPolicy.from_profiles({"cid": "public"}, "any")


def test_choosing_again_is_paid_again() -> None:
    first = hub_policy(NOTHING, DEGREES, 1, [cost(1)])
    second = hub_policy(PublicView(NAMES, first, NO_EDGES), -DEGREES, 1, [Release("again", 1, cost(2).prices)])
    assert Bill(second.paid)["PRIVATE"].epsilon == 3
    assert second == first | VisibilityPolicy.from_profiles({"bob": "public"}, "any")


def test_a_choice_without_a_receipt_is_refused() -> None:
    with pytest.raises(BadPolicy, match="must be paid for"):
        hub_policy(NOTHING, DEGREES, 1, [])


def test_multipliers_stay() -> None:
    view = PublicView(NAMES, VisibilityPolicy.nothing().guarded(3), NO_EDGES)
    assert hub_policy(view, DEGREES, 1, [cost(1)]).multiplier(FRIEND_VISIBLE) == 3


# ── the whole protocol on three nodes: reports, choice, then every position that is left answers ──


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_no_transcript_tells_more_than_the_bill_says(epsilon: str) -> None:
    """Both ends report at half: what is left private after the choice has lost ε_h, and loses ε = 1 more."""
    claim = float(Fraction(epsilon)) + 1
    loss = largest_loss(Choice(epsilon))
    assert claim * 0.999 <= loss <= claim * (1 + 1e-9)


def test_one_position_is_left_private_whoever_is_chosen() -> None:
    choice = Choice("1")
    for reports in REPORTS[::7]:
        assert FollowUp(choice, choice.policy(reports)).kinds.count(PRIVATE) == 1


def test_reports_at_the_full_price_from_both_ends_are_caught() -> None:
    """2ε_h + ε instead of ε_h + ε."""
    assert largest_loss(Choice("1", client=BothAtFullPrice)) == pytest.approx(3)


def test_noise_scaled_by_the_own_degree_is_caught() -> None:
    assert largest_loss(Choice("1", client=ScaledByOwnDegree)) > 2.1


@pytest.mark.long
def test_a_choice_by_true_degree_is_caught() -> None:
    assert largest_loss(Choice("1", client=ExactDegrees)) == math.inf


# ── in a simulation ──


def bought(world: VisibilityAwareGraph, k: int, epsilon: object, rule: str = "any") -> VisibilityAwareGraph:
    reports = collect(world, degree_survey(world.public, epsilon), seed=1)  # type: ignore[arg-type]
    return VisibilityAwareGraph(world.graph, hub_policy(world.public, reports.reported, k, reports.releases, rule))


@pytest.mark.parametrize(
    ("trust", "rule"), [("position", "any"), ("position", "both"), ("curator", "any"), ("user", "any")]
)
def test_later_bills_and_certificates_have_the_price_of_the_choice(trust: str, rule: str) -> None:
    start = VisibilityAwareGraph(erdos_renyi(30, 90, 2), VisibilityPolicy.nothing())
    world = bought(start, 3, "0.25", rule)
    answers = estimate(world, trust, 1, "edges", seed=2)
    for bill in (answers.bill, answers.certificate.bill):
        assert bill["PRIVATE"].epsilon == Fraction("1.25")
        assert bill["FRIEND_VISIBLE"].epsilon == Fraction("2.25")
    text = str(answers.certificate)
    assert "Of this, ε = 0.25 per PRIVATE edge" in text
    assert "was paid for choosing the policy." in text
    assert ("per FRIEND_VISIBLE edge was paid" in text) == (rule == "both")
    assert "Assumes that those who were chosen as hubs had agreed" in text
    assert answers.certificate.as_dict()["paid_for_the_policy"]["PRIVATE"] == {"epsilon": 0.25, "delta": 0.0}
    plain = estimate(start, trust, 1, "edges", seed=2).certificate
    assert "paid for choosing" not in str(plain)
    assert "paid_for_the_policy" not in plain.as_dict()


@pytest.mark.parametrize("total", [None, 2])
def test_a_centre_s_total_has_it_too(total: int | None) -> None:
    world = bought(VisibilityAwareGraph(erdos_renyi(30, 90, 2), VisibilityPolicy.nothing()), 3, "0.25")
    system = VAEdgeLDPSystem(2) if total is None else VAEdgeLDPSystem(total_epsilon=total)
    composition = system.run_all(world, ["edges"], seed=1)["_composition"]
    assert composition["bill"]["PRIVATE"]["epsilon"] == 2.25


def test_the_choice_is_nearly_the_oracle_s_on_a_heavy_tailed_graph() -> None:
    start = VisibilityAwareGraph(powerlaw(1000, 5000, seed=3), VisibilityPolicy.nothing())
    oracle = VisibilityAwareGraph(start.graph, VisibilityPolicy.public_hubs("0.02"))
    chosen = bought(start, 20, 1)
    caught = [world.edge_counts[PUBLIC] for world in (chosen, oracle)]
    assert 0.9 * caught[1] <= caught[0] <= caught[1]


# ── asked for by name ──


def test_hubs_that_are_still_to_be_chosen_bind_to_nobody() -> None:
    policy = noisy_hubs("3", "0.1")
    assert policy.rule == NoisyHubs(3, Fraction("0.1"), "any")
    assert str(policy) == "3 public hubs, to be chosen by noisy degree for ε = 0.1 (rule 'any')"
    assert policy != noisy_hubs("3", "0.2")
    with pytest.raises(BadPolicy, match="`estimate` and `compare` collect"):
        policy.bind(NAMES)


@pytest.mark.parametrize(
    ("count", "rule", "hint"), [("0", "any", "from 1 on"), ("2.5", "any", "whole number"), ("2", "all", "rule")]
)
def test_other_choices_are_refused(count: str, rule: str, hint: str) -> None:
    with pytest.raises(BadPolicy, match=hint):
        noisy_hubs(count, 1, rule)


@pytest.mark.parametrize("rule", ["any", "both"])
def test_the_door_chooses_by_reports_that_it_pays_for(rule: str) -> None:
    graph = erdos_renyi(40, 160, 3)
    asked = VisibilityAwareGraph(graph, noisy_hubs(4, "0.25", rule))
    world = buy_hubs(asked, seed=5)
    assert Bill(world.policy.paid)["PRIVATE"].epsilon == Fraction("0.25")
    assert "4 public hubs, chosen by noisy degree" in str(world.policy)
    assert buy_hubs(asked, seed=5).policy == world.policy
    assert len({buy_hubs(asked, seed=seed).policy.digest for seed in range(8)}) > 1
    assert buy_hubs(world) is world


def test_estimates_through_the_door_say_what_the_choice_cost() -> None:
    answers = estimate(erdos_renyi(40, 160, 3), "position", 1, "edges", policy="hubs:4,epsilon=0.25", seed=2)
    assert answers.bill["PRIVATE"].epsilon == Fraction("1.25")
    assert answers.certificate.as_dict()["paid_for_the_policy"]["PRIVATE"]["epsilon"] == 0.25


def test_outside_a_scope_the_choice_is_still_lost() -> None:
    """[HUBS.4]"""
    world = buy_hubs(VisibilityAwareGraph(erdos_renyi(40, 160, 3), noisy_hubs(4, "0.25")), seed=1).inside("lists")
    told = estimate(world, "position", 1, "edges", seed=2).certificate
    assert "positions outside the scope lose nothing more than for choosing the policy" in told.summary
    assert "lose nothing more than for choosing the policy, and nothing is said of them" in str(told)
    free = VisibilityAwareGraph(world.whole, VisibilityPolicy.public_profiles("0.1")).inside("lists")
    assert "lose nothing, and nothing is said" in str(estimate(free, "position", 1, "edges", seed=2).certificate)


def test_what_a_choice_cost_is_part_of_every_epsilon() -> None:
    """[HUBS.2] Trials spend what is left of each ε; a plan, which could not tell of it, refuses."""
    graph = erdos_renyi(30, 90, 1)
    bought = buy_hubs(VisibilityAwareGraph(graph, noisy_hubs(3, "0.25")), 1)
    assert (bought.policy.paid_epsilon, bought.policy.left_of(Fraction(1))) == (Fraction(1, 4), Fraction(3, 4))
    (row,) = evaluate(bought, "position", [1], 1, "edges", seed=5)
    alone = estimate(bought, "position", "0.75", ["edges"], seed="5 epsilon 1 trial 0")["edges"].value
    assert row.mean_estimate == alone
    with pytest.raises(BadPrivacyParameter, match=r"leaves nothing of ε = 0\.25"):
        evaluate(bought, "position", ["0.25"], 1, "edges")
    with pytest.raises(BadPolicy, match="simulate with compare"):
        plan(family=graph, policy=bought.policy)
