"""Triangles by groups: by brute force, exactly over all answers, and as many as all triangles together.  [COUNTS.8]"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, combinations_with_replacement

import networkx as nx
import numpy as np
import pytest

from support.row_worlds import RowWorld
from support.score_planes import planes_of
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.counts.group_triples import MOST_GROUPS, MOST_NODES, refuse_many, triangles_by_group
from visibility_aware_edge_ldp.counts.scores import Scores, score, spread
from visibility_aware_edge_ldp.counts.triangles import sum_over_pairs, triangle_sums, triangles
from visibility_aware_edge_ldp.errors import TooLarge
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

CELLS = list(combinations_with_replacement(range(3), 3))


def scores_of_some(n: int, seed: int) -> Scores:
    """Public edges, and answers to one round of some of the other positions."""
    draw = np.random.default_rng(seed)
    held, public = (np.triu(draw.random((n, n)) < share, 1) for share in (0.8, 0.1))
    ones = held & (draw.random((n, n)) < 0.4)
    member = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1]], bool)
    return Scores(n, planes_of(public & ~held, held, ones), np.array([1.0, -0.3, 1.4]), member)


def matrix_of(scores: Scores, values: np.ndarray) -> np.ndarray:
    return np.asarray(replace(scores, values=values).rows(slice(None)), np.float64)


@pytest.mark.parametrize("block", [4, 128])
def test_values_and_variances_are_those_of_brute_force(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Var f = Z₁ − Z₂ + Z₃ with the derivatives of each cell, term by term.  [COUNTS.7]"""
    monkeypatch.setattr("visibility_aware_edge_ldp.counts.group_triples.BLOCK", block)
    n, members = 13, np.arange(13) % 5 % 3
    scores = scores_of_some(n, 2)
    e, s = (matrix_of(scores, f(scores.values)) for f in (score, spread))
    value, variance = dict.fromkeys(CELLS, 0.0), dict.fromkeys(CELLS, 0.0)
    for u, v, w in combinations(range(n), 3):
        cell = tuple(sorted(members[[u, v, w]].tolist()))
        value[cell] += e[u, v] * e[v, w] * e[u, w]
        # Two and three noisy sides lie in one triangle alone.
        for x, y, z in ((u, v, w), (v, w, u), (w, u, v)):
            variance[cell] -= s[x, y] * s[y, z] * e[z, x] ** 2
        variance[cell] += s[u, v] * s[v, w] * s[u, w]
    for u, v in combinations(range(n), 2):
        through = {g: float((e[u] * e[v])[members == g].sum()) for g in range(3)}
        for g, paths in through.items():
            variance[tuple(sorted((members[u], members[v], g)))] += s[u, v] * paths**2
    found, told = triangles_by_group(scores, members, 3)
    assert found == pytest.approx([value[cell] for cell in CELLS])
    floor = np.zeros(len(CELLS))
    for u, v, w in combinations(range(n), 3):
        floor[CELLS.index(tuple(sorted(members[[u, v, w]].tolist())))] += s[u, v] * s[v, w] * s[u, w]
    assert told == pytest.approx(np.maximum([variance[cell] for cell in CELLS], floor))


@pytest.mark.parametrize("policy", [VisibilityPolicy.nothing(), VisibilityPolicy("0.3", "0.3", "0.4")])
def test_over_all_answers_there_is_no_bias(policy: VisibilityPolicy) -> None:
    """The whole protocol on four people, every answer with its chance; the variance may be cut at its floor."""
    groups = Groups("number", ("a", "b"), np.array([0, 1, 1, 0]))
    world = RowWorld(replace(erdos_renyi(4, 5, seed=1), groups=groups), policy, 1)
    first, second, said = np.zeros((3, 4))
    for chance, outcomes in world.everything():
        found = estimate(world.collection(outcomes, world.asked), ("triangles_by_group",))["triangles_by_group"]
        first, said = first + chance * found.value, said + chance * found.variance
        second = second + chance * found.value**2
    assert first == pytest.approx(exact(world.graph, "triangles_by_group"), abs=1e-9)
    assert (said >= second - first**2 - 1e-9).all()
    assert said == pytest.approx(second - first**2, rel=0.25, abs=1e-9)


def test_true_values_are_those_of_networkx() -> None:
    groups = Groups("number", ("a", "b", "c"), np.arange(80) % 7 // 3)
    graph = replace(powerlaw(80, 600, seed=4), groups=groups)
    triangles_there = [each for each in nx.enumerate_all_cliques(nx.Graph(graph.edges.tolist())) if len(each) == 3]
    counted = dict.fromkeys(CELLS, 0)
    for each in triangles_there:
        counted[tuple(sorted(groups.members[each].tolist()))] += 1
    assert exact(graph, "triangles_by_group").tolist() == [counted[cell] for cell in CELLS]
    bits = np.zeros((80, 80), bool)
    bits[graph.edges[:, 0], graph.edges[:, 1]] = True
    value, variance = triangles_by_group(
        Scores(80, planes_of(bits), np.ones(1), np.ones((1, 1), bool)), groups.members, 3
    )
    assert value == pytest.approx(exact(graph, "triangles_by_group"))  # true bits: the same formula is the oracle
    assert not variance.any()


def test_one_group_has_all_triangles_and_several_add_up_to_them() -> None:
    scores = scores_of_some(60, 3)
    value, variance = triangles(sum_over_pairs(scores, triangle_sums))
    alone = triangles_by_group(scores, np.zeros(60, np.int64), 1)
    assert alone[0] == pytest.approx([value])
    assert alone[1] == pytest.approx([variance])
    several, _ = triangles_by_group(scores, np.arange(60) % 4, 5)  # nobody is in the fifth
    assert several.sum() == pytest.approx(value)
    empty = [4 in cell for cell in combinations_with_replacement(range(5), 3)]
    assert not several[empty].any()


def test_many_nodes_and_many_groups_are_refused() -> None:
    refuse_many(MOST_NODES, MOST_GROUPS)
    for n, groups in ((MOST_NODES + 1, 2), (10, MOST_GROUPS + 1)):
        with pytest.raises(TooLarge, match=r"up to 5,000 nodes in up to 20 groups"):
            refuse_many(n, groups)
