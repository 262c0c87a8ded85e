"""How accurate the estimates of the real Facebook graph are, in the settings of the source documents.

VA_EDGE_LDP_DATA=folder python -m benchmarks.accuracy
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.timing import dataset
from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.evaluation.trials import evaluate
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.curator import QUERIES, curator_survey
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

DOCUMENT_001 = VisibilityPolicy("0.15", "0.35", "0.5")
DRAWS = 1000


def main() -> int:
    """Print the tables."""
    path = dataset("facebook_combined.txt.gz")
    if path is None:
        print("VA_EDGE_LDP_DATA does not name a folder with facebook_combined.txt.gz; nothing was measured")
        return 0
    graph = read_graph(path)
    document_003(graph)
    triangle_deviation(graph)
    curator(graph)
    return 0


def document_003(graph: Graph) -> None:
    """POSITION on the 300 highest-degree nodes, 33.1 % of positions public, one epsilon for all statistics."""
    world = VisibilityAwareGraph(graph.highest_degree(300), VisibilityPolicy("0.331"))
    wanted = ["edges", "max_degree", "triangles", "stars:2", "stars:3"]
    print("POSITION, 300 nodes, 33.1 % public, 40 trials, mean relative error: " + " / ".join(wanted))
    for epsilon in (0.5, 1, 2, 4):
        one = evaluate(world, epsilons=[epsilon], trials=40, statistics=wanted, seed=7)
        two = evaluate(world, epsilons=[epsilon], trials=40, statistics=wanted, seed=7, rounds=2)
        capped = evaluate(
            world, epsilons=[epsilon], trials=40, statistics=wanted, seed=7, rounds=2, estimator="ipw_capped"
        )
        for name, found in (("one round", one), ("two rounds", two), ("ipw_capped", capped)):
            errors = " / ".join(f"{row.mean_relative_error:.1%}" for row in found)
            print(f"  epsilon {epsilon:<4g} {name:<11} {errors}")


def triangle_deviation(graph: Graph) -> None:
    """POSITION on all nodes: the triangles' estimated relative standard error at epsilon 1."""
    policies = {
        "everything private": VisibilityPolicy.nothing(),
        "half the users public": VisibilityPolicy.public_profiles("0.5"),
    }
    for name, policy in policies.items():
        world = VisibilityAwareGraph(graph, policy)
        runs = [estimate(world, epsilon=1, statistics=["triangles"], seed=seed)["triangles"] for seed in range(20)]
        error = np.mean([run.standard_error for run in runs]) / exact(graph, "triangles")
        print(f"POSITION, all nodes, {name}: relative standard error of triangles {error:.2%} at epsilon 1")


def curator(graph: Graph) -> None:
    """CURATOR at epsilon 1 for each query: mean relative error over draws of the noise, and what the policy gains."""
    print(f"CURATOR, all nodes, epsilon 1 each, mean relative error over {DRAWS} draws: " + " / ".join(QUERIES))
    for delta in ("1e-6", "0"):
        errors = {
            name: mean_errors(VisibilityAwareGraph(graph, policy), delta)
            for name, policy in (("nothing public", VisibilityPolicy.nothing()), ("15/35/50 %", DOCUMENT_001))
        }
        for name, found in errors.items():
            print(f"  delta {delta:<5} {name:<15} " + " / ".join(f"{error:.4%}" for error in found))
        gains = (a / b for a, b in zip(*errors.values(), strict=True))
        print(f"  delta {delta:<5} gain            " + " / ".join(f"{gain:.3f}×" for gain in gains))


def mean_errors(world: VisibilityAwareGraph, delta: str) -> list[float]:
    """Mean relative error of each query, over draws of its own noise law."""
    centre = Curator(WholeGraph(world.graph.n, world.graph.edges), world.public, Purse({}))
    errors = []
    for query in curator_survey(world.public, 1, delta, QUERIES).queries:
        coins = keyed_coins(seeded_key("draws", query.statistic))
        law = centre.law(query)
        drawn = law.sample_many(DRAWS, coins) if law is not None else np.zeros(DRAWS)
        errors.append(float(np.abs(drawn).mean()) / exact(world.graph, query.statistic))
    return errors


if __name__ == "__main__":
    sys.exit(main())
