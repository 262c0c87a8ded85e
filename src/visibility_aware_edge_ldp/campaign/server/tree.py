"""The Merkle tree of a closed round, kept whole so that a proof costs a few look-ups."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from visibility_aware_edge_ldp.campaign import merkle
from visibility_aware_edge_ldp.campaign.server.store import Leaf


@dataclass(frozen=True)
class Proof:
    """Where a participant's upload stands among how many, and the hashes that lead from it to the root."""

    index: int
    count: int
    digest: str
    siblings: list[str]


@dataclass(frozen=True)
class Tree:
    """All hashes of a round, level by level."""

    participants: list[int]
    digests: list[bytes] = field(repr=False)
    levels: list[list[bytes]] = field(repr=False)

    @classmethod
    def of(cls, leaves: Sequence[Leaf]) -> Tree:
        data = [merkle.leaf(participant, digest.hex()) for participant, digest in leaves]
        levels = merkle.levels_of(data) if data else []
        return cls([participant for participant, _ in leaves], [digest for _, digest in leaves], levels)

    def proof(self, participant: int) -> Proof | None:
        """None for somebody whose upload is not included."""
        index = bisect_left(self.participants, participant)
        if index == len(self.participants) or self.participants[index] != participant:
            return None
        place, siblings = index, []
        for level in self.levels[:-1]:
            if place ^ 1 < len(level):
                siblings.append(level[place ^ 1].hex())
            place >>= 1
        return Proof(index, len(self.participants), self.digests[index].hex(), siblings)
