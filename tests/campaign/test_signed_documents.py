"""Canonical JSON, which gives one value one sequence of bytes; signatures and tokens.  [CHARTER.1] [CHARTER.2]"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.campaign import signed_documents
from visibility_aware_edge_ldp.campaign.signed_documents import DEEPEST, decode, encode, exact_fraction
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

texts = st.text().filter(lambda text: unicodedata.is_normalized("NFC", text))
wholes = st.integers(-(1 << 63), (1 << 63) - 1)
contents = st.recursive(
    texts | wholes,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
KEY = bytes(range(32))


@given(contents)
def test_what_is_written_is_read_back(content: Any) -> None:
    data = encode(content)
    assert decode(data) == content
    assert encode(decode(data)) == data


@given(contents, contents)
def test_different_values_have_different_bytes(one: Any, other: Any) -> None:
    assert (encode(one) == encode(other)) == (one == other)


@given(contents, st.data())
def test_changed_bytes_are_refused_or_another_value(content: Any, data: st.DataObject) -> None:
    """No second spelling: bytes that are taken are the bytes of what they are taken for."""
    written = bytearray(encode(content))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place : place + data.draw(st.integers(0, 1))] = data.draw(st.binary(max_size=2))
    try:
        found = decode(bytes(written))
    except ProtocolViolation:
        return
    assert encode(found) == bytes(written)


@given(st.binary(max_size=40) | st.text('[]{}",:0123456789-.eE\\u nulltrefas \n', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(ProtocolViolation):
        assert encode(decode(data)) == data


@given(contents, st.sampled_from([(", ", ": "), (",", ": "), (", ", ":")]))
def test_spaces_are_refused(content: Any, separators: tuple[str, str]) -> None:
    spaced = json.dumps({"a": content, "b": 1}, sort_keys=True, separators=separators, ensure_ascii=False).encode()
    with pytest.raises(ProtocolViolation, match="not sorted"):
        decode(spaced)


@pytest.mark.parametrize(
    "value",
    [1.0, None, True, b"bytes", (1, 2), {1: 2}, {"a": 0.5}, [None], 1 << 63, -(1 << 63) - 1, "\ud800", "e\u0301"],
)
def test_values_without_bytes_are_refused(value: Any) -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        encode(value)


def test_ends_of_64_bits_are_taken() -> None:
    assert decode(encode([(1 << 63) - 1, -(1 << 63)])) == [(1 << 63) - 1, -(1 << 63)]


def test_depth() -> None:
    deepest: Any = []
    for _ in range(DEEPEST - 1):
        deepest = [deepest]
    assert decode(encode(deepest)) == deepest
    with pytest.raises(BadInput, match="nested deeper"):
        encode([deepest])
    with pytest.raises(ProtocolViolation, match="nested deeper"):
        decode(b"[" * 100_000 + b"]" * 100_000)


def test_size_is_looked_at_before_anything_else() -> None:
    with pytest.raises(ProtocolViolation, match="11 bytes, more than 10"):
        decode(b"\xff" * 11, most=10)


@given(st.fractions(min_value=0))
def test_fractions_have_one_spelling(fraction: Fraction) -> None:
    assert exact_fraction(str(fraction), "It") == fraction


@pytest.mark.parametrize(
    "text", ["2/4", "+1", "1/0", "1/1", "01", " 1", "1_0", "1e3", "0.5", "-1", "", "1/", "٣", 1, ["1"]]
)
def test_other_spellings_of_fractions_are_refused(text: Any) -> None:
    with pytest.raises(ProtocolViolation, match="lowest terms"):
        exact_fraction(text, "It")


@given(st.binary(max_size=100), st.integers(0, 511))
def test_one_bit_of_a_signature_decides(message: bytes, bit: int) -> None:
    signature = bytearray(signed_documents.sign(KEY, message))
    assert signed_documents.verify(signed_documents.fingerprint(KEY), message, bytes(signature))
    signature[bit >> 3] ^= 1 << bit % 8
    assert not signed_documents.verify(signed_documents.fingerprint(KEY), message, bytes(signature))


def test_a_signature_for_another_purpose_is_none() -> None:
    raw = Ed25519PrivateKey.from_private_bytes(KEY).sign(b"message")
    assert not signed_documents.verify(signed_documents.fingerprint(KEY), b"message", raw)


def test_keys_are_new_and_their_fingerprints_are_hex() -> None:
    one, other = signed_documents.new_key(), signed_documents.new_key()
    assert one != other
    assert signed_documents.is_fingerprint(signed_documents.fingerprint(one))


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "A" * 64, "0" * 64 + "\n", 64 * "٠", None, 7])
def test_what_is_no_fingerprint(text: object) -> None:
    assert not signed_documents.is_fingerprint(text)


def test_bad_keys_are_refused() -> None:
    with pytest.raises(BadInput, match="32 octets"):
        signed_documents.sign(b"short", b"message")
    with pytest.raises(BadInput, match="64 hexadecimal"):
        signed_documents.verify("issuer", b"message", b"")


def test_tokens() -> None:
    tokens = {signed_documents.new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert {len(token) for token in tokens} == {43}
    token = min(tokens)
    assert signed_documents.token_hash(token) == hashlib.sha256(token.encode()).hexdigest()


@pytest.mark.parametrize("text", ["Ann", "Zoë Łaś-Ży", "李小龍", "محمد بن علي", "Nguyễn Thị Ánh", "नेहा", "O'Brien"])
def test_names_of_people_are_seen_whole(text: str) -> None:
    assert signed_documents.why_misread(unicodedata.normalize("NFC", text)) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" Ann", "blanks"),
        ("Ann  Lee", "blanks"),
        ("Ann\u00a0Lee", "U\\+00A0"),
        ("Ann\u200b", "U\\+200B"),
        ("\u202ennA", "U\\+202E"),
        ("Ann\u3164Lee", "U\\+3164"),
        ("Ann\u2800", "U\\+2800"),
        ("Ann\ufe0f", "U\\+FE0F"),
        ("Ann\ue000", "U\\+E000"),
        ("Ann" + "\u0334" * 5, "more than 4 marks"),
    ],
)
def test_what_people_would_not_see_is_named(text: str, why: str) -> None:
    assert re.search(why, signed_documents.why_misread(text))
