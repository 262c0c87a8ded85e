"""The mixing matrix and what follows from it: against NetworkX, by hand, and gradients by differences.  [MIXING.1-6]"""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from visibility_aware_edge_ldp.counts import mixing
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(60, 300, 3)
MEMBERS = np.arange(60) % 7 // 2
SIZES = np.bincount(MEMBERS)
CELLS = mixing.mixing_matrix(MEMBERS, 4, GRAPH.edges)


def test_cells_contacts_and_degrees_are_those_of_networkx() -> None:
    graph = nx.Graph(GRAPH.edges.tolist())
    graph.add_nodes_from(range(60))
    nx.set_node_attributes(graph, dict(enumerate(MEMBERS.tolist())), "group")
    found = nx.attribute_mixing_matrix(graph, "group", normalized=False, mapping={i: i for i in range(4)})
    assert np.array_equal(CELLS + np.diag(np.diag(CELLS)), found)
    contacts = mixing.exact("contacts", CELLS, SIZES).reshape(4, 4)
    assert np.allclose(contacts * SIZES[:, None], found)
    assert np.allclose(contacts * SIZES[:, None], (contacts * SIZES[:, None]).T)  # contacts are reciprocal
    degrees = [GRAPH.degrees[a == MEMBERS].mean() for a in range(4)]
    assert np.allclose(mixing.exact("group_degrees", CELLS, SIZES), degrees)
    assert mixing.exact("assortativity", CELLS, SIZES) == pytest.approx(
        nx.attribute_assortativity_coefficient(graph, "group")
    )


def test_indices_by_hand() -> None:
    cells, sizes = np.array([[6.0, 2.0], [2.0, 1.0]]), np.array([6, 5])
    assert mixing.exact("ei_index", cells, sizes) == pytest.approx((2 - 7) / 9)
    above, below = mixing.exact("coleman", cells, sizes)
    assert above == pytest.approx((12 / 14 - 0.5) / 0.5)
    assert below == pytest.approx((2 / 4 - 0.4) / 0.6)
    apart = mixing.exact("coleman", np.array([[0.0, 4.0], [4.0, 0.0]]), sizes)
    assert apart.tolist() == [-1.0, -1.0]
    assert mixing.exact("coleman", np.zeros((2, 2)), sizes).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", mixing.RATIOS)
def test_gradients_are_the_differences(name: str) -> None:
    step = 1e-4
    for place, ratio in enumerate(mixing.RATIOS[name](CELLS, SIZES)):
        for a in range(4):
            for b in range(a, 4):
                moved = CELLS.copy()
                moved[a, b] += step
                moved[b, a] = moved[a, b]
                after = mixing.RATIOS[name](moved, SIZES)[place]
                assert (after.above - ratio.above) / step == pytest.approx(ratio.above_gradient[a, b], abs=1e-2)
                assert (after.below - ratio.below) / step == pytest.approx(ratio.below_gradient[a, b], abs=1e-2)


def counts_of(answers: list[int], asked: list[int], noise: float = 2.0) -> mixing.GroupCounts:
    """Two groups of which so many answered, with the same counts of everybody."""
    return mixing.GroupCounts(
        np.zeros((2, 2)),
        np.array(asked),
        tuple(np.full((many, 2), 3.0) for many in answers),
        tuple(np.full(many, noise) for many in answers),
    )


def test_both_sides_are_weighted_by_their_noise() -> None:
    known = counts_of([10, 30], [10, 30])
    assert known.weights[0, 1] == pytest.approx(0.75)
    assert known.weights[1, 0] == pytest.approx(0.25)
    assert known.cells[0, 1] == pytest.approx(0.75 * 30 + 0.25 * 90) == known.cells[1, 0]
    assert known.cells[0, 0] == 15
    (inside, between, _) = mixing.cell_gradients(np.array([10, 30]))
    assert known.variance(inside) == pytest.approx(10 * 2 / 4)
    assert known.variance(between) == pytest.approx(2 * 10 * 30 / 40)
    for weight in (0.5, 0.7, 0.8):
        assert weight**2 * 20 + (1 - weight) ** 2 * 60 > known.variance(between)


def test_a_silent_group_is_told_by_the_other() -> None:
    known = counts_of([0, 30], [10, 30])
    inside, between, other = mixing.cell_gradients(np.array([10, 30]))
    assert known.cells[0, 1] == 90
    assert known.variance(between) == pytest.approx(60)
    assert known.variance(inside) == math.inf
    assert known.variance(other) == pytest.approx(60 / 4)
    nobody = counts_of([1, 1], [10, 30])
    assert nobody.variance(between) == math.inf
    certain = counts_of([0, 0], [0, 0])
    assert certain.variance(between) == 0
    assert certain.weights[0, 1] == 0.5


def test_who_answers_is_weighted_within_a_group() -> None:
    known = counts_of([5, 30], [10, 30])
    assert known.sums[0].tolist() == [30.0, 30.0]
    assert known.expansion.tolist() == [2.0, 1.0]
    assert known.weights[0, 1] == pytest.approx(60 / (60 + 40))


def test_cells_of_scores_vary_by_themselves() -> None:
    """Two groups, scores −1 and 2: a cell adds up its own, and no cell has a position of another.  [MIXING.7]"""
    counts = np.array([[[6.0, 4.0], [4.0, 2.0]], [[2.0, 1.0], [1.0, 4.0]]])  # inside a group from both ends
    known = mixing.ScoredCells.of(np.array([-1.0, 2.0]), counts)
    assert known.cells.tolist() == [[-1.0, -2.0], [-2.0, 3.0]]
    assert known.noise.tolist() == [[8.0, 10.0], [10.0, 6.0]]
    assert known.variance(np.array([[1.0, -2.0], [9.0, 3.0]])) == 8 + 4 * 10 + 9 * 6
    last = np.array([[0.0, 0.0], [0.0, 1.0]])
    for by_rates, left in ((0.25, 6 - 3**2 * 0.25), (0.5, 3.0)):  # never less than half
        assert mixing.ScoredCells.of(np.array([-1.0, 2.0]), counts, by_rates).variance(last) == left
