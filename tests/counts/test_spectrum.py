"""The spectral radius and its eigenvector from noisy scores: against NumPy, NetworkX, closed forms and simulations."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.counts.spectrum import Spectrum, largest_eigenvalues, refuse_uneven, spectrum
from visibility_aware_edge_ldp.errors import BadStatistic, TooLarge
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw


@pytest.mark.parametrize("n", [1, 2, 5, 60])
def test_eigenvalues_are_those_of_a_dense_solver(n: int) -> None:
    matrix = np.random.default_rng(n).normal(size=(n, n))
    matrix = matrix + matrix.T
    value, second, vector = largest_eigenvalues(lambda x: matrix @ x, n)
    values, vectors = np.linalg.eigh(matrix)
    assert value == pytest.approx(values[-1], rel=1e-7)
    assert abs(vector @ vectors[:, -1]) == pytest.approx(1.0, abs=1e-5)
    assert vector.sum() >= 0
    assert second <= value
    if n > 1:
        assert second == pytest.approx(values[-2], abs=0.2 * abs(values[-1]))


def test_exact_values_are_those_of_networkx() -> None:
    graph = powerlaw(80, 400, 3)
    other = nx.Graph(graph.edges.tolist())
    other.add_nodes_from(range(80))
    assert exact(graph, "spectral_radius") == pytest.approx(max(nx.adjacency_spectrum(other).real), rel=1e-7)
    central = nx.eigenvector_centrality_numpy(other)
    assert exact(graph, "eigenvector_centrality") == pytest.approx([central[i] for i in range(80)], abs=1e-4)
    assert exact(erdos_renyi(5, 0, 1), "spectral_radius") == 0.0


def test_one_eigenvalue_alone_has_the_closed_form() -> None:
    """μ = λ + nσ²/λ gives λ back, with c² = 1 − nσ²/λ².  [SPECTRUM.1]"""
    radius, n, noise = 40.0, 400, 0.9
    seen = radius + n * noise**2 / radius
    found = Spectrum(seen, 0.0, n, noise, noise**2, np.full(n, n**-0.5))
    assert found.radius == pytest.approx(radius)
    assert found.alignment == pytest.approx(1 - n * noise**2 / radius**2)
    assert found.variance == pytest.approx(2 * noise**2 / found.alignment, rel=0.01)
    assert found.centralities[1] == pytest.approx((noise / radius) ** 2 / found.alignment)


def noisy(bits: np.ndarray, epsilon: float, seed: int) -> tuple[np.ndarray, float]:
    """Scores of all positions by randomized response, and their standard deviation."""
    flip = 1 / (1 + math.exp(epsilon))
    wrong = np.triu(np.random.default_rng(seed).random(bits.shape) < flip, 1)
    said = bits ^ (wrong | wrong.T)
    scores = (said - flip) / (1 - 2 * flip)
    np.fill_diagonal(scores, 0.0)
    return scores, math.sqrt(flip * (1 - flip)) / (1 - 2 * flip)


def test_intervals_hold_and_those_of_the_plain_eigenvalue_do_not() -> None:
    graph = erdos_renyi(200, 5000, 2)
    bits = np.zeros((200, 200), bool)
    bits[tuple(graph.edges.T)] = bits[tuple(graph.edges.T[::-1])] = True
    truth, entries = exact(graph, "spectral_radius"), exact(graph, "eigenvector_centrality")
    found = [spectrum(*noisy(bits, 1.0, seed)) for seed in range(100)]
    errors = np.array([each.radius - truth for each in found])
    deviations = np.sqrt([each.variance for each in found])
    assert abs(errors.mean()) < 4 * errors.std() / 10
    assert 0.88 <= np.mean(np.abs(errors) < 1.96 * deviations) <= 1.0
    assert np.mean([abs(each.seen - truth) < 1.96 * each.variance**0.5 for each in found]) < 0.6
    held = [np.abs(c - entries) < 1.96 * math.sqrt(v) for c, v in (each.centralities for each in found)]
    assert 0.93 <= np.mean(held) <= 0.97
    twins = [np.abs(each.direction - entries) < 1.96 * math.sqrt(each.centralities[1]) / 2 for each in found]
    assert np.mean(twins) < 0.85


def test_it_is_refused_where_noise_hides_it_or_is_uneven() -> None:
    with pytest.raises(BadStatistic, match="not clear of what noise makes"):
        va.estimate(va.VisibilityAwareGraph(erdos_renyi(60, 100, 1)), "position", 0.5, ["spectral_radius"], seed=1)
    halves = np.concatenate([erdos_renyi(40, 400, 1).edges, erdos_renyi(40, 400, 1).edges + 40])
    twice = va.VisibilityAwareGraph(va.read_graph(halves.tolist()))
    with pytest.raises(BadStatistic, match="too near to be told apart"):
        va.estimate(twice, "position", 4, ["spectral_radius"], seed=1)
    public = va.VisibilityAwareGraph(erdos_renyi(60, 900, 1), "profiles:0.5")
    with pytest.raises(BadStatistic, match="the same at every position"):
        va.estimate(public, "position", 2, ["eigenvector_centrality"], seed=1)
    with pytest.raises(TooLarge, match="--top"):
        refuse_uneven(np.ones(9000), "It")


def test_estimates_carry_names_and_intervals() -> None:
    world = va.VisibilityAwareGraph(erdos_renyi(120, 3000, 1))
    found = va.estimate(world, "position", 3, ["spectral_radius", "eigenvector_centrality"], seed=1)
    low, high = found["spectral_radius"].interval()
    assert low < exact(world.graph, "spectral_radius") < high
    assert len(found["eigenvector_centrality"].labels or ()) == 120


@pytest.mark.parametrize("value", [-0.5, 0.0, 1.5])
def test_scores_of_one_value_have_the_eigenvalues_of_a_complete_graph(value: float) -> None:
    scores = value * (1 - np.eye(6))
    assert spectrum(scores, 0.1).seen == pytest.approx(max(5 * value, -value))


def test_scores_of_three_values_are_refused() -> None:
    scores = np.arange(3) + np.arange(3)[:, None] - 2.0 * np.diag(np.arange(3))
    with pytest.raises(BadStatistic, match="more than two values"):
        spectrum(scores, 0.1)
