"""Estimates by formulas: exactly without bias on a small graph, intervals that hold, and broken twins that are seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from support.unlike_graphs import hundred_nodes
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.derived import (
    _reach,
    _rise_by_a_triangle,
    derived_estimate,
    independent,
    with_derived,
)
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.score_estimates import ScoreEstimates
from visibility_aware_edge_ldp.counts import stars
from visibility_aware_edge_ldp.counts.degrees.degree_histogram import degree_quantile
from visibility_aware_edge_ldp.public.derived import FORMULAS, Derived
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.statistic import TRIANGLES_BY_GROUP, exact
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, position_survey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

VARIANCE = FORMULAS["degree_variance"][2]
KITE = np.array([[0, 1], [0, 2], [0, 3], [1, 2]], np.int32)


def outcomes() -> list[tuple[float, Any]]:
    """All 64 sets of answers of a kite on four nodes, each with its chance and its scores."""
    world = va.VisibilityAwareGraph(Graph(tuple("abcd"), KITE))
    survey = position_survey(world.public, Fraction(1))
    channel = survey.channel(Visibility.PRIVATE)
    bits = [int([u, v] in KITE.tolist()) for u in range(4) for v in range(u + 1, 4)]
    found = []
    for said in product((0, 1), repeat=6):
        collection = PositionCollection(survey, world.public)
        answers = np.array(said, bool)
        collection.absorb(PositionReport(survey.identity, 1, 0, 6, pack(np.ones(6, bool)), pack(answers)))
        chance = prod(
            float((channel.given_zero, channel.given_one)[bit][answer]) for bit, answer in zip(bits, said, strict=True)
        )
        found.append((chance, collection))
    return found


def test_the_variance_of_degrees_has_no_bias_exactly() -> None:
    """And without the correction for the bend it has.  [DERIVED.2]"""
    truth = exact(Graph(tuple("abcd"), KITE), "degree_variance")
    mean = plain = total = 0.0
    for chance, collection in outcomes():
        found = estimate(collection, ["degree_variance", "edges", "stars:2"])
        mean += chance * float(found["degree_variance"].value)
        plain += chance * VARIANCE.formula(4, float(found["edges"].value), float(found["stars:2"].value))
        total += chance
    assert total == pytest.approx(1.0)
    assert mean == pytest.approx(truth, abs=1e-9)
    assert abs(plain - truth) > 1.0


def test_the_variance_of_a_weighted_sum_is_exact() -> None:
    """Its mean over all answers is the variance over all answers; without what the two share it is not."""
    weights = {"edges": -1.5, "stars:2": 0.5}
    values, stated, apart, chances = [], [], [], []
    for chance, collection in outcomes():
        given = collection.prepared(tuple(weights), None, None)
        assert isinstance(given, ScoreEstimates)
        found = given.combined("sum", weights)
        chances.append(chance)
        values.append(float(found.value))
        stated.append(_plain_variance(given, weights, shared=True))
        apart.append(_plain_variance(given, weights, shared=False))
    mean = np.dot(chances, values)
    true = np.dot(chances, (np.array(values) - mean) ** 2)
    assert np.dot(chances, stated) == pytest.approx(true)
    assert abs(np.dot(chances, apart) - true) > 0.1 * true


def _plain_variance(given: ScoreEstimates, weights: Mapping[str, float], shared: bool) -> float:
    """The variance before it is kept above 0, which would move its mean."""
    one, two = weights.values()
    symmetric = stars.elementary(given.scores, 4)
    wedges = float(stars._centre_variance(symmetric, 2).sum()) + stars._shared_variance(given.scores, symmetric, 2)
    both = 2 * one * two * stars.covariance_with_edges(given.scores, 2) if shared else 0.0
    return one**2 * stars.edges(given.scores)[1] + two**2 * wedges + both


def test_one_source_sends_its_interval_through_the_formula() -> None:
    source = Estimate("edges", 10.0, 4.0, skew=0.2, freedom=12.0)
    falling = derived_estimate("less", Derived(("edges",), lambda n, x: n - x), 30, [source])
    low, high = source.interval(0.9)
    assert falling.interval(0.9) == pytest.approx((30 - high, 30 - low))
    assert (falling.value, falling.variance, falling.unbiased) == (20.0, pytest.approx(4.0), True)
    bent = derived_estimate("root", Derived(("edges",), lambda n, x: x**0.5, order=0), 30, [source])
    assert not bent.unbiased
    assert bent.interval(0.9) == pytest.approx((low**0.5, high**0.5))


def test_answers_with_noise_of_their_own() -> None:
    parts = [Estimate("a", 5.0, 4.0), Estimate("b", 7.0, 9.0)]
    found = independent(parts)("sum", {"a": 2.0, "b": -1.0})
    assert (found.value, found.variance, found.conservative) == (3.0, 4 * 4 + 9, True)
    low, high = found.interval(0.95)
    reach = float(parts[0].interval(0.975)[1]) - 5.0, float(parts[1].interval(0.975)[1]) - 7.0
    assert high - 3.0 == pytest.approx(3.0 - low) == pytest.approx(2 * reach[0] + reach[1])
    assert with_derived({"edges": parts[0]}, ["edges", "mean_degree"], 10)["mean_degree"].value == 1.0


@pytest.mark.long
@pytest.mark.parametrize(("trust", "epsilon", "away"), [("user", 1, 0.0), ("user", 1, 0.3), ("position", 2, 0.0)])
def test_intervals_hold_the_variance_of_degrees(trust: str, epsilon: float, away: float) -> None:
    """Of people who are away, too."""
    world, runs = va.VisibilityAwareGraph(powerlaw(250, 2000, 4)), 200
    truth = exact(world.graph, "degree_variance")
    found = [va.estimate(world, trust, epsilon, ["degree_variance"], seed=s, dropout=away) for s in range(runs)]
    held = [low <= truth <= high for low, high in (each["degree_variance"].interval(0.95) for each in found)]
    assert 0.92 <= np.mean(held) <= 0.985


def test_a_twin_with_the_wrong_slopes_is_seen() -> None:
    """Errors of twice the size that is stated: of 95 % intervals about two thirds hold it."""
    world = va.VisibilityAwareGraph(erdos_renyi(120, 500, 2))
    truth = exact(world.graph, "mean_degree")
    found = [va.estimate(world, "user", 1, ["mean_degree"], seed=seed)["mean_degree"] for seed in range(100)]
    held = [float(low) <= truth <= float(high) for low, high in (each.interval() for each in found)]
    assert np.mean(held) > 0.92
    twins = [replace(each, variance=each.variance / 4, limits=None) for each in found]
    assert np.mean([float(low) <= truth <= float(high) for low, high in (each.interval() for each in twins)]) < 0.85


@pytest.mark.parametrize("percent", [25, 50, 90])
def test_intervals_hold_quantiles(percent: int) -> None:
    """And those of a twin that takes noisy degrees for true ones do not at the tail, which noise moves."""
    world = va.VisibilityAwareGraph(erdos_renyi(400, 4000, 2))
    truth, survey = exact(world.graph, f"degree_quantile:{percent}"), degree_survey(world.public, Fraction(1))
    known = [collect(world, survey, seed, 0.2, into=DegreeCollection).noisy_degrees() for seed in range(60)]
    ends = [degree_quantile(each, percent).interval() for each in known]
    assert np.mean([low <= truth <= high for low, high in ends]) > 0.92
    assert np.mean([high - low for low, high in ends]) < 12
    assert all(low.is_integer() and high.is_integer() for low, high in ends)
    if percent == 90:
        none = np.zeros(400)
        twins = [replace(each, first=none[: each.noisy.size], second=none[: each.noisy.size]) for each in known]
        ends = [degree_quantile(each, percent).interval() for each in twins]
        assert np.mean([low <= truth <= high for low, high in ends]) < 0.8


@pytest.mark.parametrize("trust", ["user", "curator"])
def test_intervals_hold_the_centralization(trust: str) -> None:
    """The corners of the sources' box; a twin that takes the sources' values for sure holds nothing.  [DERIVED.4]"""
    world, name = va.VisibilityAwareGraph(powerlaw(60, 240, 4)), "degree_centralization"
    truth = exact(world.graph, name)
    found = [va.estimate(world, trust, 1, [name], seed=seed)[name] for seed in range(20 if trust == "user" else 60)]
    assert np.mean([low <= truth <= high for low, high in (each.interval() for each in found)]) >= 0.9
    assert all(low <= each.value <= high for each in found for low, high in [each.interval()])
    assert not any(each.has_standard_error for each in found)
    assert np.mean([float(each.value) == truth for each in found]) < 0.5
    sources = [Estimate("max_degree", 20.0, 0.0), Estimate("edges", 240.0, 0.0)]
    sure = derived_estimate(name, FORMULAS[name][2], 60, sources)
    assert sure.interval() == (sure.value, sure.value)


# ── triangles by groups, where few are seen  [COUNTS.9]


def exact_variance(edges: np.ndarray, empty: np.ndarray, full: np.ndarray) -> float:
    """Of the number of triangles, term by term: variances ``empty`` without an edge, ``full`` with one.  [COUNTS.0]"""
    x = edges.astype(float)
    noise = np.where(edges, full, empty)
    total = (noise * (x @ x) ** 2).sum() / 2
    for a, b, c in combinations(range(len(x)), 3):
        sides = [(a, b), (b, c), (a, c)]
        total += prod(noise[each] for each in sides)
        total += sum(x[each] * prod(noise[other] for other in sides if other != each) for each in sides)
    return float(total)


@pytest.mark.parametrize("away", [0.0, 0.6])
@pytest.mark.parametrize("policy", ["nothing", "fractions:0.3,0.3,0.4"])
def test_a_triangle_more_makes_the_variance_rise(policy: str, away: float) -> None:
    world = va.VisibilityAwareGraph(powerlaw(60, 400, seed=1), policy)
    collection = collect(world, position_survey(world.public, 1), "1", away)
    least, most = _rise_by_a_triangle(collection, TRIANGLES_BY_GROUP)
    assert (least < most) == bool(len(world.public.edges))
    assert least > 0 or not away
    empty, full = np.zeros((2, 60, 60))
    u, v = endpoints(60, 0, world.public.positions)
    for kind, rate in collection.response_rates().items():
        here = np.unpackbits(world.public.class_bits[kind], count=u.size, bitorder="little").astype(bool)
        channel = collection.survey.channel(kind)
        for table, bit in ((empty, 0), (full, 1)):
            table[u[here], v[here]] = table[v[here], u[here]] = (float(channel.variance(bit)) + bit) / rate - bit
    assert (full >= empty - 1e-12).all()
    nodes = np.argsort(-world.graph.degrees)[:9]
    empty, full = (each[np.ix_(nodes, nodes)] for each in (empty, full))
    edges = np.zeros((60, 60), np.bool_)
    edges[tuple(world.graph.edges.T)] = True
    edges = (edges | edges.T)[np.ix_(nodes, nodes)]
    seen = 0
    for a, b in combinations(range(9), 2):
        if full[a, b] and (closed := int((edges[a] & edges[b]).sum())):
            with_it, without = edges.copy(), edges.copy()
            with_it[[a, b], [b, a]], without[[a, b], [b, a]] = True, False
            rise = exact_variance(with_it, empty, full) - exact_variance(without, empty, full)
            assert rise >= closed * least - 1e-9
            seen += 1
    assert seen > 9


def test_the_reach_is_that_of_the_variance_at_its_end() -> None:
    variance, rise = np.array([0.0, 2.0, 50.0]), np.array([3.0, 3.0, 0.0])
    for sign in (1, -1):
        reach = _reach(variance, sign * rise, 1.96)
        assert reach**2 == pytest.approx(1.96**2 * (variance + sign * rise * reach))
    assert _reach(variance, rise, 1.96)[0] == pytest.approx(1.96**2 * 3)


def held_by(runs: int) -> tuple[float, float, float]:
    """Of 105 people's triangles by three groups, 60 % of the positions away: shares held, and by normal intervals."""
    graph = replace(hundred_nodes(), groups=Groups("number", ("a", "b", "c"), np.arange(105) % 7 // 3))
    world, name = va.VisibilityAwareGraph(graph), "triangles_by_group"
    survey, truth = position_survey(world.public, 4), exact(graph, name)
    held, normal, beyond = [], [], []
    for run in range(runs):
        found = estimate(collect(world, survey, f"run {run}", 0.6), [name])[name]
        low, high = found.interval()
        held.append((low <= truth) & (truth <= high))
        beyond.append(high < truth)
        normal.append(np.abs(found.value - truth) <= 1.96 * found.standard_error)
    return tuple(float(np.mean(each)) for each in (held, normal, beyond))


@pytest.mark.parametrize(("runs", "least"), [(40, 0.90), pytest.param(600, 0.91, marks=pytest.mark.long)])
def test_few_triangles_by_groups_are_held_and_normal_intervals_are_seen_to_miss_them(runs: int, least: float) -> None:
    # The lowest cell of all: 600 runs held 92.6 %.  [COUNTS.9]
    held, normal, beyond = held_by(runs)
    assert held > least
    assert beyond < 0.05
    assert normal < 0.85  # the twin


def test_entries_that_nobody_can_be_in_are_certain() -> None:
    """A group of nobody, one of two, and one whose members are all public: nothing is unknown of their triangles."""
    drawn = powerlaw(30, 120, seed=3)
    members = np.array([0] * 30)
    members[np.argsort(-drawn.degrees, kind="stable")[:3]] = 3
    members[np.flatnonzero(members == 0)[:2]] = 1
    groups = Groups("number", ("many", "two", "nobody", "public"), members)
    world = va.VisibilityAwareGraph(replace(drawn, groups=groups), "hubs:0.1")
    found = estimate(collect(world, position_survey(world.public, 1), "1", 0.5), ["triangles_by_group"])
    told = found["triangles_by_group"]
    low, high = told.interval()
    for label, one, other in zip(told.labels, low, high, strict=True):
        is_certain = "nobody" in label or label.count("public") > 1 or label == ("two",) * 3
        assert (other == one) == is_certain, label
