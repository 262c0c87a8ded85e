"""Users who count what they own: refuse, pay, count, repeat.  [OWNER.1-6]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient, owned_triangles
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import TwoHop, two_hop
from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import (
    OwnerPlan,
    believed_plan,
    clipped_plan,
    encode_owned,
    neighbourhood_survey,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 24
GRAPH = erdos_renyi(N, 110, seed=5)
EVERYBODY = TwoHop(0, GRAPH.edges, N)
ALL = np.ones(N, np.bool_)


def public_view(policy: VisibilityPolicy) -> PublicView:
    classes = policy.bind(GRAPH.names).of(*GRAPH.edges.T)
    return PublicView(GRAPH.names, policy, GRAPH.edges[classes == Visibility.PUBLIC])


VIEW = public_view(VisibilityPolicy("0.3", "0.3", "0.4"))


def plan(guard: str, seed: int = 0) -> OwnerPlan:
    """Bounds around the true degrees, some above and some below."""
    bounds = np.maximum(GRAPH.degrees + np.random.default_rng(seed).integers(-5, 4, N), 1)
    if guard == "believed":
        return believed_plan(degree_survey(VIEW, 1), bounds, ALL, Fraction(1, 1000))
    return OwnerPlan(guard, bounds, ALL)


def brute_force(view: PublicView, one: OwnerPlan) -> list[Fraction]:
    """The counts by their definition."""
    joined = {frozenset(edge) for edge in GRAPH.edges.tolist()}
    rank = one.ranks.tolist()
    if one.guard == "clipped":
        friends = {u: sorted((v for e in joined if u in e for v in e - {u}), key=lambda v: -rank[v]) for u in range(N)}
        kept = {u: set(friends[u][: one.bounds[u]]) for u in range(N)}
        joined = {e for e in joined if all(u in kept[v] for u in e for v in e - {u})}
    degree = GRAPH.degrees
    counts = [Fraction(0)] * N
    for triple in combinations(range(N), 3):
        a, b, c = sorted(triple, key=lambda u: rank[u])
        sides = [(a, b), (a, c), (b, c)]
        if all(frozenset(side) in joined for side in sides):
            if (view.classes.of(*np.array(sides).T) == Visibility.PUBLIC).all():
                continue
            weights = [min(Fraction(1), Fraction(int(one.bounds[u]), int(degree[u]))) for u in (b, c)]
            counts[c] += min(weights) if one.guard == "weighted" else 1
    return counts


@pytest.mark.parametrize("guard", ["believed", "weighted", "clipped"])
@pytest.mark.parametrize("policy", [VisibilityPolicy.nothing(), VIEW.policy], ids=["nothing public", "mixed"])
def test_counts_are_those_of_the_definition(guard: str, policy: VisibilityPolicy) -> None:
    view, one = public_view(policy), plan(guard)
    counts = owned_triangles(GRAPH.edges, view, one)
    for counted, exact in zip(counts.tolist(), brute_force(view, one), strict=True):
        assert exact * one.unit - 1 <= counted <= exact * one.unit
        assert counted == exact * one.unit or guard == "weighted"


@pytest.mark.parametrize("guard", ["believed", "weighted", "clipped"])
def test_a_user_needs_no_more_than_it_sees(guard: str) -> None:
    """The same numbers from each user's own two-hop view as from all views together."""
    one = plan(guard)
    together = owned_triangles(GRAPH.edges, VIEW, one)
    smaller = 0
    for user in range(N):
        view = two_hop(N, GRAPH.edges, user)
        smaller += len(view.edges) < GRAPH.m
        assert owned_triangles(view.edges, VIEW, one)[user] == together[user]
    assert smaller


def test_the_oracle_cuts_the_induced_two_hop_subgraph() -> None:
    edges = np.array([[0, 1], [1, 2], [1, 3], [2, 3], [3, 4], [4, 5]], np.int32)
    assert two_hop(6, edges, 0).edges.tolist() == [[0, 1], [1, 2], [1, 3], [2, 3]]
    assert two_hop(6, edges, 5).edges.tolist() == [[3, 4], [4, 5]]
    assert "edges" not in repr(two_hop(6, edges, 0))


FIRST = degree_survey(VIEW, 1)


def users(purse: Purse | None = None, sent: np.ndarray | None = None, view: TwoHop = EVERYBODY) -> NeighbourhoodClient:
    enough = Purse({Visibility.PRIVATE: Fraction(9), Visibility.FRIEND_VISIBLE: Fraction(9)}, Fraction(1, 2))
    return NeighbourhoodClient(view, VIEW, purse or enough, None if sent is None else (FIRST, sent))


def no_coins(count: int) -> bytes:
    raise AssertionError("a coin was drawn")


def test_asked_again_it_repeats_itself_whatever_the_coins() -> None:
    survey, client = neighbourhood_survey(VIEW, 1, plan("weighted")), users()
    first = client.answer(survey, 1, secure_coins())
    assert client.answer(survey, 1, no_coins) is first


def test_over_the_cap_it_refuses_before_a_coin_is_drawn() -> None:
    short = Purse({Visibility.PRIVATE: Fraction(1), Visibility.FRIEND_VISIBLE: Fraction(2)})
    with pytest.raises(Refused):
        users(short).answer(neighbourhood_survey(VIEW, "1.5", plan("weighted")), 1, no_coins)
    with pytest.raises(Refused, match="δ"):
        users(short, GRAPH.degrees - 10).answer(neighbourhood_survey(VIEW, 1, plan("believed")), 1, no_coins)


def test_bounds_are_believed_only_where_they_fit_the_own_report() -> None:
    noisy = GRAPH.degrees + 3
    honest = believed_plan(degree_survey(VIEW, 1), noisy, ALL, Fraction(1, 100))
    survey = neighbourhood_survey(VIEW, 1, honest)
    users(sent=noisy).answer(survey, 1, secure_coins())
    with pytest.raises(ProtocolViolation, match="never answered"):
        users().answer(survey, 1, no_coins)
    louder = believed_plan(degree_survey(VIEW, 4), noisy + 9, ALL, Fraction(1, 100))
    with pytest.raises(ProtocolViolation, match="never answered"):
        users(sent=noisy).answer(neighbourhood_survey(VIEW, 1, louder), 1, no_coins)
    lowered = OwnerPlan("believed", np.maximum(honest.bounds - 1, 1), ALL, honest.first, honest.delta)
    with pytest.raises(ProtocolViolation, match="below"):
        users(sent=noisy).answer(neighbourhood_survey(VIEW, 1, lowered), 1, no_coins)


def test_a_survey_about_another_policy_or_at_another_price_is_refused() -> None:
    other = public_view(VisibilityPolicy.nothing())
    with pytest.raises(ProtocolViolation, match="another"):
        users().answer(neighbourhood_survey(other, 1, plan("weighted")), 1, no_coins)


def test_every_class_gets_the_promise_of_the_strictest() -> None:
    survey = neighbourhood_survey(VIEW, 1, plan("weighted"))
    assert {kind: price.epsilon for kind, price in survey.payment().items()} == {
        Visibility.FRIEND_VISIBLE: 1,
        Visibility.PRIVATE: 1,
    }
    friends = public_view(VisibilityPolicy(0, 1))
    assert neighbourhood_survey(friends, 1, plan("weighted")).loss == 2
    with pytest.raises(BadInput, match="nothing to ask"):
        _ = neighbourhood_survey(public_view(VisibilityPolicy(1)), 1, plan("weighted")).loss


def test_length_does_not_depend_on_the_graph_and_the_absent_send_zeros() -> None:
    survey = neighbourhood_survey(VIEW, 1, clipped_plan(N, 6))
    present = np.arange(N) % 2 == 0
    full = users().answer(survey, 1, keyed_coins(seeded_key(0)), present)
    empty = users(view=TwoHop(0, GRAPH.edges[:0], N)).answer(survey, 1, keyed_coins(seeded_key(0)), present)
    assert len(encode_owned(full)) == len(encode_owned(empty))
    assert not full.values[~present].any()
    assert (full.values != empty.values).any()


def test_views_and_plans_that_cannot_be_right_are_refused() -> None:
    with pytest.raises(BadInput, match="sorted"):
        users(view=TwoHop(0, GRAPH.edges[::-1], N))
    with pytest.raises(BadInput, match="sorted"):
        users(view=TwoHop(0, np.repeat(GRAPH.edges[:1], 2, axis=0), N))
    with pytest.raises(BadInput, match="u < v"):
        users(view=TwoHop(0, GRAPH.edges[:, ::-1], N))
    with pytest.raises(BadInput, match="no users"):
        users(view=TwoHop(N, GRAPH.edges))
    with pytest.raises(BadInput, match="from 1 to"):
        OwnerPlan("weighted", np.full(N, N + 1), ALL)
    with pytest.raises(BadPrivacyParameter, match="delta"):
        OwnerPlan("believed", np.full(N, 3), ALL)
    with pytest.raises(BadInput, match="did not report"):
        believed_plan(degree_survey(VIEW, 1), GRAPH.degrees, ~ALL, Fraction(1, 100))


@pytest.mark.parametrize("guard", ["weighted", "clipped"])
def test_noise_that_is_cut_does_not_show_what_it_was_added_to(guard: str) -> None:
    """With a tiny epsilon every draw lies beyond 64 bits: what is sent must not depend on the counts."""
    survey = neighbourhood_survey(VIEW, Fraction(1, 10**30), plan(guard))
    purse = Purse(dict.fromkeys((Visibility.PRIVATE, Visibility.FRIEND_VISIBLE), Fraction(1)))
    report = users(purse).answer(survey, 1, keyed_coins(seeded_key(3)))
    noisy = survey.plan.sensitivities > 0
    assert set(np.abs(report.values[noisy]).tolist()) == {1 << 61}


def test_a_survey_about_fewer_users_is_refused() -> None:
    smaller = OwnerPlan("weighted", np.ones(3, np.int64), np.ones(3, np.bool_))
    survey = replace(neighbourhood_survey(VIEW, 1, plan("weighted")), nodes=3, plan=smaller)
    with pytest.raises(ProtocolViolation, match="users"):
        users().answer(survey, 1, secure_coins())
