"""What an audit finds: the loss that was claimed beside the loss that was found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

# Sums of logarithms are rounded; a loss may exceed its claim by this part of it.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Loss:
    """The largest loss of one class: for an exact audit all of it, for a statistical one a bound from below.

    Parameters
    ----------
    kind
        The class of the position that differs: ``"PRIVATE"`` or ``"FRIEND_VISIBLE"``.
    claimed, found
        Epsilons; ``found`` is infinite where one of two neighbouring worlds says what the other cannot, and not a
        number where it could not be computed, which never holds.
    claimed_delta, found_delta
        Deltas; the found one contains all probability that was not walked.
    """

    kind: str
    claimed: float
    found: float
    claimed_delta: float = 0.0
    found_delta: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether no more was found than was claimed."""
        return self.found <= self.claimed * (1 + ROUNDING) and self.found_delta <= self.claimed_delta * (1 + ROUNDING)

    @property
    def exceeds(self) -> bool:
        """Whether more was found than was claimed; what is not a number neither holds nor exceeds."""
        numbers = self.claimed, self.found, self.claimed_delta, self.found_delta
        return not self.holds and not any(map(math.isnan, numbers))


@dataclass(frozen=True)
class Finding:
    """One mechanism or protocol, audited in one way.

    Parameters
    ----------
    name
        What was audited, such as ``"user triangles"``.
    way
        ``"exact"``, ``"statistical"``, ``"one run"`` or ``"time"``.
    losses
        One for each class.
    cases
        How many pairs of neighbouring worlds, or how many runs a side.
    about
        One sentence: what was walked, or which event told most.
    """

    name: str
    way: str
    losses: tuple[Loss, ...]
    cases: int
    about: str

    @property
    def holds(self) -> bool:
        """Whether every class keeps its claim; an audit of nothing shows nothing."""
        return self.looked and all(loss.holds for loss in self.losses)

    @property
    def caught(self) -> bool:
        """Whether some class was seen to lose more than its claim."""
        return self.looked and any(loss.exceeds for loss in self.losses)

    @property
    def looked(self) -> bool:
        """Whether there was something to look at."""
        return bool(self.losses) and self.cases > 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "holds": self.holds}


def largest(values: Iterable[float]) -> float:
    """The largest of these; not a number if one of them is not, in whatever order they come."""
    found = list(values)
    return math.nan if any(map(math.isnan, found)) else max(found)


@dataclass(frozen=True)
class Audit:
    """An audit that can be run: of the real code, or of a broken twin of it, which must be caught.

    Parameters
    ----------
    name, way
        As on the finding.
    run
        Does it.
    broken
        Of a twin, what is wrong with it and where that was seen; empty for the real code.
    """

    name: str
    way: str
    run: Callable[[], Finding]
    broken: str = ""
