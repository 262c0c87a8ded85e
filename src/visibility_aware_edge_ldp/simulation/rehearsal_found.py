"""What a rehearsal found: the campaign's estimates beside the truth, who answered, and where the time went."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from visibility_aware_edge_ldp.campaign.charter import Charter


@dataclass(frozen=True)
class Found:
    """One statistic: the campaign's estimate, and the truth, which only the rehearsal knows."""

    statistic: str
    estimate: float
    standard_error: float | None
    low: float
    high: float
    truth: float

    @classmethod
    def of(cls, statistic: str, said: Mapping[str, Any], truth: float) -> Found:
        """What the answers say of a statistic; an end of its interval that they leave out is infinitely far."""
        low, high = said["interval"]
        ends = -math.inf if low is None else low, math.inf if high is None else high
        return cls(statistic, said["value"], said["standard_error"], *ends, truth)

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


@dataclass(frozen=True)
class Turnout:
    """How many people a round asked, and how many answered."""

    asked: int
    answered: int


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal found."""

    charter: Charter = field(repr=False)
    answers: dict[str, Any] = field(repr=False)
    same: bool
    found: tuple[Found, ...]
    turnout: tuple[Turnout, ...]
    seconds: Mapping[str, float]
    processes: int
    sent: float
    received: float

    @property
    def reports_per_second(self) -> float:
        """How many reports were made, sent and stored in a second, while people answered."""
        spent = sum(self.seconds[name] for name in self.seconds if name.startswith("round"))
        return sum(each.answered for each in self.turnout) / spent if spent else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "campaign": self.charter.identity,
            "question": self.charter.question,
            "participants": self.charter.nodes,
            "processes": self.processes,
            "rounds": [vars(each) for each in self.turnout],
            "seconds": dict(self.seconds),
            "reports_per_second": self.reports_per_second,
            "octets_per_participant": {"sent": self.sent, "received": self.received},
            "same_as_counted_here": self.same,
            "found": [{**vars(each), "covered": each.covered} for each in self.found],
            "answers": self.answers,
        }
