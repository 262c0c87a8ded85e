"""Canonical JSON, fractions, texts that people read, and signatures."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from fractions import Fraction
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_FRACTION = re.compile(r"(0|[1-9][0-9]{0,199})(/[1-9][0-9]{0,199})?", re.ASCII)
_HEX = re.compile(r"[0-9a-f]*", re.ASCII)
_UNSEEN = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
_UNSEEN |= {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
_CHARTER = b"va-edge-ldp charter 1\n"


class Refused(Exception):  # noqa: N818 - what the page calls it
    """Something that the page says is refused or declined."""


def demand(holds: object, why: str) -> None:
    if not holds:
        raise Refused(why)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_hex(text: object, octets: int = 32) -> bool:
    return isinstance(text, str) and len(text) == 2 * octets and _HEX.fullmatch(text) is not None


def written(value: Any) -> bytes:
    """The canonical octets of a value. Python sorts texts by code points, and escapes as the page says."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read(data: bytes, most: int = 1 << 28) -> Any:
    """The value of canonical octets; refuses all others."""
    demand(len(data) <= most, "too many octets")
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=_members, parse_float=_no, parse_constant=_no, parse_int=_whole
        )
        _check(value, 1)
        demand(written(value) == data, "not written canonically")
    except (ValueError, RecursionError) as error:  # UnicodeError is a ValueError
        raise Refused("not canonical JSON") from error
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    demand(len({key for key, _ in pairs}) == len(pairs), "a key stands twice")
    return dict(pairs)


def _no(text: str) -> Any:
    raise Refused("only whole numbers")


def _whole(text: str) -> int:
    demand(len(text) <= 20, "beyond 64 bits")
    return int(text)


def _check(value: Any, depth: int) -> None:
    if isinstance(value, (dict, list)):
        demand(depth <= 16, "nested too deep")
        for inner in value:
            _check(inner, depth + 1)
        for inner in value.values() if isinstance(value, dict) else ():
            _check(inner, depth + 1)
    elif isinstance(value, str):
        demand(unicodedata.normalize("NFC", value) == value, "not composed")
    else:
        demand(type(value) is int and -(1 << 63) <= value < 1 << 63, "not a whole number of 64 bits")


def members(value: Any, *names: str) -> dict[str, Any]:
    """An object with exactly these members."""
    demand(isinstance(value, dict) and value.keys() == set(names), f"an object must have {names}")
    found: dict[str, Any] = value
    return found


def fraction(text: Any) -> Fraction:
    demand(isinstance(text, str) and _FRACTION.fullmatch(text) and str(Fraction(text)) == text, "a fraction")
    return Fraction(text)


def refuse_misread(text: Any, most: int) -> None:
    demand(isinstance(text, str) and 1 <= len(text) <= most, "a text that is too short or too long")
    demand(text == text.strip() and "  " not in text, "blanks at an end or in a row")
    marks = 0
    for letter in text:
        demand(unicodedata.category(letter)[0] not in "CZ" or letter == " ", "not seen")
        demand(ord(letter) not in _UNSEEN, "not seen")
        marks = marks + 1 if unicodedata.combining(letter) else 0
        demand(marks < 5, "too many marks")


def refuse_signature(data: bytes, signature: str, signer: str, purpose: bytes = _CHARTER) -> None:
    """Refuses what the holder of this key did not sign for this purpose."""
    demand(is_hex(signature, 64), "a signature has 128 hex digits")
    demand(is_hex(signer), "a fingerprint has 64 hex digits")
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signer))
        key.verify(bytes.fromhex(signature), purpose + data)
    except InvalidSignature as error:
        raise Refused("whose key is known did not sign this") from error
