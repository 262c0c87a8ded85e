"""Amendments: what the issuer has changed for a person or a deadline."""

from __future__ import annotations

from typing import Any

from plain_client.canonical import demand, is_hex, members, read, refuse_signature, sha256, written

_FORMAT = "va-edge-ldp amendment 1"
_HEAD = ("format", "campaign", "number", "previous", "kind")
_KINDS: dict[Any, tuple[str, ...]] = {
    "token": ("person", "token"),
    "device": ("person", "token", "ledger"),
    "withdrawal": ("person",),
    "deadline": ("round", "closes"),
}
_LONGEST = 31_622_400


def read_amendments(data: bytes, charter: dict[str, Any], identity: str) -> tuple[list[dict[str, Any]], list[int]]:
    """All amendments, each checked, and the deadlines that hold now."""
    listed, found, head = read(data, 1 << 26), list[dict[str, Any]](), identity
    deadlines = [each["closes"] for each in charter["rounds"]]
    demand(isinstance(listed, list), "a list of amendments")
    for number, each in enumerate(listed, 1):
        signed = members(each, "amendment", "signature")
        said = signed["amendment"]
        kind = said.get("kind") if isinstance(said, dict) else None
        demand(isinstance(kind, str) and kind in _KINDS, "a kind of amendment")
        members(said, *_HEAD, *_KINDS[kind])
        demand(said["format"] == _FORMAT and said["campaign"] == identity, "an amendment of something else")
        demand(type(said["number"]) is int and (said["number"], said["previous"]) == (number, head), "not the next one")
        demand(all(is_hex(said[name]) for name in ("person", "token", "ledger") if name in said), "digests")
        refuse_signature(written(said), signed["signature"], charter["issuer"])
        demand("token" not in said or all(said["token"] != other.get("token") for other in found), "a token twice")
        if kind == "deadline":
            _extend(deadlines, said["round"], said["closes"], charter)
        head = sha256(written(said))
        found.append(said)
    return found, deadlines


def _extend(deadlines: list[int], number: Any, closes: Any, charter: dict[str, Any]) -> None:
    demand(type(number) is int and 1 <= number <= len(deadlines) and type(closes) is int, "a round and its deadline")
    following = deadlines[number] if number < len(deadlines) else closes + 1
    latest = charter["rounds"][number - 1]["closes"] + _LONGEST
    demand(deadlines[number - 1] < closes < following and closes <= latest, "a deadline that may not be")
    deadlines[number - 1] = closes


def is_about(amendment: dict[str, Any], identity: str, person: int, salt: object) -> bool:
    """Whether an amendment is about this person, as its salt shows."""
    if not is_hex(salt):
        return False
    hidden = b"va-edge-ldp person 1\n" + bytes.fromhex(identity) + bytes.fromhex(str(salt)) + person.to_bytes(8, "big")
    return bool(amendment.get("person") == sha256(hidden))
