"""The Merkle tree of a closed round, kept whole so that a proof costs a few look-ups; and what its root refuses."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from visibility_aware_edge_ldp.campaign import merkle
from visibility_aware_edge_ldp.campaign.server.store import Leaf, Stage, StoreDamaged


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


def merkle_root(leaves: Sequence[Leaf]) -> str:
    """The root of a round's uploads."""
    return merkle.root([merkle.leaf(participant, digest.hex()) for participant, digest in leaves]).hex()


def refuse_damage(stage: Stage, leaves: Sequence[Leaf], bodies: Mapping[int, bytes]) -> None:
    """The kept reports must be those that receipts were given for, and that the root names."""
    if merkle_root(leaves) != stage.root or len(leaves) != stage.included:
        raise StoreDamaged("The kept digests are not the ones that were frozen. Restore the store from a copy.")
    if [participant for participant, _ in leaves] != list(bodies):
        raise StoreDamaged("Reports are missing from the store. Restore the store from a copy.")
    if any(hashlib.sha256(bodies[participant]).digest() != digest for participant, digest in leaves):
        raise StoreDamaged("A kept report is not the one that was acknowledged. Restore the store from a copy.")
