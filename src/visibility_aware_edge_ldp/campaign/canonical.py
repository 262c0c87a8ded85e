"""Canonical JSON: one value has one sequence of bytes, so that a digest names the value.  [CHARTER.1]

Objects, lists, texts and whole numbers only. Keys are sorted, there are no spaces, texts are UTF-8 in Unicode's
composed form (NFC). Whole numbers fit 64 bits with a sign; larger ones, and fractions, are written as texts.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

Content: TypeAlias = "dict[str, Content] | list[Content] | str | int"

DEEPEST = 16
# A roster of a few million names, or as many public edges; nothing that a participant reads is larger.
LARGEST = 1 << 28
_RANGE = range(-(1 << 63), 1 << 63)
_DIGITS = 20
_FRACTION = re.compile(r"(?:0|[1-9][0-9]{0,199})(?:/[1-9][0-9]{0,199})?")


def encode(content: Content) -> bytes:
    """The bytes of a value; refuses what has none."""
    try:
        _check(content, 1)
        return _written(content)
    except _Unfit as error:
        raise BadInput(f"This cannot be written as canonical JSON: {error}.") from error


def decode(data: bytes, most: int = LARGEST) -> Content:
    """The value in these bytes; refuses anything that :func:`encode` would not have written."""
    try:
        return _read(data, most)
    except _Unfit as error:
        raise ProtocolViolation(f"These bytes are not canonical JSON: {error}.") from error


def digest(data: bytes) -> str:
    """SHA-256, in hex."""
    return hashlib.sha256(data).hexdigest()


def exact_fraction(text: Content, what: str) -> Fraction:
    """A fraction that is not negative, written as Python writes it: "3", "1/2"; a second spelling is refused."""
    if not isinstance(text, str) or not _FRACTION.fullmatch(text) or str(Fraction(text)) != text:
        raise ProtocolViolation(f'{what} must be a text such as "3" or "1/2" in lowest terms; it is {shortened(text)}.')
    return Fraction(text)


def shortened(content: object) -> str:
    """A value as an error shows it: what a stranger sent may be long."""
    text = ascii(content)
    return text if len(text) <= 60 else f"{text[:60]}…"


class _Unfit(Exception):  # noqa: N818 - named for the fault
    """Why something is not canonical; never leaves this file."""


def _read(data: bytes, most: int) -> Content:
    if len(data) > most:
        raise _Unfit(f"there are {len(data):,} bytes, more than {most:,}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Unfit(f"byte {error.start} is not UTF-8") from error
    try:
        content: Content = _DECODER.decode(text)
    except RecursionError as error:
        raise _Unfit(f"it is nested deeper than {DEEPEST}") from error
    except json.JSONDecodeError as error:
        raise _Unfit(f"{error.msg} at character {error.pos}") from error
    _check(content, 1)
    if _written(content) != data:
        raise _Unfit("keys are not sorted, or there are spaces or spellings that would not be written")
    return content


def _written(content: Content) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _check(content: Any, depth: int) -> None:
    """Refuses what is neither an object, a list, a text nor a whole number of 64 bits."""
    kind = type(content)
    if kind is str:
        _check_text(content)
    elif kind is int:
        if content not in _RANGE:
            raise _Unfit("a whole number is beyond 64 bits; write it as a text")
    elif kind is list or kind is dict:
        if depth > DEEPEST:
            raise _Unfit(f"it is nested deeper than {DEEPEST}")
        for inner in content:
            _check(inner, depth + 1)
        if kind is dict:
            _check_object(content, depth)
    else:
        raise _Unfit(f"{kind.__name__} is neither an object, a list, a text nor a whole number")


def _check_object(content: dict[Any, Any], depth: int) -> None:
    if any(type(key) is not str for key in content):
        raise _Unfit("a key is not a text")
    for value in content.values():
        _check(value, depth + 1)


def _check_text(text: str) -> None:
    if text.isascii():
        return
    if not unicodedata.is_normalized("NFC", text):
        raise _Unfit(f"the text {shortened(text)} is not in Unicode's composed form (NFC)")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Unfit(f"the text {shortened(text)} holds half of a surrogate pair") from error


def _object(pairs: Iterable[tuple[str, Content]]) -> dict[str, Content]:
    found: dict[str, Content] = {}
    for key, value in pairs:
        if key in found:
            raise _Unfit(f"the key {shortened(key)} stands twice")
        found[key] = value
    return found


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise _Unfit("a whole number is beyond 64 bits; write it as a text")
    return int(text)


def _not_whole(text: str) -> NoReturn:
    raise _Unfit(f"{shortened(text)} is not a whole number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_not_whole, parse_int=_whole, parse_constant=_not_whole
)
