"""Folds of NEIGHBOURHOOD reports, their codecs, the plans, and what the estimates say.  [OWNED.1-5, HUBSUM.1-3]"""

from __future__ import annotations

import itertools
import math
from copy import copy
from dataclasses import replace
from fractions import Fraction
from math import comb
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.estimator_runs import Setting, cells_of
from support.interval_checks import ratio, share
from support.unlike_graphs import unlike_graph
from visibility_aware_edge_ldp.aggregator import hubs
from visibility_aware_edge_ldp.aggregator import neighbourhood as owners
from visibility_aware_edge_ldp.aggregator.collection import public_triangles
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.hubs import HubCollection, reach
from visibility_aware_edge_ldp.aggregator.neighbourhood import NeighbourhoodCollection
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, ProtocolViolation, TooLarge
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys import neighbourhood as plans
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.hubs import HubReport, decode_hub, encode_hub, hub_plan, hub_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import (
    NeighbourhoodReport,
    decode_owned,
    encode_owned,
    neighbourhood_survey,
)
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation import simulate
from visibility_aware_edge_ldp.simulation.simulate import collect, collect_assigned_triangles
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

N = 30
GRAPH = erdos_renyi(N, 160, seed=4)
WORLD = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
CLIPPED = neighbourhood_survey(WORLD.public, 1, plans.clipped_plan(N, 8))


def owned(values: list[int], start: int = 0, survey: str = CLIPPED.identity) -> NeighbourhoodReport:
    return NeighbourhoodReport(survey, start, np.ones(len(values), bool), np.array(values, np.int64))


def test_owned_reports_survive_the_wire_and_nothing_else_does() -> None:
    report = NeighbourhoodReport(CLIPPED.identity, 3, np.array([True, False, True]), np.array([5, 0, -(2**62)]))
    data = encode_owned(report)
    back = decode_owned(data)
    assert (back.survey, back.start, back.digest) == (report.survey, 3, report.digest)
    assert back.answered.tolist() == [True, False, True]
    assert back.values.tolist() == [5, 0, -(2**62)]
    spare = bytearray(data)
    spare[53] |= 0x80  # a bit after the last user
    for broken in (data[:-1], data + b"\0", b"XXXX" + data[4:], data[:20], bytes(spare)):
        with pytest.raises(ProtocolViolation):
            decode_owned(broken)
    with pytest.raises(ProtocolViolation, match="did not answer"):
        NeighbourhoodReport(CLIPPED.identity, 0, np.array([False]), np.array([1]))
    with pytest.raises(ProtocolViolation, match="2\\^62"):
        NeighbourhoodReport(CLIPPED.identity, 0, np.array([True]), np.array([2**62 + 1]))
    with pytest.raises(ProtocolViolation, match="starts and counts from 0"):
        NeighbourhoodReport(CLIPPED.identity, -1, np.array([True]), np.array([1]))


def test_a_fold_takes_each_user_once() -> None:
    collection = NeighbourhoodCollection(CLIPPED, WORLD.public)
    with pytest.raises(BadStatistic, match="No user"):
        owners.triangles(collection)
    collection.absorb(owned([1, 2, 3]))
    before = collection.releases
    collection.absorb(owned([1, 2, 3]))
    assert collection.releases == before
    with pytest.raises(ProtocolViolation, match="second, different"):
        collection.absorb(owned([9], start=2))
    with pytest.raises(ProtocolViolation, match="another survey"):
        collection.absorb(owned([1], 5, "ab" * 32))
    with pytest.raises(ProtocolViolation, match="beyond"):
        collection.absorb(owned([1, 1], N - 1))
    collection.absorb(owned([4], start=3))
    assert collection.releases != before
    assert collection.response_rate == pytest.approx(4 / N)
    other = VisibilityAwareGraph(GRAPH, VisibilityPolicy("0.5"))
    with pytest.raises(ProtocolViolation, match="another roster"):
        NeighbourhoodCollection(CLIPPED, other.public)


def test_few_answers_stand_for_all_and_the_spread_says_so() -> None:
    collection = NeighbourhoodCollection(CLIPPED, WORLD.public)
    collection.absorb(owned([-10, 210]))
    found = owners.triangles(collection)
    assert found.value == pytest.approx(100 * N)
    noise = DiscreteLaplace(Fraction(1), 14).variance
    assert found.variance == pytest.approx((N / 2) ** 2 * 2 * noise + N * (N - 2) / 2 * (24200 - noise))
    assert found.interval(0.01)[1] == comb(N, 3), "nobody said how much the cap loses"


def test_what_a_cap_loses_is_bounded_from_noisy_degrees() -> None:
    degrees = collect(WORLD, degree_survey(WORLD.public, 4), seed=1)
    tight, loose = owners.capped_plan(degrees, 5), owners.capped_plan(degrees, N - 1)
    pairs = sum(max(comb(int(d), 2) - comb(5, 2), 0) for d in GRAPH.degrees)
    assert tight.lost == pytest.approx(pairs, rel=0.25)
    assert tight.lost > pairs
    assert loose.lost < 0.1 * tight.lost
    survey = neighbourhood_survey(WORLD.public, 1, tight)
    collection = NeighbourhoodCollection(survey, WORLD.public)
    collection.absorb(owned([0] * N, survey=survey.identity))
    found = owners.triangles(collection, degrees)
    low, high = found.interval(0.95)
    assert high + low - 2 * found.value == pytest.approx(tight.lost)
    assert not found.unbiased
    assert {release.survey for release in found.releases} == {survey.identity, degrees.survey.identity}


def test_tails_of_the_noise_in_a_degree_are_those_of_its_law() -> None:
    """One and two noises against sums over the laws themselves."""
    one, two = DiscreteLaplace(Fraction(1, 2)), DiscreteLaplace(Fraction(1))
    reach_ = range(-200, 201)
    for noises in ((one,), (one, two), (two, two)):
        laws = [{k: noise.probability(k) for k in reach_} for noise in noises]
        law = laws[0]
        if len(noises) == 2:
            law = dict.fromkeys(range(-400, 401), 0.0)
            for k, p in laws[0].items():
                for j, q in laws[1].items():
                    law[k + j] += p * q
        for t in (1, 2, 5, 20):
            tail = sum(p for k, p in law.items() if k <= -t)
            assert float(plans.tails(noises, t)) == pytest.approx(tail, rel=1e-5)
            assert float(plans.tails(noises, t)) >= tail * (1 - 1e-9)
        over = sum(p * max(-k - 7, 0) for k, p in law.items())
        assert plans.overshoots(noises, np.array([7]))[0] == pytest.approx(over, rel=1e-4)
        both = np.array([sum(p for k, p in law.items() if k <= -7 - j) ** 2 for j in range(1, 300)])
        assert plans.common_overshoots(noises, np.array([7]))[0] == pytest.approx(both.sum(), rel=1e-4)
        paid = float((-np.diff(both, append=0.0) * -np.expm1(-0.75 / 7 * np.arange(1, 300))).sum())
        assert plans.paid_by_shortfalls(noises, 7, Fraction(3, 4)) == pytest.approx(paid, rel=1e-4)
    for none in (plans.overshoots((), np.array([0, 3])), plans.common_overshoots((), np.array([0, 3]))):
        assert none.tolist() == [0, 0]


def test_a_believed_margin_is_the_least_that_delta_allows() -> None:
    first = degree_survey(WORLD.public, 1)
    noises = plans.noises_of(first)
    for delta in (Fraction(1, 10**9), Fraction(1, 1000), Fraction(1, 3)):
        margin = plans.believed_margin(first, delta, Fraction(1))
        assert plans.paid_by_shortfalls(noises, margin, Fraction(1)) <= delta
        assert margin == 0 or plans.paid_by_shortfalls(noises, margin - 1, Fraction(1)) > delta


def test_those_without_a_bound_rank_last_and_plans_have_limits() -> None:
    degrees = collect(WORLD, degree_survey(WORLD.public, 4), seed=2, dropout=0.4)
    plan = owners.bought_plan(degrees, 1)
    absent = ~plan.reported
    assert 0 < absent.sum() < N
    assert plan.ranks[absent].max() < plan.ranks[~absent].min()
    with pytest.raises(BadInput, match="delta = 0"):
        owners.bought_plan(degrees, 1, "1e-6")
    with pytest.raises(TooLarge):
        plans.clipped_plan(plans.MOST_USERS + 1, 5)
    with pytest.raises(BadInput, match="at least 2"):
        plans.clipped_plan(N, 1)
    with pytest.raises(BadInput, match="guard"):
        plans.OwnerPlan("hoped for", plan.bounds, plan.reported)
    with pytest.raises(BadInput, match="roster"):
        neighbourhood_survey(WORLD.public, 1, plans.clipped_plan(N + 1, 5))


HUB_WORLD = VisibilityAwareGraph(GRAPH, VisibilityPolicy.from_profiles({0: "public", 1: "public"}, rule="any"))


def test_hub_reports_survive_the_wire_and_nothing_else_does() -> None:
    report = HubReport("cd" * 32, 1, (12, -(2**62)), -3)
    data = encode_hub(report)
    assert decode_hub(data) == report
    for broken in (data[:-1], data + b"\0", b"XXXX" + data[4:], data[:10]):
        with pytest.raises(ProtocolViolation):
            decode_hub(broken)
    with pytest.raises(ProtocolViolation, match="2\\^62"):
        HubReport("cd" * 32, 0, (2**62 + 1,))
    with pytest.raises(ProtocolViolation, match="reporter"):
        HubReport("cd" * 32, 0, ())


def test_a_fold_takes_each_hub_once_and_says_who_is_missing() -> None:
    survey = hub_survey(HUB_WORLD.public, 1, "shared", hub_plan(HUB_WORLD.public, (0, 1)))
    collection = HubCollection(survey, HUB_WORLD.public)
    with pytest.raises(BadStatistic, match="No hub"):
        hubs.triangles(collection)
    first = HubReport(survey.identity, 0, (50,), 2)
    collection.absorb(first)
    collection.absorb(first)
    assert collection.missing == (1,)
    public = public_triangles(HUB_WORLD.public)
    partial = hubs.triangles(collection)
    assert partial.value == public + 50
    assert partial.interval(0.95)[1] == comb(N, 3)
    assert not partial.unbiased
    with pytest.raises(ProtocolViolation, match="second, different"):
        collection.absorb(replace(first, values=(51,)))
    with pytest.raises(ProtocolViolation, match="there is no"):
        collection.absorb(replace(first, hub=2))
    with pytest.raises(ProtocolViolation, match="another survey"):
        collection.absorb(replace(first, survey="ab" * 32))
    with pytest.raises(ProtocolViolation, match="another survey"):
        collection.absorb(replace(first, hub=1, values=(1, 2)))
    collection.absorb(replace(first, hub=1, values=(4,), loose=-1))
    complete = hubs.triangles(collection)
    assert complete.value == public + 54
    assert collection.missing == ()
    assert complete.interval(0.95)[1] < partial.interval(0.95)[1]
    with pytest.raises(ProtocolViolation, match="another roster"):
        HubCollection(survey, WORLD.public)


def uncovered(world: VisibilityAwareGraph, nodes: tuple[int, ...], keep: int) -> tuple[int, float, HubCollection]:
    """Triangles that no territory covers, counted from the truth, and the bound with all noises at 0."""
    plan = hub_plan(world.public, nodes, keep)
    survey = hub_survey(world.public, 1, "shared", plan)
    collection = HubCollection(survey, world.public)
    edges = world.graph.edges
    hidden = world.public.classes.of(*edges.T) != Visibility.PUBLIC
    apart = (plan.marks[edges[:, 0]] & plan.marks[edges[:, 1]]) == 0
    seen = hidden & apart & ((plan.marks[edges[:, 0]] | plan.marks[edges[:, 1]]) > 0)
    for place in range(len(nodes)):
        collection.absorb(HubReport(survey.identity, place, (0,), int(seen.sum()) if place == 0 else 0))
    held = {frozenset(e) for e in edges[hidden & ~apart].tolist()}
    loose = {frozenset(e) for e in edges[hidden & apart].tolist()}
    joined = {frozenset(e) for e in edges.tolist()}
    missed = 0
    for a in range(N):
        for b in range(a):
            for c in range(b):
                sides = [frozenset(s) for s in ((a, b), (a, c), (b, c))]
                if all(s in joined for s in sides) and not any(s in held for s in sides):
                    missed += any(s in loose for s in sides)
    return missed, collection.uncovered, collection


@pytest.mark.parametrize("keep", [1, 2])
@pytest.mark.parametrize("nodes", [(0,), (0, 1), (0, 1, 2)])
def test_what_no_hub_covers_is_within_its_bound(nodes: tuple[int, ...], keep: int) -> None:
    """Four public nodes, of which some report; some further positions are public too."""
    policy = VisibilityPolicy.from_profiles(dict.fromkeys(range(4), "public"), rule="any") | VisibilityPolicy("0.1")
    missed, bound, _ = uncovered(VisibilityAwareGraph(GRAPH, policy), nodes, keep)
    assert 0 < missed <= bound


def test_nothing_is_uncovered_where_one_list_holds_everybody() -> None:
    star = np.array([[0, v] for v in range(1, N)], np.int32)
    edges = np.unique(np.concatenate([star, GRAPH.edges[GRAPH.edges[:, 0] > 0]]), axis=0)
    world = VisibilityAwareGraph(edges.tolist(), VisibilityPolicy.from_profiles({0: "public"}, rule="any"))
    missed, bound, collection = uncovered(world, (0,), 1)
    assert missed == bound == 0
    assert collection.survey.loose_noise is None
    assert hubs.triangles(collection).unbiased


def test_the_reach_of_a_sum_is_that_of_simulated_sums() -> None:
    noise = SmoothPower(Fraction(1), Fraction(1, 8))
    bounds = np.array([500.0, 300.0, 300.0, 100.0])
    coins = keyed_coins(seeded_key(9))
    drawn = sum(noise.sample_each(np.full(40000, bound), coins).astype(float) for bound in bounds)
    for level in (0.5, 0.9, 0.95, 0.99):
        assert np.mean(np.abs(drawn) <= reach(noise, bounds, level)) == pytest.approx(level, abs=0.006)
    alone = noise.interval(500, 0.95)[1]
    assert reach(noise, np.array([500.0]), 0.95) == pytest.approx(alone, rel=0.01)
    assert reach(noise, np.array([0.0]), 0.95) == 0.0


def public_hubs(graph: Graph, count: int) -> VisibilityAwareGraph:
    """A world in which the users of the highest degrees hide nothing."""
    largest = np.argsort(-graph.degrees, kind="stable")[:count].tolist()
    return VisibilityAwareGraph(graph, VisibilityPolicy.from_profiles(dict.fromkeys(largest, "public"), rule="any"))


def z_of(values: list[float], truth: float) -> float:
    """How many standard errors of their mean the values are off on average."""
    return float((np.mean(values) - truth) / (np.std(values, ddof=1) / np.sqrt(len(values))))


@pytest.mark.long
def test_public_users_who_stay_away_leave_no_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin takes users who hide nothing as never absent, as was done before, and is caught."""
    world = public_hubs(powerlaw(120, 1400, seed=3), 12)
    truth = exact(world.graph, "triangles")

    def values() -> list[float]:
        found = (collect_assigned_triangles(world, 40, seed=seed, dropout=0.4) for seed in range(150))
        return [float(owners.triangles(each).value) for each in found]

    assert abs(z_of(values(), truth)) < 4.5
    bought = owners.bought_plan

    def never_absent(degrees: DegreeCollection, *rest: object) -> plans.OwnerPlan:
        twin = copy(degrees)
        twin.took_part = degrees.took_part | ~degrees.hiding.any(axis=0)
        return bought(twin, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(simulate, "bought_plan", never_absent)
    assert abs(z_of(values(), truth)) > 4.5


def test_public_users_who_answer_at_another_rate_are_refused() -> None:
    world = public_hubs(powerlaw(120, 1400, seed=3), 60)
    degrees = collect(world, degree_survey(world.public, 4), seed=2, dropout=0.4)
    plan = owners.bought_plan(degrees, 1)
    hides = degrees.hiding.any(axis=0)
    uneven = replace(plan, reported=plan.reported | ~hides)
    survey = neighbourhood_survey(world.public, 1, uneven)
    collection = NeighbourhoodCollection(survey, world.public)
    collection.absorb(owned([0] * 120, survey=survey.identity))
    with pytest.raises(BadStatistic, match="which triangles were lost"):
        owners.triangles(collection)


@pytest.mark.parametrize("absent", [0.1, 0.3, 0.6])
def test_of_an_absent_user_s_triangles_those_are_missed_that_nobody_else_counts(absent: float) -> None:
    """[OWNED.5] By every pattern of three users who report or do not."""
    chances = {True: 1 - absent, False: absent}
    patterns = list(itertools.product((True, False), repeat=3))
    all_of_them = sum(math.prod(chances[one] for one in here) for here in patterns if sum(here) >= 2)
    without_first = sum(math.prod(chances[one] for one in here[1:]) for here in patterns if here == (False, True, True))
    plan: Any = SimpleNamespace(reported=np.arange(1000) >= 1000 * absent)
    counts = np.zeros(int(plan.reported.sum()))
    found = owners._with_large_absent(plan, counts, counts, Estimate("triangles", 9000.0, 1e-12))
    added = found.interval()[1] / 9000 - 1
    assert added == pytest.approx((1 - without_first / all_of_them) / 9, rel=1e-6)
    assert found.holds_if


def _gathered_in(name: str) -> float:
    """How many triangles may gather, where everybody's degree and the triangles are known."""
    graph = unlike_graph(name)
    plan: Any = SimpleNamespace(bounds=graph.degrees, reported=np.ones(graph.n, np.bool_))
    return owners._gathered(None, plan, float(exact(graph, "triangles")))


def test_triangles_that_degrees_do_not_make_may_gather() -> None:
    """[OWNED.3]: in parts that do not know each other nearly all; where degrees decide, none."""
    assert _gathered_in("disconnected") == pytest.approx(0.86, abs=0.01)
    assert _gathered_in("heavy-tailed") == 0.0
    plan: Any = SimpleNamespace(bounds=np.full(9, 2), reported=np.ones(9, np.bool_))
    assert owners._gathered(None, plan, 0.0) == 0.0
    nobody: Any = SimpleNamespace(bounds=np.zeros(9), reported=np.ones(9, np.bool_))
    assert owners._gathered(None, nobody, 7.0) == 1.0


@pytest.mark.long
@pytest.mark.parametrize("twin", [False, True])
def test_intervals_hold_where_triangles_gather_and_a_twin_s_do_not(twin: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """[OWNED.3]: seven parts, 60 % away; the twin takes all triangles as made by degrees, and the estimate as even."""
    if twin:
        monkeypatch.setattr(owners, "_gathered", lambda *_: 0.0)
        monkeypatch.setattr(owners, "leaning", lambda *_: 0.0)
    (cell,) = cells_of(Setting("disconnected", "hash", 4.0, 0.6), "neighbourhood", range(2000, 2300))
    assert (share(cell.runs) < 0.93) is twin
    assert (ratio([cell]) > 1.15) is twin
