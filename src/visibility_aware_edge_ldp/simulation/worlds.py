"""What certificates say of a simulated world."""

from __future__ import annotations

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph

MOST_COUNTED = 200_000_000
POLICY_ASSUMPTION = "which positions are public follows from public knowledge alone"
ROSTER_ASSUMPTION = "the list of nodes is public knowledge"


def check_world(world: object) -> None:
    """A graph alone does not say who may know what."""
    if not isinstance(world, VisibilityAwareGraph):
        raise BadInput(
            f"A world is needed, not a {type(world).__name__}: wrap the graph, as in "
            "va.VisibilityAwareGraph(graph, va.VisibilityPolicy.nothing())."
        )


def positions_per_class(world: VisibilityAwareGraph) -> dict[str, int]:
    """Positions per class, counted where there are not too many to look at each."""
    if world.public.positions > MOST_COUNTED:
        return {}
    return {str(kind): size for kind, size in world.public.class_sizes.items() if size}


def assumptions_of(world: VisibilityAwareGraph) -> tuple[str, ...]:
    """What must be public knowledge for the promise to hold."""
    return POLICY_ASSUMPTION, ROSTER_ASSUMPTION, *world.policy.assumptions, *world.graph.assumptions
