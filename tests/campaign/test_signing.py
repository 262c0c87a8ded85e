"""Signatures and tokens.  [CHARTER.2]"""

from __future__ import annotations

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.campaign import signing
from visibility_aware_edge_ldp.errors import BadInput

KEY = bytes(range(32))


@given(st.binary(max_size=100), st.integers(0, 511))
def test_one_bit_of_a_signature_decides(message: bytes, bit: int) -> None:
    signature = bytearray(signing.sign(KEY, message))
    assert signing.verify(signing.fingerprint(KEY), message, bytes(signature))
    signature[bit >> 3] ^= 1 << bit % 8
    assert not signing.verify(signing.fingerprint(KEY), message, bytes(signature))


def test_a_signature_for_another_purpose_is_none() -> None:
    raw = Ed25519PrivateKey.from_private_bytes(KEY).sign(b"message")
    assert not signing.verify(signing.fingerprint(KEY), b"message", raw)


def test_keys_are_new_and_their_fingerprints_are_hex() -> None:
    one, other = signing.new_key(), signing.new_key()
    assert one != other
    assert signing.is_fingerprint(signing.fingerprint(one))


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "A" * 64, "0" * 64 + "\n", 64 * "٠", None, 7])
def test_what_is_no_fingerprint(text: object) -> None:
    assert not signing.is_fingerprint(text)


def test_bad_keys_are_refused() -> None:
    with pytest.raises(BadInput, match="32 octets"):
        signing.sign(b"short", b"message")
    with pytest.raises(BadInput, match="64 hexadecimal"):
        signing.verify("issuer", b"message", b"")


def test_tokens() -> None:
    tokens = {signing.new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert {len(token) for token in tokens} == {43}
    token = min(tokens)
    assert signing.token_hash(token) == hashlib.sha256(token.encode()).hexdigest()
