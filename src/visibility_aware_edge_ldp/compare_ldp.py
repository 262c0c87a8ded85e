"""Visibility-aware against uniform.

``python -m visibility_aware_edge_ldp.compare_ldp`` compares them on the default graph.
"""

from visibility_aware_edge_ldp.dataset import default_graph
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.results import Comparison
from visibility_aware_edge_ldp.true_ldp import DEMONSTRATION

__all__ = ["Comparison", "compare", "main"]


def main() -> None:
    """Compare on the default graph, five trials a cell."""
    graph, _ = default_graph()
    print(f"{graph.source}: {graph.n:,} nodes; mean relative error over 5 trials\n")
    print(compare(graph, DEMONSTRATION, epsilons=(0.5, 1, 2, 4), trials=5))


if __name__ == "__main__":
    main()
