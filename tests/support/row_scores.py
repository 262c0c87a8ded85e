"""Scores of graphs and of unlike groups of positions, each beside the same as a matrix."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.counts.scores import Scores, scores_of
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

GRAPHS = {
    "power law": powerlaw(150, 1500, seed=1),
    "random": erdos_renyi(65, 700, seed=2),
    "more than two blocks": erdos_renyi(300, 3000, seed=3),
    "complete": erdos_renyi(20, 190),
    "empty": erdos_renyi(9, 0),
    "one position": erdos_renyi(2, 1),
}
EVERY_GRAPH = pytest.mark.parametrize("name", GRAPHS)


def matrix_of(graph: Graph) -> np.ndarray:
    bits = np.zeros((graph.n, graph.n), bool)
    bits[graph.edges[:, 0], graph.edges[:, 1]] = True
    return bits | bits.T


def flat(upper: np.ndarray) -> np.ndarray:
    """The bits right of the diagonal, packed as in a report."""
    return np.packbits(upper[np.triu_indices(len(upper), 1)], bitorder="little")


def true_scores(graph: Graph) -> Scores:
    return scores_of([([flat(matrix_of(graph))], [1.0])], graph.n)


def mixed_scores(n: int, seed: int, everybody: bool = False) -> tuple[Scores, np.ndarray]:
    """Scores of three groups with unlike values, and the same as a matrix."""
    random = np.random.default_rng(seed)
    upper = np.triu(np.ones((n, n), bool), 1)
    kind = random.integers(1, 2, (n, n)) if everybody else random.integers(0, 4, (n, n))
    ones = random.random((n, n)) < 0.5
    groups, values = [], [(1.0,), (-1 / 3, 4 / 3), (-0.1, 1.7)]  # sums of these are rounded
    whole = np.zeros((n, n))
    for number, scores in enumerate(values):
        held = upper & (kind == number)
        if number == 0:
            groups.append(([flat(held)], list(scores)))
            whole[held] = scores[0]
        elif held.any():
            groups.append(([flat(held), flat(held & ones)], list(scores)))
            whole[held] = np.where(ones[held], scores[1], scores[0])
    return scores_of(groups, n), whole + whole.T
