"""Signatures (ed25519) and tokens: who issued a charter, and who may upload.  [CHARTER.2]"""

from __future__ import annotations

import hashlib
import re
import secrets

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from visibility_aware_edge_ldp.errors import BadInput

# Signatures are made over this and the message, so that a key's other signatures cannot be passed off as these.
_PURPOSE = b"va-edge-ldp charter 1\n"
_KEY = re.compile("[0-9a-f]{64}")
TOKEN_OCTETS = 32


def new_key() -> bytes:
    """A private key: 32 octets, to be kept by the issuer alone."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def fingerprint(key: bytes) -> str:
    """The public key of a private key, in hex: what participants pin."""
    return _private(key).public_key().public_bytes_raw().hex()


def sign(key: bytes, message: bytes) -> bytes:
    """The signature of a message: 64 octets, the same whenever it is made again."""
    return _private(key).sign(_PURPOSE + message)


def verify(issuer: str, message: bytes, signature: bytes) -> bool:
    """Whether the holder of this fingerprint's key signed this message."""
    if not is_fingerprint(issuer):
        raise BadInput("An issuer's key is 64 hexadecimal digits, in lower case; check what was pinned.")
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(issuer)).verify(signature, _PURPOSE + message)
    except InvalidSignature:
        return False
    return True


def is_fingerprint(text: object) -> bool:
    """Whether this is 32 octets in hex, as keys and digests are written."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def new_token() -> str:
    """A participant's or the operator's token: 32 random octets, base64url."""
    return secrets.token_urlsafe(TOKEN_OCTETS)


def token_hash(token: str) -> str:
    """SHA-256 of a token's characters, in hex: all that a server knows of it."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _private(key: bytes) -> Ed25519PrivateKey:
    if len(key) != 32:
        raise BadInput(f"A private key has 32 octets; this has {len(key)}.")
    return Ed25519PrivateKey.from_private_bytes(key)
