"""USER and NEIGHBOURHOOD on the Facebook graph: errors over 20 collections.

VA_EDGE_LDP_DATA=folder python -m benchmarks.lists
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import dataset
from visibility_aware_edge_ldp.evaluation.trials import evaluate
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.attributes import read_attributes
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

TRIALS = 20
BY_DEGREES = ["edges", "stars:2", "stars:3", "max_degree"]


def main() -> int:
    """Print the tables."""
    facebook, profiles = dataset("facebook_combined.txt.gz"), dataset("facebook_profile.csv.gz")
    if facebook is None or profiles is None:
        print("VA_EDGE_LDP_DATA does not name a folder with the Facebook files; nothing was measured")
        return 0
    user_errors(VisibilityAwareGraph(read_graph(facebook), VisibilityPolicy.nothing()))
    neighbourhood_errors(read_graph(facebook), profiles)
    return 0


def user_errors(world: VisibilityAwareGraph) -> None:
    """Everything private: degrees and triangles, each with the whole epsilon, and 4-cycles against one round."""
    print(f"USER, {world.graph.n:,} users, nothing public, {TRIALS} trials, mean relative error and seconds")
    for epsilon in (0.5, 1, 2):
        rows = [
            *evaluate(world, "user", [epsilon], TRIALS, BY_DEGREES, seed=11),
            *evaluate(world, "user", [epsilon], TRIALS, ["triangles"], seed=11),
        ]
        errors = ", ".join(f"{row.statistic} {row.mean_relative_error:.2%}" for row in rows)
        print(f"  epsilon {epsilon:g} per edge: {errors}; triangles in {rows[-1].seconds:.2f} s", flush=True)
    truth = exact(world.graph, "four_cycles")
    for epsilon in (0.5, 1, 2):
        user, position = (
            np.mean([cycles(world, trust, epsilon, seed) for seed in range(3)]) for trust in ("user", "position")
        )
        print(
            f"  epsilon {epsilon:g}, 4-cycles, relative standard error: {user / truth:.1%} in two rounds, "
            f"{position / truth:.1%} in one (POSITION)",
            flush=True,
        )


def cycles(world: VisibilityAwareGraph, trust: str, epsilon: float, seed: int) -> float:
    """The standard error of one run."""
    return float(estimate(world, trust, epsilon, ["four_cycles"], seed=seed)["four_cycles"].standard_error)


def neighbourhood_errors(graph: Graph, profiles: Path) -> None:
    """The ten egos as public hubs, and everybody with bought bounds."""
    egos = dict(read_attributes(profiles).where("is_ego == 1"))
    hubs = VisibilityAwareGraph(graph, VisibilityPolicy.from_profiles(egos, rule="any"))
    private = VisibilityAwareGraph(graph, VisibilityPolicy.nothing())
    ways: list[tuple[str, VisibilityAwareGraph, dict[str, Any]]] = [
        ("ten egos are hubs, shared positions", hubs, {"reporters": "hubs"}),
        ("ten egos are hubs, plain", hubs, {"reporters": "plain hubs"}),
        ("every user, pure", private, {"reporters": "users"}),
        ("every user, delta 1e-6", private, {"reporters": "users", "delta": "1e-6"}),
    ]
    print(f"NEIGHBOURHOOD, triangles, {TRIALS} trials, mean relative error at epsilon 0.5 / 1 / 2")
    for name, world, options in ways:
        rows = evaluate(world, "neighbourhood", [0.5, 1, 2], TRIALS, ["triangles"], seed=11, **options)
        print(f"  {name}: " + " / ".join(f"{row.mean_relative_error:.2%}" for row in rows), flush=True)


if __name__ == "__main__":
    sys.exit(main())
