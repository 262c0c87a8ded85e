"""The source documents' evaluation: every trust model on the default graph, errors against the truth.

``python -m visibility_aware_edge_ldp.run_evaluation`` prints the tables and writes ``out/``.
"""

import sys
from pathlib import Path

from visibility_aware_edge_ldp.dataset import default_graph
from visibility_aware_edge_ldp.errors import MissingPart
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.trials import evaluate
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.presentation.result_files import write_results
from visibility_aware_edge_ldp.true_ldp import DEMONSTRATION

COMMAND = "python -m visibility_aware_edge_ldp.run_evaluation"


def main(folder: str = "out", trials: int = 5) -> None:
    """Compare POSITION with and without visibility, then a trusted centre; write the report."""
    graph, _ = default_graph()
    print(f"{graph.source}: {graph.n:,} nodes; mean relative error over {trials} trials\n")
    comparison = compare(graph, DEMONSTRATION, trials=trials)
    print(f"POSITION (nobody is trusted; one ε for all statistics together); {comparison.policy}\n{comparison}\n")
    policy = VisibilityPolicy(public_fraction=0.15, friend_visible_fraction=0.35, private_fraction=0.50)
    central = evaluate(VisibilityAwareGraph(graph, policy), "curator", trials=trials, delta="1e-6")
    print(f"CURATOR (a trusted centre; ε and δ = 1e-6 for each statistic); {policy}\n{central}\n")
    try:
        for path in write_results(comparison, Path(folder), COMMAND):
            print(f"Wrote {path}")
    except MissingPart as part:
        print(part, file=sys.stderr)


if __name__ == "__main__":
    main()
