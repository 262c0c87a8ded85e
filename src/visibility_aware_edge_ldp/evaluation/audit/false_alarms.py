"""How often the auditor rings on mechanisms that keep their promise.  [SHOWN.4]"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from visibility_aware_edge_ldp.evaluation.audit.binomial_limits import tail, upper_limit
from visibility_aware_edge_ldp.evaluation.audit.finding import Finding
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import Pairs, Positions, Shipment
from visibility_aware_edge_ldp.evaluation.audit.statistical import ALPHA, audit
from visibility_aware_edge_ldp.evaluation.audit.statistical_audits import PRIVATE, one_degree, one_round

CORRECT: dict[str, Shipment] = {
    "randomized response": Positions(PRIVATE, one_round),
    "discrete Laplace": Pairs(PRIVATE, one_degree),
}


@dataclass(frozen=True)
class FalseAlarms:
    """How often one auditor rang on one correct mechanism.

    Parameters
    ----------
    mechanism, alpha
        What was audited, and the chance of a ring that the auditor allows itself.
    repeats, rang
        How many audits, each with coins of its own, and how many of them rang.
    at_most
        The chance of a ring is at most this, with 99.9 % confidence.
    """

    mechanism: str
    alpha: float
    repeats: int
    rang: int
    at_most: float

    @property
    def rate(self) -> float:
        """The share of audits that rang."""
        return self.rang / self.repeats

    @property
    def holds(self) -> bool:
        """Whether so many rings are no surprise, at 99.9 %, for a chance of alpha."""
        return tail(self.rang, self.repeats, self.alpha) >= ALPHA

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "rate": self.rate, "holds": self.holds}


def false_alarms(repeats: int = 1000, runs: int = 2000, alpha: float = ALPHA) -> tuple[FalseAlarms, ...]:
    """Audit each correct mechanism so often, with so many runs a side and fresh coins each time."""
    return tuple(_count(name, shipment, repeats, runs, alpha) for name, shipment in CORRECT.items())


def _count(name: str, shipment: Shipment, repeats: int, runs: int, alpha: float) -> FalseAlarms:
    def once(repeat: int) -> Finding:
        return audit(name, [shipment], runs, f"false alarms {repeat}", alpha)

    rang = sum(not once(repeat).holds for repeat in range(repeats))
    return FalseAlarms(name, alpha, repeats, rang, upper_limit(rang, repeats, ALPHA))
