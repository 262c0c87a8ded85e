"""What an aggregator keeps: the state of each round, one upload of each participant, and what was made of them."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from visibility_aware_edge_ldp.campaign.server.arrivals import Arrived, Slot
from visibility_aware_edge_ldp.errors import VaEdgeLdpError


class StoreUnavailable(VaEdgeLdpError):  # noqa: N818
    """The store cannot be reached or written; nothing that was sent meanwhile has been acknowledged."""


class StoreDamaged(VaEdgeLdpError):  # noqa: N818
    """What the store holds is not what was frozen."""


class State(enum.StrEnum):
    """The states of a round, in the order in which it passes through them."""

    WAITING = "waiting"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"
    ESTIMATED = "estimated"


class Outcome(enum.Enum):
    """What became of an upload. STORED and SAME are said only after the commit is on disk."""

    STORED = "stored"
    SAME = "the same bytes were stored before"
    OTHER = "other bytes were stored before; the first stand"
    LATE = "the round takes no more reports"
    EARLY = "the round is not open yet"


@dataclass(frozen=True)
class Upload:
    """One report of one participant for one round; of the slot that it came in, the store keeps the count alone."""

    round: int
    participant: int
    body: bytes = field(repr=False)
    digest: bytes
    slot: Slot | None = field(default=None, repr=False)

    @classmethod
    def of(cls, number: int, participant: int, body: bytes, slot: Slot | None = None) -> Upload:
        return cls(number, participant, body, hashlib.sha256(body).digest(), slot)

    @property
    def key(self) -> tuple[int, int]:
        return self.round, self.participant


@dataclass(frozen=True)
class Stage:
    """One round: its state and, once it takes no more reports, how many it has and their Merkle root."""

    round: int
    state: State
    included: int = 0
    root: str = ""
    transcript: str = ""


Leaf = tuple[int, bytes]  # a participant and the digest of its upload
RootOf = Callable[[Sequence[Leaf]], str]


class Store(Protocol):
    """Used by one thread alone. Every method is one transaction, and is on disk when it returns."""

    def put(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """Keep the first upload of each participant in each round, and count those that are new in their slots."""

    def digest(self, number: int, participant: int) -> bytes | None:
        """The digest of what a participant sent."""

    def stages(self) -> tuple[Stage, ...]:
        """Every round as it is now."""

    def received(self) -> dict[int, int]:
        """How many reports each round has."""

    def arrivals(self) -> list[Arrived]:
        """How many reports came in each slot of each round."""

    def freeze(self, number: int, root_of: RootOf) -> Stage:
        """From open to closing: no report comes in after this, and the root says which are in."""

    def settle(self, number: int, transcript: bytes, digest: str, opens_next: bool) -> None:
        """From closing to closed, with what everybody hears of the round."""

    def leaves(self, number: int) -> list[Leaf]:
        """Every participant that sent a report, in order, and the report's digest."""

    def bodies(self, number: int) -> dict[int, bytes]:
        """The reports of a round, in order; empty once they are erased."""

    def transcript(self, number: int) -> bytes:
        """What everybody hears of a round; empty where there is nothing to hear, and once reports are erased."""

    def keep_estimate(self, estimate: bytes, made: int) -> None:
        """From closed to estimated, at this second; the first estimate stands."""

    def estimate(self) -> bytes | None:
        """The answers, once there are any."""

    def estimated_at(self) -> int | None:
        """When they were made, in seconds of Unix time."""

    def has_bodies(self) -> bool:
        """Whether any report is more than its digest, or the transcript that holds the first ones is there."""

    def forget_bodies(self, at: int) -> None:
        """Leave of every report the digest only, and nothing of the transcript; from this second on they are erased."""

    def erased_at(self) -> int | None:
        """When reports were erased, in seconds of Unix time."""

    def close(self) -> None:
        """Let go of it."""
