"""POSITION: predicted variances against the sum over all sets of positions, term by term."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation.plan import position
from visibility_aware_edge_ldp.evaluation.plan.base import Subsample
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import moments_of
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 7
GRAPH = erdos_renyi(N, 12, 5)
BITS = {frozenset(pair) for pair in GRAPH.edges.tolist()}
Side = frozenset[int]


def subgraphs(statistic: str) -> Iterator[frozenset[Side]]:
    """The sides of every subgraph that could be there."""
    nodes = range(N)
    if statistic.startswith("stars"):
        k = int(statistic[-1])
        for centre in nodes:
            for leaves in combinations([v for v in nodes if v != centre], k):
                yield frozenset(frozenset((centre, leaf)) for leaf in leaves)
    elif statistic == "triangles":
        for corners in combinations(nodes, 3):
            yield frozenset(map(frozenset, combinations(corners, 2)))
    else:
        for a, b, c, d in combinations(nodes, 4):
            for w, x, y, z in ((a, b, c, d), (a, b, d, c), (a, c, b, d)):
                yield frozenset(map(frozenset, ((w, x), (x, y), (y, z), (z, w))))


def gains(statistic: str) -> dict[frozenset[Side], float]:
    """∂_S f of the true bits, for every set S of positions that some subgraph holds."""
    found: dict[frozenset[Side], float] = {}
    for sides in subgraphs(statistic):
        for size in range(1, len(sides) + 1):
            for chosen in map(frozenset, combinations(sides, size)):
                found[chosen] = found.get(chosen, 0.0) + float(all(side in BITS for side in sides - chosen))
    return found


def exact_covariance(first: str, second: str, spread_of: dict[Side, float]) -> float:
    one, other = gains(first), gains(second)
    return sum(
        float(np.prod([spread_of[side] for side in chosen])) * gain * other.get(chosen, 0.0)
        for chosen, gain in one.items()
    )


def spread_of(world: VisibilityAwareGraph, spread: np.ndarray) -> dict[Side, float]:
    return {
        frozenset(pair): float(spread[world.public.classes.of([pair[0]], [pair[1]])[0]])
        for pair in combinations(range(N), 2)
    }


PREDICTED = {
    "stars:2": lambda m, s: position.stars(m, s, 2),
    "stars:3": lambda m, s: position.stars(m, s, 3),
    "triangles": position.triangles,
    "four_cycles": position.cycles,
}


@pytest.mark.parametrize("statistic", PREDICTED)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_one_class_is_exact(statistic: str, epsilon: float) -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    moments = moments_of(world, cycles=True)
    spread = position.spreads(moments, epsilon)
    true = exact_covariance(statistic, statistic, spread_of(world, spread))
    assert PREDICTED[statistic](moments, spread) == pytest.approx(true, rel=1e-6)


@pytest.mark.parametrize("statistic", PREDICTED)
@pytest.mark.parametrize("rule", ["hash", "profiles"])
def test_several_classes(statistic: str, rule: str) -> None:
    policy = VisibilityPolicy("0.3", "0.2") if rule == "hash" else VisibilityPolicy.public_profiles("0.4", "both")
    world = VisibilityAwareGraph(GRAPH, policy)
    moments = moments_of(world, cycles=True)
    spread = position.spreads(moments, 1.0)
    true = exact_covariance(statistic, statistic, spread_of(world, spread))
    # On seven nodes the mean of two opposite sides, and a few hundred drawn pairs, are all that is not exact.
    assert PREDICTED[statistic](moments, spread) == pytest.approx(true, rel=0.1 if statistic == "four_cycles" else 0.02)


def test_transitivity_takes_the_covariance() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    moments = moments_of(world)
    spread = position.spreads(moments, 2.0)
    each = spread_of(world, spread)
    ratio = moments.triangles / moments.two_stars
    t, s, both = (
        exact_covariance(a, b, each)
        for a, b in (("triangles", "triangles"), ("stars:2", "stars:2"), ("triangles", "stars:2"))
    )
    true = 9 * (t - 2 * ratio * both + ratio**2 * s) / moments.two_stars**2
    assert position.transitivity(moments, spread) == pytest.approx(true, rel=1e-6)


def test_edges_degrees_and_flips() -> None:
    moments = moments_of(VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing()))
    spread = position.spreads(moments, 1.0)
    sigma = np.e / (np.e - 1) ** 2
    assert position.edges(moments, spread) == pytest.approx(21 * sigma)
    assert position.degree_errors(moments, spread) == pytest.approx(np.full(N, (6 * sigma) ** 0.5))
    assert position.expected_flips(moments, 1.0) == pytest.approx(21 / (1 + np.e))


def sampled_spread_of(world: VisibilityAwareGraph, spread: np.ndarray, coin: np.ndarray) -> dict[Side, float]:
    """σ²/p, and (1 − p)/p more where there is an edge.  [SAMPLE.3]"""
    extra = spread_of(world, coin)
    return {side: own + extra[side] * (side in BITS) for side, own in spread_of(world, spread).items()}


SAMPLED = {
    "stars:2": lambda m, s, c: position.stars(m, s, 2, c),
    "stars:3": lambda m, s, c: position.stars(m, s, 3, c),
    "triangles": position.triangles,
}


@pytest.mark.parametrize("statistic", SAMPLED)
@pytest.mark.parametrize("rate", [0.5, 0.1])
@pytest.mark.parametrize("rule", ["nothing", "profiles"])
def test_a_sample_of_positions(statistic: str, rate: float, rule: str) -> None:
    policy = VisibilityPolicy.nothing() if rule == "nothing" else VisibilityPolicy.public_profiles("0.4", "both")
    world = VisibilityAwareGraph(GRAPH, policy)
    moments, coin = moments_of(world), Subsample(Fraction(rate)).coin
    spread = position.spreads(moments, 2.0, rate)
    true = exact_covariance(statistic, statistic, sampled_spread_of(world, spread, coin))
    # With several classes, the share of the public edges stands for where they are.
    assert SAMPLED[statistic](moments, spread, coin) == pytest.approx(true, rel=1e-6 if rule == "nothing" else 0.15)


def test_edges_degrees_transitivity_and_cycles_of_a_sample() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    moments, coin = moments_of(world, cycles=True), Subsample(Fraction(1, 4)).coin
    spread = position.spreads(moments, 2.0, 0.25)
    each = sampled_spread_of(world, spread, coin)
    assert position.edges(moments, spread, coin) == pytest.approx(sum(each.values()))
    degree = sum(variance for side, variance in each.items() if 0 in side)
    assert position.degree_errors(moments, spread, coin)[0] == pytest.approx(degree**0.5)
    ratio = moments.triangles / moments.two_stars
    t, s, both = (
        exact_covariance(a, b, each)
        for a, b in (("triangles", "triangles"), ("stars:2", "stars:2"), ("triangles", "stars:2"))
    )
    true = 9 * (t - 2 * ratio * both + ratio**2 * s) / moments.two_stars**2
    assert position.transitivity(moments, spread, coin) == pytest.approx(true, rel=1e-6)
    # More than half of the positions of this graph are edges; on sparse graphs what is left out is little.
    cycles = exact_covariance("four_cycles", "four_cycles", each)
    assert position.cycles(moments, spread) < position.cycles(moments, spread, coin) < cycles
