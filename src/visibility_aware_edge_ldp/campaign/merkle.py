"""A tree of hashes over the uploads of a round: its root names them all, a short proof shows one.  [CHARTER.7]

Hashing is RFC 6962's: SHA-256, with 0x00 before a leaf and 0x01 before a node, so that neither passes for the other.
The root is the hash of 0x02, how many leaves there are, and the tree's top: so a proof also shows of how many.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from visibility_aware_edge_ldp.errors import BadInput

Level = list[bytes]


def leaf(participant: int, digest: str) -> bytes:
    """What stands for one upload: eight octets of the participant's number, then the upload's SHA-256."""
    return participant.to_bytes(8, "big") + bytes.fromhex(digest)


def root(leaves: Sequence[bytes]) -> bytes:
    """The hash that names all leaves in their order, and how many there are."""
    return _of_all(len(leaves), top(leaves))


def top(leaves: Sequence[bytes]) -> bytes:
    """The top of RFC 6962's tree; of no leaves, SHA-256 of nothing."""
    return levels_of(leaves)[-1][0] if leaves else hashlib.sha256().digest()


def proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The siblings on the way from a leaf to the root."""
    if not 0 <= index < len(leaves):
        raise BadInput(f"There are {len(leaves):,} leaves; there is no number {index}.")
    found = []
    for level in levels_of(leaves)[:-1]:
        if index ^ 1 < len(level):
            found.append(level[index ^ 1])
        index >>= 1
    return found


def verify(root: bytes, leaf: bytes, index: int, count: int, proof: Sequence[bytes]) -> bool:
    """Whether the leaf stands at this place among ``count`` leaves with this root."""
    if not 0 <= index < count < 1 << 64 or any(len(sibling) != 32 for sibling in proof):
        return False
    found, last, siblings = _of_leaf(leaf), count - 1, iter(proof)
    while last:
        if index ^ 1 <= last:
            sibling = next(siblings, None)
            if sibling is None:
                return False
            found = _of_node(sibling, found) if index & 1 else _of_node(found, sibling)
        index, last = index >> 1, last >> 1
    return _of_all(count, found) == root and next(siblings, None) is None


def levels_of(leaves: Sequence[bytes]) -> list[Level]:
    """The leaves' hashes, then each level above; a node without a sibling goes up as it is."""
    levels = [[_of_leaf(each) for each in leaves]]
    while len(levels[-1]) > 1:
        below = levels[-1]
        above = [_of_node(a, b) for a, b in zip(below[::2], below[1::2], strict=False)]
        levels.append(above + below[2 * len(above) :])
    return levels


def _of_leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\0" + data).digest()


def _of_all(count: int, top: bytes) -> bytes:
    return hashlib.sha256(b"\2" + count.to_bytes(8, "big") + top).digest()


def _of_node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()
