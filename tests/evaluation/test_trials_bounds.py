"""Lower bounds beside achieved errors: right by brute force, below what we achieve, and explained."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.counts.exact import triangles_on_edges
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation import lower_bounds as bounds
from visibility_aware_edge_ldp.evaluation.lower_bounds import LowerBound, least_here, unbiased_variance
from visibility_aware_edge_ldp.evaluation.trials import BoundRow, bound_rows, conditions
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(30, 120, 5)
STATISTICS = ["edges", "triangles", "stars:2", "stars:3"]
POLICIES = {
    "nothing": VisibilityPolicy.nothing(),
    "classes": VisibilityPolicy("0.2", "0.3").guarded(3),
    "hubs": VisibilityPolicy.public_hubs("0.2"),
    "public": VisibilityPolicy(1),
}


def world(policy: VisibilityPolicy) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(GRAPH, policy)


def by_definition(held: VisibilityAwareGraph, statistic: str, epsilon: float) -> dict[tuple[int, int], float]:
    """For each non-public position, (how much its bit changes the count)² · e^ε/(e^ε − 1)²."""
    present = {tuple(edge) for edge in held.graph.edges.tolist()}
    found = {}
    for u, v in combinations(range(held.graph.n), 2):
        kind = held.visibility(u, v)
        if kind is not Visibility.PUBLIC:
            counts = [count(sorted(present - {(u, v)} | extra), statistic) for extra in ({(u, v)}, set())]
            loss = float(held.policy.multiplier(kind)) * epsilon
            found[u, v] = (counts[0] - counts[1]) ** 2 * float(unbiased_variance(loss))
    return found


def count(edges: list[tuple[int, int]], statistic: str) -> int:
    graph = replace(GRAPH, edges=np.array(edges, dtype=np.int32).reshape(-1, 2))
    return int(exact(graph, statistic))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_bound_is_the_weight_of_a_matching(
    policy: VisibilityPolicy, statistic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positions that were taken share no node, are not public, and weigh what the definition says."""
    held, taken = world(policy), []
    real = bounds.matched_bound

    def spy(*arguments: object) -> LowerBound:
        taken.append(arguments)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(bounds, "matched_bound", spy)
    bound = least_here(held, statistic, 1.0)
    weights = by_definition(held, statistic, 1.0)
    ((_, _, u, v, gains, losses),) = taken
    offered = {
        (int(a), int(b)): g**2 * float(unbiased_variance(e)) for a, b, g, e in zip(u, v, gains, losses, strict=True)
    }
    assert offered == pytest.approx({pair: weights[pair] for pair in offered})
    assert bound is not None
    best = sum(sorted(weights.values(), reverse=True)[: GRAPH.n // 2])
    assert 0.1 * best <= bound.value <= best * (1 + 1e-12)


def test_triangles_on_edges_are_common_friends() -> None:
    near: list[set[int]] = [set() for _ in range(GRAPH.n)]
    for a, b in GRAPH.edges.tolist():
        near[a].add(b)
        near[b].add(a)
    expected = [len(near[a] & near[b]) for a, b in GRAPH.edges.tolist()]
    assert triangles_on_edges(GRAPH).tolist() == expected
    empty = replace(GRAPH, edges=np.empty((0, 2), np.int32))
    assert triangles_on_edges(empty).tolist() == []


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
def test_position_achieves_the_optimum_for_edges(policy: VisibilityPolicy) -> None:
    held = world(policy)
    found = estimate(held, epsilon=1, statistics="edges", seed=1)["edges"]
    optimum = bounds.edges_optimum(held, 1).value
    assert float(found.variance) == pytest.approx(optimum, rel=1e-9)


def test_the_visible_gain_is_the_ratio_of_variances() -> None:
    for policy in POLICIES.values():
        held, uniform = world(policy), world(VisibilityPolicy.nothing())
        variances = [
            float(estimate(each, epsilon=2, statistics="edges", seed=1)["edges"].variance) for each in (uniform, held)
        ]
        gain = bounds.visible_gain(held, 2)
        assert gain == (math.inf if not variances[1] else pytest.approx(variances[0] / variances[1]))
    half = VisibilityPolicy.from_positions(public=list(combinations(range(30), 2))[:145])
    assert world(half).public.class_sizes[Visibility.PUBLIC] * 3 == world(half).public.positions
    assert bounds.visible_gain(world(half), "0.7") == pytest.approx(1 / (1 - 1 / 3))


@pytest.mark.parametrize("rounds", [1, 2])
def test_achieved_errors_are_above_the_bounds_on_this_graph(rounds: int) -> None:
    held = world(VisibilityPolicy("0.2", "0.3"))
    answers = estimate(held, epsilon=4, statistics=[*STATISTICS, "max_degree", "degrees"], rounds=rounds, seed=1)
    rows = {row.statistic: row for row in bound_rows(held, answers, "position", 4, rounds=rounds)}
    assert set(rows) == {*STATISTICS, "max_degree"}
    for name in STATISTICS:
        here = rows[name].here
        assert here is not None
        assert 0 < here.standard_error_at_least <= rows[name].achieved
        matched = least_here(held, name, 4.0)
        assert matched is not None
        assert matched.value <= here.value
    assert rows["max_degree"].here is rows["max_degree"].hardest is None
    assert rows["max_degree"].texts()[2:] == ("-", "-")
    assert any("this estimate has it" in line for line in conditions(list(rows.values()))) == (rounds == 1)


def test_biased_estimates_are_not_bound() -> None:
    held = world(VisibilityPolicy.nothing())
    biased = {"edges": Estimate("edges", 1.0, 1.0, unbiased=False)}
    assert bound_rows(held, biased, "position", 1)[0].here is None
    assert bound_rows(held, biased, "user", 1)[0].here is None


def test_an_error_below_the_hardest_graph_s_is_explained() -> None:
    held = world(VisibilityPolicy.nothing())
    small = {"triangles": Estimate("triangles", 1.0, 1e-6), "stars:2": Estimate("stars:2", 1.0, 1e12)}
    lines = conditions(bound_rows(held, small, "user", 1))
    assert any(line.startswith("The error of triangles is below the last column. That is no") for line in lines)
    assert any("triangles is printed below what is possible on this graph" in line for line in lines)
    assert not any("stars:2" in line for line in lines)
    fine = {"stars:2": Estimate("stars:2", 1.0, 1e12)}
    assert not any("below" in line for line in conditions(bound_rows(held, fine, "user", 1)))


def test_both_columns_say_what_they_assume() -> None:
    bound = LowerBound("edges", 4.0, ("of this and that", "whatever else"))
    lines = conditions([BoundRow("edges", 3.0, bound, replace(bound, conditions=("elsewhere",)))])
    assert lines[:2] == [
        "Least unbiased here: of this and that; whatever else.",
        "Least of any on the hardest graph: elsewhere.",
    ]
    assert BoundRow("edges", 3.0, bound, None).texts() == ("edges", "3", "2", "-")


@pytest.mark.parametrize("trust", ["curator", "neighbourhood"])
def test_who_sees_more_than_a_list_is_not_bound(trust: str) -> None:
    with pytest.raises(BadInput, match="position and user"):
        bound_rows(world(VisibilityPolicy.nothing()), {}, trust, 1)


def test_a_graph_without_edges_has_no_hardest_relative() -> None:
    empty = VisibilityAwareGraph(replace(GRAPH, edges=np.empty((0, 2), np.int32)), VisibilityPolicy.nothing())
    (row,) = bound_rows(empty, {"triangles": Estimate("triangles", 0.0, 1.0)}, "user", 1)
    assert row.hardest is None
    assert row.here is not None
    assert row.here.value == 0
