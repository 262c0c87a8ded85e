"""Triangles at nodes and their weighted sums, against complete enumerations of small worlds.  [CLUSTER.1-3]"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest

from visibility_aware_edge_ldp.counts import exact
from visibility_aware_edge_ldp.counts.degrees.clustering import (
    DegreeWeights,
    NodeTriangles,
    by_class,
    local_sum,
    refuse_many,
    triangle_sum,
)
from visibility_aware_edge_ldp.counts.degrees.degree_functions import NoisyDegrees
from visibility_aware_edge_ldp.errors import TooLarge
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

NODES, KEEP = 4, 0.8
PAIRS = list(combinations(range(NODES), 2))
BITS = (1, 1, 1, 1, 0, 0)  # a triangle with a tail
LOW, HIGH = -(1 - KEEP) / (2 * KEEP - 1), KEEP / (2 * KEEP - 1)
ALPHA, REACH = 0.05, 5


def matrix(values: Any) -> np.ndarray:
    found = np.zeros((NODES, NODES))
    for (u, v), value in zip(PAIRS, values, strict=True):
        found[u, v] = found[v, u] = value
    return found


def answers() -> list[tuple[float, NodeTriangles]]:
    """Every possible answer of all positions, with its chance; the last position is public."""
    found = []
    for said in product((0, 1), repeat=len(PAIRS) - 1):
        chance = np.prod([KEEP if a == b else 1 - KEEP for a, b in zip(said, BITS, strict=False)])
        found.append((float(chance), NodeTriangles(matrix([*(HIGH if a else LOW for a in said), BITS[-1]]))))
    return found


ANSWERS = answers()
TRUE = NodeTriangles(matrix(BITS)).value
DEGREES = matrix(BITS).sum(axis=1).astype(np.int64)


def test_triangles_at_nodes_and_their_variance_have_no_bias() -> None:
    assert TRUE.tolist() == [1, 1, 1, 0]
    value = sum(chance * each.value for chance, each in ANSWERS)
    square = sum(chance * each.value**2 for chance, each in ANSWERS)
    assert value == pytest.approx(TRUE, abs=1e-12)
    assert sum(chance * each.variance for chance, each in ANSWERS) == pytest.approx(square - TRUE**2, abs=1e-10)


@pytest.mark.parametrize("weights", [[1.0, 1, 1, 1], [0.3, -2, 5, 1], [0, 0, 0, 1]])
def test_the_variance_of_a_weighted_sum_has_no_bias(weights: list[float]) -> None:
    w = np.array(weights)
    sums = [(chance, float(w @ each.value), *each.variance_of_sum(w)) for chance, each in ANSWERS]
    variance = sum(chance * value**2 for chance, value, *_ in sums) - float(w @ TRUE) ** 2
    assert sum(chance * found for chance, _, found, _ in sums) == pytest.approx(variance, rel=1e-9)
    assert 0 <= sum(chance * floor for chance, *_, floor in sums) <= variance
    wrong = sum(chance * (found - 2 * floor) for chance, _, found, floor in sums)  # the twin with a wrong sign
    assert wrong != pytest.approx(variance, rel=1e-3)


def noisy(draws: tuple[int, ...]) -> DegreeWeights:
    """Degrees of which the first two are noisy."""
    constant = np.full(2, ALPHA / (1 - ALPHA) ** 2)
    known = NoisyDegrees(
        NODES, DEGREES[2:], DEGREES[:2] + np.array(draws), np.zeros(2, np.int64), constant, np.zeros(2),
        np.zeros(0, np.int64),
    )  # fmt: skip
    return DegreeWeights(known, np.array([True, True, False, False]))


def worlds() -> list[tuple[float, DegreeWeights]]:
    """Every draw of the two noises, but for some of 10⁻⁷."""
    law = {k: (1 - ALPHA) / (1 + ALPHA) * ALPHA ** abs(k) for k in range(-REACH, REACH + 1)}
    return [(law[a] * law[b], noisy((a, b))) for a, b in product(law, repeat=2)]


def test_the_sum_of_local_coefficients_has_no_bias_nor_has_its_variance() -> None:
    """Over all answers and all noises together."""
    graph = nx.Graph([pair for pair, bit in zip(PAIRS, BITS, strict=True) if bit])
    truth = sum(nx.clustering(graph).values())
    mean = square = stated = twin = 0.0
    for of_weights, weights in worlds():
        for of_answers, triangles in ANSWERS:
            chance, found = of_weights * of_answers, local_sum(triangles, weights)
            mean, square = mean + chance * found.value, square + chance * found.value**2
            stated += chance * found.variance
            # What one would do without this page: noisy degrees as they come.
            plain = exact.local_share(np.concatenate([weights.degrees.noisy, weights.degrees.certain]))
            twin += chance * float(plain @ triangles.value)
    assert mean == pytest.approx(truth, abs=1e-6)
    assert stated == pytest.approx(square - mean**2, rel=1e-4)
    assert abs(twin - truth) > 0.05


def test_triangles_less_a_share_of_two_stars_have_the_variance_that_is_stated() -> None:
    share, counted = 0.4, {}
    for of_weights, weights in worlds():
        for of_answers, triangles in ANSWERS:
            for place, part in enumerate(by_class(triangles, weights)):
                sums = counted.setdefault(place, np.zeros(5))
                error, variance = part.triangles.value - share * part.wedges, part.triangles.variance
                degrees = float((share**2 * part.spreads - 2 * share * part.shared).sum())
                chance = of_weights * of_answers
                sums += chance * np.array([part.triangles.value, part.wedges, error, error**2, variance + degrees])
    wedges = DEGREES * (DEGREES - 1) / 2
    for place, (first, last) in enumerate(exact.degree_classes(NODES)):
        inside = (first <= DEGREES) & (last >= DEGREES)
        closed, open_or_closed, error, square, stated = counted[place]
        assert closed == pytest.approx(TRUE[inside].sum(), abs=1e-6)
        assert open_or_closed == pytest.approx(wedges[inside].sum(), abs=1e-6)
        assert stated == pytest.approx(square - error**2, rel=1e-4)


def test_what_is_known_has_no_variance() -> None:
    weights = DegreeWeights(
        NoisyDegrees(NODES, DEGREES, *(np.zeros(0, np.int64),) * 2, *(np.zeros(0),) * 2, np.zeros(0, np.int64)),
        np.zeros(NODES, bool),
    )
    triangles = NodeTriangles(matrix(BITS))
    found = triangle_sum(triangles, weights.of(lambda degree: degree * 1.0))
    assert (found.value, found.variance) == (pytest.approx(float(DEGREES @ TRUE)), 0.0)
    (part,) = by_class(triangles, weights)
    assert part.less(0.3).variance == 0


@pytest.mark.parametrize("graph", [erdos_renyi(40, 200, 1), powerlaw(60, 200, 2)])
def test_exact_clustering_is_that_of_networkx(graph: Any) -> None:
    other = nx.Graph(graph.edges.tolist())
    other.add_nodes_from(range(graph.n))
    assert exact.local_clustering(graph) == pytest.approx(nx.average_clustering(other))
    at = nx.triangles(other)
    assert exact.triangles_at_nodes(graph).tolist() == [at[node] for node in range(graph.n)]
    for (first, last), share in zip(exact.degree_classes(graph.n), exact.clustering_by_degree(graph), strict=True):
        chosen = [node for node, degree in other.degree if first <= degree <= last]
        wedges = sum(other.degree[node] * (other.degree[node] - 1) / 2 for node in chosen)
        assert share == pytest.approx(sum(at[node] for node in chosen) / wedges if wedges else 0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17, 1000])
def test_classes_hold_every_degree_from_two_on_once(n: int) -> None:
    degrees = [degree for first, last in exact.degree_classes(n) for degree in range(first, last + 1)]
    assert degrees == list(range(2, n))


def test_too_many_nodes_are_refused() -> None:
    with pytest.raises(TooLarge, match="up to 3,000 nodes"):
        refuse_many(3001, "local_clustering")
