"""POSITION, the source documents' "true LDP": every position randomizes its own bit.

``python -m visibility_aware_edge_ldp.true_ldp`` estimates on the default graph.
"""

from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.dataset import default_graph
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.simulation.estimate import estimate

DEMONSTRATION = VisibilityPolicy.public_profiles("0.5")


def run(world: VisibilityAwareGraph, epsilon: Number = 1, **options: Any) -> Answers:
    """Estimates for one epsilon in total; options as in :func:`visibility_aware_edge_ldp.estimate`."""
    return estimate(world, "position", epsilon, **options)


def main() -> None:
    """Estimate on the default graph, half of whose users have public friend lists."""
    graph, _ = default_graph()
    print(f"{graph.source}: {graph.n:,} nodes, ε = 1 for all statistics together\n")
    print(run(VisibilityAwareGraph(graph, DEMONSTRATION)))


if __name__ == "__main__":
    main()
