"""The tree of a round: leaves, root and proofs; and receipts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from plain_client.canonical import demand, is_hex, members, read


def _hash(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def leaf(person: int, upload: bytes) -> bytes:
    return person.to_bytes(8, "big") + hashlib.sha256(upload).digest()


def root(leaves: Sequence[bytes]) -> str:
    level = [_hash(b"\0", each) for each in leaves]
    while len(level) > 1:
        last = [level[-1]] if len(level) % 2 else []
        level = [_hash(b"\1", a, b) for a, b in zip(level[::2], level[1::2], strict=False)] + last
    top = level[0] if level else _hash()
    return _hash(b"\2", len(leaves).to_bytes(8, "big"), top).hex()


def proves(said: Any, own: bytes, named_root: str) -> bool:
    """Whether a reply's proof leads from the own leaf to the root that the state of the round names."""
    index, count, proof = (
        (said.get(name) for name in ("index", "count", "proof")) if isinstance(said, dict) else [0] * 3
    )
    demand(type(index) is int and type(count) is int and isinstance(proof, list), "a proof")
    demand(is_hex(named_root) and all(is_hex(each) for each in proof), "hashes")
    return root_above(own, index, count, [bytes.fromhex(each) for each in proof]).hex() == named_root


def root_above(own: bytes, index: int, count: int, hashes: list[bytes]) -> bytes:
    """The root that a leaf in this place leads to by the hashes beside its way; nothing where there is none."""
    if not 0 <= index < count < 1 << 64:
        return b""
    found, last = _hash(b"\0", own), count - 1
    while last:
        if index ^ 1 <= last:
            if not hashes:
                return b""
            beside, *hashes = hashes
            found = _hash(b"\1", beside, found) if index & 1 else _hash(b"\1", found, beside)
        index, last = index >> 1, last >> 1
    return b"" if hashes else _hash(b"\2", count.to_bytes(8, "big"), found)


def check_receipt(data: bytes, campaign: str, number: int, person: int, upload: bytes) -> None:
    """Refuses a receipt that is not for these very octets."""
    said = members(read(data, 1 << 12), "campaign", "digest", "participant", "round")
    own = {"campaign": campaign, "digest": hashlib.sha256(upload).hexdigest(), "participant": person, "round": number}
    demand(said == own and type(said["round"]) is type(said["participant"]) is int, "a receipt of something else")
