"""Uniform edge-LDP, the baseline: the same system with a policy that makes nothing public.

``python -m visibility_aware_edge_ldp.uniform_ldp`` estimates on the default graph.
"""

from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.dataset import default_graph
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.simulation.estimate import estimate


def run(graph: Any, epsilon: Number = 1, **options: Any) -> Answers:
    """Estimates for one epsilon in total, everything private; a world's own policy is set aside."""
    plain = graph.graph if isinstance(graph, VisibilityAwareGraph) else graph
    return estimate(VisibilityAwareGraph(plain, VisibilityPolicy.nothing()), "position", epsilon, **options)


def main() -> None:
    """Estimate on the default graph."""
    graph, _ = default_graph()
    print(f"{graph.source}: {graph.n:,} nodes, ε = 1 for all statistics together\n")
    print(run(graph))


if __name__ == "__main__":
    main()
