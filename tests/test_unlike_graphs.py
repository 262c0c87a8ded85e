"""The unlike graphs: the same for the same seed, and each as its name says."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from support.unlike_graphs import REAL, UNLIKE, unlike_graph
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.datasets import DATASETS
from visibility_aware_edge_ldp.truth.graph import Graph

SEEDS = (0, 7)


def parts(graph: Graph) -> int:
    """How many connected parts a graph has."""
    label, before = np.arange(graph.n), np.zeros(0)
    while not np.array_equal(label, before):
        before = label.copy()
        for one, other in (graph.edges.T, graph.edges[:, ::-1].T):
            np.minimum.at(label, one, label[other])
    return np.unique(label).size


@pytest.mark.parametrize("name", UNLIKE)
def test_a_seed_names_one_graph_of_a_hundred_to_1500_nodes(name: str) -> None:
    first, again, other = (unlike_graph(name, seed) for seed in (0, 0, 1))
    assert np.array_equal(first.edges, again.edges)
    assert not np.array_equal(first.edges, other.edges)
    assert 100 <= first.n <= 1500


@pytest.mark.parametrize("name", UNLIKE)
def test_numbers_tell_nothing_of_degrees(name: str) -> None:
    ranks = [
        np.corrcoef(np.arange(graph.n), graph.degrees)[0, 1]
        for graph in (unlike_graph(name, seed) for seed in range(9))
    ]
    assert abs(np.mean(ranks)) < 4.5 / np.sqrt(9 * 105)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_is_what_its_name_says(seed: int) -> None:
    graphs = {name: unlike_graph(name, seed) for name in UNLIKE}
    degrees = {name: graph.degrees for name, graph in graphs.items()}
    assert degrees["heavy-tailed"].max() > 4 * degrees["heavy-tailed"].mean()
    assert exact(graphs["clustered"], "transitivity") > 0.5
    stars = [comb(each, 3) for each in sorted(degrees["hub-dominated"].tolist())]
    assert 0.1 <= stars[-1] / sum(stars) < 0.11 > 4 * stars[-2] / sum(stars)
    assert exact(graphs["nearly bipartite"], "transitivity") < 0.01
    assert (degrees["sparse with isolates"] == 0).mean() > 0.1
    assert graphs["about 100 nodes"].n == 105
    assert parts(graphs["disconnected"]) >= 7
    core = np.sort(degrees["dense core"])[-60:]
    assert core.sum() > 0.4 * 2 * graphs["dense core"].m
    assert exact(graphs["web of trust"], "transitivity") > 0.5
    assert degrees["web of trust"].max() > 50


@pytest.mark.parametrize("name", REAL)
def test_a_real_graph_that_is_not_here_is_missed_in_a_sentence(name: str, cache: object) -> None:
    assert name in DATASETS
    with pytest.raises(LookupError, match="VA_EDGE_LDP_DATA names the folder"):
        unlike_graph(name)
