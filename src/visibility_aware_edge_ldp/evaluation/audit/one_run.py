"""Many canaries in one run: how well can a crowd of random bits be guessed from one collection?  [SHOWN.3]

After Steinke, Nasr and Jagielski (2023), for pure promises, where the proof is short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.audit.binomial_limits import lower_limit
from visibility_aware_edge_ldp.evaluation.audit.events import Columns, Grid, candidates, total_score
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import Bits, Pairs, Positions, Shipment, fresh_coins
from visibility_aware_edge_ldp.evaluation.audit.statistical import ALPHA, MOST_TO_CHOOSE
from visibility_aware_edge_ldp.evaluation.audit.statistical_audits import KINDS, one_degree, one_round, two_rounds


@dataclass(frozen=True)
class Guesses:
    """How many canaries were guessed, how many of them rightly, and the loss that this shows."""

    made: int
    right: int
    epsilon: float


def guess(secrets: Bits, sent: Columns, alpha: float = ALPHA) -> Guesses:
    """Guess each bit from what was sent about it, or abstain; the first ones only teach how.  [SHOWN.3]"""
    taught = min(secrets.size // 4, MOST_TO_CHOOSE)
    grids, least = _learn(secrets[:taught], sent[:taught], alpha)
    scores, truth = total_score(grids, sent[taught:]), secrets[taught:]
    sure = np.abs(scores) >= least
    made, right = int(sure.sum()), int(((scores > 0) == truth)[sure].sum())
    return Guesses(made, right, _shown(right, made, alpha))


def audit(name: str, shipments: list[Shipment], canaries: int, seed: str = "one run", alpha: float = ALPHA) -> Finding:
    """One collection for each class, in which every world's bit is a canary, set by a coin."""
    losses, told = [], []
    for shipment in shipments:
        if shipment.claimed.delta:
            raise BadInput("Canaries are counted for pure promises only; this one has a delta. Use two worlds.")
        drawn = np.frombuffer(fresh_coins(seed, "canaries", str(shipment.kind))((canaries + 7) // 8), np.uint8)
        secrets = np.unpackbits(drawn, count=canaries).view(np.bool_)
        found = guess(secrets, shipment.send(secrets, seed), alpha / len(shipments))
        losses.append(Loss(str(shipment.kind), float(shipment.claimed.epsilon), found.epsilon))
        told.append(f"{found.right:,} of {found.made:,} guesses were right ({shipment.kind})")
    return Finding(name, "one run", tuple(losses), canaries, f"{canaries:,} canaries in one run; {', '.join(told)}")


def _learn(secrets: Bits, sent: Columns, alpha: float) -> tuple[tuple[Grid, ...], float]:
    """How to score, from one half of these canaries, and when to be sure, from the other."""
    half = secrets.size // 2
    there = secrets[:half]
    ways = [
        (_promise(grids, secrets[half:], sent[half:], alpha), grids)
        for grids in candidates(sent[:half][~there], sent[:half][there])
    ]
    (_, least), grids = max(ways, key=lambda way: way[0][0])
    return grids, least


def _promise(grids: tuple[Grid, ...], secrets: Bits, sent: Columns, alpha: float) -> tuple[float, float]:
    """The largest bound that these canaries give, and from which score on one has to be sure for it."""
    scores = total_score(grids, sent)
    order = np.argsort(-np.abs(scores), kind="stable")
    sizes, right = np.abs(scores)[order], np.cumsum(((scores > 0) == secrets)[order])
    ends = np.flatnonzero(np.append(sizes[1:] != sizes[:-1], True))
    made = ends + 1
    # Hoeffding's bound is simple, and only the choice rests on it.
    rate = right[ends] / made - np.sqrt(-math.log(alpha) / (2 * made))
    best = int(np.argmax(rate))
    return float(rate[best]), float(sizes[ends[best]])


def _shown(right: int, made: int, alpha: float) -> float:
    """The loss of a channel that lets so many guesses be right."""
    rate = lower_limit(right, made, alpha) if made else 0.0
    return max(0.0, math.log(rate / (1 - rate))) if rate > 0 else 0.0


def audits(canaries: int) -> tuple[Audit, ...]:
    """The audits with so many canaries."""
    crowds: dict[str, list[Shipment]] = {
        "position, one round": [Positions(kind, one_round) for kind in KINDS],
        "position, two rounds": [Positions(kind, two_rounds) for kind in KINDS],
        "user degrees": [Pairs(kind, one_degree) for kind in KINDS],
    }
    return tuple(Audit(name, "one run", partial(audit, name, crowd, canaries)) for name, crowd in crowds.items())


AUDITS = audits(10**6)
