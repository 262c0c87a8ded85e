"""Subgraphs of four nodes: values and variances by brute force over copies, over all answers, and against NetworkX."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import prod

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.compute.compiled import pair_sums as compiled
from visibility_aware_edge_ldp.compute.plain import pair_sums as plain
from visibility_aware_edge_ldp.counts.graphlets import exact as counting
from visibility_aware_edge_ldp.counts.graphlets.exact import PAIRS, PATTERNS, DenseScores, Moments, copies, graphlets
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

NAMES = tuple(PATTERNS)


def matrix(n: int, values: int, seed: int = 1) -> np.ndarray:
    """Scores at random: of two values, of some, or of any."""
    rng = np.random.default_rng(seed)
    found = rng.choice(np.array([-0.3, 1.4, 0.0, 1.0])[:values], (n, n)) if values else rng.normal(size=(n, n))
    return np.triu(found, 1) + np.triu(found, 1).T


def all_copies(n: int, name: str) -> list[frozenset[tuple[int, int]]]:
    """The pairs of every copy on n nodes."""
    return [
        frozenset((four[i], four[j]) for kind, (i, j) in zip(copy, PAIRS, strict=True) if kind)
        for four in combinations(range(n), 4)
        for copy in copies(name)
    ]


def brute(scores: np.ndarray, name: str) -> tuple[float, float]:
    """The value, and the variance by all pairs of copies that share a pair."""
    found = all_copies(len(scores), name)

    def of(pairs: frozenset[tuple[int, int]]) -> float:
        return prod(float(scores[pair]) for pair in pairs)

    return sum(map(of, found)), sum(of(a) * of(b) - of(a | b) for a in found for b in found if a & b)


@pytest.mark.parametrize("values", [2, 4, 0])
@pytest.mark.parametrize("name", NAMES)
def test_value_and_variance_are_those_of_brute_force(name: str, values: int) -> None:
    for n in (4, 6):
        scores = matrix(n, values)
        assert graphlets(scores, name) == pytest.approx(brute(scores, name), rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_over_all_answers_of_four_nodes_there_is_no_bias(name: str) -> None:
    """Neither of the value nor of the variance; a twin that forgets what is shared by fours has one."""
    channel = RandomizedResponse(Fraction(1)).channel
    low, high = (float(each) for each in channel.scores)
    bits = [1, 1, 1, 0, 1, 1]  # a diamond
    values, stated, twins, chances = [], [], [], []
    for said in product((0, 1), repeat=6):
        scores = np.zeros((4, 4))
        for answer, (i, j) in zip(said, combinations(range(4), 2), strict=True):
            scores[i, j] = scores[j, i] = high if answer else low
        value, variance = graphlets(scores, name)
        through = [sum(prod(scores[p] for p in c - {pair}) for c in all_copies(4, name) if pair in c)
                   for pair in combinations(range(4), 2)]  # fmt: skip
        twins.append(
            sum((scores[p] ** 2 - scores[p]) * q**2 for p, q in zip(combinations(range(4), 2), through, strict=True))
        )
        values.append(value)
        stated.append(variance)
        given = zip(bits, said, strict=True)
        chances.append(prod(float((channel.given_zero, channel.given_one)[bit][answer]) for bit, answer in given))
    truth = sum(all(bits[list(combinations(range(4), 2)).index(pair)] for pair in copy) for copy in all_copies(4, name))
    mean = np.dot(chances, values)
    assert mean == pytest.approx(truth, abs=1e-5)
    true = np.dot(chances, (np.array(values) - mean) ** 2)
    assert np.dot(chances, stated) == pytest.approx(true, rel=1e-5)
    assert abs(np.dot(chances, twins) - true) > 0.1 * true


@pytest.mark.parametrize("name", NAMES)
def test_true_bits_give_what_networkx_finds(name: str) -> None:
    graph = erdos_renyi(9, 18, 3)
    other, pattern = nx.Graph(graph.edges.tolist()), nx.Graph(list(PATTERNS[name]))
    found = sum(1 for _ in GraphMatcher(other, pattern).subgraph_monomorphisms_iter())
    symmetries = sum(1 for _ in GraphMatcher(pattern, pattern).isomorphisms_iter())
    bits = nx.to_numpy_array(other, nodelist=range(9))
    assert exact(graph, name) == found // symmetries == graphlets(bits, name)[0]
    assert graphlets(bits, name)[1] == pytest.approx(0.0, abs=1e-6)


def test_a_graphlet_has_its_copies() -> None:
    assert [len(copies(name)) for name in NAMES] == [12, 12, 6, 1]
    assert graphlets(np.zeros((3, 3)), "four_cliques") == (0.0, 0.0)


def test_moments_are_sums_over_a_fourth_node() -> None:
    scores = matrix(7, 2)
    dense = DenseScores(scores)
    for kind in product(range(3), repeat=3):
        found = Moments(dense, 1, slice(2, 7), slice(2, 7)).of(kind)
        for v, w in combinations(range(2, 7), 2):
            others = set(range(7)) - {1, v, w}
            brute_sum = sum(prod(scores[x, z] ** k for x, k in zip((1, v, w), kind, strict=True)) for z in others)
            assert found[v - 2, w - 2] == pytest.approx(brute_sum)


def test_plain_and_compiled_kernels_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, found = matrix(40, 2, 7), []
    for module in (plain, compiled):
        monkeypatch.setattr(counting.backend, "kernels", lambda subject, module=module: module)
        found.append(graphlets(scores, "four_cliques"))
    assert found[0] == found[1]


def test_other_models_are_refused_with_a_way_out() -> None:
    world = va.VisibilityAwareGraph(erdos_renyi(30, 60, 1))
    with pytest.raises(BadStatistic, match="--trust position"):
        va.estimate(world, "user", 1, ["diamonds"], seed=1)


@pytest.mark.long
@pytest.mark.parametrize(("policy", "away"), [("nothing", 0.0), ("profiles:0.5", 0.0), ("nothing", 0.2)])
def test_intervals_hold(policy: str, away: float) -> None:
    """And those of a twin with half the standard error do not."""
    graph, runs, names = erdos_renyi(24, 140, 2), 40, ["four_cliques", "diamonds", "tailed_triangles", "three_paths"]
    world = va.VisibilityAwareGraph(graph, policy)
    for name in names:
        truth = exact(graph, name)
        found = [va.estimate(world, "position", 3, [name], seed=s, dropout=away)[name] for s in range(runs)]
        ends = [each.interval() for each in found]
        z = np.mean([float(e.value) - truth for e in found]) / np.std([float(e.value) for e in found]) * runs**0.5
        assert abs(z) < 4
        held = np.mean([low <= truth <= high for low, high in ends])
        assert held >= 0.85
        half = np.mean([abs(truth - float(e.value)) <= 0.98 * float(e.standard_error) for e in found])
        assert half < held - 0.1
