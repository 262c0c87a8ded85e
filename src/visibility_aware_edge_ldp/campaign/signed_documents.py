"""Values as canonical JSON with digests, signatures (ed25519) and tokens, and files written whole.  [CHARTER.1-2]

In canonical JSON one value has one sequence of bytes, so that a digest names the value:
objects, lists, texts and whole numbers only. Keys are sorted, there are no spaces, texts are UTF-8 in Unicode's
composed form (NFC). Whole numbers fit 64 bits with a sign; larger ones, and fractions, are written as texts.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

Content: TypeAlias = "dict[str, Content] | list[Content] | str | int"
# Letters, signs and marks that show nothing: fillers, an empty pattern of Braille, and choices of a letter's shape.
_SHAPES = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(i) for each in _SHAPES for i in each}
# So many marks on one letter no writing needs; more climb over the lines above.
MOST_MARKS = 4
DEEPEST = 16
# A roster of a few million names, or as many public edges; nothing that a participant reads is larger.
LARGEST = 1 << 28
_RANGE = range(-(1 << 63), 1 << 63)
_DIGITS = 20
_FRACTION = re.compile(r"(?:0|[1-9][0-9]{0,199})(?:/[1-9][0-9]{0,199})?")
# Signatures are made over this and the message, so that a key's other signatures cannot be passed off as these.
_PURPOSE = b"va-edge-ldp charter 1\n"
_KEY = re.compile("[0-9a-f]{64}")
_TOKEN = re.compile(rb"[Bb]earer ([A-Za-z0-9_\-]{43})")


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
            if any(type(key) is not str for key in content):
                raise _Unfit("a key is not a text")
            _check(list(content.values()), depth)
    else:
        raise _Unfit(f"{kind.__name__} is neither an object, a list, a text nor a whole number")


def _check_text(text: str) -> None:
    if text.isascii():
        return
    if not unicodedata.is_normalized("NFC", text):
        raise _Unfit(f"the text {shortened(text)} is not in Unicode's composed form (NFC)")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Unfit(f"the text {shortened(text)} holds half of a surrogate pair") from error


def why_misread(text: str) -> str:
    """Why people may take a text for another one, or not see all of it; empty where they cannot."""
    if text != text.strip() or "  " in text:
        return "it has blanks at an end or in a row"
    hidden = next((letter for letter in text if not letter.isprintable() or letter in _UNSEEN), "")
    if hidden:
        return f"U+{ord(hidden):04X} is not seen"
    marks = "".join("m" if unicodedata.combining(letter) else "." for letter in text)
    return f"a letter has more than {MOST_MARKS} marks" if "m" * (MOST_MARKS + 1) in marks else ""


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


def new_key() -> bytes:
    """A private key: 32 octets, to be kept by the issuer alone."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def fingerprint(key: bytes) -> str:
    """The public key of a private key, in hex: what participants pin."""
    return _private(key).public_key().public_bytes_raw().hex()


def sign(key: bytes, message: bytes, purpose: bytes = _PURPOSE) -> bytes:
    """The signature of a message for a purpose: 64 octets, the same whenever it is made again."""
    return _private(key).sign(purpose + message)


def verify(issuer: str, message: bytes, signature: bytes, purpose: bytes = _PURPOSE) -> bool:
    """Whether the holder of this fingerprint's key signed this message for this purpose."""
    if not is_fingerprint(issuer):
        raise BadInput("An issuer's key is 64 hexadecimal digits, in lower case; check what was pinned.")
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(issuer)).verify(signature, purpose + message)
    except InvalidSignature:
        return False
    return True


def is_fingerprint(text: object) -> bool:
    """Whether this is 32 octets in hex, as keys and digests are written."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def new_token() -> str:
    """A participant's or the operator's token: 32 random octets, base64url."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """SHA-256 of a token's characters, in hex: all that a server knows of it."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


@lru_cache(maxsize=4)
def _private(key: bytes) -> Ed25519PrivateKey:
    if len(key) != 32:
        raise BadInput(f"A private key has 32 octets; this has {len(key)}.")
    return Ed25519PrivateKey.from_private_bytes(key)


def sync(path: Path) -> None:
    """What a file holds, or the names in a folder, are on disk when this ends."""
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened there; names are written with the file
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(handle: int, data: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_new(path: Path, data: bytes, mode: int) -> None:
    """A file that was not there before."""
    _write(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), data)


def write_over(path: Path, data: bytes) -> None:
    """The file holds the old bytes or the new ones, whenever the machine stops; only its owner may read it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    _write(os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), data)
    draft.replace(path)
    sync(path.parent)


@dataclass(frozen=True)
class Credentials:
    """The hashes of the operator's token and of every participant's."""

    operator: bytes = field(repr=False)
    participants: tuple[bytes, ...] = field(repr=False)
    _known: frozenset[bytes] = field(repr=False)

    @classmethod
    def of(cls, operator: str, participants: Sequence[str]) -> "Credentials":
        """From hashes in hex."""
        hashes = tuple(bytes.fromhex(each) for each in participants)
        known = frozenset([bytes.fromhex(operator), *hashes])
        if len(known) != len(hashes) + 1:
            raise BadInput("Two people have the same token. Make the campaign anew.")
        return cls(bytes.fromhex(operator), hashes, known)

    def shown(self, authorization: bytes | None) -> bytes | None:
        """The hash of the token that a request shows, if anybody has such a token."""
        found = _TOKEN.fullmatch(authorization or b"")
        if found is None:
            return None
        shown = hashlib.sha256(found[1]).digest()
        # Looked up by its hash: how long that takes tells about the hash, from which no token follows.
        return shown if shown in self._known else None

    def is_participant(self, shown: bytes, participant: int) -> bool:
        return hmac.compare_digest(shown, self.participants[participant])

    def is_operator(self, shown: bytes) -> bool:
        return hmac.compare_digest(shown, self.operator)
