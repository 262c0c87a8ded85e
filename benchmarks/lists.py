"""USER and NEIGHBOURHOOD on real graphs: errors over 20 collections, and how long one takes.

VA_EDGE_LDP_DATA=folder python -m benchmarks.lists
"""

from __future__ import annotations

import sys
import time

from benchmarks.timing import dataset
from visibility_aware_edge_ldp.evaluation.trials import evaluate
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.readers import read_graph

TRIALS = 20
BY_DEGREES = ["edges", "stars:2", "stars:3", "max_degree"]


def main() -> int:
    """Print the tables."""
    facebook, actors = dataset("facebook_combined.txt.gz"), dataset("imdb-actors-c20.edges.txt.gz")
    if facebook is None or actors is None:
        print("VA_EDGE_LDP_DATA does not name a folder with the Facebook and IMDb graphs; nothing was measured")
        return 0
    user_errors(VisibilityAwareGraph(read_graph(facebook), VisibilityPolicy.nothing()))
    user_time(VisibilityAwareGraph(read_graph(actors), VisibilityPolicy.nothing()))
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
    for epsilon in (0.5, 1, 2):
        user, position = (
            evaluate(world, trust, [epsilon], 5, ["four_cycles"], seed=11)[0] for trust in ("user", "position")
        )
        print(
            f"  epsilon {epsilon:g}, 4-cycles, 5 trials: {user.mean_relative_error:.1%} in two rounds, "
            f"{position.mean_relative_error:.1%} in one (POSITION)",
            flush=True,
        )


def user_time(world: VisibilityAwareGraph) -> None:
    """All statistics of degrees of many users, after start-up."""
    estimate(world, "user", 1, ["edges"], seed=1)
    started = time.perf_counter()
    estimate(world, "user", 1, [*BY_DEGREES, "degree_histogram"], seed=2)
    print(f"USER, {world.graph.n:,} users: degree statistics in {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    sys.exit(main())
