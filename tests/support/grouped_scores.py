"""Scores of one simulated collection, by kinds of nodes and as planes."""

from __future__ import annotations

from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.scores import Scores
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

POLICIES = {
    "nothing": VisibilityPolicy.nothing(),
    "both": VisibilityPolicy.public_profiles("0.5", rule="both"),
    "any": VisibilityPolicy.public_profiles("0.3", rule="any"),
}


def collected(n: int, policy: VisibilityPolicy, epsilon: int = 1, seed: int = 3) -> PositionCollection:
    """Everybody's answers on a graph with a power law."""
    world = VisibilityAwareGraph(powerlaw(n, 4 * n, seed=1), policy)
    return collect(world, position_survey(world.public, epsilon), seed)


def both_kinds(n: int, policy: VisibilityPolicy) -> tuple[Scores, GroupScores]:
    """The scores of one collection as planes and by kinds of nodes."""
    collection = collected(n, policy)
    found = collection.group_scores()
    assert found is not None
    return collection.scores(), found
