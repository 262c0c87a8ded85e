"""A bound from below on the loss, from the bytes that would leave clients in two neighbouring worlds.  [SHOWN.1-2]"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from visibility_aware_edge_ldp.evaluation.audit.binomial_limits import lower_limit, upper_limit
from visibility_aware_edge_ldp.evaluation.audit.events import Columns, choose_event
from visibility_aware_edge_ldp.evaluation.audit.finding import Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import Shipment

ALPHA = 0.001
"""The chance that an audit rings although every claim holds, for a whole finding."""
# So many runs, and at most a quarter of them, choose the event and are not counted.
MOST_TO_CHOOSE = 200_000


@dataclass(frozen=True)
class Bound:
    """What was shown of one pair of worlds: an event and its limits in the two.

    ``low`` is a limit from below in the world where it is likely, ``high`` one from above in the other.
    """

    epsilon: float
    low: float
    high: float
    reverse: bool


def lower_bound(without: Columns, with_edge: Columns, delta: float = 0.0, alpha: float = ALPHA) -> Bound:
    """No mechanism with a smaller loss sends such bytes, but for a chance of ``alpha``.  [SHOWN.2]

    The first runs choose the event; the others are counted.
    """
    pilot = min(len(without) // 4, MOST_TO_CHOOSE)
    event = choose_event(without[:pilot], with_edge[:pilot], delta, alpha / 2)
    likely, rare = (without, with_edge) if event.reverse else (with_edge, without)
    low = lower_limit(event.happened(likely[pilot:]), len(likely) - pilot, alpha / 2)
    high = upper_limit(event.happened(rare[pilot:]), len(rare) - pilot, alpha / 2)
    shown = math.log((low - delta) / high) if low > delta else 0.0
    return Bound(max(shown, 0.0), low, high, event.reverse)


def audit(
    name: str, shipments: Sequence[Shipment], runs: int, seed: str = "audit", alpha: float = ALPHA, why: str = ""
) -> Finding:
    """The bounds of several pairs of worlds, all of them together at one ``alpha``; per class the largest counts.

    ``why`` says why there are fewer runs than were asked for.
    """
    bounds = [(each, _ship(each, runs, seed, alpha / len(shipments))) for each in shipments]
    losses = tuple(_worst([pair for pair in bounds if str(pair[0].kind) == kind]) for kind in _kinds(shipments))
    _, told = max(bounds, key=lambda pair: pair[1].epsilon)
    there, gone = ("without", "with") if told.reverse else ("with", "without")
    about = (
        f"{runs:,} runs a side{why and f' ({why})'}; the event that told most has probability ≥ {told.low:.4g} "
        f"{there} the edge and ≤ {told.high:.4g} {gone} it"
    )
    return Finding(name, "statistical", losses, runs, about)


def _ship(shipment: Shipment, runs: int, seed: str, alpha: float) -> Bound:
    without, with_edge = (shipment.send(np.full(runs, edge), f"{seed} {edge}") for edge in (False, True))
    return lower_bound(without, with_edge, float(shipment.claimed.delta), alpha)


def _kinds(shipments: Sequence[Shipment]) -> list[str]:
    return list(dict.fromkeys(str(each.kind) for each in shipments))


def _worst(bounds: Sequence[tuple[Shipment, Bound]]) -> Loss:
    """The loss of one class: the pair of worlds that comes closest to its claim, or goes farthest beyond it."""
    shipment, bound = max(bounds, key=lambda pair: pair[1].epsilon / float(pair[0].claimed.epsilon))
    delta = float(shipment.claimed.delta)
    return Loss(str(shipment.kind), float(shipment.claimed.epsilon), bound.epsilon, delta, delta)
