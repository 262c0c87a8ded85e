"""Formulas of statistics from others: derivatives are exact where they are said to be, values are those of graphs."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.derived import FORMULAS, Derived
from visibility_aware_edge_ldp.public.statistic import SETS, check_statistics, exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

QUADRATIC = Derived(("a", "b"), lambda n, a, b: 3 * a * a - 2 * a * b + b * b / n + 5 * a - b, order=2)


def test_derivatives_of_a_quadratic_formula_are_exact() -> None:
    values, steps = [2.0, -3.0], [0.7, 11.0]
    assert QUADRATIC.slopes(4, values, steps) == pytest.approx([6 * 2 + 2 * 3 + 5, -2 * 2 + 2 * -3 / 4 - 1])
    bends = [[QUADRATIC.bend(4, values, steps, i, j) for j in (0, 1)] for i in (0, 1)]
    assert np.array(bends) == pytest.approx(np.array([[6, -2], [-2, 0.5]]))
    assert QUADRATIC.slopes(4, values, [0.0, 1.0])[0] == 0.0
    assert QUADRATIC.bend(4, values, [0.0, 1.0], 0, 1) == 0.0


@pytest.mark.parametrize(("nodes", "edges"), [(3, 2), (9, 0), (9, 12), (40, 90)])
def test_formulas_are_what_networkx_says(nodes: int, edges: int) -> None:
    graph = erdos_renyi(nodes, edges, 5)
    other = nx.Graph(graph.edges.tolist())
    other.add_nodes_from(range(nodes))
    degrees = [degree for _, degree in other.degree]
    truths = {
        "mean_degree": np.mean(degrees),
        "density": nx.density(other),
        "degree_variance": np.var(degrees),
        "degree_centralization": sum(max(degrees) - d for d in degrees) / ((nodes - 1) * (nodes - 2)),
        "isolates": nx.number_of_isolates(other),
        "concurrency": np.mean([degree >= 2 for degree in degrees]),
    }
    assert {name: exact(graph, name) for name in FORMULAS} == pytest.approx(truths, abs=1e-12)


@pytest.mark.parametrize("percent", [1, 25, 50, 75, 99])
def test_a_quantile_is_the_least_degree_that_enough_do_not_exceed(percent: int) -> None:
    degrees = erdos_renyi(37, 90, 5).degrees
    brute = next(d for d in range(37) if 100 * int((degrees <= d).sum()) >= percent * 37)
    assert exact(erdos_renyi(37, 90, 5), f"degree_quantile:{percent}") == brute


def test_impossible_ones_are_refused() -> None:
    with pytest.raises(BadStatistic, match="tail:2"):
        check_statistics("concurrency", 2)
    with pytest.raises(BadStatistic, match="from 1 to 99"):
        check_statistics("degree_quantile:100", 1000)


@pytest.mark.parametrize("trust", ["position", "user", "curator"])
def test_a_summary_is_what_a_trust_model_answers_of_it(trust: str) -> None:
    world = va.VisibilityAwareGraph(erdos_renyi(30, 60, 1))
    found = va.estimate(world, trust, 1, "summary", seed=1)
    assert set(found) <= set(SETS["summary"])
    assert {"mean_degree", "density", "degree_variance"} <= set(found)
    assert ("isolates" in found) == ("degree_quantile:50" in found) == (trust == "user")
    assert all(math.isfinite(float(each.value)) for each in found.values())


def test_what_only_users_answer_is_refused_elsewhere_with_a_way_out() -> None:
    world = va.VisibilityAwareGraph(erdos_renyi(30, 60, 1))
    for name in ("isolates", "concurrency", "degree_quantile:50"):
        with pytest.raises(BadStatistic, match="--trust user"):
            va.estimate(world, "position", 1, [name], seed=1)
