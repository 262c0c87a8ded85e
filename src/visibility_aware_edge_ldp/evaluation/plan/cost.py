"""What a survey costs in bytes and work, before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import nan
from typing import Any

from visibility_aware_edge_ldp.evaluation.plan.left_out import ALL, LeftOut
from visibility_aware_edge_ldp.evaluation.plan.predicted import offers
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.hub_plan import MOST_HUBS, hubs_see_everybody
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.by_user import plan_for

# The wire format: what a user's report has beside its numbers (a second one of rows also names the transcript), and a
# hub's; a number; the answer of a centre; and about a question.
_HEAD, _ROW_HEAD, _HUB_HEAD, _NUMBER, _CENTRAL, _QUESTION = 55, 86, 39, 8, 93, 400
_SAMPLED_HEAD = _HEAD + _NUMBER
_WORD = 64


@dataclass(frozen=True)
class Cost:
    """Of one trust model: bytes to and from one reporter on average, and the aggregator's work in machine words."""

    trust: str
    reporters: int
    bytes_up: int
    bytes_down: int
    words: int
    seconds: float = nan
    """How long a run of all of it, with everybody simulated, would take on this machine."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: None if value != value else value for name, value in asdict(self).items()}

    def __str__(self) -> str:
        return (
            f"{self.trust}: {self.reporters:,} reporting, each sends {self.bytes_up:,} bytes and receives "
            f"{self.bytes_down:,}; the aggregator's work is about {self.words:.1e} words."
        )


def cost_of(world: VisibilityAwareGraph, trust: str, statistics: Sequence[str], without: LeftOut = ALL) -> Cost:
    """What one survey of all these statistics costs."""
    n, kinds = world.graph.n, len([kind for kind in NON_PUBLIC if kind in world.public.present])
    if trust == "curator":
        asked = [name for name in statistics if offers(trust, name)]
        return Cost(trust, 1, len(asked) * _CENTRAL, _QUESTION, world.graph.m)
    if trust == "neighbourhood":
        return _neighbourhood(world, kinds)
    # A row's positions, twice: which answered, and what; everybody's together are the transcript.
    row, transcript = _HEAD + 2 * ((n - 1) // 16 + 1), 2 * (n * (n - 1) // 16 + 1)
    cubic = {"triangles", "transitivity", "four_cycles"} & set(statistics)
    over_pairs = n**3 // _WORD if cubic else n * n // _WORD
    if trust == "position":
        return _position(n, row, over_pairs, bool(cubic), without)
    plan = plan_for(statistics, 1, n)
    up = (kinds * _NUMBER + _HEAD if plan.by_degrees else 0) + (row if plan.by_rows else 0)
    up += len(plan.summed) * (_ROW_HEAD + 2 * _NUMBER)
    # Before they sum, users hear all first answers.
    return Cost(trust, n, up, _QUESTION + (transcript if plan.summed else 0), over_pairs if plan.by_rows else n)


def _position(n: int, row: int, words: int, cubic: bool, without: LeftOut) -> Cost:
    """With a sample, two bits for each drawn position of a row; lists are walked where that is less.  [SAMPLE.5]"""
    rate = float(without.positions)
    if rate == 1:
        return Cost("position", n, row, _QUESTION, round(words * (without.work or 1.0)) if cubic else words)
    drawn = rate * (n - 1)
    walked = drawn * n / 2 * (drawn / 3 if cubic else 1)
    return Cost("position", n, _SAMPLED_HEAD + 2 * (int(drawn) // 16 + 1), _QUESTION, min(words, round(walked)))


def _neighbourhood(world: VisibilityAwareGraph, kinds: int) -> Cost:
    """Hubs send one count and one of loose edges. Users report a degree first, and hear everybody's bound."""
    if hubs_see_everybody(world.public):
        return Cost("neighbourhood", MOST_HUBS, _HUB_HEAD + 2 * _NUMBER, _QUESTION, MOST_HUBS)
    n = world.graph.n
    up = _HEAD + kinds * _NUMBER + _HEAD + _NUMBER
    return Cost("neighbourhood", n, up, _QUESTION + n * _NUMBER, n)
