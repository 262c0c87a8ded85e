"""Edges and degrees: sums of scores.  [COUNTS.1]"""

from __future__ import annotations

from visibility_aware_edge_ldp.subgraphs.scores import AllScores, Floats, score, spread


def edges(scores: AllScores) -> tuple[float, float]:
    """The edge count and its variance."""
    return float(scores.node_sums(score).sum() / 2), float(scores.node_sums(spread).sum() / 2)


def degrees(scores: AllScores) -> tuple[Floats, Floats]:
    """Each node's degree and its variance."""
    return scores.node_sums(score), scores.node_sums(spread)
