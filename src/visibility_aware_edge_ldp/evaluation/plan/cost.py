"""What a survey costs in bytes and work, before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.hub_plan import MOST_HUBS, hubs_see_everybody
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.by_user import plan_for

# The head of a report, a number in it, and a question: rounded up from the wire format.
_HEAD, _NUMBER, _QUESTION = 48, 8, 400
_WORD = 64


@dataclass(frozen=True)
class Cost:
    """Of one trust model: bytes to and from one reporter on average, and the aggregator's work in machine words."""

    trust: str
    reporters: int
    bytes_up: int
    bytes_down: int
    words: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.trust}: {self.reporters:,} reporting, each sends {self.bytes_up:,} bytes and receives "
            f"{self.bytes_down:,}; the aggregator's work is about {self.words:.1e} words."
        )


def cost_of(world: VisibilityAwareGraph, trust: str, statistics: Sequence[str]) -> Cost:
    """What one survey of all these statistics costs."""
    n, kinds = world.graph.n, len([kind for kind in NON_PUBLIC if kind in world.public.present])
    if trust == "curator":
        return Cost(trust, 1, len(statistics) * (_HEAD + _NUMBER), _QUESTION, world.graph.m)
    if trust == "neighbourhood":
        hubs = hubs_see_everybody(world.public)
        reporters = MOST_HUBS if hubs else n
        # Users report a degree first, and hear everybody's bound before they count.
        return Cost(
            trust,
            reporters,
            _HEAD + 2 * _NUMBER if hubs else 2 * (_HEAD + _NUMBER),
            _QUESTION + (0 if hubs else n * _NUMBER),
            reporters,
        )
    bits = sum(size for kind, size in world.public.class_sizes.items() if kind != Visibility.PUBLIC)
    row = bits // (8 * n) + _HEAD
    over_pairs = (
        n * n * n // _WORD if {"triangles", "transitivity", "four_cycles"} & set(statistics) else n * n // _WORD
    )
    if trust == "position":
        return Cost(trust, n, row, _QUESTION, over_pairs)
    plan = plan_for(statistics, 1, n)
    up = (kinds * _NUMBER + _HEAD if plan.by_degrees else 0) + (row if plan.by_rows else 0)
    up += len(plan.summed) * (2 * _NUMBER + _HEAD)
    # Before they sum, users hear all first answers.
    return Cost(trust, n, up, _QUESTION + (bits // 8 if plan.summed else 0), over_pairs if plan.by_rows else n)
