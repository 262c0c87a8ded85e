"""What server and issuer sign over time: the log of charters, statements of closed rounds, their seals and codes."""

from __future__ import annotations

import hashlib
from typing import Any

from plain_client.canonical import demand, is_hex, members, read, refuse_signature, sha256, written
from plain_client.tree import root_above

LOG, STATEMENT = b"va-edge-ldp charter log 1\n", b"va-edge-ldp statement 1\n"
_ALONE, _RECEIPT = b"va-edge-ldp receipt 1\n", b"va-edge-ldp receipt 2\n"
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LAST_SECOND = 253402300799
_WHOLE = {"round": (1, 2), "count": (0, 1 << 63), "opened": (0, _LAST_SECOND), "closed": (0, _LAST_SECOND)}


def read_log(data: bytes, issuer: str) -> list[dict[str, Any]]:
    """The entries of a log, if the pinned issuer signed each and each names the one before it."""
    log = members(read(data, 1 << 20), "format", "issuer", "entries")
    demand(log["format"] == "va-edge-ldp charter log 1" and log["issuer"] == issuer, "a log of somebody else")
    demand(isinstance(log["entries"], list), "a list of entries")
    found: list[dict[str, Any]] = []
    before = ""
    for number, each in enumerate(log["entries"], 1):
        signed = members(each, "entry", "signature")
        entry = members(signed["entry"], "number", "before", "campaign", "epoch", "roster", "server")
        demand(type(entry["number"]) is int and entry["number"] == number, "an entry of another number")
        demand(entry["before"] == before, "an entry that does not follow the one before it")
        demand(all(is_hex(entry[name]) for name in ("campaign", "roster", "server")), "digests")
        demand(isinstance(entry["epoch"], str), "an epoch")
        refuse_signature(written(entry), signed["signature"], issuer, LOG)
        before = sha256(LOG + written(entry))
        found.append(entry)
    return found


def server_key(entries: list[dict[str, Any]], identity: str, charter: dict[str, Any]) -> str:
    """The key that the campaign's server signs with; refuses a log that does not name the campaign as it is."""
    named = [entry for entry in entries if entry["campaign"] == identity]
    demand(named, "the issuer's log does not name the campaign")
    demand(all(named[-1][name] == charter[name] for name in ("epoch", "roster")), "the log names it otherwise")
    return str(named[-1]["server"])


def agree(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    """Whether one log begins with all entries of the other."""
    return all(a == b for a, b in zip(one, other, strict=False))


def open_statement(data: bytes, signature: str, key: str) -> dict[str, Any]:
    """The statement in these octets, if the server signed them and they are one."""
    refuse_signature(data, signature, key, STATEMENT)
    said = members(read(data, 1 << 12), "format", "campaign", "root", "transcript", "before", *_WHOLE)
    demand(said["format"] == "va-edge-ldp statement 1", "a statement of another version")
    demand(is_hex(said["campaign"]) and is_hex(said["root"]), "digests")
    demand(all(said[name] == "" or is_hex(said[name]) for name in ("transcript", "before")), "digests")
    for name, (least, most) in _WHOLE.items():
        demand(type(said[name]) is int and least <= said[name] <= most, "numbers")
    demand((said["before"] == "") == (said["round"] == 1), "what was stated before")
    return said


def refuse_unsigned(receipt: bytes, shown: str, key: str) -> None:
    """Refuses a receipt of which nothing shows that the server signed it."""
    if len(shown) == 128:
        refuse_signature(receipt, shown, key, _ALONE)
        return
    demand(is_hex(shown, len(shown) // 2) and len(shown) >= 208, "how a receipt is signed")
    told = bytes.fromhex(shown[128:])
    salt, index, count = told[:32], int.from_bytes(told[32:36], "big"), int.from_bytes(told[36:40], "big")
    beside = [told[start : start + 32] for start in range(40, len(told), 32)]
    demand(all(len(each) == 32 for each in beside), "hashes")
    root = root_above(salt + receipt, index, count, beside)
    demand(root, "a place of a receipt")
    refuse_signature(root, shown[:128], key, _RECEIPT)


def sealed(transcript: str, salt: str) -> str:
    demand(is_hex(transcript) and is_hex(salt), "a digest and a salt")
    return sha256(b"va-edge-ldp transcript 1\n" + bytes.fromhex(salt) + bytes.fromhex(transcript))


def refuse_misstated(said: dict[str, Any], identity: str, state: dict[str, Any], salt: str, before: bytes) -> None:
    """Refuses a statement that is not of what the state of the round, and round 1's statement, name."""
    named = (said["campaign"], said["round"], said["root"])
    demand(named == (identity, state["round"], state["root"]), "a statement of another round or root")
    if state["transcript"]:
        demand(said["transcript"] == sealed(state["transcript"], salt), "a statement of another transcript")
    demand(not before or said["before"] == sha256(before), "a statement after another one")


def code(statement: bytes) -> str:
    """What people read to each other."""
    found = hashlib.pbkdf2_hmac("sha256", statement, b"va-edge-ldp code 1\n", 65_536, 32)
    bits = "".join(f"{octet:08b}" for octet in found)
    digits = "".join(_DIGITS[int(bits[place : place + 5], 2)] for place in range(0, 100, 5))
    return "-".join(digits[place : place + 4] for place in range(0, 20, 4))
